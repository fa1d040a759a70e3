//! What a task takes from the world around it: time, somebody to go on with its work, threads that may
//! block, and chance.
//!
//! A task in a simulation has another world, in which nothing happens by itself.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use tensorfleet_framework::{BoxFuture, StepId};
use tensorfleet_tensor::{Result, cancelled, internal};
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

/// Whether those who wanted some work have given it up.
#[derive(Clone, Debug, Default)]
pub struct GivenUp(Arc<AtomicBool>);

impl GivenUp {
    /// Fails if they have.
    pub fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(cancelled!("nobody waits for the work any more")),
        }
    }
}

/// Somebody who waits for work.
struct Waiting(GivenUp);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
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

    /// The result of work that takes long or blocks. If nobody awaits it any more, it does not begin, and
    /// what has begun can see it.
    pub async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&GivenUp) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let given_up = GivenUp::default();
        let waiting = Waiting(given_up.clone());
        self.spawn_blocking(Box::new(move || {
            // Whoever has stopped waiting needs no result.
            let _ = sender.send(given_up.check().and_then(|()| work(&given_up)));
        }));
        let result = receiver.await;
        drop(waiting);
        result.unwrap_or_else(|_| Err(internal!("work ended without a result")))
    }

    /// The result of work on the nodes of a graph: aside if these are many.
    pub async fn aside_if_large<T: Send + 'static>(
        &self,
        nodes: usize,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if nodes <= SMALL_GRAPH { work() } else { self.aside(|_| work()).await }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn work_sees_that_it_was_given_up() {
        let world = RealWorld(Handle::current());
        let world: &dyn World = &world;
        let (tell, told) = mpsc::channel();
        let mut work = Box::pin(world.aside(move |given_up| {
            tell.send("begun").map_err(|_| internal!("nobody listens"))?;
            while given_up.check().is_ok() {
                std::thread::yield_now();
            }
            tell.send("ended").map_err(|_| internal!("nobody listens"))
        }));
        assert!(work.as_mut().now_or_never().is_none());
        assert_eq!(told.recv(), Ok("begun"));
        drop(work);
        assert_eq!(told.recv(), Ok("ended"));
    }
}
