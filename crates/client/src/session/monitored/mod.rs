//! Sessions that look after themselves: they initialise or restore variables, call hooks around each
//! step, and start anew when a task is lost.

mod checkpoint_saver;
mod hooks;

pub use checkpoint_saver::CheckpointSaver;
pub use hooks::{
    FinalOps, FinalValues, Hook, HookContext, Logger, StepCounter, StopAtStep, SummarySaver,
};

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tensorfleet_tensor::{Code, Error, Result, Tensor};

use super::patience::QUIET;
use super::{Feed, Feeds, Fetch, Session, SessionOptions};
use crate::graph::Graph;
use crate::output::{Operation, Output};
use crate::saver::Saver;

/// How often a worker that is not the chief looks whether the variables are there.
const POLL: Duration = Duration::from_millis(100);

/// Says how a [`MonitoredSession`] works.
///
/// ```
/// use tensorfleet_client::monitored::StopAtStep;
/// use tensorfleet_client::{Graph, MonitoredSession};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let session = MonitoredSession::builder(&graph).chief(true).hook(StopAtStep::new(10)).open()?;
/// assert_eq!(session.raw()?.run((), w.value::<f32>())?, 5.0);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct MonitoredSessionBuilder {
    graph: Graph,
    target: Option<String>,
    options: SessionOptions,
    checkpoints: Option<PathBuf>,
    is_chief: bool,
    hooks: Vec<Box<dyn Hook>>,
}

impl fmt::Debug for MonitoredSessionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonitoredSessionBuilder")
            .field("target", &self.target)
            .field("checkpoints", &self.checkpoints)
            .field("is_chief", &self.is_chief)
            .field("hooks", &self.hooks.len())
            .finish_non_exhaustive()
    }
}

impl MonitoredSessionBuilder {
    /// Runs on a server, as `grpc://localhost:2222`, instead of in this process.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, MonitoredSession};
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let mut session = MonitoredSession::builder(&graph).target(server.target()).open()?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn target(mut self, target: impl Into<String>) -> MonitoredSessionBuilder {
        self.target = Some(target.into());
        self
    }

    /// Sets the options of the session.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, MonitoredSession, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let options = SessionOptions::default().threads(1);
    /// let mut session = MonitoredSession::builder(&graph).options(options).open()?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn options(mut self, options: SessionOptions) -> MonitoredSessionBuilder {
        self.options = options;
        self
    }

    /// Begins from the newest checkpoint of a directory, if there is one. [`CheckpointSaver`] writes
    /// them.
    ///
    /// ```
    /// use tensorfleet_client::monitored::CheckpointSaver;
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("restore-from-{}", std::process::id()));
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let change = w.assign(7.0);
    /// for expected in [5.0, 7.0] {
    ///     let mut session = MonitoredSession::builder(&graph)
    ///         .restore_from(&directory)
    ///         .hook(CheckpointSaver::every_steps(&directory, 1))
    ///         .open()?;
    ///     assert_eq!(session.run((), w.value::<f32>())?, expected);
    ///     session.run((), (&change, &graph.global_step().assign_add(1)))?;
    ///     session.finish()?;
    /// }
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn restore_from(mut self, directory: impl Into<PathBuf>) -> MonitoredSessionBuilder {
        self.checkpoints = Some(directory.into());
        self
    }

    /// Says whether this process initialises the variables; others wait until they are there.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, MonitoredSession};
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let open = |is_chief| {
    ///     MonitoredSession::builder(&graph).target(server.target()).chief(is_chief).open()
    /// };
    /// let chief = open(true)?;
    /// // The other finds the variable initialised.
    /// assert_eq!(open(false)?.run((), w.value::<f32>())?, 5.0);
    /// # drop(chief);
    /// # Ok(())
    /// # }
    /// ```
    pub fn chief(mut self, is_chief: bool) -> MonitoredSessionBuilder {
        self.is_chief = is_chief;
        self
    }

    /// Adds a hook; hooks are called in the order in which they were added.
    ///
    /// ```
    /// use tensorfleet_client::monitored::StopAtStep;
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let count = graph.global_step();
    /// let add = count.assign_add(1);
    /// let hook = StopAtStep::new(2);
    /// let mut session = MonitoredSession::builder(&graph).hook(hook).open()?;
    /// while !session.should_stop() {
    ///     session.run((), &add)?;
    /// }
    /// assert_eq!(session.run((), count.value::<i64>())?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn hook(mut self, hook: impl Hook + 'static) -> MonitoredSessionBuilder {
        self.hooks.push(Box::new(hook));
        self
    }

    /// Opens the session. All variables must have been made; hooks may add nodes.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let mut session = MonitoredSession::builder(&graph).open()?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(mut self) -> Result<MonitoredSession> {
        for hook in &mut self.hooks {
            hook.begin(&self.graph);
        }
        let setup = Setup {
            ready: all_initialized(&self.graph),
            initializer: self.graph.initializer(),
            saver: self.checkpoints.is_some().then(|| Saver::new(&self.graph)),
            graph: self.graph,
            target: self.target,
            options: self.options,
            checkpoints: self.checkpoints,
            is_chief: self.is_chief,
        };
        let session = setup.open()?;
        let mut monitored = MonitoredSession {
            setup,
            session: Some(session),
            hooks: self.hooks,
            should_stop: false,
            recoveries: 0,
        };
        monitored.created()?;
        Ok(monitored)
    }
}

