//! Training as a whole: epochs, evaluation, checkpoints and callbacks, over one process or a
//! cluster. A loop by hand, with a [`Coordinator`], stays what it is; this is one that is written
//! already.

mod callbacks;
mod learner;
mod progress;

pub use self::callbacks::{
    Callback, EarlyStopping, LearningRate, Moment, ReduceOnPlateau, TensorBoard,
};
pub use self::learner::Learner;
pub use self::progress::ShowProgress;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tensorfleet_client::{
    CheckpointManager, Error, Goal, Graph, Progress, Result, Session, Tensor,
};

use self::learner::{Ready, Report};
use crate::coordinator::{Coordinator, OnLoss};
use crate::pace::Mode;
use crate::parameter_server::{ParameterServerStrategy, Worker};
use crate::task::Pending;

/// Numbers by name, such as `loss` and `val_loss`. See the example of [`Trainer`].
pub type Numbers = BTreeMap<String, f64>;

/// Trains a model on workers, and tries it.
///
/// ```
/// use tensorfleet_client::data::{Pipeline, TensorRows};
/// use tensorfleet_client::optimizer::Adam;
/// use tensorfleet_client::{CheckpointManager, Goal, Graph, IntoTensor, Result, layers, loss, metrics};
/// use tensorfleet_strategy::{EarlyStopping, Learner, Trainer};
///
/// /// A copy of the model, in the graph of a worker.
/// fn build(graph: &Graph) -> Result<Learner> {
///     let x = graph.placeholder::<f32>([None, Some(2)]);
///     let y = graph.placeholder::<i64>([None]);
///     let hidden = layers::Dense::new(8).seed(1).call(&x).tanh();
///     let logits = layers::Dense::new(2).seed(2).call(&hidden);
///     let loss = loss::sparse_softmax_cross_entropy(&logits, &y);
///     let accuracy = metrics::accuracy(&logits, &y);
///     Ok(Learner::new(&[&x, &y], &loss, Adam::new(0.05)).mean("accuracy", &accuracy))
/// }
///
/// # fn main() -> Result<()> {
/// // Points above and below a line.
/// let points: Vec<[f32; 2]> = (0..256).map(|i| [(i as f32).sin(), (1.7 * i as f32).cos()]).collect();
/// let above: Vec<i64> = points.iter().map(|[x, y]| i64::from(*y > x - 0.2)).collect();
/// let rows = TensorRows::new([points.into_tensor()?, above.into_tensor()?])?;
/// let data = |epoch| rows.clone().shuffle(256, epoch).batch(32);
/// let held_out = rows.clone();
///
/// # let directory = std::env::temp_dir().join(format!("trainer-{}", std::process::id()));
/// // In this process; `Trainer::on` trains on the workers of a strategy.
/// let mut trainer = Trainer::local(|graph, _| build(graph))?
///     .checkpoints(CheckpointManager::new(&directory))
///     .keep_best("val_accuracy", Goal::Largest)
///     .validation(move || held_out.clone().batch(64))
///     .callback(EarlyStopping::new("val_loss", Goal::Smallest).patience(3));
/// let history = trainer.fit(20, data)?;
/// let last = history.last().expect("it was trained");
/// assert!(last["val_accuracy"] > 0.9, "{last:?}");
/// // Whoever starts it again goes on from there, and finds nothing left to do.
/// let mut again = Trainer::local(|graph, _| build(graph))?.checkpoints(CheckpointManager::new(&directory));
/// assert!(again.fit(history.len() as u64, data)?.is_empty());
/// assert_eq!(again.evaluate(rows.clone().batch(64))?["accuracy"], last["val_accuracy"]);
/// # drop((trainer, again));
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Trainer {
    coordinator: Coordinator<Worker<Ready>>,
    mode: Mode,
    names: Vec<String>,
    callbacks: Vec<Box<dyn Callback>>,
    validation: Option<Box<dyn FnMut() -> Batches>>,
    checkpoints: Option<Arc<CheckpointManager>>,
    best: Option<(String, Goal)>,
    save_every: Option<u64>,
}

type Batches = Box<dyn Iterator<Item = Result<Vec<Tensor>>>>;

impl fmt::Debug for Trainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trainer").field("coordinator", &self.coordinator).finish_non_exhaustive()
    }
}

