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

/// What keeps divisions and logarithms finite, as in Keras.
const EPSILON: f64 = 1e-7;

/// The mean of the errors in parts of the targets, in per cent.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([1.0f32, 4.0]);
/// let loss = loss::mean_absolute_percentage_error(&predictions, [2.0f32, 4.0]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 25.0).abs() < 1e-4);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn mean_absolute_percentage_error(predictions: &Output, targets: impl Operand) -> Output {
    let targets = predictions.graph().operand(&targets, Some(predictions.dtype()));
    ((&targets - predictions) / targets.abs().maximum(EPSILON)).abs().mean() * 100.0
}

/// The mean of the squared differences of the logarithms of what is more than -1 by one.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([0.0f32, 3.0]);
/// let loss = loss::mean_squared_logarithmic_error(&predictions, [0.0f32, 3.0]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 0.0).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn mean_squared_logarithmic_error(predictions: &Output, targets: impl Operand) -> Output {
    let targets = predictions.graph().operand(&targets, Some(predictions.dtype()));
    let log = |x: &Output| x.maximum(EPSILON).ln_1p();
    log(predictions).squared_difference(log(&targets)).mean()
}

/// The mean of the logarithm of the hyperbolic cosine of the error: squares near zero, absolute values
/// far from it.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([1.0f32]);
/// let loss = loss::log_cosh(&predictions, [0.0f32]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 1.0f32.cosh().ln()).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn log_cosh(predictions: &Output, targets: impl Operand) -> Output {
    let error = predictions - targets;
    (&error + (&error * -2.0).softplus() - std::f64::consts::LN_2).mean()
}

/// The mean negative logarithm of the probability of counts, if predictions are their expectations.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([1.0f32]);
/// let loss = loss::poisson(&predictions, [2.0f32]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 1.0).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn poisson(predictions: &Output, targets: impl Operand) -> Output {
    (predictions - (predictions + EPSILON).ln() * targets).mean()
}

/// The negative cosine of the angle between vectors along the last axis: -1 where they point the same way.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([[0.0f32, 2.0], [0.0, 1.0]]);
/// let loss = loss::cosine_similarity(&predictions, [[0.0f32, 5.0], [2.0, 0.0]]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value + 0.5).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn cosine_similarity(predictions: &Output, targets: impl Operand) -> Output {
    let targets = predictions.graph().operand(&targets, Some(predictions.dtype()));
    // As `tf.math.l2_normalize` does.
    let unit = |x: &Output| x * x.square().sum_along(-1, true).maximum(1e-12).rsqrt();
    -(unit(predictions) * unit(&targets)).sum_along(-1, false).mean()
}

/// The mean divergence of predicted probabilities from those of the targets, along the last axis.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([[0.5f32, 0.5]]);
/// let loss = loss::kl_divergence(&predictions, [[0.5f32, 0.5]]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 0.0).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn kl_divergence(predictions: &Output, targets: impl Operand) -> Output {
    let targets = predictions.graph().operand(&targets, Some(predictions.dtype()));
    let (p, t) = (predictions.clip(EPSILON, 1.0), targets.clip(EPSILON, 1.0));
    (&t * (&t / p).ln()).sum_along(-1, false).mean()
}

/// The mean of the squares of [`hinge`] errors, with labels of -1 and 1.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([-1.0f32, -1.0]);
/// let loss = loss::squared_hinge(&predictions, [1.0f32, -1.0]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 2.0).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn squared_hinge(predictions: &Output, labels: impl Operand) -> Output {
    (1.0 - predictions * labels).relu().square().mean()
}

/// By how much the largest score of a wrong class comes too close to that of the right one, with labels
/// of 0 and 1 along the last axis.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predictions = graph.constant([[0.5f32, 0.25]]);
/// let loss = loss::categorical_hinge(&predictions, [[1.0f32, 0.0]]);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 0.75).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn categorical_hinge(predictions: &Output, labels: impl Operand) -> Output {
    let labels = predictions.graph().operand(&labels, Some(predictions.dtype()));
    let right = (&labels * predictions).sum_along(-1, false);
    let wrong = ((1.0 - &labels) * predictions).max_along(-1, false);
    (wrong - right + 1.0).relu().mean()
}

/// [`sigmoid_cross_entropy`] in which what is predicted well counts little: each part is weighed by the
/// part of the probability that is missing, to the power of `focus`, 2 as a rule.
///
/// ```
/// use tensorfleet_client::{Graph, Session, loss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let logits = graph.constant([0.0f32]);
/// let loss = loss::sigmoid_focal_cross_entropy(&logits, [1.0f32], 2.0);
/// let value = Session::new(&graph)?.run((), loss.value::<f32>())?;
/// assert!((value - 2.0f32.ln() / 4.0).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn sigmoid_focal_cross_entropy(logits: &Output, labels: impl Operand, focus: f64) -> Output {
    let labels = logits.graph().operand(&labels, Some(logits.dtype()));
    let probability = logits.sigmoid();
    let right = &labels * &probability + (1.0 - &labels) * (1.0 - &probability);
    let tail = (-logits.abs()).exp().ln_1p();
    let entropy = logits.relu() - logits * &labels + tail;
    ((1.0 - right).pow(focus) * entropy).mean()
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
