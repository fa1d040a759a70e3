//! Optimisers that scale each element's steps by the gradients that it has seen.

use super::{Optimizer, Rate, Rule, slot, unique_rows};
use crate::gradient::Gradient;
use crate::graph::Graph;
use crate::output::{Operation, Output};
use crate::variable::Variable;

/// Divides by the root of the sum of squares of all gradients so far.
///
/// ```
/// use tensorfleet_client::optimizer::{Adagrad, Optimizer};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let loss = (w.read() - 2.0).square();
/// let train = Adagrad::new(1.0).minimize(&loss);
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
pub struct Adagrad {
    rate: Rate,
    initial: f64,
    epsilon: f64,
}

impl Adagrad {
    /// Adagrad with a learning rate; the sum of squares starts at 0.1.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adagrad, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adagrad::new(1.0).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn new(rate: impl Into<Rate>) -> Adagrad {
        Adagrad { rate: rate.into(), initial: 0.1, epsilon: 1e-7 }
    }

    /// Sets what the sum of squares starts at.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adagrad, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adagrad::new(1.0).initial_accumulator(0.01).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn initial_accumulator(mut self, initial: f64) -> Adagrad {
        self.initial = initial;
        self
    }
}

impl Optimizer for Adagrad {
    fn rule(&self, _: &Graph) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Rule for Adagrad {
    #[track_caller]
    fn dense(&self, variable: &Variable, gradient: &Output) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let sum = slot(variable, "Adagrad", self.initial);
        let (rate, epsilon) =
            (self.rate.of_type(graph, dtype), Rate::from(self.epsilon).of_type(graph, dtype));
        graph.colocate_with(variable.handle(), || {
            let op = graph.op("ResourceApplyAdagradV2").input(variable.handle());
            op.input(sum.handle()).input(&rate).input(&epsilon).input(gradient).build()
        })
    }

    #[track_caller]
    fn sparse(&self, variable: &Variable, gradient: &Gradient) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let sum = slot(variable, "Adagrad", self.initial);
        let (values, rows) = unique_rows(gradient);
        let (rate, epsilon) =
            (self.rate.of_type(graph, dtype), Rate::from(self.epsilon).of_type(graph, dtype));
        graph.colocate_with(variable.handle(), || {
            let op = graph.op("ResourceSparseApplyAdagradV2").input(variable.handle());
            let op = op.input(sum.handle()).input(&rate).input(&epsilon);
            op.input(&values).input(&rows).build()
        })
    }
}

/// Scales steps by the ratio of recent steps to recent gradients.
///
/// ```
/// use tensorfleet_client::optimizer::{Adadelta, Optimizer};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let loss = (w.read() - 2.0).square();
/// let train = Adadelta::new(100.0).minimize(&loss);
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
pub struct Adadelta {
    rate: Rate,
    rho: f64,
    epsilon: f64,
}

impl Adadelta {
    /// Adadelta with a learning rate, a decay of 0.95 and an epsilon of 1e-7.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adadelta, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adadelta::new(100.0).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn new(rate: impl Into<Rate>) -> Adadelta {
        Adadelta { rate: rate.into(), rho: 0.95, epsilon: 1e-7 }
    }

    /// Sets how much of the past is kept in each step.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adadelta, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adadelta::new(100.0).rho(0.9).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn rho(mut self, rho: f64) -> Adadelta {
        self.rho = rho;
        self
    }

    /// Sets what keeps divisors from being zero.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adadelta, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adadelta::new(10.0).epsilon(1e-4).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn epsilon(mut self, epsilon: f64) -> Adadelta {
        self.epsilon = epsilon;
        self
    }
}

impl Optimizer for Adadelta {
    fn rule(&self, _: &Graph) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Adadelta {
    #[track_caller]
    fn apply(&self, variable: &Variable, values: &Output, rows: Option<&Output>) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let gradients = slot(variable, "Adadelta", 0.0);
        let steps = slot(variable, "Adadelta_1", 0.0);
        let number = |value: f64| Rate::from(value).of_type(graph, dtype);
        let (rate, rho, epsilon) =
            (self.rate.of_type(graph, dtype), number(self.rho), number(self.epsilon));
        let op = match rows {
            Some(_) => "ResourceSparseApplyAdadelta",
            None => "ResourceApplyAdadelta",
        };
        graph.colocate_with(variable.handle(), || {
            let op = graph.op(op).input(variable.handle());
            let op = op.input(gradients.handle()).input(steps.handle());
            let op = op.input(&rate).input(&rho).input(&epsilon).input(values);
            match rows {
                Some(rows) => op.input(rows).build(),
                None => op.build(),
            }
        })
    }
}

