//! What is called while a model is trained.

use std::path::Path;

use tensorfleet_client::summary::SummaryWriter;
use tensorfleet_client::{Code, Error, Goal, Result};

use super::Numbers;

/// Something that is told how training goes on, and may change it. All methods do nothing unless
/// they are written.
///
/// ```
/// use tensorfleet_client::optimizer::Sgd;
/// use tensorfleet_client::{IntoTensor, Result};
/// use tensorfleet_strategy::{Callback, Learner, Moment, Trainer};
///
/// /// Ends training when the loss is small enough.
/// struct GoodEnough(f64);
///
/// impl Callback for GoodEnough {
///     fn on_batch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
///         if moment.numbers()["loss"] < self.0 {
///             moment.stop();
///         }
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let mut trainer = Trainer::local(|graph, _| {
///     let x = graph.placeholder::<f32>([None]);
///     let loss = (&x * graph.variable("w", 1.0f32)).square().mean();
///     Ok(Learner::new(&[&x], &loss, Sgd::new(0.1)))
/// })?
/// .callback(GoodEnough(1e-3));
/// let one = || std::iter::repeat_with(|| Ok(vec![[1.0f32].into_tensor()?])).take(10);
/// let history = trainer.fit(100, |_| one())?;
/// assert!((2..100).contains(&history.len()), "{}", history.len());
/// # Ok(())
/// # }
/// ```
pub trait Callback {
    /// Before the first batch.
    fn on_start(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        let _ = moment;
        Ok(())
    }

    /// After each batch, with the means of its epoch so far.
    fn on_batch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        let _ = moment;
        Ok(())
    }

    /// After each epoch, when the model has been tried and saved.
    fn on_epoch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        let _ = moment;
        Ok(())
    }

    /// After the last epoch.
    fn on_end(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        let _ = moment;
        Ok(())
    }
}

/// How far training is, and what a callback may change. See the example of [`Callback`].
#[derive(Debug)]
pub struct Moment<'a> {
    pub(super) epoch: u64,
    pub(super) batch: u64,
    pub(super) numbers: &'a Numbers,
    pub(super) is_stopped: &'a mut bool,
    pub(super) rate: &'a mut Option<f64>,
}

impl Moment<'_> {
    /// The number of the epoch, from zero on. See the example of [`Callback`].
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many batches of the epoch are done, in [`Callback::on_batch`]. See the
    /// example of [`Callback`].
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The loss, means and metrics. See the example of [`Callback`].
    pub fn numbers(&self) -> &Numbers {
        self.numbers
    }

    /// Ends training; batches that are given out are still learnt from. See the
    /// example of [`Callback`].
    pub fn stop(&mut self) {
        *self.is_stopped = true;
    }

    /// Changes the learning rate, of a learner that has said where it is. See the
    /// example of [`LearningRate`].
    pub fn set_learning_rate(&mut self, rate: f64) {
        *self.rate = Some(rate);
    }
}

/// A number by its name.
pub(super) fn number(numbers: &Numbers, name: &str) -> Result<f64> {
    numbers.get(name).copied().ok_or_else(|| {
        let known: Vec<&String> = numbers.keys().collect();
        let told = format!("there is no number {name:?}, there are {known:?}");
        Error::new(Code::NotFound, told)
    })
}

/// The best value so far, and for how many epochs there was no better one.
#[derive(Clone, Debug)]
struct Watch {
    name: String,
    goal: Goal,
    least_change: f64,
    patience: u64,
    best: Option<f64>,
    waited: u64,
}

impl Watch {
    fn new(name: &str, goal: Goal) -> Watch {
        Watch { name: name.to_owned(), goal, least_change: 0.0, patience: 0, best: None, waited: 0 }
    }

    /// Takes in the number of an epoch; true when patience is at its end.
    fn is_over(&mut self, numbers: &Numbers) -> Result<bool> {
        let value = number(numbers, &self.name)?;
        let is_better = self.best.is_none_or(|best| match self.goal {
            Goal::Smallest => value < best - self.least_change,
            Goal::Largest => value > best + self.least_change,
        });
        if is_better {
            self.best = Some(value);
            self.waited = 0;
            return Ok(false);
        }
        self.waited += 1;
        Ok(self.waited > self.patience)
    }
}

/// Ends training when a number does not get better any more. See the
/// example of [`Trainer`](super::Trainer).
#[derive(Clone, Debug)]
#[must_use]
pub struct EarlyStopping {
    watch: Watch,
}

impl EarlyStopping {
    /// Watches a number, as `val_loss`. See the example of [`Trainer`](super::Trainer).
    pub fn new(name: &str, goal: Goal) -> EarlyStopping {
        EarlyStopping { watch: Watch::new(name, goal) }
    }

    /// Lets so many epochs pass without a better value; none by default. See the
    /// example of [`Trainer`](super::Trainer).
    pub fn patience(mut self, epochs: u64) -> EarlyStopping {
        self.watch.patience = epochs;
        self
    }

    /// Takes only what is better by so much for better. See the
    /// example of [`Trainer`](super::Trainer).
    pub fn least_change(mut self, change: f64) -> EarlyStopping {
        self.watch.least_change = change;
        self
    }
}

impl Callback for EarlyStopping {
    fn on_epoch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        if self.watch.is_over(moment.numbers)? {
            moment.stop();
        }
        Ok(())
    }
}

