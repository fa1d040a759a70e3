//! What happens around the steps of a monitored session.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tensorfleet_tensor::{Result, Tensor, internal};

use crate::graph::Graph;
use crate::output::Output;
use crate::session::Session;
use crate::summary::SummaryWriter;
use crate::variable::Variable;

/// What a hook may do between steps.
///
/// The example of [`Hook`] uses it.
#[derive(Debug)]
pub struct HookContext<'a> {
    pub(super) session: &'a Session,
    pub(super) should_stop: bool,
    pub(super) is_chief: bool,
}

impl<'a> HookContext<'a> {
    /// The session, for steps of the hook's own.
    ///
    /// ```
    /// use tensorfleet_client::monitored::{Hook, HookContext};
    /// use tensorfleet_client::{Graph, MonitoredSession, Result, Variable};
    ///
    /// /// Looks at a variable before the first step.
    /// struct ShowStart(Variable);
    ///
    /// impl Hook for ShowStart {
    ///     fn after_create_session(&mut self, context: &mut HookContext<'_>) -> Result<()> {
    ///         assert_eq!(context.session().run((), self.0.value::<f32>())?, 5.0);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// MonitoredSession::builder(&graph).hook(ShowStart(w)).open()?.finish()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// Whether this process is the one that initialises variables and writes checkpoints.
    ///
    /// The example of [`Hook`] uses the context.
    pub fn is_chief(&self) -> bool {
        self.is_chief
    }

    /// Asks for the end of training.
    ///
    /// The example of [`Hook`] uses it.
    pub fn request_stop(&mut self) {
        self.should_stop = true;
    }
}

/// Is called around the steps of a [`MonitoredSession`](crate::MonitoredSession).
///
/// ```
/// use tensorfleet_client::monitored::{Hook, HookContext};
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Graph, MonitoredSession, Output, Result, Tensor};
///
/// /// Ends training when the loss is small.
/// struct StopWhenBelow(Output, f32);
///
/// impl Hook for StopWhenBelow {
///     fn before_run(&mut self) -> Vec<Output> {
///         vec![self.0.clone()]
///     }
///
///     fn after_run(&mut self, context: &mut HookContext<'_>, values: Vec<Tensor>) -> Result<()> {
///         if values[0].scalar_value::<f32>()? < self.1 {
///             context.request_stop();
///         }
///         Ok(())
///     }
/// }
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let loss = graph.variable("w", 5.0f32).read().square();
/// let train = Sgd::new(0.25).minimize(&loss);
/// let mut session = MonitoredSession::builder(&graph).hook(StopWhenBelow(loss, 0.1)).open()?;
/// while !session.should_stop() {
///     session.run((), &train)?;
/// }
/// # Ok(())
/// # }
/// ```
pub trait Hook {
    /// Before the session is opened: the last time to add nodes.
    fn begin(&mut self, _graph: &Graph) {}

    /// After the session was opened, also when that happens again because a task was lost.
    fn after_create_session(&mut self, _context: &mut HookContext<'_>) -> Result<()> {
        Ok(())
    }

    /// Before a step: what the hook wants to be fetched with it.
    fn before_run(&mut self) -> Vec<Output> {
        Vec::new()
    }

    /// After a step, with the values that the hook wanted.
    fn after_run(&mut self, _context: &mut HookContext<'_>, _values: Vec<Tensor>) -> Result<()> {
        Ok(())
    }

    /// Before the session is closed.
    fn end(&mut self, _session: &Session) -> Result<()> {
        Ok(())
    }
}

/// The counter of training steps, as hooks look at it.
#[derive(Debug, Default)]
pub(super) struct GlobalStep(Option<Variable>);

impl GlobalStep {
    pub(super) fn begin(&mut self, graph: &Graph) {
        self.0 = Some(graph.global_step());
    }

    /// What to fetch with a step. The step may add one before or after it is read.
    pub(super) fn wanted(&self) -> Vec<Output> {
        self.0.iter().map(|step| step.snapshot().clone()).collect()
    }

    pub(super) fn fetched(values: &[Tensor]) -> Result<i64> {
        let step = values.first().ok_or_else(|| internal!("the global step was not fetched"))?;
        step.scalar_value::<i64>()
    }

    /// The counter now.
    pub(super) fn read(&self, session: &Session) -> Result<i64> {
        match &self.0 {
            Some(step) => session.run((), step.value::<i64>()),
            None => Err(internal!("a hook was used before it had begun")),
        }
    }
}