/// Whether every variable of a graph has a value.
#[track_caller]
fn all_initialized(graph: &Graph) -> Output {
    let each: Vec<Output> = graph
        .variables()
        .iter()
        .map(|variable| {
            let handle = variable.handle();
            graph.colocate_with(handle, || graph.op("VarIsInitializedOp").input(handle).output())
        })
        .collect();
    match &each[..] {
        [] => graph.constant(true),
        each => graph.op("Pack").inputs(each).output().all(),
    }
}

/// What it takes to open the session once more.
#[derive(Debug)]
struct Setup {
    graph: Graph,
    target: Option<String>,
    options: SessionOptions,
    checkpoints: Option<PathBuf>,
    saver: Option<Saver>,
    ready: Output,
    initializer: Operation,
    is_chief: bool,
}

impl Setup {
    /// Opens the session anew. Lost tasks are waited for.
    fn reopen(&self) -> Result<Session> {
        loop {
            match self.open() {
                Err(error) if is_loss(&error) => std::thread::sleep(POLL),
                outcome => return outcome,
            }
        }
    }

    /// Opens a session whose variables have values.
    fn open(&self) -> Result<Session> {
        let session = match &self.target {
            Some(target) => Session::connect_with(target, &self.graph, &self.options)?,
            None => Session::in_process(&self.graph, &self.options)?,
        };
        let is_ready = || session.run((), self.ready.value::<bool>());
        if self.is_chief {
            // Parameter servers that were not lost hold newer values than any checkpoint.
            if !is_ready()? {
                self.fill(&session)?;
            }
        } else {
            let start = Instant::now();
            let mut is_told = false;
            while !is_ready()? {
                if !is_told && start.elapsed() >= QUIET {
                    crate::notice("waiting for the chief to initialise the variables");
                    is_told = true;
                }
                std::thread::sleep(POLL);
            }
        }
        Ok(session)
    }

    fn fill(&self, session: &Session) -> Result<()> {
        let latest = self.checkpoints.as_ref().and_then(Saver::latest);
        match (&self.saver, latest) {
            (Some(saver), Some(path)) => saver.restore(session, path),
            _ => session.run((), &self.initializer),
        }
    }
}

/// Whether an error says that a task is gone or has forgotten the session.
fn is_loss(error: &Error) -> bool {
    matches!(error.code(), Code::Unavailable | Code::Aborted)
}

/// A session for training: it initialises variables or restores them, calls hooks around each step,
/// and opens itself anew when a task was lost.
///
/// ```
/// use tensorfleet_client::monitored::{CheckpointSaver, StopAtStep};
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Graph, MonitoredSession};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("monitored-{}", std::process::id()));
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// graph.global_step();
/// let train = Sgd::new(0.25).minimize(&(w.read() - 2.0).square());
///
/// for _ in 0..2 {
///     // The second time it goes on from the checkpoint, and has nothing left to do.
///     let mut session = MonitoredSession::builder(&graph)
///         .restore_from(&directory)
///         .hook(StopAtStep::new(20))
///         .hook(CheckpointSaver::every_steps(&directory, 10))
///         .open()?;
///     while !session.should_stop() {
///         session.run((), &train)?;
///     }
///     assert_eq!(session.run((), graph.global_step().value::<i64>())?, 20);
///     session.finish()?;
/// }
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
pub struct MonitoredSession {
    setup: Setup,
    /// Absent only if it could not be opened anew.
    session: Option<Session>,
    hooks: Vec<Box<dyn Hook>>,
    should_stop: bool,
    recoveries: usize,
}

impl fmt::Debug for MonitoredSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonitoredSession")
            .field("session", &self.session)
            .field("hooks", &self.hooks.len())
            .field("should_stop", &self.should_stop)
            .field("recoveries", &self.recoveries)
            .finish_non_exhaustive()
    }
}

