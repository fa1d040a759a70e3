//! What a task takes from the world around it: time, somebody to go on with its work, threads that may
//! block, and chance.
//!
//! A task in a simulation has another world, in which nothing happens by itself.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use tensorfleet_framework::{BoxFuture, StepId};
use tensorfleet_tensor::{Result, internal};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::random::random_u64;

/// A world. A value that is dropped may hand its clean-up to it on any thread, inside or outside of
/// the async runtime.
pub trait World: fmt::Debug + Send + Sync {
    /// What time it is.
    fn now(&self) -> Instant;

    /// Ends at a time.
    fn sleep_until(&self, time: Instant) -> BoxFuture<()>;

    /// Runs a future to its end.
    fn spawn(&self, future: BoxFuture<()>);

    /// Runs work that takes long or blocks, where nobody waits behind it.
    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>);

    /// A number that nobody can guess.
    fn random(&self) -> u64;
}

/// Work on so many nodes is over sooner than it is handed to another thread.
const SMALL_GRAPH: usize = 1000;

impl dyn World + '_ {
    /// Ends after some time.
    pub fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        self.sleep_until(self.now() + duration)
    }

    /// What a future resolves to, unless a time comes first.
    pub async fn until<F: Future>(&self, time: Instant, future: F) -> Option<F::Output> {
        match select(pin!(future), self.sleep_until(time)).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }

    /// What a future resolves to, unless it takes longer than that.
    pub async fn within<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        self.until(self.now() + limit, future).await
    }

    /// The result of work that takes long or blocks. It goes on if nobody awaits it any more.
    pub async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        self.spawn_blocking(Box::new(move || {
            // Whoever has stopped waiting needs no result.
            let _ = sender.send(work());
        }));
        receiver.await.unwrap_or_else(|_| Err(internal!("work ended without a result")))
    }

    /// The result of work on the nodes of a graph: aside if these are many.
    pub async fn aside_if_large<T: Send + 'static>(
        &self,
        nodes: usize,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if nodes <= SMALL_GRAPH { work() } else { self.aside(work).await }
    }

    /// A random number that is not zero, for incarnations.
    pub fn random_nonzero(&self) -> u64 {
        self.random().max(1)
    }

    /// A number for a new step. TensorFlow's masters draw 57-bit positive numbers too.
    pub fn random_step_id(&self) -> StepId {
        StepId((self.random() >> 7).max(1) as i64)
    }

    /// A random handle of sixteen hexadecimal digits.
    pub fn random_handle(&self) -> String {
        format!("{:016x}", self.random())
    }
}

/// The world that servers live in: an async runtime, its threads, the system's randomness.
#[derive(Clone, Debug)]
pub struct RealWorld(pub Handle);

impl World for RealWorld {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, time: Instant) -> BoxFuture<()> {
        let _runtime = self.0.enter();
        Box::pin(tokio::time::sleep_until(time.into()))
    }

    fn spawn(&self, future: BoxFuture<()>) {
        self.0.spawn(future);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.0.spawn_blocking(work);
    }

    fn random(&self) -> u64 {
        random_u64()
    }
}