/// When something is due that is not done with every step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Every {
    Steps(i64),
    Time(Duration),
}

/// Decides when something is due.
#[derive(Debug)]
pub(super) struct Timer {
    every: Every,
    pub(super) last: Option<(i64, Instant)>,
}

impl Timer {
    pub(super) fn new(every: Every) -> Timer {
        Timer { every, last: None }
    }

    pub(super) fn is_due(&self, step: i64) -> bool {
        match (self.every, self.last) {
            (_, None) => true,
            (Every::Steps(steps), Some((last, _))) => step >= last.saturating_add(steps),
            (Every::Time(time), Some((_, last))) => last.elapsed() >= time,
        }
    }

    /// Notes that it was done; says how many steps and how much time went by since the last time.
    pub(super) fn done(&mut self, step: i64) -> Option<(i64, Duration)> {
        let now = Instant::now();
        let before = self.last.replace((step, now));
        before.map(|(last, then)| (step - last, now - then))
    }
}

/// Ends training when the global step has come to a number.
///
/// ```
/// use tensorfleet_client::monitored::StopAtStep;
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Graph, MonitoredSession};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// graph.global_step();
/// let loss = graph.variable("w", 5.0f32).read().square();
/// let train = Sgd::new(0.25).minimize(&loss);
/// let mut session = MonitoredSession::builder(&graph)
///     .hook(StopAtStep::new(3))
///     .open()?;
/// while !session.should_stop() {
///     session.run((), &train)?;
/// }
/// assert_eq!(session.run((), graph.global_step().value::<i64>())?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StopAtStep {
    last: i64,
    step: GlobalStep,
}

impl StopAtStep {
    /// Ends training at step `last`.
    ///
    /// ```
    /// use tensorfleet_client::monitored::StopAtStep;
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let graph = Graph::new();
    /// # graph.global_step();
    /// # let loss = graph.variable("w", 5.0f32).read().square();
    /// # let train = Sgd::new(0.25).minimize(&loss);
    /// let hook = StopAtStep::new(3);
    /// # let mut session = MonitoredSession::builder(&graph)
    /// #     .hook(hook)
    /// #     .open()?;
    /// # while !session.should_stop() {
    /// #     session.run((), &train)?;
    /// # }
    /// # assert_eq!(session.run((), graph.global_step().value::<i64>())?, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(last: i64) -> StopAtStep {
        StopAtStep { last, step: GlobalStep::default() }
    }
}

impl Hook for StopAtStep {
    fn begin(&mut self, graph: &Graph) {
        self.step.begin(graph);
    }

    fn after_create_session(&mut self, context: &mut HookContext<'_>) -> Result<()> {
        if self.step.read(context.session())? >= self.last {
            context.request_stop();
        }
        Ok(())
    }

    fn before_run(&mut self) -> Vec<Output> {
        self.step.wanted()
    }

    fn after_run(&mut self, context: &mut HookContext<'_>, values: Vec<Tensor>) -> Result<()> {
        // Near the end the counter is read once more, when the step is certainly counted.
        let near = GlobalStep::fetched(&values)? + 1 >= self.last;
        if near && self.step.read(context.session())? >= self.last {
            context.request_stop();
        }
        Ok(())
    }
}

/// Writes a summary every so many steps.
///
/// ```
/// use std::sync::Arc;
/// use tensorfleet_client::monitored::{StopAtStep, SummarySaver};
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::summary::SummaryWriter;
/// use tensorfleet_client::{Graph, MonitoredSession, summary};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let name = format!("hook-summary-{}", std::process::id());
/// # let directory = std::env::temp_dir().join(name);
/// let writer = Arc::new(SummaryWriter::create(&directory)?);
/// let graph = Graph::new();
/// graph.global_step();
/// let loss = graph.variable("w", 5.0f32).read().square();
/// let train = Sgd::new(0.25).minimize(&loss);
/// let mut session = MonitoredSession::builder(&graph)
///     .hook(StopAtStep::new(3))
///     .hook(SummarySaver::every_steps(1, &summary::scalar("loss", &loss), &writer))
///     .open()?;
/// while !session.should_stop() {
///     session.run((), &train)?;
/// }
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SummarySaver {
    summary: Output,
    writer: Arc<SummaryWriter>,
    timer: Timer,
    step: GlobalStep,
}

