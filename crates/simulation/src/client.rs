//! A simulated client: opens sessions, runs steps of all kinds, and judges what comes back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use tensorfleet_cluster::{RunOptions, SessionOptions, StepCall, StepReply};
use tensorfleet_framework::BoxFuture;
use tensorfleet_tensor::{Code, Error, Result, Tensor};

use crate::cluster::Cluster;
use crate::executor::{Life, NodeId};
use crate::history::History;
use crate::model;
use crate::peers::Server;

/// No call takes longer: a session waits a minute for its tasks, and silence is noticed.
const PATIENCE: Duration = Duration::from_secs(150);

/// So long after a fault its consequences may still be felt: broken connections, waiting retries.
const AFTERMATH: Duration = Duration::from_secs(30);

/// A client with its luck.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) life: Life,
    pub(crate) cluster: Cluster,
    pub(crate) history: History,
}

/// An open session.
#[derive(Debug)]
struct Session {
    handle: String,
    master: NodeId,
    /// The lives of all tasks when the session was about to be opened.
    lives: Vec<u64>,
    timeout: Option<Duration>,
    /// How many partial runs were begun and left.
    left_open: AtomicUsize,
}

/// What a step is expected to end with, when nothing disturbs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Success,
    /// A node on this task fails.
    Failure(NodeId),
    Timeout,
}

impl Client {
    fn draw(&self, bound: u64) -> u64 {
        self.cluster.handle.draw(|random| random.below(bound))
    }

    fn any_task(&self) -> NodeId {
        self.draw(self.cluster.names.len() as u64) as NodeId
    }

    fn lives(&self) -> Vec<u64> {
        (0..self.cluster.names.len()).map(|task| self.cluster.life_of_variable(task)).collect()
    }

    /// Opens a few sessions, one after the other, and uses each for a while.
    pub(crate) async fn live(self, sessions: u64, steps: u64) {
        for _ in 0..sessions {
            self.cluster.handle.sleep(Duration::from_millis(self.draw(2_000))).await;
            let timeout = (self.draw(4) == 0).then(|| Duration::from_secs(1 + self.draw(20)));
            let Some(session) = self.open(self.any_task(), timeout).await else { continue };
            for _ in 0..self.draw(steps) + 1 {
                if !self.step(&session).await {
                    break;
                }
            }
            // Some clients rest for a while: what their steps had is gone by then.
            if self.draw(2) == 0 {
                self.cluster.handle.sleep(Duration::from_secs(15)).await;
            }
            // Some clients just vanish.
            if self.draw(5) != 0 {
                self.close(&session).await;
                self.history.partial_runs(0, session.left_open.load(Ordering::Relaxed));
            }
        }
        self.history.client_ended();
    }

    /// Opens a session on a task and closes it, which lets the workers forget a dead master's.
    pub(crate) async fn visit(&self, master: NodeId) {
        if let Some(session) = self.open(master, None).await {
            self.close(&session).await;
        }
    }

