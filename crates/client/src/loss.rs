//! Losses: how wrong predictions are, as one number, the mean over all examples.

use crate::output::{Operand, Output};

/// The mean of the squares of the differences.
#[track_caller]
pub fn mean_squared_error(predictions: &Output, targets: impl Operand) -> Output {
    predictions.squared_difference(targets).mean()
}

/// The mean of the sizes of the differences.
#[track_caller]
pub fn mean_absolute_error(predictions: &Output, targets: impl Operand) -> Output {
    (predictions - targets).abs().mean()
}

/// Half the square of small differences, and a line for those above `delta`.
#[track_caller]
pub fn huber(predictions: &Output, targets: impl Operand, delta: f64) -> Output {
    let error = (predictions - targets).abs();
    let inner = error.minimum(delta);
    let outer = error - &inner;
    (inner.square() * 0.5 + outer * delta).mean()
}

/// The mean of `max(0, 1 - label * prediction)` for labels of -1 and 1.
#[track_caller]
pub fn hinge(predictions: &Output, labels: impl Operand) -> Output {
    (1.0 - predictions * labels).relu().mean()
}

/// The cross entropy of each row's softmax with a distribution over the classes.
#[track_caller]
pub fn softmax_cross_entropy(logits: &Output, labels: impl Operand) -> Output {
    let op = logits.graph().op("SoftmaxCrossEntropyWithLogits");
    op.input(logits).input_like(labels, Some(logits.dtype())).output().mean()
}

/// The cross entropy of each row's softmax with the number of its class.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let logits = graph.constant([[0.0f32, 0.0], [0.0, 0.0]]);
/// let loss = loss::sparse_softmax_cross_entropy(&logits, [0i64, 1]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 2.0f32.ln()).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn sparse_softmax_cross_entropy(logits: &Output, classes: impl Operand) -> Output {
    let op = logits.graph().op("SparseSoftmaxCrossEntropyWithLogits");
    op.input(logits).input(classes).output().mean()
}

/// The cross entropy of independent probabilities, given as logits, with labels of 0 to 1.
#[track_caller]
pub fn sigmoid_cross_entropy(logits: &Output, labels: impl Operand) -> Output {
    // max(x, 0) - x z + ln(1 + e^-|x|), which never overflows.
    let tail = (-logits.abs()).exp().ln_1p();
    (logits.relu() - logits * labels + tail).mean()
}

/// Half the sum of the squares of the elements, for regularisation.
#[track_caller]
pub fn l2(weights: impl Operand, graph: &crate::Graph) -> Output {
    graph.op("L2Loss").input(weights).output()
}