impl SummarySaver {
    /// Writes what a summary node makes, as [`summary::merge`](crate::summary::merge).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tensorfleet_client::monitored::{StopAtStep, SummarySaver};
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::summary::SummaryWriter;
    /// use tensorfleet_client::{Graph, MonitoredSession, summary};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("hook-summaries-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// # let writer = Arc::new(SummaryWriter::create(&directory)?);
    /// # let graph = Graph::new();
    /// # graph.global_step();
    /// # let loss = graph.variable("w", 5.0f32).read().square();
    /// # let train = Sgd::new(0.25).minimize(&loss);
    /// let hook = SummarySaver::every_steps(100, &summary::scalar("loss", &loss), &writer);
    /// # let mut session = MonitoredSession::builder(&graph)
    /// #     .hook(StopAtStep::new(3))
    /// #     .hook(hook)
    /// #     .open()?;
    /// # while !session.should_stop() {
    /// #     session.run((), &train)?;
    /// # }
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn every_steps(steps: i64, summary: &Output, writer: &Arc<SummaryWriter>) -> SummarySaver {
        SummarySaver {
            summary: summary.clone(),
            writer: Arc::clone(writer),
            timer: Timer::new(Every::Steps(steps)),
            step: GlobalStep::default(),
        }
    }
}

impl Hook for SummarySaver {
    fn begin(&mut self, graph: &Graph) {
        self.step.begin(graph);
    }

    fn before_run(&mut self) -> Vec<Output> {
        let mut wanted = self.step.wanted();
        wanted.push(self.summary.clone());
        wanted
    }

    fn after_run(&mut self, _: &mut HookContext<'_>, values: Vec<Tensor>) -> Result<()> {
        let step = GlobalStep::fetched(&values)?;
        if !self.timer.is_due(step) {
            return Ok(());
        }
        self.timer.done(step);
        match values.into_iter().nth(1) {
            Some(summary) => self.writer.add(step, summary),
            None => Err(internal!("the summary was not fetched")),
        }
    }

    fn end(&mut self, _: &Session) -> Result<()> {
        self.writer.flush()
    }
}

/// Writes how many steps a second are made.
///
/// ```
/// use std::sync::Arc;
/// use tensorfleet_client::monitored::{StepCounter, StopAtStep};
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::summary::SummaryWriter;
/// use tensorfleet_client::{Graph, MonitoredSession};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let name = format!("hook-counter-{}", std::process::id());
/// # let directory = std::env::temp_dir().join(name);
/// let writer = Arc::new(SummaryWriter::create(&directory)?);
/// // Writes `global_step/sec`.
/// let graph = Graph::new();
/// graph.global_step();
/// let loss = graph.variable("w", 5.0f32).read().square();
/// let train = Sgd::new(0.25).minimize(&loss);
/// let mut session = MonitoredSession::builder(&graph)
///     .hook(StopAtStep::new(3))
///     .hook(StepCounter::every_steps(1, &writer))
///     .open()?;
/// while !session.should_stop() {
///     session.run((), &train)?;
/// }
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StepCounter {
    writer: Arc<SummaryWriter>,
    timer: Timer,
    step: GlobalStep,
}

impl StepCounter {
    /// Counts over a number of steps.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tensorfleet_client::monitored::{StepCounter, StopAtStep};
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::summary::SummaryWriter;
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("hook-count-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// # let writer = Arc::new(SummaryWriter::create(&directory)?);
    /// # let graph = Graph::new();
    /// # graph.global_step();
    /// # let loss = graph.variable("w", 5.0f32).read().square();
    /// # let train = Sgd::new(0.25).minimize(&loss);
    /// let hook = StepCounter::every_steps(100, &writer);
    /// # let mut session = MonitoredSession::builder(&graph)
    /// #     .hook(StopAtStep::new(3))
    /// #     .hook(hook)
    /// #     .open()?;
    /// # while !session.should_stop() {
    /// #     session.run((), &train)?;
    /// # }
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn every_steps(steps: i64, writer: &Arc<SummaryWriter>) -> StepCounter {
        StepCounter {
            writer: Arc::clone(writer),
            timer: Timer::new(Every::Steps(steps)),
            step: GlobalStep::default(),
        }
    }
}

impl Hook for StepCounter {
    fn begin(&mut self, graph: &Graph) {
        self.step.begin(graph);
    }

    fn before_run(&mut self) -> Vec<Output> {
        self.step.wanted()
    }

