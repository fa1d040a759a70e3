//! Adam and its descendants: decaying means of gradients and of their squares.

use super::{Optimizer, Rate, Rule, slot, unique_rows};
use crate::gradient::Gradient;
use crate::graph::Graph;
use crate::output::{Operation, Output};
use crate::variable::Variable;

/// Adam; with [`Adam::weight_decay`] AdamW.
///
/// ```
/// use tensorfleet_client::optimizer::{Adam, Optimizer};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let loss = (w.read() - 2.0).square();
/// let train = Adam::new(0.3).minimize(&loss);
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
pub struct Adam {
    rate: Rate,
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    decay: f64,
}

impl Adam {
    /// Adam with a learning rate, betas of 0.9 and 0.999 and an epsilon of 1e-8.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adam, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adam::new(0.3).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn new(rate: impl Into<Rate>) -> Adam {
        Adam { rate: rate.into(), beta1: 0.9, beta2: 0.999, epsilon: 1e-8, decay: 0.0 }
    }

    /// AdamW: Adam that also shrinks weights by `rate * decay` in each step.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adam, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adam::weight_decay(0.3, 1e-4).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn weight_decay(rate: impl Into<Rate>, decay: f64) -> Adam {
        Adam { decay, ..Adam::new(rate) }
    }

    /// Sets how much of the past the two means keep in each step.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adam, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adam::new(0.3).betas(0.8, 0.99).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn betas(mut self, first: f64, second: f64) -> Adam {
        (self.beta1, self.beta2) = (first, second);
        self
    }

    /// Sets what keeps divisors from being zero.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Adam, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Adam::new(0.3).epsilon(1e-4).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn epsilon(mut self, epsilon: f64) -> Adam {
        self.epsilon = epsilon;
        self
    }
}

impl Optimizer for Adam {
    #[track_caller]
    fn rule(&self, graph: &Graph) -> Box<dyn Rule> {
        Box::new(AdamRule {
            adam: self.clone(),
            powers: Powers::new(graph, self.beta1, self.beta2),
        })
    }
}

/// The powers of the betas, by which the means are corrected for having started at zero.
struct Powers {
    first: Variable,
    second: Variable,
    betas: [f64; 2],
}

impl Powers {
    #[track_caller]
    fn new(graph: &Graph, beta1: f64, beta2: f64) -> Powers {
        let (first, second) = graph.at_root(|| {
            (graph.state("beta1_power", beta1 as f32), graph.state("beta2_power", beta2 as f32))
        });
        Powers { first, second, betas: [beta1, beta2] }
    }

    /// Multiplies the powers, after all variables have been changed.
    #[track_caller]
    fn finish(&self, updates: &[Operation]) -> Vec<Operation> {
        let graph = self.first.graph();
        let [beta1, beta2] = self.betas;
        graph.control_dependencies(updates, || {
            vec![
                self.first.assign(self.first.read() * beta1),
                self.second.assign(self.second.read() * beta2),
            ]
        })
    }
}

struct AdamRule {
    adam: Adam,
    powers: Powers,
}

impl AdamRule {
    /// Shrinks the variable, if it is to decay; what follows must wait for it.
    #[track_caller]
    fn shrink(&self, variable: &Variable) -> Vec<Operation> {
        if self.adam.decay == 0.0 {
            return Vec::new();
        }
        let rate = self.adam.rate.of_type(variable.graph(), variable.dtype());
        vec![variable.assign_sub(variable.read() * rate * self.adam.decay)]
    }
}

impl Rule for AdamRule {
    #[track_caller]
    fn dense(&self, variable: &Variable, gradient: &Output) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let (mean, squares) = (slot(variable, "Adam", 0.0), slot(variable, "Adam_1", 0.0));
        let number = |value: f64| Rate::from(value).of_type(graph, dtype);
        let rate = self.adam.rate.of_type(graph, dtype);
        let powers = [self.powers.first.read().cast(dtype), self.powers.second.read().cast(dtype)];
        let numbers = [self.adam.beta1, self.adam.beta2, self.adam.epsilon].map(number);
        let shrunk = self.shrink(variable);
        graph.control_dependencies(&shrunk, || {
            graph.colocate_with(variable.handle(), || {
                let op = graph.op("ResourceApplyAdam").input(variable.handle());
                let op = op.input(mean.handle()).input(squares.handle());
                let op = op.input(&powers[0]).input(&powers[1]).input(&rate);
                let op = numbers.iter().fold(op, |op, number| op.input(number));
                op.input(gradient).build()
            })
        })
    }

    /// Means decay everywhere; gradients are added where there are any.
    #[track_caller]
    fn sparse(&self, variable: &Variable, gradient: &Gradient) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let Adam { beta1, beta2, epsilon, .. } = self.adam;
        let (mean, squares) = (slot(variable, "Adam", 0.0), slot(variable, "Adam_1", 0.0));
        let (values, rows) = unique_rows(gradient);
        let rate = self.adam.rate.of_type(graph, dtype);
        let powers = [self.powers.first.read().cast(dtype), self.powers.second.read().cast(dtype)];
        let corrected = rate * (1.0 - &powers[1]).sqrt() / (1.0 - &powers[0]);
        let shrunk = self.shrink(variable);
        graph.colocate_with(variable.handle(), || {
            let mean = decayed(&mean, beta1, &rows, &(&values * (1.0 - beta1)));
            let squares = decayed(&squares, beta2, &rows, &(values.square() * (1.0 - beta2)));
            graph.control_dependencies(&shrunk, || {
                variable.assign_sub(corrected * mean / (squares.sqrt() + epsilon))
            })
        })
    }

    #[track_caller]
    fn finish(&self, updates: &[Operation]) -> Vec<Operation> {
        self.powers.finish(updates)
    }
}

