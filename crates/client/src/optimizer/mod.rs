//! Optimisers: from a loss to the operation that trains.
//!
//! ```
//! use tensorfleet_client::optimizer::{Optimizer, Sgd};
//! use tensorfleet_client::{Graph, Session};
//!
//! # fn main() -> tensorfleet_client::Result<()> {
//! let graph = Graph::new();
//! let w = graph.variable("w", 5.0f32);
//! let loss = (w.read() - 2.0).square();
//! let train = Sgd::new(0.25).minimize(&loss);
//!
//! let session = Session::new(&graph)?;
//! session.run((), &graph.initializer())?;
//! for _ in 0..20 {
//!     session.run((), &train)?;
//! }
//! assert!((session.run((), w.value::<f32>())? - 2.0).abs() < 1e-3);
//! # Ok(())
//! # }
//! ```

mod adam;
mod adaptive;
mod clip;
mod ftrl;
mod gradient_descent;
pub mod schedule;

pub use self::adam::{Adam, Lamb};
pub use self::adaptive::{Adadelta, Adagrad, RmsProp};
pub use self::clip::{clip_by_global_norm, clip_by_norm, clip_by_value, global_norm};
pub use self::ftrl::Ftrl;
pub use self::gradient_descent::{Momentum, Sgd};

use std::panic::Location;

use tensorfleet_tensor::{DType, invalid_argument};

use crate::gradient::{Gradient, gradients};
use crate::graph::Graph;
use crate::output::{Operand, Operation, Output};
use crate::variable::Variable;

/// A variable with the gradient that is to be applied to it.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd, Update};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 3.0f32);
/// // Half of each gradient.
/// let sgd = Sgd::new(1.0);
/// let updates: Vec<Update> = sgd.compute_gradients(&w.read().square());
/// let halved: Vec<Update> =
///     updates.into_iter().map(|(gradient, w)| (gradient.map(|g| g * 0.5), w)).collect();
/// let train = sgd.apply_gradients(&halved);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// session.run((), &train)?;
/// assert_eq!(session.run((), w.value::<f32>())?, 0.0);
/// # Ok(())
/// # }
/// ```
pub type Update = (Gradient, Variable);

/// Trains variables by the gradients of a loss.
///
/// ```
/// use tensorfleet_client::Graph;
/// use tensorfleet_client::optimizer::{Adam, Optimizer, Sgd};
///
/// let graph = Graph::new();
/// let w = graph.variable("w", 3.0f32);
/// let loss = w.read().square();
/// let optimizers: [&dyn Optimizer; 2] = [&Sgd::new(0.1), &Adam::new(0.01)];
/// for optimizer in optimizers {
///     assert!(!optimizer.minimize(&loss).name().is_empty());
/// }
/// ```
pub trait Optimizer {
    /// The rule by which one training operation changes variables. What they share, such as decaying
    /// powers, is made here.
    #[track_caller]
    fn rule(&self, graph: &Graph) -> Box<dyn Rule>;

    /// The operation that takes one step towards a smaller loss.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 3.0f32);
    /// let train = Sgd::new(0.25).minimize(&w.read().square());
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &train)?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 1.5);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    fn minimize(&self, loss: &Output) -> Operation {
        self.apply_gradients(&self.compute_gradients(loss))
    }

    /// The gradients of a loss with respect to all variables that are trained and that it depends on.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    ///
    /// let graph = Graph::new();
    /// let (a, b) = (graph.variable("a", 1.0f32), graph.variable("b", 2.0f32));
    /// let updates = Sgd::new(0.1).compute_gradients(&(a.read() * 3.0));
    /// // Nothing is to be done to `b`.
    /// assert_eq!(updates.len(), 1);
    /// assert_eq!(updates[0].1.name(), a.name());
    /// # drop(b);
    /// ```
    #[track_caller]
    fn compute_gradients(&self, loss: &Output) -> Vec<Update> {
        self.compute_gradients_of(loss, &loss.graph().trainable_variables())
    }

    /// The gradients of a loss with respect to some variables, without those that it does not
    /// depend on.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    ///
    /// let graph = Graph::new();
    /// let (body, head) = (graph.variable("body", 1.0f32), graph.variable("head", 2.0f32));
    /// let loss = (body.read() * head.read()).square();
    /// let updates = Sgd::new(0.1).compute_gradients_of(&loss, &[head]);
    /// assert_eq!(updates[0].1.name(), "head");
    /// ```
    #[track_caller]
    fn compute_gradients_of(&self, loss: &Output, variables: &[Variable]) -> Vec<Update> {
        let gradients = gradients(loss, variables);
        let pairs = gradients.into_iter().zip(variables);
        let updates: Vec<Update> =
            pairs.filter_map(|(gradient, variable)| Some((gradient?, variable.clone()))).collect();
        if updates.is_empty() && loss.at.is_some() {
            let error = invalid_argument!(
                "{} does not depend on any variable that could be trained",
                loss.name()
            );
            loss.graph().record(error, Location::caller());
        }
        updates
    }

    /// The operation that applies gradients.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::{Adam, Optimizer, clip_by_global_norm};
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", [3.0f32, 4.0]);
    /// let adam = Adam::new(0.1);
    /// let updates = adam.compute_gradients(&w.read().square().sum());
    /// let train = adam.apply_gradients(&clip_by_global_norm(updates, 1.0));
    /// # let session = Session::new(&graph)?;
    /// # session.run((), &graph.initializer())?;
    /// session.run((), &train)?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    fn apply_gradients(&self, updates: &[Update]) -> Operation {
        let Some((_, first)) = updates.first() else {
            // Nothing to train is a mistake that is on record already.
            return Operation { graph: Graph::new(), node: None };
        };
        let graph = first.graph().clone();
        let rule = self.rule(&graph);
        let mut operations: Vec<Operation> = updates
            .iter()
            .map(|(gradient, variable)| match gradient {
                Gradient::Dense(gradient) => rule.dense(variable, gradient),
                Gradient::Sparse { .. } => rule.sparse(variable, gradient),
            })
            .collect();
        operations.extend(rule.finish(&operations));
        let (others, step) = {
            let state = graph.lock();
            (state.updates.clone(), state.global_step.clone())
        };
        operations.extend(others);
        if let Some(step) = step {
            let counted = graph.control_dependencies(&operations, || step.assign_add(1i64));
            operations.push(counted);
        }
        graph.group(&operations)
    }
}

