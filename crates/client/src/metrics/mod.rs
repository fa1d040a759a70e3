//! Metrics: of one batch, and kept over many.

mod classification;
mod regression;
mod scores;
mod thresholds;

pub use self::scores::Average;

use std::panic::Location;

use tensorfleet_tensor::DType;

use crate::graph::Graph;
use crate::output::{Operand, Operation, Output};
use crate::variable::Variable;

/// The part of rows whose greatest logit is at the number of their class.
///
/// ```
/// use tensorfleet_client::{Graph, Session, metrics};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let logits = graph.constant([[2.0f32, 1.0], [2.0, 1.0]]);
/// let accuracy = metrics::accuracy(&logits, [0i64, 1]);
/// assert_eq!(Session::new(&graph)?.run((), accuracy.value::<f32>())?, 0.5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn accuracy(logits: &Output, classes: impl Operand) -> Output {
    is_greatest(logits, classes).mean()
}

/// The part of rows among whose `k` greatest logits their class is.
///
/// ```
/// use tensorfleet_client::{Graph, Session, metrics};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let logits = graph.constant([[3.0f32, 2.0, 1.0]]);
/// let in_top_two = metrics::top_k_accuracy(&logits, [1i64], 2);
/// assert_eq!(Session::new(&graph)?.run((), in_top_two.value::<f32>())?, 1.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn top_k_accuracy(logits: &Output, classes: impl Operand, k: i32) -> Output {
    is_among(logits, classes, k).mean()
}

/// One for each row whose greatest logit is at the number of its class.
#[track_caller]
fn is_greatest(logits: &Output, classes: impl Operand) -> Output {
    let classes = logits.graph().operand(&classes, None).cast(DType::Int64);
    logits.argmax(-1).equal(classes).cast(DType::Float)
}

#[track_caller]
fn is_among(logits: &Output, classes: impl Operand, k: i32) -> Output {
    let op = logits.graph().op("InTopKV2").input(logits).input(classes).input(k);
    op.output().cast(DType::Float)
}

/// A number about all steps that it has been updated with, as the accuracy on a whole set of
/// examples: what TensorFlow's `tf.compat.v1.metrics` are.
///
/// ```
/// use tensorfleet_client::{Graph, Session, metrics::Metric};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None]);
/// let mean = Metric::mean("mean", &x);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// session.run((&x, [1.0f32, 2.0]), mean.update())?;
/// session.run((&x, [6.0f32]), mean.update())?;
/// assert_eq!(session.run((), mean.result().value::<f32>())?, 3.0);
/// session.run((), mean.reset())?;
/// assert_eq!(session.run((&x, [5.0f32]), mean.updated().value::<f32>())?, 5.0);
/// # Ok(())
/// # }
/// ```
///
/// What it keeps are variables, of which [`Graph::initializer`](crate::Graph::initializer) takes
/// care. Like other variables they are shared by all sessions on the same servers, so that several
/// workers may update one metric.
#[derive(Clone, Debug)]
pub struct Metric {
    variables: Vec<Variable>,
    update: Operation,
    updated: Output,
    result: Output,
    reset: Operation,
}

impl Metric {
    /// The mean of all elements of `values`.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let metric = Metric::mean("mean", &graph.constant([1.0f32, 2.0, 6.0]));
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 3.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn mean(name: &str, values: &Output) -> Metric {
        let one = values.graph().constant(1.0f32);
        Metric::weighted_mean(name, values, one)
    }

    /// The mean of all elements of `values`, of which some count more. The weights must have a shape
    /// that can be broadcast to that of the values.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let values = graph.constant([1.0f32, 5.0]);
    /// let metric = Metric::weighted_mean("mean", &values, [3.0f32, 1.0]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 2.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn weighted_mean(name: &str, values: &Output, weights: impl Operand) -> Metric {
        let graph = values.graph();
        keep(
            graph,
            name,
            Location::caller(),
            || {
                let values = values.cast(DType::Double);
                let weights = graph.operand(&weights, None).cast(DType::Double);
                let weights = weights * graph.op("OnesLike").input(&values).output();
                [("total", (values * &weights).sum()), ("count", weights.sum())]
            },
            |[total, count]| ratio(&total, &count),
        )
    }

    /// Takes the values of a step in.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let mean = Metric::mean("mean", &graph.constant([3.0f32, 5.0]));
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), mean.update())?;
    /// assert_eq!(session.run((), mean.result().value::<f32>())?, 4.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn update(&self) -> &Operation {
        &self.update
    }

    /// Takes the values of a step in; its value is the result after that.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let mean = Metric::mean("mean", &graph.constant([3.0f32, 5.0]));
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), mean.updated().value::<f32>())?, 4.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn updated(&self) -> &Output {
        &self.updated
    }

    /// The result so far; zero if there were no values.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let mean = Metric::mean("mean", &graph.constant([3.0f32, 5.0]));
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), mean.result().value::<f32>())?, 0.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn result(&self) -> &Output {
        &self.result
    }

    /// Starts anew.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let mean = Metric::mean("mean", &graph.constant([3.0f32, 5.0]));
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), mean.update())?;
    /// session.run((), mean.reset())?;
    /// assert_eq!(session.run((), mean.result().value::<f32>())?, 0.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reset(&self) -> &Operation {
        &self.reset
    }

    /// The variables that it keeps.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::metrics::Metric;
    ///
    /// let graph = Graph::new();
    /// let mean = Metric::mean("mean", &graph.constant([4.0f32]));
    /// let names: Vec<&str> = mean.variables().iter().map(|v| v.name()).collect();
    /// assert_eq!(names, ["mean/total", "mean/count"]);
    /// ```
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }
}

/// One number over another; zero if that is zero.
fn ratio(part: &Output, whole: &Output) -> Output {
    part.graph().op("DivNoNan").input(part).input(whole).output()
}

/// Makes a metric of sums: what each step adds to them, and the result that they give.
fn keep<const N: usize>(
    graph: &Graph,
    name: &str,
    caller: &'static Location<'static>,
    amounts: impl FnOnce() -> [(&'static str, Output); N],
    result: impl Fn([Output; N]) -> Output,
) -> Metric {
    graph.layer(name, caller, || {
        let (mut variables, mut added, mut reset) = (Vec::new(), Vec::new(), Vec::new());
        for (name, amount) in amounts() {
            let shape = amount.shape().to_shape().unwrap_or_default();
            let zeros = graph.zeros(DType::Double, shape.dims());
            let sum = graph.state(name, &zeros);
            added.push(sum.assign_add(&amount));
            reset.push(sum.assign(&zeros));
            variables.push(sum);
        }
        let update = graph.group(&added);
        let now = || result(std::array::from_fn(|index| variables[index].read()));
        let updated = graph.control_dependencies([&update], || now().cast(DType::Float));
        let result = now().cast(DType::Float);
        Metric { update, updated, result, reset: graph.group(&reset), variables }
    })
}
