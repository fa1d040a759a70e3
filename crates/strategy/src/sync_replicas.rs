//! Synchronous training by programs of their own: each worker's program computes gradients, and the
//! chief's applies their mean when enough have come.

use std::sync::Arc;
use std::thread::JoinHandle;

use tensorfleet_client::optimizer::Optimizer;
use tensorfleet_client::{
    Code, DType, Error, Feed, Graph, Operation, Output, Result, Session, Variable, invalid_argument,
};

use crate::MeanGradients;

/// Where workers wait for the number of the next step.
const TOKENS: &str = "sync_replicas/tokens";

/// In place of a number: there is no next step.
const OVER: i64 = -1;

/// How many workers a synchronous step has.
///
/// As in the example of [`SyncReplicas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// How many gradients make a step. With fewer than there are workers the rest are backups, whose
    /// gradients are dropped if they come late.
    pub aggregate: usize,
    /// How many workers there are.
    pub total: usize,
}

/// Synchronous training in which every worker is a program of its own, as with TensorFlow's
/// `SyncReplicasOptimizer`.
///
/// Each program makes the same graph and trains with [`SyncReplicas::train`], which waits until the
/// step has been made that it took part in. One of them, the chief, also runs
/// [`SyncReplicas::chief`], which applies the mean of the gradients.
///
/// ```
/// use tensorfleet_client::optimizer::Sgd;
/// use tensorfleet_client::{Graph, Session};
/// use tensorfleet_server::{Config, Server};
/// use tensorfleet_strategy::{Replicas, SyncReplicas};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let server = Server::create_local_server(&Config::default(), true)?;
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let one = Replicas { aggregate: 1, total: 1 };
/// let mut sync = SyncReplicas::new(&graph, &Sgd::new(0.1), &w.read().square(), one);
/// let session = Session::connect(&server.target(), &graph)?;
/// session.run((), &graph.initializer())?;
///
/// let chief = sync.chief(Session::connect(&server.target(), &graph)?)?;
/// assert!(sync.train(&session, ())?);
/// assert_eq!(session.run((), w.value::<f32>())?, 4.0);
/// chief.stop()?;
/// assert!(!sync.train(&session, ())?, "there are no more steps");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SyncReplicas {
    gradients: MeanGradients,
    /// The steps that were made.
    steps: Variable,
    /// What a worker gets when the step that it contributed to is made: the number of the next.
    token: Output,
    apply: Operation,
    finish: Operation,
    aggregate: usize,
    /// The step that this worker's next gradients are for, once it has asked.
    step: Option<i64>,
}

impl SyncReplicas {
    /// Has an optimiser minimise a loss together with the other workers. The state that they share
    /// is where the graph's variables are.
    ///
    /// As in the example of [`SyncReplicas`].
    #[track_caller]
    pub fn new(
        graph: &Graph,
        optimizer: &impl Optimizer,
        loss: &Output,
        replicas: Replicas,
    ) -> SyncReplicas {
        let gradients = MeanGradients::new(graph, &optimizer.compute_gradients(loss));
        let apply = optimizer.apply_gradients(&gradients.means);
        let steps = graph.state("sync_replicas/steps", 0i64);
        let handle = steps.handle().clone();
        graph.colocate_with(&handle, || {
            let tokens = |op: &str| {
                graph.op(op).attr("dtypes", vec![DType::Int64]).attr("shared_name", TOKENS)
            };
            let stage = |number: &Output| tokens("Stage").inputs([number]).build();
            let finish = stage(&graph.constant(OVER));
            // What another program left on the same servers.
            let clear = tokens("StageClear").build();
            graph.initialize_with(&clear);
            // Whoever has to contribute several times a step need not wait for the first.
            let early = replicas.aggregate.saturating_sub(replicas.total);
            graph.control_dependencies([&clear], || {
                let first = graph.constant(0i64);
                (0..early).for_each(|_| graph.initialize_with(&stage(&first)));
            });
            let apply = graph.control_dependencies([&apply], || {
                let count = steps.assign_add(1);
                graph.control_dependencies([&count], || {
                    let next = steps.read();
                    let each = replicas.total.max(replicas.aggregate);
                    graph.group(&(0..each).map(|_| stage(&next)).collect::<Vec<_>>())
                })
            });
            let token =
                graph.control_dependencies([&gradients.contribute], || tokens("Unstage").output());
            let aggregate = replicas.aggregate;
            SyncReplicas { gradients, steps, token, apply, finish, aggregate, step: None }
        })
    }