/// How one training operation changes variables.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Rule};
/// use tensorfleet_client::{Graph, Operation, Output, Session, Variable};
///
/// /// Steps of one size, in the direction of the gradient's sign.
/// #[derive(Clone, Debug)]
/// struct SignDescent(f64);
///
/// impl Optimizer for SignDescent {
///     fn rule(&self, _: &Graph) -> Box<dyn Rule> {
///         Box::new(self.clone())
///     }
/// }
///
/// impl Rule for SignDescent {
///     fn dense(&self, variable: &Variable, gradient: &Output) -> Operation {
///         variable.assign_sub(gradient.sign() * self.0)
///     }
/// }
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", [3.0f32, -4.0]);
/// let train = SignDescent(0.5).minimize(&w.read().square().sum());
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// session.run((), &train)?;
/// assert_eq!(session.run((), w.value::<Vec<f32>>())?, [2.5, -3.5]);
/// # Ok(())
/// # }
/// ```
pub trait Rule {
    /// Changes a variable by a gradient.
    #[track_caller]
    fn dense(&self, variable: &Variable, gradient: &Output) -> Operation;

    /// Changes the rows of a variable that have a gradient.
    #[track_caller]
    fn sparse(&self, variable: &Variable, gradient: &Gradient) -> Operation {
        self.dense(variable, &gradient.to_dense())
    }

    /// Adds what comes after the changes of all variables.
    #[track_caller]
    fn finish(&self, _updates: &[Operation]) -> Vec<Operation> {
        Vec::new()
    }
}

/// A learning rate, or another number of an optimiser: fixed, or computed in each step.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 3.0f32);
/// let loss = w.read().square();
/// let fixed = Sgd::new(0.1);
/// let fed = graph.placeholder::<f32>([]);
/// let train = Sgd::new(&fed).minimize(&loss);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// session.run((&fed, 0.5f32), &train)?;
/// assert_eq!(session.run((), w.value::<f32>())?, 0.0);
/// # drop(fixed);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub enum Rate {
    /// A fixed number.
    Number(f64),
    /// Computed in each step, as by a [`schedule`].
    Output(Output),
}

impl From<f32> for Rate {
    fn from(rate: f32) -> Rate {
        Rate::Number(rate.into())
    }
}

impl From<f64> for Rate {
    fn from(rate: f64) -> Rate {
        Rate::Number(rate)
    }
}

impl From<Output> for Rate {
    fn from(rate: Output) -> Rate {
        Rate::Output(rate)
    }
}

impl From<&Output> for Rate {
    fn from(rate: &Output) -> Rate {
        Rate::Output(rate.clone())
    }
}

impl Rate {
    #[track_caller]
    fn of_type(&self, graph: &Graph, dtype: DType) -> Output {
        match self {
            Rate::Number(number) => number.to_output(graph, Some(dtype)),
            Rate::Output(output) => output.cast(dtype),
        }
    }
}

/// A variable of an optimiser that goes with one that it trains, and lives where that lives.
#[track_caller]
fn slot(variable: &Variable, name: &str, initial: f64) -> Variable {
    let graph = variable.graph();
    let (dtype, shape) = (variable.dtype(), variable.shape().to_shape().unwrap_or_default());
    graph.at_root(|| {
        graph.colocate_with(variable.handle(), || {
            let dims: Vec<i32> = shape.dims().iter().map(|&dim| dim as i32).collect();
            let value = initial.to_output(graph, Some(dtype));
            let filled = graph.op("Fill").input(dims).input(value).output();
            graph.state(&format!("{}/{name}", variable.name()), filled)
        })
    })
}

/// The rows of a sparse gradient, each row once.
#[track_caller]
fn unique_rows(gradient: &Gradient) -> (Output, Output) {
    match gradient {
        Gradient::Dense(values) => (values.clone(), values.clone()),
        Gradient::Sparse { values, indices, .. } => {
            let graph = values.graph();
            let [rows, positions] = graph.op("Unique").input(indices).outputs();
            let count = rows.size_tensor();
            let summed =
                graph.op("UnsortedSegmentSum").input(values).input(&positions).input(count);
            (summed.output(), rows)
        }
    }
}
