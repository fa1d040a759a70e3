//! Work that outlives the step which began it: an iterator that computes ahead.

use std::fmt;
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::Duration;

use tensorfleet_files::FileSystem;
use tensorfleet_tensor::account::Account;
use tensorfleet_tensor::{Error, Result, cancelled, internal};

use crate::policy::files_under;
use crate::{
    BoxFuture, Delivery, FunctionRunner, OpPolicy, Parcel, Rendezvous, Resources, StepContext,
    StepId, Surroundings, step_resources,
};

/// Runs futures on the threads that compute, so that they go on while nobody awaits them.
pub trait Spawn: fmt::Debug + Send + Sync {
    /// Runs a future to its end. Its owner says by the future itself when it should end early.
    fn spawn(&self, future: BoxFuture<()>);

    /// Does work that may block, as with files, where no computation waits behind it. The log calls it
    /// `what`.
    fn spawn_file_work(&self, what: Arc<str>, work: Box<dyn FnOnce() + Send>);

    /// Waits for a time, or until the future is dropped, on a thread that does nothing else.
    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        let (over, wait) = futures_channel::oneshot::channel::<()>();
        let (waiting, gone) = mpsc::channel::<()>();
        let counting = thread::Builder::new().name("timer".to_owned()).spawn(move || {
            if gone.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout) {
                // Whoever waited may have gone just now.
                let _ = over.send(());
            }
        });
        Box::pin(async move {
            let _waiting = waiting;
            if counting.is_ok() {
                let _ = wait.await;
            }
        })
    }
}

impl dyn Spawn {
    /// The result of work that may block. Dropping the future gives it up: then work that has begun goes on
    /// until it is done, and nobody waits for it.
    pub fn with_files<T: Send + 'static>(
        &self,
        what: Arc<str>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> BoxFuture<Result<T>> {
        let (sender, receiver) = futures_channel::oneshot::channel();
        let unbegun = move || {
            if !sender.is_canceled() {
                // Whoever has stopped waiting needs no result.
                let _ = sender.send(work());
            }
        };
        self.spawn_file_work(what, Box::new(unbegun));
        Box::pin(async move {
            receiver.await.unwrap_or_else(|_| Err(internal!("work with files failed unexpectedly")))
        })
    }
}

/// What is left of a step's surroundings when the step has ended.
#[derive(Clone, Debug)]
pub struct Background {
    device: Arc<str>,
    /// Weak because what works in the background is itself a resource.
    resources: Weak<Resources>,
    functions: Arc<dyn FunctionRunner>,
    spawner: Arc<dyn Spawn>,
    parallelism: usize,
    policy: Option<Arc<dyn OpPolicy>>,
    account: Option<Arc<Account>>,
}

impl Background {
    /// Work begun by `step`, calling the same functions.
    pub fn new(step: &StepContext) -> Background {
        Background {
            device: Arc::clone(&step.device),
            resources: Arc::downgrade(&step.resources),
            functions: Arc::clone(&step.functions),
            spawner: Arc::clone(&step.spawner),
            parallelism: step.parallelism,
            policy: step.policy.clone(),
            account: step.account.clone(),
        }
    }

    /// The same surroundings for work whose functions share no state with those of other work.
    #[must_use]
    pub fn fork(&self) -> Background {
        Background { functions: self.functions.fork(), ..self.clone() }
    }

    /// The same surroundings for work that calls other functions.
    #[must_use]
    pub fn with_functions(&self, functions: Arc<dyn FunctionRunner>) -> Background {
        Background { functions, ..self.clone() }
    }

    /// The functions that the work may call.
    pub fn functions(&self) -> &Arc<dyn FunctionRunner> {
        &self.functions
    }

    /// Where to run what should go on by itself.
    pub fn spawner(&self) -> &Arc<dyn Spawn> {
        &self.spawner
    }

    /// Whom memory is charged to.
    pub fn account(&self) -> Option<&Arc<Account>> {
        self.account.as_ref()
    }

    /// The files that ops see.
    pub fn files(&self) -> Arc<dyn FileSystem> {
        files_under(self.policy.as_ref())
    }

    /// How many threads there are.
    pub fn parallelism(&self) -> usize {
        self.parallelism
    }

    /// A step for one call of a function: what it keeps for the step is gone after the call.
    pub fn step(&self) -> Result<Arc<StepContext>> {
        let resources =
            self.resources.upgrade().ok_or_else(|| cancelled!("the session has ended"))?;
        let surroundings = Surroundings {
            device: Arc::clone(&self.device),
            resources,
            functions: Arc::clone(&self.functions),
            spawner: Arc::clone(&self.spawner),
            parallelism: self.parallelism,
            policy: self.policy.clone(),
            account: self.account.clone(),
        };
        let unit = surroundings.resources.begin_unit();
        Ok(surroundings.step(StepId(0), step_resources(), Arc::new(NoPeers), unit))
    }
}

/// A function that runs in the background has all its nodes on one device.
#[derive(Debug)]
pub(crate) struct NoPeers;

impl Rendezvous for NoPeers {
    fn send(&self, key: &str, _: Parcel) -> Result<()> {
        Err(internal!("nobody receives {key} in the background"))
    }

    fn recv(&self, key: &str) -> Result<Delivery> {
        Err(internal!("nobody sends {key} in the background"))
    }

    fn abort(&self, _: Error) {}
}