impl Trainer {
    /// Trains in this process. See the example of [`Trainer`].
    pub fn local(mut build: impl FnMut(&Graph, usize) -> Result<Learner>) -> Result<Trainer> {
        let graph = Graph::new();
        let model = Ready::new(&graph, build(&graph, 0)?, Mode::Async);
        let names = model.names.clone();
        let session = Session::new(&graph)?;
        session.run((), &graph.initializer())?;
        let worker = Worker { task: 0, session, model };
        let coordinator = Coordinator::new(vec![worker], Mode::Async, OnLoss::Stop)?;
        Ok(Trainer::with(coordinator, Mode::Async, names))
    }

    /// Trains on the workers of a cluster, each of which has a copy of the model. Batches come from
    /// this process, and go to whichever worker is free; that of a lost worker goes to another.
    ///
    /// ```no_run
    /// use tensorfleet_client::{ClusterSpec, Graph, Result};
    /// use tensorfleet_strategy::{Learner, Mode, OnLoss, ParameterServerStrategy, Trainer};
    ///
    /// fn train(cluster: &ClusterSpec, build: fn(&Graph, usize) -> Result<Learner>) -> Result<Trainer> {
    ///     let strategy = ParameterServerStrategy::new(cluster)?;
    ///     Trainer::on(&strategy, Mode::Sync, OnLoss::GoOn, build)
    /// }
    /// # drop(train as fn(_, _) -> _);
    /// ```
    pub fn on(
        strategy: &ParameterServerStrategy,
        mode: Mode,
        on_loss: OnLoss,
        mut build: impl FnMut(&Graph, usize) -> Result<Learner>,
    ) -> Result<Trainer> {
        let mut names = Vec::new();
        let coordinator = strategy.coordinator(mode, on_loss, |graph, worker| {
            let model = Ready::new(graph, build(graph, worker)?, mode);
            names.clone_from(&model.names);
            Ok(model)
        })?;
        Ok(Trainer::with(coordinator, mode, names))
    }

    fn with(coordinator: Coordinator<Worker<Ready>>, mode: Mode, names: Vec<String>) -> Trainer {
        Trainer {
            coordinator,
            mode,
            names,
            callbacks: Vec::new(),
            validation: None,
            checkpoints: None,
            best: None,
            save_every: None,
        }
    }

    /// Has something called on the way. See the example of [`Trainer`].
    pub fn callback(mut self, callback: impl Callback + 'static) -> Trainer {
        self.callbacks.push(Box::new(callback));
        self
    }

