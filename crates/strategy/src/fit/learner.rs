//! What a worker's copy of a model must have to be trained by a [`Trainer`](super::Trainer).

use std::collections::BTreeMap;
use std::fmt;

use tensorfleet_client::metrics::Metric;
use tensorfleet_client::optimizer::Optimizer;
use tensorfleet_client::{
    DType, Graph, Operation, Output, Result, Saver, Session, Tensor, Variable, invalid_argument,
};

use crate::mean::MeanGradients;
use crate::pace::Mode;

/// A model that can be trained: what batches are fed to, what is to become smaller and by which
/// optimiser, and what else is to be known. See the example of [`Trainer`](super::Trainer).
#[must_use]
pub struct Learner {
    inputs: Vec<Output>,
    loss: Output,
    optimizer: Box<dyn Optimizer>,
    means: Vec<(String, Output)>,
    metrics: Vec<(String, Metric)>,
    training: Option<Output>,
    rate: Option<Variable>,
}

impl fmt::Debug for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Learner").field("loss", &self.loss).finish_non_exhaustive()
    }
}

impl Learner {
    /// A model whose placeholders take the tensors of a batch, in order. See the
    /// example of [`Trainer`](super::Trainer).
    pub fn new(inputs: &[&Output], loss: &Output, optimizer: impl Optimizer + 'static) -> Learner {
        Learner {
            inputs: inputs.iter().map(|&input| input.clone()).collect(),
            loss: loss.clone(),
            optimizer: Box::new(optimizer),
            means: Vec::new(),
            metrics: Vec::new(),
            training: None,
            rate: None,
        }
    }

    /// Tells the mean over all examples of a number of each batch, such as
    /// [`metrics::accuracy`](tensorfleet_client::metrics::accuracy). See the
    /// example of [`Trainer`](super::Trainer).
    pub fn mean(mut self, name: &str, value: &Output) -> Learner {
        self.means.push((name.to_owned(), value.clone()));
        self
    }

    /// Tells a metric over all batches. See the example of [`Trainer::evaluate`](super::Trainer::evaluate).
    pub fn metric(mut self, name: &str, metric: &Metric) -> Learner {
        self.metrics.push((name.to_owned(), metric.clone()));
        self
    }

    /// Feeds a `bool` that says whether the step trains, for dropout and the like. See the
    /// example of [`Trainer::evaluate`](super::Trainer::evaluate).
    pub fn training(mut self, flag: &Output) -> Learner {
        self.training = Some(flag.clone());
        self
    }

    /// Lets callbacks change the learning rate, a `float` that the optimiser reads. See the
    /// example of [`LearningRate`](super::LearningRate).
    pub fn learning_rate(mut self, rate: &Variable) -> Learner {
        self.rate = Some(rate.clone());
        self
    }
}

/// A learner with all nodes that training needs.
#[derive(Debug)]
pub(super) struct Ready {
    inputs: Vec<Output>,
    training: Option<Output>,
    train: Train,
    /// The loss and the means, each a number of a batch.
    pub(super) names: Vec<String>,
    numbers: Vec<Output>,
    metrics: Vec<(String, Metric)>,
    update: Option<Operation>,
    reset: Option<Operation>,
    step: Variable,
    rate: Option<(Variable, Output, Operation)>,
    pub(super) saver: Saver,
}

/// How a batch is learnt from.
#[derive(Debug)]
enum Train {
    Alone(Operation),
    Together { mean: MeanGradients, apply: Operation },
}

/// What is known of a batch.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) rows: usize,
    pub(super) numbers: Vec<f64>,
}

impl Ready {
    pub(super) fn new(graph: &Graph, learner: Learner, mode: Mode) -> Ready {
        let Learner { inputs, loss, optimizer, means, metrics, training, rate } = learner;
        let step = graph.global_step();
        let train = match mode {
            Mode::Sync => {
                let mean = MeanGradients::new(graph, &optimizer.compute_gradients(&loss));
                let apply = optimizer.apply_gradients(&mean.means);
                Train::Together { mean, apply }
            }
            _ => Train::Alone(optimizer.minimize(&loss)),
        };
        let (mut names, mut numbers) = (vec!["loss".to_owned()], vec![loss.cast(DType::Double)]);
        for (name, mean) in means {
            names.push(name);
            numbers.push(mean.cast(DType::Double));
        }
        let all = |op: fn(&Metric) -> &Operation| {
            let operations: Vec<Operation> = metrics.iter().map(|(_, m)| op(m).clone()).collect();
            (!operations.is_empty()).then(|| graph.group(&operations))
        };
        let (update, reset) = (all(Metric::update), all(Metric::reset));
        let rate = rate.map(|rate| {
            let new = graph.placeholder::<f32>([]);
            let assign = rate.assign(&new);
            (rate, new, assign)
        });
        // Last of all, so that it knows all variables.
        let saver = Saver::new(graph);
        Ready { inputs, training, train, names, numbers, metrics, update, reset, step, rate, saver }
    }

