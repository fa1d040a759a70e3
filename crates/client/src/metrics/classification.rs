//! How well classes are told apart.

use std::panic::Location;

use tensorfleet_tensor::DType;

use super::thresholds::{counted, levels};
use super::{Metric, is_among, is_greatest, keep, ratio};
use crate::output::{Operand, Output};

/// Keeps ratios of nothing finite, as TensorFlow does.
const EPSILON: f64 = 1e-6;

impl Metric {
    /// The part of rows whose greatest logit is at the number of their class.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let logits = graph.placeholder::<f32>([None, Some(2)]);
    /// let classes = graph.placeholder::<i64>([None]);
    /// let accuracy = Metric::accuracy("accuracy", &logits, &classes);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run(((&logits, [[2.0f32, 1.0]]), (&classes, [0i64])), accuracy.update())?;
    /// session.run(((&logits, [[2.0f32, 1.0]]), (&classes, [1i64])), accuracy.update())?;
    /// assert_eq!(session.run((), accuracy.result().value::<f32>())?, 0.5);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn accuracy(name: &str, logits: &Output, classes: impl Operand) -> Metric {
        Metric::mean(name, &is_greatest(logits, classes))
    }

    /// The part of rows among whose `k` greatest logits their class is.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let logits = graph.constant([[3.0f32, 2.0, 1.0], [1.0, 2.0, 3.0]]);
    /// let metric = Metric::top_k_accuracy("top_2", &logits, [1i64, 0], 2);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 0.5).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn top_k_accuracy(name: &str, logits: &Output, classes: impl Operand, k: i32) -> Metric {
        Metric::mean(name, &is_among(logits, classes, k))
    }

    /// The part of probabilities that are on their label's side of a threshold. Labels are 0 and 1,
    /// or booleans.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let probabilities = graph.constant([0.9f32, 0.4, 0.2]);
    /// let metric = Metric::binary_accuracy("accuracy", &probabilities, [true, true, false], 0.3);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 1.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn binary_accuracy(
        name: &str,
        probabilities: &Output,
        labels: impl Operand,
        threshold: f64,
    ) -> Metric {
        let labels = probabilities.graph().operand(&labels, None).cast(DType::Bool);
        Metric::mean(name, &probabilities.greater(threshold).equal(labels))
    }

    /// The mean cross entropy of each row's softmax with the number of its class.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let logits = graph.constant([[0.0f32, 0.0]]);
    /// let metric = Metric::sparse_softmax_cross_entropy("loss", &logits, [1i64]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 2.0f32.ln()).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn sparse_softmax_cross_entropy(
        name: &str,
        logits: &Output,
        classes: impl Operand,
    ) -> Metric {
        let op = logits.graph().op("SparseSoftmaxCrossEntropyWithLogits");
        Metric::mean(name, &op.input(logits).input(classes).output())
    }

    /// Of what was predicted to be so, the part that is. Predictions and labels are booleans, or
    /// numbers of which zero means no.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.constant([true, true, false, false]);
    /// let metric = Metric::precision("precision", &predictions, [true, false, true, true]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 0.5).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn precision(name: &str, predictions: &Output, labels: impl Operand) -> Metric {
        hits(name, Location::caller(), predictions, labels, |hits, predicted, _| (hits, predicted))
    }

    /// Of what is so, the part that was predicted to be. Predictions and labels are booleans, or
    /// numbers of which zero means no.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.constant([true, true, false, false]);
    /// let metric = Metric::recall("recall", &predictions, [true, false, true, true]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - (1.0 / 3.0)).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn recall(name: &str, predictions: &Output, labels: impl Operand) -> Metric {
        hits(name, Location::caller(), predictions, labels, |hits, _, true_ones| (hits, true_ones))
    }

    /// The area under the curve of true positives over false positives, of probabilities, at so
    /// many thresholds (TensorFlow takes 200).
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, metrics::Metric};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let probabilities = graph.placeholder::<f32>([None]);
    /// let labels = graph.placeholder::<bool>([None]);
    /// let auc = Metric::auc("auc", &probabilities, &labels, 200);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let feeds = ((&probabilities, [0.9f32, 0.2, 0.6]), (&labels, [true, false, true]));
    /// let area = session.run(feeds, auc.updated().value::<f32>())?;
    /// assert!((area - 1.0).abs() < 1e-4);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn auc(
        name: &str,
        probabilities: &Output,
        labels: impl Operand,
        thresholds: usize,
    ) -> Metric {
        let (caller, levels) = (Location::caller(), levels(thresholds, true));
        let all = levels.len() as i32 - 1;
        counted(name, caller, probabilities, labels, levels, |counts| {
            let found = &counts.true_positives + &counts.false_negatives + EPSILON;
            let height = (&counts.true_positives + EPSILON) / found;
            let others = &counts.false_positives + &counts.true_negatives + EPSILON;
            let along = &counts.false_positives / others;
            let widths = along.slice(&[0], &[all]) - along.slice(&[1], &[all]);
            let heights = height.slice(&[0], &[all]) + height.slice(&[1], &[all]);
            (widths * heights * 0.5).sum()
        })
    }

    /// The mean over classes of what predictions and labels have in common, over what either has,
    /// for segmentation. Predictions and labels are numbers of classes.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.constant([0i64, 0, 1, 1]);
    /// let metric = Metric::mean_iou("iou", &predictions, [0i64, 1, 1, 1], 2);
    /// // One of two pixels of class 0, and two of three of class 1.
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - ((1.0 / 2.0 + 2.0 / 3.0) / 2.0)).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn mean_iou(
        name: &str,
        predictions: &Output,
        labels: impl Operand,
        classes: usize,
    ) -> Metric {
        let graph = predictions.graph();
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
                // How often each class was taken for each.
                let confused = label.matmul_with(&predicted, true, false);
                [("confusion", confused.with_shape([Some(classes), Some(classes)]))]
            },
            |[confused]| {
                let common = graph.op("DiagPart").input(&confused).output();
                let either = confused.sum_along(0, false) + confused.sum_along(1, false) - &common;
                let present = either.greater(0.0).cast(DType::Double).sum();
                ratio(&ratio(&common, &either).sum(), &present)
            },
        )
    }
}

/// A ratio of two of: right predictions, all predictions, all that should have been predicted.
fn hits(
    name: &str,
    caller: &'static Location<'static>,
    predictions: &Output,
    labels: impl Operand,
    choose: impl Fn(Output, Output, Output) -> (Output, Output),
) -> Metric {
    let graph = predictions.graph();
    keep(
        graph,
        name,
        caller,
        || {
            let flags = |x: Output| x.cast(DType::Bool).cast(DType::Double);
            let predicted = flags(predictions.clone());
            let label = flags(graph.operand(&labels, None));
            let (part, whole) = choose((&predicted * &label).sum(), predicted.sum(), label.sum());
            [("part", part), ("whole", whole)]
        },
        |[part, whole]| ratio(&part, &whole),
    )
}