    /// Tries the model on these batches after each epoch; the numbers are `val_loss` and so on. See
    /// the example of [`Trainer`].
    pub fn validation<I>(mut self, mut batches: impl FnMut() -> I + 'static) -> Trainer
    where
        I: Iterator<Item = Result<Vec<Tensor>>> + 'static,
    {
        self.validation = Some(Box::new(move || Box::new(batches())));
        self
    }

    /// Saves after each epoch, and resumes from what was saved before. See the
    /// example of [`Trainer`].
    pub fn checkpoints(mut self, checkpoints: CheckpointManager) -> Trainer {
        self.checkpoints = Some(Arc::new(checkpoints));
        self
    }

    /// Saves after every so many batches too; a run that is resumed goes on with the batch that
    /// follows.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::Sgd;
    /// use tensorfleet_client::{CheckpointManager, IntoTensor};
    /// use tensorfleet_strategy::{Learner, Trainer};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("save-every-{}", std::process::id()));
    /// let trainer = || {
    ///     Trainer::local(|graph, _| {
    ///         let x = graph.placeholder::<f32>([None]);
    ///         let loss = (&x * graph.variable("w", 1.0f32)).square().mean();
    ///         Ok(Learner::new(&[&x], &loss, Sgd::new(0.01)))
    ///     })
    /// };
    /// let batches = |fails: Option<usize>| {
    ///     (0..10).map(move |i| match fails == Some(i) {
    ///         true => Err(tensorfleet_client::invalid_argument!("batch {i} is broken")),
    ///         false => Ok(vec![[i as f32].into_tensor()?]),
    ///     })
    /// };
    /// let manager = || CheckpointManager::new(&directory);
    /// let mut first = trainer()?.checkpoints(manager()).save_every(2);
    /// assert!(first.fit(1, |_| batches(Some(7))).is_err());
    /// drop(first);
    /// assert!(manager().latest().expect("it was saved").ends_with("model.ckpt-6"));
    /// // Mended, it goes on with the seventh batch.
    /// let mut taken = 0;
    /// let history = trainer()?.checkpoints(manager()).fit(1, |_| {
    ///     taken += 1;
    ///     batches(None)
    /// })?;
    /// assert_eq!((taken, history.len()), (1, 1));
    /// assert!(manager().latest().expect("it was saved").ends_with("model.ckpt-10"));
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn save_every(mut self, batches: u64) -> Trainer {
        self.save_every = Some(batches.max(1));
        self
    }

    /// Keeps a copy of the checkpoint with the best number of this name. See the
    /// example of [`Trainer`].
    pub fn keep_best(mut self, name: &str, goal: Goal) -> Trainer {
        self.best = Some((name.to_owned(), goal));
        self
    }

    /// The workers, to watch losses, or for tasks of one's own. See the
    /// example of [`Coordinator::watch_losses`].
    pub fn watch_losses(&self, listener: impl Fn(&crate::Loss) + Send + Sync + 'static) {
        self.coordinator.watch_losses(listener);
    }

    /// Trains for so many epochs in all, with the batches that `data` makes for each, and returns the
    /// numbers of the epochs that it did. See the example of [`Trainer`].
    pub fn fit<I>(&mut self, epochs: u64, mut data: impl FnMut(u64) -> I) -> Result<Vec<Numbers>>
    where
        I: Iterator<Item = Result<Vec<Tensor>>>,
    {
        let outcome = self.fit_epochs(epochs, &mut data);
        // What is being written is written before anybody goes, however it ended.
        let written = self.checkpoints.as_ref().map_or(Ok(()), |checkpoints| checkpoints.wait());
        outcome.and_then(|history| written.map(|()| history))
    }

    fn fit_epochs<I>(
        &mut self,
        epochs: u64,
        data: &mut impl FnMut(u64) -> I,
    ) -> Result<Vec<Numbers>>
    where
        I: Iterator<Item = Result<Vec<Tensor>>>,
    {
        let (mut epoch, mut batches, mut position) = self.resume(epochs, data)?;
        let mut history = Vec::new();
        let mut is_stopped = false;
        self.tell(epoch, 0, &Numbers::new(), &mut is_stopped, |c, moment| c.on_start(moment))?;
        while epoch < epochs && !is_stopped {
            let batches_now = batches.take().unwrap_or_else(|| data(epoch).peekable());
            let mut numbers = self.train(epoch, batches_now, &mut position, &mut is_stopped)?;
            if let Some(mut validation) = self.validation.take() {
                let outcome = self.evaluate(validation());
                self.validation = Some(validation);
                let tried = outcome?.into_iter();
                numbers.extend(tried.map(|(name, value)| (format!("val_{name}"), value)));
            }
            if let Some(rate) = self.ask(|model, session| model.learning_rate(session))? {
                numbers.insert("learning_rate".to_owned(), rate);
            }
            self.save(position)?;
            self.keep_if_best(&numbers)?;
            self.tell(epoch, 0, &numbers, &mut is_stopped, |c, moment| c.on_epoch(moment))?;
            history.push(numbers);
            epoch += 1;
        }
        self.tell(epoch, 0, &Numbers::new(), &mut is_stopped, |c, moment| c.on_end(moment))?;
        Ok(history)
    }

    /// Tries the model on batches: the loss, the means and the metrics.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::optimizer::Sgd;
    /// use tensorfleet_client::{IntoTensor, layers};
    /// use tensorfleet_strategy::{Learner, Trainer};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let mut trainer = Trainer::local(|graph, _| {
    ///     let (x, training) = (graph.placeholder::<f32>([None]), graph.placeholder::<bool>([]));
    ///     let y = layers::dropout(&x, 0.5, &training) * graph.variable("w", 2.0f32);
    ///     let largest = Metric::root_mean_squared_error("rmse", &y, 0.0);
    ///     let learner = Learner::new(&[&x], &y.mean(), Sgd::new(0.1));
    ///     Ok(learner.training(&training).metric("rmse", &largest))
    /// })?;
    /// // Batches of different sizes count by their examples; nothing is dropped.
    /// let batches = [vec![1.0f32, 1.0, 1.0], vec![5.0]];
    /// let numbers = trainer.evaluate(batches.into_iter().map(|x| Ok(vec![x.into_tensor()?])))?;
    /// assert_eq!(numbers["loss"], 4.0);
    /// assert!((numbers["rmse"] - 28f64.sqrt()).abs() < 1e-5);
    /// # Ok(())
    /// # }
    /// ```
    pub fn evaluate(
        &mut self,
        batches: impl Iterator<Item = Result<Vec<Tensor>>>,
    ) -> Result<Numbers> {
        self.ask(|model, session| model.reset(session))?;
        let mut sums = Sums::default();
        let mut pending: VecDeque<Pending<Report>> = VecDeque::new();
        for batch in batches {
            let batch = batch?;
            pending.push_back(self.coordinator.schedule(move |worker: &mut Worker<Ready>| {
                worker.model.evaluate(&worker.session, &batch)
            }));
            while pending.len() > self.ahead() {
                sums.add(self.fetch(pending.pop_front())?);
            }
        }
        while !pending.is_empty() {
            sums.add(self.fetch(pending.pop_front())?);
        }
        self.finish(sums)
    }

    /// How many batches are given out before the first of them must be done.
    fn ahead(&self) -> usize {
        2 * self.coordinator.alive().max(1)
    }

    /// Waits for a task; where it failed the first cause is told.
    fn fetch<T: Default>(&self, pending: Option<Pending<T>>) -> Result<T> {
        let outcome = pending.map_or_else(|| Ok(T::default()), Pending::fetch);
        outcome.map_err(|error| self.cause(error))
    }

    fn cause(&self, error: Error) -> Error {
        self.coordinator.join().err().unwrap_or(error)
    }

    /// Has one worker do something.
    fn ask<T: Send + 'static>(
        &self,
        mut question: impl FnMut(&Ready, &Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let answer = self
            .coordinator
            .schedule(move |worker: &mut Worker<Ready>| question(&worker.model, &worker.session));
        answer.fetch().map_err(|error| self.cause(error))
    }

    /// The numbers of all batches.
    fn finish(&self, sums: Sums) -> Result<Numbers> {
        let mut numbers = self.ask(|model, session| model.results(session))?;
        let means = self.names.iter().zip(&sums.numbers);
        numbers.extend(means.map(|(name, sum)| (name.clone(), sum / sums.rows.max(1) as f64)));
        Ok(numbers)
    }

    /// One epoch, from the batch on that comes next.
    fn train<I>(
        &mut self,
        epoch: u64,
        batches: std::iter::Peekable<I>,
        position: &mut u64,
        is_stopped: &mut bool,
    ) -> Result<Numbers>
    where
        I: Iterator<Item = Result<Vec<Tensor>>>,
    {
        self.ask(|model, session| model.reset(session))?;
        let mut sums = Sums::default();
        let mut pending: VecDeque<Pending<Report>> = VecDeque::new();
        let mut round: Vec<Vec<Tensor>> = Vec::new();
        let mut number = 0;
        let mut saved = *position;
        let mut batches = batches;
        loop {
            let next = if *is_stopped { None } else { batches.next().transpose()? };
            let is_last = next.is_none();
            if self.mode == Mode::Sync {
                round.extend(next);
                if !round.is_empty() && (is_last || round.len() >= self.coordinator.alive().max(1))
                {
                    for report in self.train_round(&std::mem::take(&mut round))? {
                        self.took(epoch, &mut number, position, report, &mut sums, is_stopped)?;
                    }
                }
            } else {
                pending.extend(next.map(|batch| {
                    self.coordinator.schedule(move |worker: &mut Worker<Ready>| {
                        worker.model.learn(&worker.session, &batch, 0)
                    })
                }));
                while pending.len() > self.ahead() || (is_last && !pending.is_empty()) {
                    let report = self.fetch(pending.pop_front())?;
                    self.took(epoch, &mut number, position, report, &mut sums, is_stopped)?;
                }
            }
            if is_last {
                break;
            }
            let given = *position + pending.len() as u64 - saved;
            if self.save_every.is_some_and(|every| given >= every) {
                // A checkpoint says exactly which batches it has learnt from.
                while !pending.is_empty() {
                    let report = self.fetch(pending.pop_front())?;
                    self.took(epoch, &mut number, position, report, &mut sums, is_stopped)?;
                }
                self.save(*position)?;
                saved = *position;
            }
        }
        self.finish(sums)
    }

    /// Counts a batch, and tells of it.
    fn took(
        &mut self,
        epoch: u64,
        number: &mut u64,
        position: &mut u64,
        report: Report,
        sums: &mut Sums,
        is_stopped: &mut bool,
    ) -> Result<()> {
        *number += 1;
        *position += 1;
        sums.add(report);
        let rows = sums.rows.max(1) as f64;
        let so_far = self.names.iter().zip(&sums.numbers);
        let numbers: Numbers = so_far.map(|(name, sum)| (name.clone(), sum / rows)).collect();
        self.tell(epoch, *number, &numbers, is_stopped, |c, moment| c.on_batch(moment))
    }

    /// Each batch adds its gradients, and their mean is applied once. A round whose end was lost with
    /// a worker is done again.
    fn train_round(&self, batches: &[Vec<Tensor>]) -> Result<Vec<Report>> {
        loop {
            let round = self.coordinator.next_round.fetch_add(1, Ordering::Relaxed);
            let pending: Vec<Pending<Report>> = batches
                .iter()
                .map(|batch| {
                    let batch = batch.clone();
                    self.coordinator.schedule(move |worker: &mut Worker<Ready>| {
                        worker.model.learn(&worker.session, &batch, round)
                    })
                })
                .collect();
            self.coordinator.join()?;
            let reports: Result<Vec<Report>> = pending.into_iter().map(Pending::fetch).collect();
            let contributions = batches.len();
            let mut is_tried = false;
            let applied = self.coordinator.schedule(move |worker: &mut Worker<Ready>| {
                if std::mem::replace(&mut is_tried, true) {
                    return Ok(false);
                }
                worker.model.apply(&worker.session, contributions).map(|()| true)
            });
            self.coordinator.join()?;
            if applied.fetch()? {
                return reports;
            }
        }
    }

    /// Restores what was saved, and finds the epoch and the batch that follow.
    fn resume<I>(
        &self,
        epochs: u64,
        data: &mut impl FnMut(u64) -> I,
    ) -> Result<(u64, Option<std::iter::Peekable<I>>, u64)>
    where
        I: Iterator<Item = Result<Vec<Tensor>>>,
    {
        let Some(checkpoints) = self.checkpoints.clone() else { return Ok((0, None, 0)) };
        let restored =
            self.ask(move |model, session| checkpoints.restore(&model.saver, session))?;
        let position = restored.map_or(0, |Progress { position, .. }| position);
        let mut left = position;
        for epoch in 0..epochs {
            if left == 0 && epoch == 0 {
                break;
            }
            let mut batches = data(epoch).peekable();
            while left > 0 && batches.next().transpose()?.is_some() {
                left -= 1;
            }
            if left == 0 && batches.peek().is_some() {
                return Ok((epoch, Some(batches), position));
            }
            // It ended just here, or before: the next one.
            if left == 0 {
                return Ok((epoch + 1, None, position));
            }
        }
        Ok((if left > 0 { epochs } else { 0 }, None, position))
    }

    fn save(&self, position: u64) -> Result<()> {
        let Some(checkpoints) = self.checkpoints.clone() else { return Ok(()) };
        self.ask(move |model, session| {
            let progress = Progress { step: model.step(session)?, position };
            checkpoints.save_in_background(&model.saver, session, progress)
        })
    }

    fn keep_if_best(&self, numbers: &Numbers) -> Result<()> {
        let (Some(checkpoints), Some((name, goal))) = (&self.checkpoints, &self.best) else {
            return Ok(());
        };
        let value = callbacks::number(numbers, name)?;
        checkpoints.keep_best(value, *goal).map(drop)
    }

    /// Tells all callbacks of a moment, and does what they ask for.
    fn tell(
        &mut self,
        epoch: u64,
        batch: u64,
        numbers: &Numbers,
        is_stopped: &mut bool,
        call: impl Fn(&mut dyn Callback, &mut Moment<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.callbacks.is_empty() {
            return Ok(());
        }
        let mut rate = None;
        for callback in &mut self.callbacks {
            let mut moment = Moment { epoch, batch, numbers, is_stopped, rate: &mut rate };
            call(&mut **callback, &mut moment)?;
        }
        match rate {
            Some(rate) => self.ask(move |model, session| model.set_learning_rate(session, rate)),
            None => Ok(()),
        }
    }
}

/// Sums over batches, by their examples.
#[derive(Debug, Default)]
struct Sums {
    rows: usize,
    numbers: Vec<f64>,
}

impl Sums {
    fn add(&mut self, report: Report) {
        self.numbers.resize(report.numbers.len(), 0.0);
        self.rows += report.rows;
        for (sum, number) in self.numbers.iter_mut().zip(report.numbers) {
            *sum += number * report.rows as f64;
        }
    }
}