impl MonitoredSession {
    /// Begins to describe a session of a graph.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let session = MonitoredSession::builder(&graph).open()?;
    /// session.finish()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(graph: &Graph) -> MonitoredSessionBuilder {
        MonitoredSessionBuilder {
            graph: graph.clone(),
            target: None,
            options: SessionOptions::default(),
            checkpoints: None,
            is_chief: true,
            hooks: Vec::new(),
        }
    }

    /// Whether a hook has asked for the end of training.
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
    /// assert!(session.should_stop());
    /// # Ok(())
    /// # }
    /// ```
    pub fn should_stop(&self) -> bool {
        self.should_stop
    }

    /// How often the session was opened anew because a task was lost.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let session = MonitoredSession::builder(&graph).open()?;
    /// assert_eq!(session.recoveries(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn recoveries(&self) -> usize {
        self.recoveries
    }

    /// The session itself, whose steps hooks do not see.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let session = MonitoredSession::builder(&graph).open()?;
    /// // Hooks do not see this step, and it is not repeated when a task is lost.
    /// assert_eq!(session.raw()?.run((), w.value::<f32>())?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn raw(&self) -> Result<&Session> {
        self.session.as_ref().ok_or_else(|| {
            Error::new(Code::Unavailable, "the session could not be opened anew".to_owned())
        })
    }

    /// Runs a step with the hooks around it; again if a task was lost on the way.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([]);
    /// let y = &x + 1.0;
    /// let mut session = MonitoredSession::builder(&graph).open()?;
    /// assert_eq!(session.run((&x, 2.0f32), y.value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run<F: Fetch>(&mut self, feeds: impl Feed, fetches: F) -> Result<F::Value> {
        let mut fed = Feeds::new(&self.setup.graph);
        feeds.add_to(&mut fed)?;
        let fed = fed.into_named();
        let wanted: Vec<Vec<Output>> =
            self.hooks.iter_mut().map(|hook| hook.before_run()).collect();
        let (value, values) = loop {
            let step = self.raw()?.run(Named(fed.clone()), (&fetches, &wanted));
            match step {
                Err(error) if is_loss(&error) => self.recover()?,
                outcome => break outcome?,
            }
        };
        self.after_run(values)?;
        Ok(value)
    }

    fn after_run(&mut self, values: Vec<Vec<Tensor>>) -> Result<()> {
        let Some(session) = &self.session else { return Ok(()) };
        for (hook, values) in self.hooks.iter_mut().zip(values) {
            let mut context =
                HookContext { session, should_stop: false, is_chief: self.setup.is_chief };
            match hook.after_run(&mut context, values) {
                // The next step meets the loss again, and recovers.
                Err(error) if is_loss(&error) => {}
                outcome => outcome?,
            }
            self.should_stop |= context.should_stop;
        }
        Ok(())
    }

    fn recover(&mut self) -> Result<()> {
        self.session = None;
        self.session = Some(self.setup.reopen()?);
        self.recoveries += 1;
        self.created()
    }

    /// Tells the hooks of a new session.
    fn created(&mut self) -> Result<()> {
        let Some(session) = &self.session else { return Ok(()) };
        for hook in &mut self.hooks {
            let mut context =
                HookContext { session, should_stop: false, is_chief: self.setup.is_chief };
            hook.after_create_session(&mut context)?;
            self.should_stop |= context.should_stop;
        }
        Ok(())
    }

    /// Lets the hooks do what comes last, and closes the session.
    ///
    /// ```
    /// use tensorfleet_client::monitored::FinalOps;
    /// use tensorfleet_client::{Graph, MonitoredSession};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let (hook, last) = FinalOps::new([w.snapshot()]);
    /// MonitoredSession::builder(&graph).hook(hook).open()?.finish()?;
    /// assert_eq!(last.get().expect("it has ended")[0].scalar_value::<f32>()?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn finish(mut self) -> Result<()> {
        let mut hooks = std::mem::take(&mut self.hooks);
        let session = self.raw()?;
        // All hooks come to their end; the first failure is reported.
        let ends: Vec<Result<()>> = hooks.iter_mut().map(|hook| hook.end(session)).collect();
        ends.into_iter().collect()
    }
}

/// Feeds that have been checked before.
struct Named(Vec<(String, Tensor)>);

impl Feed for Named {
    fn add_to(self, feeds: &mut Feeds) -> Result<()> {
        feeds.extend_named(self.0);
        Ok(())
    }
}