impl Rule for Adadelta {
    #[track_caller]
    fn dense(&self, variable: &Variable, gradient: &Output) -> Operation {
        self.apply(variable, gradient, None)
    }

    #[track_caller]
    fn sparse(&self, variable: &Variable, gradient: &Gradient) -> Operation {
        let (values, rows) = unique_rows(gradient);
        self.apply(variable, &values, Some(&rows))
    }
}

/// Divides by the root of a decaying mean of squares.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, RmsProp};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let loss = (w.read() - 2.0).square();
/// let train = RmsProp::new(0.1).minimize(&loss);
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
pub struct RmsProp {
    rate: Rate,
    rho: f64,
    momentum: f64,
    epsilon: f64,
    centered: bool,
}

impl RmsProp {
    /// RMSProp with a learning rate, a decay of 0.9, no momentum and an epsilon of 1e-10.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Optimizer, RmsProp};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = RmsProp::new(0.1).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn new(rate: impl Into<Rate>) -> RmsProp {
        RmsProp { rate: rate.into(), rho: 0.9, momentum: 0.0, epsilon: 1e-10, centered: false }
    }

    /// Sets how much of the past is kept in each step.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Optimizer, RmsProp};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = RmsProp::new(0.1).rho(0.95).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn rho(mut self, rho: f64) -> RmsProp {
        self.rho = rho;
        self
    }

    /// Keeps part of the speed.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Optimizer, RmsProp};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = RmsProp::new(0.05).momentum(0.5).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn momentum(mut self, momentum: f64) -> RmsProp {
        self.momentum = momentum;
        self
    }

    /// Sets what keeps divisors from being zero.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Optimizer, RmsProp};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = RmsProp::new(0.1).epsilon(1e-6).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn epsilon(mut self, epsilon: f64) -> RmsProp {
        self.epsilon = epsilon;
        self
    }

    /// Divides by the estimated variance instead of the mean of squares.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Optimizer, RmsProp};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = RmsProp::new(0.05).epsilon(1e-3).centered().minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn centered(mut self) -> RmsProp {
        self.centered = true;
        self
    }

    #[track_caller]
    fn apply(&self, variable: &Variable, values: &Output, rows: Option<&Output>) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let mean = self.centered.then(|| slot(variable, "RMSProp_mg", 0.0));
        // TensorFlow starts the mean of squares at one.
        let squares = slot(variable, "RMSProp", 1.0);
        let speed = slot(variable, "RMSProp_1", 0.0);
        let number = |value: f64| Rate::from(value).of_type(graph, dtype);
        let rate = self.rate.of_type(graph, dtype);
        let (rho, momentum, epsilon) =
            (number(self.rho), number(self.momentum), number(self.epsilon));
        let op = match (self.centered, rows.is_some()) {
            (false, false) => "ResourceApplyRMSProp",
            (false, true) => "ResourceSparseApplyRMSProp",
            (true, false) => "ResourceApplyCenteredRMSProp",
            (true, true) => "ResourceSparseApplyCenteredRMSProp",
        };
        graph.colocate_with(variable.handle(), || {
            let mut op = graph.op(op).input(variable.handle());
            if let Some(mean) = &mean {
                op = op.input(mean.handle());
            }
            let op = op.input(squares.handle()).input(speed.handle());
            let op = op.input(&rate).input(&rho).input(&momentum).input(&epsilon).input(values);
            match rows {
                Some(rows) => op.input(rows).build(),
                None => op.build(),
            }
        })
    }
}

impl Optimizer for RmsProp {
    fn rule(&self, _: &Graph) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Rule for RmsProp {
    #[track_caller]
    fn dense(&self, variable: &Variable, gradient: &Output) -> Operation {
        self.apply(variable, gradient, None)
    }

    #[track_caller]
    fn sparse(&self, variable: &Variable, gradient: &Gradient) -> Operation {
        let (values, rows) = unique_rows(gradient);
        self.apply(variable, &values, Some(&rows))
    }
}
