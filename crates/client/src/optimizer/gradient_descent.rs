//! Gradient descent, with and without momentum.

use super::{Optimizer, Rate, Rule, slot, unique_rows};
use crate::gradient::Gradient;
use crate::graph::Graph;
use crate::output::{Operation, Output};
use crate::variable::Variable;

/// Stochastic gradient descent: `w -= rate * gradient`.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let loss = (w.read() - 2.0).square();
/// let train = Sgd::new(0.1).minimize(&loss);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// for _ in 0..50 {
///     session.run((), &train)?;
/// }
/// assert!(session.run((), loss.value::<f32>())? < 0.5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Sgd {
    rate: Rate,
}

impl Sgd {
    /// Gradient descent with a learning rate.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Sgd::new(0.1).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn new(rate: impl Into<Rate>) -> Sgd {
        Sgd { rate: rate.into() }
    }
}

impl Optimizer for Sgd {
    fn rule(&self, _: &Graph) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Rule for Sgd {
    #[track_caller]
    fn dense(&self, variable: &Variable, gradient: &Output) -> Operation {
        let graph = variable.graph();
        let rate = self.rate.of_type(graph, variable.dtype());
        graph.colocate_with(variable.handle(), || {
            graph
                .op("ResourceApplyGradientDescent")
                .input(variable.handle())
                .input(&rate)
                .input(gradient)
                .build()
        })
    }

    /// Rows that come several times are simply subtracted several times.
    #[track_caller]
    fn sparse(&self, variable: &Variable, gradient: &Gradient) -> Operation {
        let Gradient::Sparse { values, indices, .. } = gradient else {
            return self.dense(variable, gradient.values());
        };
        let graph = variable.graph();
        let step = values * self.rate.of_type(graph, variable.dtype());
        graph.colocate_with(variable.handle(), || {
            graph
                .op("ResourceScatterSub")
                .input(variable.handle())
                .input(indices)
                .input(&step)
                .attr("dtype", variable.dtype())
                .build()
        })
    }
}

/// Gradient descent that keeps part of its speed: `v = momentum * v + gradient; w -= rate * v`.
///
/// ```
/// use tensorfleet_client::optimizer::{Momentum, Optimizer};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let loss = (w.read() - 2.0).square();
/// let train = Momentum::new(0.05, 0.5).minimize(&loss);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// for _ in 0..50 {
///     session.run((), &train)?;
/// }
/// assert!(session.run((), loss.value::<f32>())? < 0.5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Momentum {
    rate: Rate,
    momentum: Rate,
    nesterov: bool,
}

impl Momentum {
    /// Gradient descent with momentum.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Momentum, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Momentum::new(0.05, 0.5).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn new(rate: impl Into<Rate>, momentum: impl Into<Rate>) -> Momentum {
        Momentum { rate: rate.into(), momentum: momentum.into(), nesterov: false }
    }

    /// Takes the gradient where the momentum leads, as Nesterov proposed.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Momentum, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Momentum::new(0.05, 0.5).nesterov().minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn nesterov(mut self) -> Momentum {
        self.nesterov = true;
        self
    }
}

impl Optimizer for Momentum {
    fn rule(&self, _: &Graph) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Rule for Momentum {
    #[track_caller]
    fn dense(&self, variable: &Variable, gradient: &Output) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let speed = slot(variable, "Momentum", 0.0);
        let (rate, momentum) =
            (self.rate.of_type(graph, dtype), self.momentum.of_type(graph, dtype));
        graph.colocate_with(variable.handle(), || {
            graph
                .op("ResourceApplyMomentum")
                .input(variable.handle())
                .input(speed.handle())
                .input(&rate)
                .input(gradient)
                .input(&momentum)
                .attr("use_nesterov", self.nesterov)
                .build()
        })
    }

    #[track_caller]
    fn sparse(&self, variable: &Variable, gradient: &Gradient) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let speed = slot(variable, "Momentum", 0.0);
        let (values, rows) = unique_rows(gradient);
        let (rate, momentum) =
            (self.rate.of_type(graph, dtype), self.momentum.of_type(graph, dtype));
        graph.colocate_with(variable.handle(), || {
            graph
                .op("ResourceSparseApplyMomentum")
                .input(variable.handle())
                .input(speed.handle())
                .input(&rate)
                .input(&values)
                .input(&rows)
                .input(&momentum)
                .attr("use_nesterov", self.nesterov)
                .build()
        })
    }
}