/// Multiplies a slot, then adds rows; returns the value after that.
#[track_caller]
fn decayed(slot: &Variable, factor: f64, rows: &Output, values: &Output) -> Output {
    let graph = slot.graph();
    let shrunk = slot.assign(slot.read() * factor);
    let added = graph.control_dependencies([&shrunk], || {
        graph
            .op("ResourceScatterAdd")
            .input(slot.handle())
            .input(rows)
            .input(values)
            .attr("dtype", slot.dtype())
            .build()
    });
    graph.control_dependencies([&added], || slot.read())
}

/// LAMB: Adam whose step for each variable is scaled to the variable's size, for large batches.
///
/// ```
/// use tensorfleet_client::optimizer::{Lamb, Optimizer};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let loss = (w.read() - 2.0).square();
/// let train = Lamb::new(0.1).minimize(&loss);
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
pub struct Lamb {
    rate: Rate,
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    decay: f64,
}

impl Lamb {
    /// LAMB with a learning rate, betas of 0.9 and 0.999, an epsilon of 1e-6 and no weight decay.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Lamb, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Lamb::new(0.1).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    pub fn new(rate: impl Into<Rate>) -> Lamb {
        Lamb { rate: rate.into(), beta1: 0.9, beta2: 0.999, epsilon: 1e-6, decay: 0.0 }
    }

    /// Shrinks weights in each step.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_client::optimizer::{Lamb, Optimizer};
    ///
    /// # let loss = Graph::new().variable("w", 5.0f32).read().square();
    /// let train = Lamb::new(0.1).weight_decay(1e-4).minimize(&loss);
    /// # train.graph().check().unwrap();
    /// ```
    #[must_use]
    pub fn weight_decay(mut self, decay: f64) -> Lamb {
        self.decay = decay;
        self
    }
}

impl Optimizer for Lamb {
    #[track_caller]
    fn rule(&self, graph: &Graph) -> Box<dyn Rule> {
        Box::new(LambRule {
            lamb: self.clone(),
            powers: Powers::new(graph, self.beta1, self.beta2),
        })
    }
}

struct LambRule {
    lamb: Lamb,
    powers: Powers,
}

impl Rule for LambRule {
    #[track_caller]
    fn dense(&self, variable: &Variable, gradient: &Output) -> Operation {
        let (graph, dtype) = (variable.graph(), variable.dtype());
        let Lamb { beta1, beta2, epsilon, decay, .. } = self.lamb;
        let (mean, squares) = (slot(variable, "Lamb", 0.0), slot(variable, "Lamb_1", 0.0));
        let rate = self.lamb.rate.of_type(graph, dtype);
        let powers = [self.powers.first.read().cast(dtype), self.powers.second.read().cast(dtype)];
        graph.colocate_with(variable.handle(), || {
            let m = mean.read() * beta1 + gradient * (1.0 - beta1);
            let v = squares.read() * beta2 + gradient.square() * (1.0 - beta2);
            let kept = [mean.assign(&m), squares.assign(&v)];
            let value = variable.read();
            let m = m / (1.0 - &powers[0]);
            let v = v / (1.0 - &powers[1]);
            let step = m / (v.sqrt() + epsilon) + &value * decay;
            let norm = |x: &Output| x.square().sum().sqrt();
            let (size, step_size) = (norm(&value), norm(&step));
            let one = size.ones_like();
            let ratio = (&size / &step_size).where_or(step_size.greater(0.0), &one);
            let ratio = ratio.where_or(size.greater(0.0), &one);
            graph.control_dependencies(&kept, || variable.assign_sub(step * (ratio * rate)))
        })
    }

    #[track_caller]
    fn finish(&self, updates: &[Operation]) -> Vec<Operation> {
        self.powers.finish(updates)
    }
}