    /// Calls the master of a task and sees to it that the call ends in time.
    async fn call<T: Send + 'static>(
        &self,
        what: &str,
        master: NodeId,
        serve: impl FnOnce(Server) -> BoxFuture<Result<T>> + Send + 'static,
    ) -> Result<T> {
        let _calling = self.history.calling();
        let servers = self.cluster.servers.clone();
        let call = self.cluster.network.call(self.life, master, move |life| {
            Box::pin(async move {
                match servers.of(life) {
                    Some(server) => serve(server).await,
                    None => std::future::pending().await,
                }
            })
        });
        match select(call, self.cluster.handle.sleep(PATIENCE)).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => {
                self.history.wrong(format!("{what} did not end"));
                Err(tensorfleet_tensor::internal!("no end"))
            }
        }
    }

    async fn open(&self, master: NodeId, timeout: Option<Duration>) -> Option<Session> {
        let lives = self.lives();
        let options = SessionOptions { timeout, ..SessionOptions::default() };
        let (nodes, library) = (model::nodes(&self.cluster), model::library());
        let begin = self.cluster.handle.elapsed();
        let opened = self
            .call("opening a session", master, |server| {
                Box::pin(async move {
                    let session = server.master.create_session(nodes, library, options).await?;
                    Ok(session.handle.clone())
                })
            })
            .await;
        match opened {
            Ok(handle) => {
                let left_open = AtomicUsize::new(0);
                Some(Session { handle, master, lives, timeout, left_open })
            }
            Err(error) => {
                self.judge("opening a session", begin, &error, Expected::Success, timeout);
                None
            }
        }
    }

    async fn close(&self, session: &Session) {
        let handle = session.handle.clone();
        let begin = self.cluster.handle.elapsed();
        let closed = self.call("closing a session", session.master, |server| {
            Box::pin(async move { server.master.close_session(&handle).await })
        });
        if let Err(error) = closed.await {
            self.judge("closing a session", begin, &error, Expected::Success, session.timeout);
        }
    }

    /// Runs one step of some kind. False: the session is of no more use.
    async fn step(&self, session: &Session) -> bool {
        let task = self.any_task();
        match self.draw(12) {
            0..=3 => self.add(session, task).await,
            4..=6 => self.read(session, task).await,
            7 => self.fail(session, task).await,
            8 => self.run_late(session, task).await,
            9 => self.remote(session, task).await,
            10 => self.partial(session, task).await,
            _ => self.give_up(session, task).await,
        }
    }

    async fn run(&self, what: &str, session: &Session, call: StepCall) -> Result<StepReply> {
        let handle = session.handle.clone();
        self.call(what, session.master, |server| {
            Box::pin(async move { server.master.session(&handle)?.run(call).await })
        })
        .await
    }

    /// Judges a step that came back. False: the session is of no more use.
    fn judged<T>(
        &self,
        what: &str,
        begin: Duration,
        outcome: &Result<T>,
        expected: Expected,
        session: &Session,
    ) -> bool {
        let code = outcome.as_ref().err().map(Error::code);
        self.history.count(format!("{what}: {code:?}"));
        match outcome {
            Ok(_) => {
                if expected != Expected::Success {
                    self.history.wrong(format!("{what} came back well instead of {expected:?}"));
                }
                true
            }
            Err(error) => {
                self.judge(what, begin, error, expected, session.timeout);
                !matches!(code, Some(Code::Aborted | Code::Unavailable))
            }
        }
    }

    /// Whether an error is the right one: its code, and whom it blames.
    fn judge(
        &self,
        what: &str,
        begin: Duration,
        error: &Error,
        expected: Expected,
        timeout: Option<Duration>,
    ) {
        let handle = &self.cluster.handle;
        handle.note(|| format!("client {}: {what}: {error}", self.life.node));
        let text = error.to_string();
        let wrong = |why: &str| self.history.wrong(format!("{what} {why}: {text}"));
        match (expected, error.code()) {
            (Expected::Failure(task), Code::InvalidArgument) => {
                if !text.contains(&format!("checked_{task}")) {
                    wrong("blames another node");
                }
                return;
            }
            (_, Code::InvalidArgument) => return wrong("fails without a reason"),
            (Expected::Timeout, Code::DeadlineExceeded) => return,
            (_, Code::DeadlineExceeded) if timeout.is_some() => return,
            // Who has little patience opens no session on a slow network.
            (_, Code::Unavailable) if timeout.is_some() && text.contains("no answer") => return,
            _ => {}
        }
        if !self.history.any_fault() {
            return wrong("fails although nothing was wrong");
        }
        let since = begin.saturating_sub(AFTERMATH);
        let had_fault = |node| self.history.had_fault(node, since, handle.elapsed());
        let tasks = 0..self.cluster.names.len();
        match error.code() {
            Code::Unavailable => {
                // Whoever is named must have been in trouble, or have been cut off from others.
                let names = |task: &NodeId| text.contains(&self.cluster.names[*task].to_string());
                if !tasks.clone().filter(names).any(had_fault) && !had_fault(self.life.node) {
                    wrong("blames the wrong task");
                }
            }
            Code::Aborted => {
                if !tasks.clone().any(had_fault) && !had_fault(self.life.node) {
                    wrong("is aborted without a reason");
                }
            }
            _ => wrong("ends with a code that no fault explains"),
        }
    }

    async fn add(&self, session: &Session, task: NodeId) -> bool {
        let Some((number, delta)) = self.history.begin(task, session.lives[task]) else {
            return true;
        };
        let begin = self.cluster.handle.elapsed();
        let call = StepCall {
            feeds: vec![("delta:0".to_owned(), Tensor::scalar(delta))],
            targets: vec![format!("add_{task}")],
            ..StepCall::default()
        };
        let outcome = self.run("an addition", session, call).await;
        if outcome.is_ok() {
            let life = self.lives()[task];
            if life == session.lives[task] {
                self.history.acknowledge(task, number, life);
            }
        }
        self.judged("an addition", begin, &outcome, Expected::Success, session)
    }

    async fn read(&self, session: &Session, task: NodeId) -> bool {
        let life = session.lives[task];
        let certain = self.history.certain(task, life);
        let begin = self.cluster.handle.elapsed();
        let what = if self.draw(2) == 0 { "read" } else { "far" };
        let fetches = vec![format!("{what}_{task}:0")];
        let call = StepCall { fetches, ..StepCall::default() };
        let outcome = self.run("a read", session, call).await;
        if let Ok(reply) = &outcome
            && self.lives()[task] == life
        {
            match reply.tensors.first().map(Tensor::scalar_value::<i64>) {
                Some(Ok(value)) => self.history.check(task, life, value, &certain),
                _ => self.history.wrong("a read returned no number".to_owned()),
            }
        }
        self.judged("a read", begin, &outcome, Expected::Success, session)
    }

    async fn fail(&self, session: &Session, task: NodeId) -> bool {
        let begin = self.cluster.handle.elapsed();
        let call = StepCall {
            feeds: vec![("bad:0".to_owned(), Tensor::scalar(f32::NAN))],
            fetches: vec![format!("waits_{task}:0")],
            ..StepCall::default()
        };
        let outcome = self.run("a failing step", session, call).await;
        self.judged("a failing step", begin, &outcome, Expected::Failure(task), session)
    }

    async fn run_late(&self, session: &Session, task: NodeId) -> bool {
        let begin = self.cluster.handle.elapsed();
        let limit = Duration::from_millis(1 + self.draw(5_000));
        let call = StepCall {
            fetches: vec![format!("never_{task}:0")],
            options: RunOptions { timeout: Some(limit), ..RunOptions::default() },
            ..StepCall::default()
        };
        let outcome = self.run("an endless step", session, call).await;
        self.judged("an endless step", begin, &outcome, Expected::Timeout, session)
    }

    async fn remote(&self, session: &Session, task: NodeId) -> bool {
        let begin = self.cluster.handle.elapsed();
        let number = self.draw(1_000) as i64;
        let call = StepCall {
            feeds: vec![("delta:0".to_owned(), Tensor::scalar(number))],
            fetches: vec![format!("remote_{task}:0")],
            ..StepCall::default()
        };
        let outcome = self.run("a remote call", session, call).await;
        if let Ok(reply) = &outcome {
            let value = reply.tensors.first().and_then(|tensor| tensor.scalar_value::<i64>().ok());
            if value != Some(2 * number) {
                self.history.wrong(format!("twice {number} is {value:?}"));
            }
        }
        self.judged("a remote call", begin, &outcome, Expected::Success, session)
    }

    /// A step in two calls, of which the second may never come.
    async fn partial(&self, session: &Session, task: NodeId) -> bool {
        let begin = self.cluster.handle.elapsed();
        let fetch = format!("double_{task}:0");
        let (feeds, fetches) = (vec!["delta:0".to_owned(), "other:0".to_owned()], vec![fetch]);
        let (handle, wanted) = (session.handle.clone(), fetches.clone());
        let setup = self.call("a partial run", session.master, |server| {
            Box::pin(async move {
                let session = server.master.session(&handle)?;
                session.partial_run_setup(feeds, wanted, Vec::new()).await
            })
        });
        let run = match setup.await {
            Ok(run) => run,
            Err(error) => {
                let outcome = Err::<(), Error>(error);
                return self.judged("a partial run", begin, &outcome, Expected::Success, session);
            }
        };
        self.history.partial_runs(1, 0);
        for (feed, fetches) in [("delta:0", Vec::new()), ("other:0", fetches)] {
            if self.draw(4) == 0 {
                session.left_open.fetch_add(1, Ordering::Relaxed);
                return true;
            }
            let feeds = vec![(feed.to_owned(), Tensor::scalar(21i64))];
            let (handle, run) = (session.handle.clone(), run.clone());
            let call = StepCall { feeds, fetches, ..StepCall::default() };
            let part = self.call("a partial run", session.master, |server| {
                Box::pin(async move {
                    let session = server.master.session(&handle)?;
                    session.partial_run(&run, call).await
                })
            });
            let outcome = part.await;
            if let Ok(StepReply { tensors, .. }) = &outcome
                && let Some(tensor) = tensors.first()
                && tensor.scalar_value::<i64>().ok() != Some(42)
            {
                self.history.wrong("a partial run returned another sum".to_owned());
            }
            if !self.judged("a partial run", begin, &outcome, Expected::Success, session) {
                self.history.partial_runs(0, 1);
                return false;
            }
        }
        self.history.partial_runs(0, 1);
        true
    }

    /// Starts a step that never ends, and leaves it.
    async fn give_up(&self, session: &Session, task: NodeId) -> bool {
        let fetches = vec![format!("never_{task}:0"), format!("far_{task}:0")];
        let call = StepCall { fetches, ..StepCall::default() };
        let step = Box::pin(self.run("a step that is left", session, call));
        let patience = self.cluster.handle.sleep(Duration::from_millis(self.draw(3_000)));
        // If it came back, something went wrong, and another step will tell.
        matches!(select(step, patience).await, Either::Right(_))
    }
}
