//! Scores over classes and outputs, and losses kept over batches.

use std::panic::Location;

use tensorfleet_tensor::DType;

use super::{Metric, keep, ratio};
use crate::output::{Operand, Output};

/// How the scores of classes become one.
///
/// ```
/// use tensorfleet_client::metrics::{Average, Metric};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let predicted = graph.constant([[true, false], [true, false], [true, false]]);
/// let labels = [[true, false], [true, false], [false, true]];
/// let of = |average| Metric::f_beta("f1", &predicted, labels, 2, 1.0, average);
/// let (macro_, micro, weighted) = (of(Average::Macro), of(Average::Micro), of(Average::Weighted));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let value = |metric: &Metric| session.run((), metric.updated().value::<f32>());
/// // 4/5 for the first class, nothing for the second.
/// assert!((value(&macro_)? - 0.4).abs() < 1e-6);
/// assert!((value(&micro)? - 2.0 / 3.0).abs() < 1e-6);
/// assert!((value(&weighted)? - 0.8 * 2.0 / 3.0).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The mean of the classes' scores.
    Macro,
    /// The score of all classes together.
    Micro,
    /// The mean of the classes' scores, by how often they are true.
    Weighted,
}

impl Metric {
    /// The mean over all examples of a number that is the mean of a batch's, as the losses of
    /// [`loss`](crate::loss) are: `of` says how many examples the batch has, by its first dimension.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session, loss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.placeholder::<f32>([None]);
    /// let loss = loss::log_cosh(&predictions, 0.0);
    /// let metric = Metric::mean_of_batches("log_cosh", &loss, &predictions);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((&predictions, [0.0f32, 0.0, 0.0]), metric.update())?;
    /// session.run((&predictions, [1.0f32]), metric.update())?;
    /// let value = session.run((), metric.result().value::<f32>())?;
    /// assert!((value - 1f32.cosh().ln() / 4.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn mean_of_batches(name: &str, number: &Output, of: &Output) -> Metric {
        let rows = of.shape_tensor().gather(0i32, 0).cast(DType::Double);
        Metric::weighted_mean(name, number, rows)
    }

    /// The F score: the mean of precision and recall in which recall counts `beta` times as much.
    /// Predictions and labels (batch, class) are booleans, or numbers of which zero means no. See the
    /// example of [`Average`].
    #[track_caller]
    pub fn f_beta(
        name: &str,
        predictions: &Output,
        labels: impl Operand,
        classes: usize,
        beta: f64,
        average: Average,
    ) -> Metric {
        let graph = predictions.graph();
        keep(
            graph,
            name,
            Location::caller(),
            || {
                let flags = |x: Output| x.cast(DType::Bool).cast(DType::Double);
                let (predicted, label) =
                    (flags(predictions.clone()), flags(graph.operand(&labels, None)));
                let count = |x: Output| x.sum_along(0, false).with_shape([Some(classes)]);
                [
                    ("hits", count(&predicted * &label)),
                    ("predicted", count(predicted)),
                    ("labels", count(label)),
                ]
            },
            |[hits, predicted, labels]| {
                let weights = labels.clone();
                let (hits, predicted, labels) = match average {
                    Average::Micro => (hits.sum(), predicted.sum(), labels.sum()),
                    _ => (hits, predicted, labels),
                };
                let (precision, recall) = (ratio(&hits, &predicted), ratio(&hits, &labels));
                let square = beta * beta;
                let both = &precision * &recall * (1.0 + square);
                let scores = ratio(&both, &(precision * square + recall));
                match average {
                    Average::Micro => scores,
                    Average::Macro => scores.mean(),
                    Average::Weighted => ratio(&(scores * &weights).sum(), &weights.sum()),
                }
            },
        )
    }

    /// The part of the variance of targets (batch, output) that predictions explain: R², the mean of
    /// the outputs'.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.constant([[1.0f32], [2.0], [4.0]]);
    /// let metric = Metric::r2("r2", &predictions, [[1.0f32], [2.0], [3.0]], 1);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), metric.updated().value::<f32>())?, 0.5);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn r2(name: &str, predictions: &Output, targets: impl Operand, outputs: usize) -> Metric {
        let graph = predictions.graph();
        keep(
            graph,
            name,
            Location::caller(),
            || {
                let wide = |x: Output| x.cast(DType::Double).reshape([-1, outputs as i32]);
                let (predicted, target) = (
                    wide(predictions.clone()),
                    wide(graph.operand(&targets, Some(predictions.dtype()))),
                );
                let sum = |x: Output| x.sum_along(0, false).with_shape([Some(outputs)]);
                let rows = target.shape_tensor().gather(0i32, 0).cast(DType::Double);
                [
                    ("squares", sum(target.square())),
                    ("sum", sum(target.clone())),
                    ("residual", sum((target - predicted).square())),
                    ("count", rows.with_shape([])),
                ]
            },
            |[squares, sum, residual, count]| {
                let spread = squares - ratio(&sum.square(), &count);
                let explained = ratio(&(&spread - residual), &spread);
                explained.mean()
            },
        )
    }

    /// The mean over some classes of what predictions and labels have in common, over what either
    /// has; [`Metric::mean_iou`] takes all classes.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.constant([0i64, 0, 1, 2]);
    /// let metric = Metric::iou("iou", &predictions, [0i64, 1, 1, 2], 3, &[1]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), metric.updated().value::<f32>())?, 0.5);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn iou(
        name: &str,
        predictions: &Output,
        labels: impl Operand,
        classes: usize,
        of: &[i32],
    ) -> Metric {
        let graph = predictions.graph();
        let of = of.to_vec();
        keep(
            graph,
            name,
            Location::caller(),
            || {
                let one_hot = |x: Output| {
                    let hot = x.cast(DType::Int64).reshape([-1i32]).one_hot(classes);
                    hot.cast(DType::Double)
                };
                let (predicted, label) =
                    (one_hot(predictions.clone()), one_hot(graph.operand(&labels, None)));
                let count = |x: Output| x.sum_along(0, false).with_shape([Some(classes)]);
                let common = count(&predicted * &label);
                let either = count(predicted) + count(label) - &common;
                [("common", common), ("either", either)]
            },
            |[common, either]| {
                let (common, either) = (common.gather(of.clone(), 0), either.gather(of.clone(), 0));
                let present = either.greater(0.0).cast(DType::Double).sum();
                ratio(&ratio(&common, &either).sum(), &present)
            },
        )
    }
}