    /// Pairs what is fed with the tensors of a batch.
    fn feeds(&self, batch: &[Tensor], is_training: bool) -> Result<Vec<(Output, Tensor)>> {
        if batch.len() != self.inputs.len() {
            return Err(invalid_argument!(
                "the model takes {} tensors, but a batch has {}",
                self.inputs.len(),
                batch.len()
            ));
        }
        let mut feeds: Vec<(Output, Tensor)> =
            self.inputs.iter().cloned().zip(batch.iter().cloned()).collect();
        if let Some(flag) = &self.training {
            feeds.push((flag.clone(), Tensor::scalar(is_training)));
        }
        Ok(feeds)
    }

    fn report(batch: &[Tensor], numbers: Vec<Tensor>) -> Result<Report> {
        let rows = batch.first().and_then(|tensor| tensor.dims().first().copied()).unwrap_or(1);
        let numbers = numbers.iter().map(|number| number.scalar_value::<f64>());
        Ok(Report { rows, numbers: numbers.collect::<Result<_>>()? })
    }

    /// Runs the numbers of a batch, and an operation with them.
    fn run(
        &self,
        session: &Session,
        batch: &[Tensor],
        feeds: &[(Output, Tensor)],
        operation: Option<&Operation>,
    ) -> Result<Report> {
        let feeds: Vec<_> = feeds.iter().map(|(input, tensor)| (input, tensor)).collect();
        let numbers = match (operation, &self.update) {
            (Some(one), Some(other)) => session.run(feeds, (&self.numbers[..], (one, other)))?.0,
            (Some(only), None) | (None, Some(only)) => {
                session.run(feeds, (&self.numbers[..], only))?.0
            }
            (None, None) => session.run(feeds, &self.numbers[..])?,
        };
        Ready::report(batch, numbers)
    }

    /// Learns from a batch by itself, or adds its gradients to those of a round.
    pub(super) fn learn(&self, session: &Session, batch: &[Tensor], round: u64) -> Result<Report> {
        let mut feeds = self.feeds(batch, true)?;
        let operation = match &self.train {
            Train::Alone(train) => train,
            Train::Together { mean, .. } => {
                feeds.push((mean.round.clone(), Tensor::scalar(round as i64)));
                &mean.contribute
            }
        };
        self.run(session, batch, &feeds, Some(operation))
    }

    /// Ends a round.
    pub(super) fn apply(&self, session: &Session, contributions: usize) -> Result<()> {
        match &self.train {
            Train::Alone(_) => Ok(()),
            Train::Together { mean, apply } => {
                session.run((&mean.contributions, contributions as i32), apply)
            }
        }
    }

    pub(super) fn evaluate(&self, session: &Session, batch: &[Tensor]) -> Result<Report> {
        self.run(session, batch, &self.feeds(batch, false)?, None)
    }

    pub(super) fn reset(&self, session: &Session) -> Result<()> {
        self.reset.as_ref().map_or(Ok(()), |reset| session.run((), reset))
    }

    pub(super) fn results(&self, session: &Session) -> Result<BTreeMap<String, f64>> {
        if self.metrics.is_empty() {
            return Ok(BTreeMap::new());
        }
        let fetches: Vec<&Output> =
            self.metrics.iter().map(|(_, metric)| metric.result()).collect();
        let values = session.run((), &fetches[..])?;
        let names = self.metrics.iter().map(|(name, _)| name.clone());
        let values = values.iter().map(|value| value.scalar_value::<f32>().map(f64::from));
        names.zip(values).map(|(name, value)| Ok((name, value?))).collect()
    }

    pub(super) fn step(&self, session: &Session) -> Result<i64> {
        session.run((), self.step.value::<i64>())
    }

    pub(super) fn learning_rate(&self, session: &Session) -> Result<Option<f64>> {
        let rate = self.rate.as_ref();
        rate.map(|(rate, ..)| session.run((), rate.value::<f32>()).map(f64::from)).transpose()
    }

    pub(super) fn set_learning_rate(&self, session: &Session, to: f64) -> Result<()> {
        match &self.rate {
            Some((_, new, assign)) => session.run((new, to as f32), assign),
            None => Err(invalid_argument!(
                "the learning rate is fixed: give the learner a variable with `learning_rate`"
            )),
        }
    }
}