/// Makes the learning rate smaller when a number does not get better any more. See the
/// example of [`LearningRate`], which changes it by plan.
#[derive(Clone, Debug)]
#[must_use]
pub struct ReduceOnPlateau {
    watch: Watch,
    factor: f64,
    least: f64,
}

impl ReduceOnPlateau {
    /// Multiplies the rate by a factor when a number has not become better in the epochs of
    /// `patience`. See the example of [`LearningRate`].
    pub fn new(name: &str, goal: Goal, factor: f64, patience: u64) -> ReduceOnPlateau {
        let watch = Watch { patience, ..Watch::new(name, goal) };
        ReduceOnPlateau { watch, factor, least: 0.0 }
    }

    /// Goes no lower than this. See the example of [`LearningRate`].
    pub fn least(mut self, rate: f64) -> ReduceOnPlateau {
        self.least = rate;
        self
    }
}

impl Callback for ReduceOnPlateau {
    fn on_epoch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        if self.watch.is_over(moment.numbers)? {
            self.watch.waited = 0;
            let rate = number(moment.numbers, "learning_rate")?;
            moment.set_learning_rate((rate * self.factor).max(self.least));
        }
        Ok(())
    }
}

/// Sets the learning rate of each epoch. Schedules by step need no callback: they are in
/// [`optimizer::schedule`](tensorfleet_client::optimizer::schedule).
///
/// ```
/// use tensorfleet_client::optimizer::Sgd;
/// use tensorfleet_client::{Goal, IntoTensor};
/// use tensorfleet_strategy::{Learner, LearningRate, ReduceOnPlateau, Trainer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let trainer = || {
///     Trainer::local(|graph, _| {
///         let rate = graph.state("rate", 0.5f32);
///         let x = graph.placeholder::<f32>([None]);
///         let loss = (&x * graph.variable("w", 1.0f32)).mean();
///         Ok(Learner::new(&[&x], &loss, Sgd::new(rate.read())).learning_rate(&rate))
///     })
/// };
/// let one = |_| std::iter::once_with(|| Ok(vec![[0.0f32].into_tensor()?]));
/// let mut planned = trainer()?.callback(LearningRate::new(|epoch| 0.25 / (epoch + 1) as f64));
/// let rates: Vec<f64> = planned.fit(3, one)?.iter().map(|n| n["learning_rate"]).collect();
/// assert_eq!(rates[..2], [0.25, 0.125]);
/// // The loss never changes.
/// let patient = ReduceOnPlateau::new("loss", Goal::Smallest, 0.5, 0).least(0.2);
/// let rates = trainer()?.callback(patient).fit(4, one)?;
/// let rates: Vec<f64> = rates.iter().map(|n| (n["learning_rate"] * 100.0).round()).collect();
/// assert_eq!(rates, [50.0, 50.0, 25.0, 20.0]);
/// # Ok(())
/// # }
/// ```
pub struct LearningRate {
    of: Box<dyn Fn(u64) -> f64>,
}

impl std::fmt::Debug for LearningRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LearningRate").finish_non_exhaustive()
    }
}

impl LearningRate {
    /// A function from the number of an epoch to its rate. See the example of [`LearningRate`].
    pub fn new(of: impl Fn(u64) -> f64 + 'static) -> LearningRate {
        LearningRate { of: Box::new(of) }
    }
}

impl Callback for LearningRate {
    fn on_start(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        moment.set_learning_rate((self.of)(moment.epoch));
        Ok(())
    }

    fn on_epoch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        moment.set_learning_rate((self.of)(moment.epoch + 1));
        Ok(())
    }
}

/// Writes the numbers of each epoch for TensorBoard.
///
/// ```
/// use tensorfleet_client::optimizer::Sgd;
/// use tensorfleet_client::IntoTensor;
/// use tensorfleet_strategy::{Learner, TensorBoard, Trainer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("board-{}", std::process::id()));
/// let mut trainer = Trainer::local(|graph, _| {
///     let x = graph.placeholder::<f32>([None]);
///     let loss = (&x * graph.variable("w", 1.0f32)).square().mean();
///     Ok(Learner::new(&[&x], &loss, Sgd::new(0.1)))
/// })?
/// .callback(TensorBoard::create(&directory)?);
/// trainer.fit(2, |_| std::iter::once_with(|| Ok(vec![[1.0f32].into_tensor()?])))?;
/// let mut files = std::fs::read_dir(&directory).expect("it was made");
/// let file = files.next().expect("a file was written").expect("it can be read");
/// assert!(file.file_name().to_string_lossy().contains("tfevents"));
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TensorBoard {
    writer: SummaryWriter,
}

impl TensorBoard {
    /// Writes below a directory. See the example of [`TensorBoard`].
    pub fn create(directory: impl AsRef<Path>) -> Result<TensorBoard> {
        Ok(TensorBoard { writer: SummaryWriter::create(directory)? })
    }
}

impl Callback for TensorBoard {
    fn on_epoch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        for (name, value) in moment.numbers {
            // As Keras names them: what is trained and what is tried in one picture.
            let tag = match name.strip_prefix("val_") {
                Some(name) => format!("epoch_{name}/validation"),
                None => format!("epoch_{name}/train"),
            };
            self.writer.scalar(&tag, moment.epoch as i64, *value as f32)?;
        }
        self.writer.flush()
    }
}