    fn after_run(&mut self, _: &mut HookContext<'_>, values: Vec<Tensor>) -> Result<()> {
        let step = GlobalStep::fetched(&values)?;
        if !self.timer.is_due(step) {
            return Ok(());
        }
        match self.timer.done(step) {
            Some((steps, time)) => {
                let rate = steps as f64 / time.as_secs_f64().max(f64::EPSILON);
                self.writer.scalar("global_step/sec", step, rate as f32)
            }
            None => Ok(()),
        }
    }
}

/// Hands values to the program every so many steps, to be printed or looked at.
///
/// ```
/// use std::sync::Arc;
/// use tensorfleet_client::monitored::{Logger, StopAtStep};
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Graph, MonitoredSession};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
/// let log = Arc::clone(&seen);
/// let graph = Graph::new();
/// graph.global_step();
/// let loss = graph.variable("w", 5.0f32).read().square();
/// let train = Sgd::new(0.25).minimize(&loss);
/// let mut session = MonitoredSession::builder(&graph)
///     .hook(StopAtStep::new(3))
///     .hook(Logger::every_steps(2, [&loss], move |values| log.lock().unwrap().push(values)))
///     .open()?;
/// while !session.should_stop() {
///     session.run((), &train)?;
/// }
/// // The first and the third step.
/// assert_eq!(seen.lock().unwrap().len(), 2);
/// # Ok(())
/// # }
/// ```
pub struct Logger<F> {
    outputs: Vec<Output>,
    every: usize,
    steps: usize,
    log: F,
}

impl<F> fmt::Debug for Logger<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger")
            .field("outputs", &self.outputs)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

impl<F: FnMut(Vec<Tensor>)> Logger<F> {
    /// Calls `log` with the values of `outputs` with the first step and every `steps` after it.
    ///
    /// ```
    /// use tensorfleet_client::monitored::{Logger, StopAtStep};
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let graph = Graph::new();
    /// # graph.global_step();
    /// # let loss = graph.variable("w", 5.0f32).read().square();
    /// # let train = Sgd::new(0.25).minimize(&loss);
    /// let hook = Logger::every_steps(100, [&loss], |values| println!("{values:?}"));
    /// # let mut session = MonitoredSession::builder(&graph)
    /// #     .hook(StopAtStep::new(3))
    /// #     .hook(hook)
    /// #     .open()?;
    /// # while !session.should_stop() {
    /// #     session.run((), &train)?;
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    pub fn every_steps<'a>(
        steps: usize,
        outputs: impl IntoIterator<Item = &'a Output>,
        log: F,
    ) -> Logger<F> {
        let outputs = outputs.into_iter().cloned().collect();
        Logger { outputs, every: steps.max(1), steps: 0, log }
    }
}

impl<F: FnMut(Vec<Tensor>)> Hook for Logger<F> {
    fn before_run(&mut self) -> Vec<Output> {
        let is_due = self.steps.is_multiple_of(self.every);
        if is_due { self.outputs.clone() } else { Vec::new() }
    }

    fn after_run(&mut self, _: &mut HookContext<'_>, values: Vec<Tensor>) -> Result<()> {
        self.steps += 1;
        if !values.is_empty() {
            (self.log)(values);
        }
        Ok(())
    }
}

/// Where [`FinalOps`] leaves what it computed.
///
/// The example of [`FinalOps`] uses it.
#[derive(Clone, Debug, Default)]
pub struct FinalValues(Arc<Mutex<Option<Vec<Tensor>>>>);

impl FinalValues {
    /// The values, once training has ended.
    ///
    /// The example of [`FinalOps`] uses it.
    pub fn get(&self) -> Option<Vec<Tensor>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

/// Computes something when training has ended.
///
/// ```
/// use tensorfleet_client::monitored::FinalOps;
/// use tensorfleet_client::{Graph, MonitoredSession};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let (hook, last) = FinalOps::new([w.snapshot()]);
/// let session = MonitoredSession::builder(&graph).hook(hook).open()?;
/// assert!(last.get().is_none());
/// session.finish()?;
/// assert_eq!(last.get().expect("it has ended")[0].scalar_value::<f32>()?, 5.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FinalOps {
    outputs: Vec<Output>,
    values: FinalValues,
}

impl FinalOps {
    /// Computes outputs at the end, and says where they are then.
    ///
    /// The example of [`FinalOps`] uses it.
    pub fn new<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> (FinalOps, FinalValues) {
        let values = FinalValues::default();
        let outputs = outputs.into_iter().cloned().collect();
        (FinalOps { outputs, values: values.clone() }, values)
    }
}

impl Hook for FinalOps {
    fn end(&mut self, session: &Session) -> Result<()> {
        let values = session.run((), &self.outputs)?;
        *self.values.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(values);
        Ok(())
    }
}