    /// Contributes gradients of a batch, and waits for the step to be made. False: training was
    /// finished, by this worker or another.
    ///
    /// As in the example of [`SyncReplicas`].
    pub fn train(&mut self, session: &Session, feeds: impl Feed) -> Result<bool> {
        self.check()?;
        let step = match self.step {
            Some(step) => step,
            None => session.run((), self.steps.value::<i64>())?,
        };
        let next =
            session.run((feeds, (&self.gradients.round, step)), self.token.value::<i64>())?;
        if next == OVER {
            // The next who asks is to know it too.
            self.finish(session)?;
            return Ok(false);
        }
        self.step = Some(next);
        Ok(true)
    }

    /// Ends the training of all workers, for one that is out of data.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::Sgd;
    /// use tensorfleet_client::{Graph, Session};
    /// use tensorfleet_strategy::{Replicas, SyncReplicas};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let loss = graph.variable("w", 5.0f32).read().square();
    /// let two = Replicas { aggregate: 2, total: 2 };
    /// let mut sync = SyncReplicas::new(&graph, &Sgd::new(0.1), &loss, two);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// sync.finish(&session)?;
    /// assert!(!sync.train(&session, ())?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn finish(&self, session: &Session) -> Result<()> {
        session.run((), &self.finish)
    }

    /// A step of no gradients would never be made, and workers would wait for it.
    fn check(&self) -> Result<()> {
        if self.aggregate == 0 {
            return Err(invalid_argument!("a synchronous step needs at least one gradient"));
        }
        Ok(())
    }

    /// Starts to apply the mean of every step's gradients, on a thread and in a session of its own.
    ///
    /// As in the example of [`SyncReplicas`].
    pub fn chief(&self, session: Session) -> Result<Chief> {
        self.check()?;
        let session = Arc::new(session);
        let feeds = (self.gradients.contributions.clone(), self.aggregate as i32);
        let (working, apply) = (Arc::clone(&session), self.apply.clone());
        let thread =
            std::thread::Builder::new().name("sync-replicas".to_owned()).spawn(move || {
                loop {
                    if let Err(error) = working.run((&feeds.0, feeds.1), &apply) {
                        return error;
                    }
                }
            });
        let thread =
            thread.map_err(|error| Error::new(Code::ResourceExhausted, error.to_string()))?;
        Ok(Chief { session, thread: Some(thread), finish: self.finish.clone() })
    }
}

/// Applies gradients until it is stopped or dropped; made by [`SyncReplicas::chief`].
///
/// As in the example of [`SyncReplicas`].
#[derive(Debug)]
pub struct Chief {
    session: Arc<Session>,
    /// Ends with what ended it.
    thread: Option<JoinHandle<Error>>,
    finish: Operation,
}

impl Chief {
    /// Whether gradients are no longer applied, as when a server was lost; [`Chief::stop`] says why.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::Sgd;
    /// use tensorfleet_client::{Graph, Session};
    /// use tensorfleet_strategy::{Replicas, SyncReplicas};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let loss = graph.variable("w", 5.0f32).read().square();
    /// let two = Replicas { aggregate: 2, total: 2 };
    /// let sync = SyncReplicas::new(&graph, &Sgd::new(0.1), &loss, two);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let chief = sync.chief(session)?;
    /// assert!(!chief.is_over());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the training of all workers. An error is what had ended the chief before.
    ///
    /// As in the example of [`SyncReplicas`].
    pub fn stop(mut self) -> Result<()> {
        let was_over = self.is_over();
        match (self.end(), was_over) {
            (Some(error), true) => Err(error),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Option<Error> {
        let thread = self.thread.take()?;
        // The servers may be gone, and then so are those who wait.
        let _ = self.session.run((), &self.finish);
        let _ = self.session.close();
        thread.join().ok()
    }
}

impl Drop for Chief {
    fn drop(&mut self) {
        self.end();
    }
}
