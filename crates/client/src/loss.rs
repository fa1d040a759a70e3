//! Losses: how wrong predictions are, as one number, the mean over all examples.

use crate::output::{Operand, Output};

/// The mean of the squares of the differences.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([1.0f32, 3.0]);
/// let loss = loss::mean_squared_error(&predictions, [1.0f32, 1.0]);
/// assert_eq!(Session::new(&graph)?.run((), loss.value::<f32>())?, 2.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn mean_squared_error(predictions: &Output, targets: impl Operand) -> Output {
    predictions.squared_difference(targets).mean()
}

/// The mean of the sizes of the differences.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([1.0f32, 3.0]);
/// let loss = loss::mean_absolute_error(&predictions, [1.0f32, 1.0]);
/// assert_eq!(Session::new(&graph)?.run((), loss.value::<f32>())?, 1.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn mean_absolute_error(predictions: &Output, targets: impl Operand) -> Output {
    (predictions - targets).abs().mean()
}

/// Half the square of small differences, and a line for those above `delta`.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([1.0f32, 5.0]);
/// let loss = loss::huber(&predictions, [2.0f32, 2.0], 1.0);
/// // Half of 1 squared, and the line 3 - 0.5.
/// assert_eq!(Session::new(&graph)?.run((), loss.value::<f32>())?, (0.5 + 2.5) / 2.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn huber(predictions: &Output, targets: impl Operand, delta: f64) -> Output {
    let error = (predictions - targets).abs();
    let inner = error.minimum(delta);
    let outer = error - &inner;
    (inner.square() * 0.5 + outer * delta).mean()
}

/// The mean of `max(0, 1 - label * prediction)` for labels of -1 and 1.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([2.0f32, 0.5]);
/// let loss = loss::hinge(&predictions, [1.0f32, -1.0]);
/// assert_eq!(Session::new(&graph)?.run((), loss.value::<f32>())?, (0.0 + 1.5) / 2.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn hinge(predictions: &Output, labels: impl Operand) -> Output {
    (1.0 - predictions * labels).relu().mean()
}

/// The cross entropy of each row's softmax with a distribution over the classes.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let logits = graph.constant([[0.0f32, 0.0]]);
/// let loss = loss::softmax_cross_entropy(&logits, [[0.25f32, 0.75]]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 2.0f32.ln()).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
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
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let logits = graph.constant([0.0f32, 0.0]);
/// let loss = loss::sigmoid_cross_entropy(&logits, [0.0f32, 1.0]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 2.0f32.ln()).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn sigmoid_cross_entropy(logits: &Output, labels: impl Operand) -> Output {
    // max(x, 0) - x z + ln(1 + e^-|x|), which never overflows.
    let tail = (-logits.abs()).exp().ln_1p();
    (logits.relu() - logits * labels + tail).mean()
}

/// Half the sum of the squares of the elements, for regularisation.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", [3.0f32, 4.0]);
/// let penalty = loss::l2(&w, &graph);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), penalty.value::<f32>())?, 12.5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn l2(weights: impl Operand, graph: &crate::Graph) -> Output {
    graph.op("L2Loss").input(weights).output()
}
