//! Metrics of probabilities at one threshold or at many.

use std::panic::Location;

use tensorfleet_tensor::DType;

use super::{Metric, keep, ratio};
use crate::graph::Graph;
use crate::output::{Operand, Output};

/// What was counted at each threshold.
pub(super) struct Counts {
    pub(super) true_positives: Output,
    pub(super) false_negatives: Output,
    pub(super) false_positives: Output,
    pub(super) true_negatives: Output,
}

/// Thresholds from zero to one. The curve is whole if the first and the last are outside.
pub(super) fn levels(count: usize, is_whole: bool) -> Vec<f64> {
    let (steps, beyond) = (count.max(2), if is_whole { 1e-7 } else { 0.0 });
    let level = |step: usize| match step {
        0 => -beyond,
        step if step + 1 == steps => 1.0 + beyond,
        step => step as f64 / (steps - 1) as f64,
    };
    (0..steps).map(level).collect()
}

/// A metric of what is counted at thresholds.
pub(super) fn counted(
    name: &str,
    caller: &'static Location<'static>,
    probabilities: &Output,
    labels: impl Operand,
    levels: Vec<f64>,
    result: impl Fn(Counts) -> Output,
) -> Metric {
    let graph = probabilities.graph();
    let steps = levels.len();
    keep(
        graph,
        name,
        caller,
        || {
            let levels = graph.constant(([steps, 1], levels));
            let row = |x: Output| x.cast(DType::Double).reshape([1i32, -1]);
            let above = row(probabilities.clone()).greater(&levels).cast(DType::Double);
            let label = row(graph.operand(&labels, None).cast(DType::Bool));
            let other = 1.0 - &label;
            let count = |x: Output| x.sum_along(1, false).with_shape([Some(steps)]);
            [
                ("true_positives", count(&above * &label)),
                ("false_negatives", count((1.0 - &above) * &label)),
                ("false_positives", count(&above * &other)),
                ("true_negatives", count((1.0 - &above) * &other)),
            ]
        },
        |[true_positives, false_negatives, false_positives, true_negatives]| {
            result(Counts { true_positives, false_negatives, false_positives, true_negatives })
        },
    )
}

/// Which of the two rates of a curve is wanted, and which must be at least so high.
fn best_where(wanted: &Output, other: &Output, at_least: f64) -> Output {
    let zeros = wanted.zeros_like();
    wanted.where_or(other.greater_equal(at_least), zeros).max()
}

