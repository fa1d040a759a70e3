//! The hook that writes checkpoints.

use std::path::PathBuf;
use std::time::Duration;

use tensorfleet_tensor::{Result, Tensor};

use super::hooks::{Every, GlobalStep, Hook, HookContext, Timer};
use crate::checkpoints::{CheckpointManager, Progress};
use crate::graph::Graph;
use crate::output::Output;
use crate::saver::Saver;
use crate::session::Session;

/// Writes checkpoints: one at the beginning, one every so often, one at the end.
///
/// ```
/// use tensorfleet_client::monitored::{CheckpointSaver, StopAtStep};
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Graph, MonitoredSession, Saver};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let name = format!("hook-saver-{}", std::process::id());
/// # let directory = std::env::temp_dir().join(name);
/// let graph = Graph::new();
/// graph.global_step();
/// let loss = graph.variable("w", 5.0f32).read().square();
/// let train = Sgd::new(0.25).minimize(&loss);
/// let mut session = MonitoredSession::builder(&graph)
///     .hook(StopAtStep::new(3))
///     .hook(CheckpointSaver::every_steps(&directory, 2))
///     .open()?;
/// while !session.should_stop() {
///     session.run((), &train)?;
/// }
/// session.finish()?;
/// let latest = Saver::latest(&directory).expect("one is written at the end");
/// assert!(latest.ends_with("model.ckpt-3"));
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CheckpointSaver {
    manager: CheckpointManager,
    timer: Timer,
    step: GlobalStep,
    saver: Option<Saver>,
    is_in_background: bool,
    /// Others than the chief write nothing.
    is_chief: bool,
}

impl CheckpointSaver {
    fn new(directory: impl Into<PathBuf>, every: Every) -> CheckpointSaver {
        CheckpointSaver {
            manager: CheckpointManager::new(directory),
            timer: Timer::new(every),
            step: GlobalStep::default(),
            saver: None,
            is_in_background: false,
            is_chief: true,
        }
    }

    /// Writes after a number of steps.
    ///
    /// ```
    /// use tensorfleet_client::monitored::{CheckpointSaver, StopAtStep};
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::{Graph, MonitoredSession, Saver};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("hook-steps-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// # let graph = Graph::new();
    /// # graph.global_step();
    /// # let loss = graph.variable("w", 5.0f32).read().square();
    /// # let train = Sgd::new(0.25).minimize(&loss);
    /// let hook = CheckpointSaver::every_steps(&directory, 1);
    /// # let mut session = MonitoredSession::builder(&graph)
    /// #     .hook(StopAtStep::new(3))
    /// #     .hook(hook)
    /// #     .open()?;
    /// # while !session.should_stop() {
    /// #     session.run((), &train)?;
    /// # }
    /// # assert!(Saver::latest(&directory).is_some());
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn every_steps(directory: impl Into<PathBuf>, steps: i64) -> CheckpointSaver {
        CheckpointSaver::new(directory, Every::Steps(steps))
    }

    /// Writes after some time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::monitored::{CheckpointSaver, StopAtStep};
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::{Graph, MonitoredSession, Saver};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("hook-time-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// # let graph = Graph::new();
    /// # graph.global_step();
    /// # let loss = graph.variable("w", 5.0f32).read().square();
    /// # let train = Sgd::new(0.25).minimize(&loss);
    /// let hook = CheckpointSaver::every(&directory, Duration::from_secs(600));
    /// # let mut session = MonitoredSession::builder(&graph)
    /// #     .hook(StopAtStep::new(3))
    /// #     .hook(hook)
    /// #     .open()?;
    /// # while !session.should_stop() {
    /// #     session.run((), &train)?;
    /// # }
    /// # assert!(Saver::latest(&directory).is_some());
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn every(directory: impl Into<PathBuf>, time: Duration) -> CheckpointSaver {
        CheckpointSaver::new(directory, Every::Time(time))
    }

    /// Keeps so many of the newest checkpoints, those of former runs counted too; five by default, and
    /// zero keeps all.
    ///
    /// As in the example of [`CheckpointSaver::with`].
    #[must_use]
    pub fn keep(mut self, checkpoints: usize) -> CheckpointSaver {
        self.manager = self.manager.keep(checkpoints);
        self
    }

    /// Has checkpoints kept by a manager that says more, as which are kept for good. Their position in
    /// the data is the number of steps.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::monitored::CheckpointSaver;
    /// use tensorfleet_client::{CheckpointManager, Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("hook-manager-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let add = graph.global_step().assign_add(1);
    /// let hourly = CheckpointManager::new(&directory).keep_every(Duration::from_secs(3600));
    /// let hook = CheckpointSaver::every_steps(&directory, 10).with(hourly).keep(3);
    /// let mut session = MonitoredSession::builder(&graph).hook(hook).open()?;
    /// session.run((), &add)?;
    /// session.finish()?;
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with(mut self, manager: CheckpointManager) -> CheckpointSaver {
        self.manager = manager;
        self
    }

    /// Writes while training goes on; only the last checkpoint is waited for.
    ///
    /// ```
    /// use tensorfleet_client::monitored::CheckpointSaver;
    /// use tensorfleet_client::{Graph, MonitoredSession, Saver};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("hook-background-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let add = graph.global_step().assign_add(1);
    /// let hook = CheckpointSaver::every_steps(&directory, 1).in_background();
    /// let mut session = MonitoredSession::builder(&graph).hook(hook).open()?;
    /// for _ in 0..3 {
    ///     session.run((), &add)?;
    /// }
    /// session.finish()?;
    /// assert!(Saver::latest(&directory).expect("one is written").ends_with("model.ckpt-3"));
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn in_background(mut self) -> CheckpointSaver {
        self.is_in_background = true;
        self
    }

    fn save(&mut self, session: &Session) -> Result<()> {
        if !self.is_chief {
            return Ok(());
        }
        let step = self.step.read(session)?;
        // The same step is not written twice.
        if self.timer.last.is_some_and(|(last, _)| last == step) {
            return Ok(());
        }
        let Some(saver) = &self.saver else { return Ok(()) };
        let progress = Progress { step, position: u64::try_from(step).unwrap_or(0) };
        if self.is_in_background {
            self.manager.save_in_background(saver, session, progress)?;
        } else {
            self.manager.save(saver, session, progress)?;
        }
        self.timer.done(step);
        Ok(())
    }
}

impl Hook for CheckpointSaver {
    fn begin(&mut self, graph: &Graph) {
        self.step.begin(graph);
        self.saver = Some(Saver::new(graph));
    }

    fn after_create_session(&mut self, context: &mut HookContext<'_>) -> Result<()> {
        self.is_chief = context.is_chief();
        self.save(context.session())
    }

    fn before_run(&mut self) -> Vec<Output> {
        self.step.wanted()
    }

    fn after_run(&mut self, context: &mut HookContext<'_>, values: Vec<Tensor>) -> Result<()> {
        if self.timer.is_due(GlobalStep::fetched(&values)? + 1) {
            self.save(context.session())?;
        }
        Ok(())
    }

    fn end(&mut self, session: &Session) -> Result<()> {
        self.save(session)?;
        self.manager.wait()
    }
}
