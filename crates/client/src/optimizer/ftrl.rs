//! Follow the regularised leader, for sparse linear models.

use super::{Optimizer, Rate, Rule, slot, unique_rows};
use crate::gradient::Gradient;
use crate::graph::Graph;
use crate::output::{Operation, Output};
use crate::variable::Variable;

/// Follow the regularised leader, with L1 and L2 regularisation.
///
/// ```
/// use tensorfleet_client::optimizer::{Ftrl, Optimizer};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let loss = (w.read() - 2.0).square();
/// let train = Ftrl::new(1.0).minimize(&loss);
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
pub struct Ftrl {
    rate: Rate,
    power: f64,
    initial: f64,
    l1: f64,
    l2: f64,
    shrinkage: f64,
}

impl Ftrl {
    /// FTRL with a learning rate, without regularisation.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Ftrl, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Ftrl::new(1.0).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn new(rate: impl Into<Rate>) -> Ftrl {
        Ftrl { rate: rate.into(), power: -0.5, initial: 0.1, l1: 0.0, l2: 0.0, shrinkage: 0.0 }
    }

    /// Sets the strength of L1 regularisation.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Ftrl, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Ftrl::new(1.0).l1(1e-4).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn l1(mut self, strength: f64) -> Ftrl {
        self.l1 = strength;
        self
    }

    /// Sets the strength of L2 regularisation.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Ftrl, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Ftrl::new(1.0).l2(1e-4).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn l2(mut self, strength: f64) -> Ftrl {
        self.l2 = strength;
        self
    }

    /// Sets the strength of L2 regularisation that counts as part of the gradient.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Ftrl, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Ftrl::new(1.0).l2_shrinkage(1e-4).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn l2_shrinkage(mut self, strength: f64) -> Ftrl {
        self.shrinkage = strength;
        self
    }

    /// Sets the power, at most zero, by which the learning rate falls.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Ftrl, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Ftrl::new(0.3).learning_rate_power(0.0).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn learning_rate_power(mut self, power: f64) -> Ftrl {
        self.power = power;
        self
    }

    #[track_caller]
    fn apply(&self, variable: &Variable, values: &Output, rows: Option<&Output>) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let sum = slot(variable, "Ftrl", self.initial);
        let linear = slot(variable, "Ftrl_1", 0.0);
        let number = |value: f64| Rate::from(value).of_type(graph, dtype);
        let rate = self.rate.of_type(graph, dtype);
        let numbers = [self.l1, self.l2, self.shrinkage, self.power].map(number);
        let op = match rows {
            Some(_) => "ResourceSparseApplyFtrlV2",
            None => "ResourceApplyFtrlV2",
        };
        graph.colocate_with(variable.handle(), || {
            let op = graph.op(op).input(variable.handle());
            let mut op = op.input(sum.handle()).input(linear.handle()).input(values);
            if let Some(rows) = rows {
                op = op.input(rows);
            }
            numbers.iter().fold(op.input(&rate), |op, number| op.input(number)).build()
        })
    }
}

impl Optimizer for Ftrl {
    fn rule(&self, _: &Graph) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Rule for Ftrl {
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