/// Counts that are metrics of their own.
macro_rules! counts {
    ($($(#[$doc:meta])+ $name:ident $expected:literal;)+) => {
        impl Metric {
            $(
                $(#[$doc])+
                ///
                /// ```
                /// use tensorfleet_client::metrics::Metric;
                /// use tensorfleet_client::{Graph, Session};
                ///
                /// # fn main() -> tensorfleet_client::Result<()> {
                /// let graph = Graph::new();
                /// let probabilities = graph.constant([0.9f32, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2]);
                /// let labels = [true, true, true, false, true, true, false];
                #[doc = concat!(" let metric = Metric::", stringify!($name), "(\"count\", &probabilities, labels, 0.5);")]
                /// let session = Session::new(&graph)?;
                /// session.run((), &graph.initializer())?;
                #[doc = concat!(" assert_eq!(session.run((), metric.updated().value::<f32>())?, ", stringify!($expected), ");")]
                /// # Ok(())
                /// # }
                /// ```
                #[track_caller]
                pub fn $name(
                    name: &str,
                    probabilities: &Output,
                    labels: impl Operand,
                    threshold: f64,
                ) -> Metric {
                    let caller = Location::caller();
                    counted(name, caller, probabilities, labels, vec![threshold], |counts| counts.$name.sum())
                }
            )+
        }
    };
}

counts! {
    /// How many labels are true and have a probability above the threshold.
    true_positives 3.0;
    /// How many labels are false and have a probability up to the threshold.
    true_negatives 1.0;
    /// How many labels are false and have a probability above the threshold.
    false_positives 1.0;
    /// How many labels are true and have a probability up to the threshold.
    false_negatives 2.0;
}

/// The best of one rate where another is high enough.
macro_rules! best {
    ($($(#[$doc:meta])+ $name:ident $wanted:ident $other:ident;)+) => {
        impl Metric {
            $(
                $(#[$doc])+
                ///
                /// ```
                /// use tensorfleet_client::metrics::Metric;
                /// use tensorfleet_client::{Graph, Session};
                ///
                /// # fn main() -> tensorfleet_client::Result<()> {
                /// let graph = Graph::new();
                /// // Told apart without a mistake.
                /// let probabilities = graph.constant([0.9f32, 0.8, 0.2, 0.1]);
                /// let labels = [true, true, false, false];
                #[doc = concat!(" let metric = Metric::", stringify!($name), "(\"rate\", &probabilities, labels, 0.9, 200);")]
                /// let session = Session::new(&graph)?;
                /// session.run((), &graph.initializer())?;
                /// assert_eq!(session.run((), metric.updated().value::<f32>())?, 1.0);
                /// # Ok(())
                /// # }
                /// ```
                #[track_caller]
                pub fn $name(
                    name: &str,
                    probabilities: &Output,
                    labels: impl Operand,
                    at_least: f64,
                    thresholds: usize,
                ) -> Metric {
                    let (caller, levels) = (Location::caller(), levels(thresholds, false));
                    counted(name, caller, probabilities, labels, levels, |counts| {
                        best_where(&counts.$wanted(), &counts.$other(), at_least)
                    })
                }
            )+
        }
    };
}

best! {
    /// The highest sensitivity (the recall) of all thresholds whose specificity is at least so high.
    sensitivity_at_specificity recall specificity;
    /// The highest specificity of all thresholds whose sensitivity (the recall) is at least so high.
    specificity_at_sensitivity specificity recall;
    /// The highest precision of all thresholds whose recall is at least so high.
    precision_at_recall precision recall;
    /// The highest recall of all thresholds whose precision is at least so high.
    recall_at_precision recall precision;
}

impl Counts {
    fn recall(&self) -> Output {
        ratio(&self.true_positives, &(&self.true_positives + &self.false_negatives))
    }

    fn precision(&self) -> Output {
        ratio(&self.true_positives, &(&self.true_positives + &self.false_positives))
    }

    fn specificity(&self) -> Output {
        ratio(&self.true_negatives, &(&self.true_negatives + &self.false_positives))
    }
}

impl Metric {
    /// The area under the curve of precision over recall, of probabilities, at so many thresholds
    /// (Keras takes 200). Between them true positives grow in proportion, as Keras has it.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, metrics::Metric};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let probabilities = graph.constant([0.9f32, 0.2, 0.6]);
    /// let area = Metric::auc_pr("auc", &probabilities, [true, false, true], 200);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert!((session.run((), area.updated().value::<f32>())? - 1.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn auc_pr(
        name: &str,
        probabilities: &Output,
        labels: impl Operand,
        thresholds: usize,
    ) -> Metric {
        let (caller, levels) = (Location::caller(), levels(thresholds, true));
        let count = levels.len() as i32 - 1;
        counted(name, caller, probabilities, labels, levels, |counts| {
            let graph: &Graph = counts.true_positives.graph();
            let lower = |x: &Output| x.slice(&[0], &[count]);
            let upper = |x: &Output| x.slice(&[1], &[count]);
            let hits = &counts.true_positives;
            let found = hits + &counts.false_positives;
            let grown = lower(hits) - upper(hits);
            let slope = ratio(&grown, &(lower(&found) - upper(&found)).maximum(0.0));
            let intercept = upper(hits) - &slope * upper(&found);
            let both = lower(&found).greater(0.0).logical_and(upper(&found).greater(0.0));
            let growth = ratio(&lower(&found), &upper(&found).maximum(0.0));
            let growth = growth.where_or(both, graph.constant(1.0f64));
            let all = (upper(hits) + upper(&counts.false_negatives)).maximum(0.0);
            ratio(&(slope * (grown + intercept * growth.ln())), &all).sum()
        })
    }
}
