//! State that steps wait on: whoever changes it wakes all who wait, and each looks again.
//!
//! For things that few wait on at a time. Queues, which many do, have lines of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use tensorfleet_framework::{Outcome, Started};
use tensorfleet_tensor::Result;

#[derive(Debug, Default)]
pub(super) struct Watched<S> {
    inner: Mutex<(S, Vec<Waker>)>,
}

impl<S> Watched<S> {
    pub(super) fn new(state: S) -> Watched<S> {
        Watched { inner: Mutex::new((state, Vec::new())) }
    }

    fn lock(&self) -> MutexGuard<'_, (S, Vec<Waker>)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the state.
    pub(super) fn look<R>(&self, look: impl FnOnce(&S) -> R) -> R {
        look(&self.lock().0)
    }

    /// Changes the state and wakes all who wait.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut S) -> R) -> R {
        let mut guard = self.lock();
        let result = change(&mut guard.0);
        let wakers = std::mem::take(&mut guard.1);
        drop(guard);
        wakers.into_iter().for_each(Waker::wake);
        result
    }
}

impl<S: Send + 'static> Watched<S> {
    /// Tries until something comes of it. An attempt that yields nothing changes nothing.
    pub(super) fn start(
        self: &Arc<Self>,
        mut attempt: impl FnMut(&mut S) -> Result<Option<Outcome>> + Send + 'static,
    ) -> Result<Started> {
        let watched = Arc::clone(self);
        start(move |waker| watched.attempt(&mut attempt, waker))
    }
}

/// Calls until something comes of it. The call gets who is to be woken, if not at once.
pub(super) fn start(
    mut attempt: impl FnMut(Option<&Waker>) -> Result<Option<Outcome>> + Send + 'static,
) -> Result<Started> {
    if let Some(outcome) = attempt(None)? {
        return Ok(Started::Done(outcome));
    }
    Ok(Started::Waiting(Box::pin(std::future::poll_fn(move |context| {
        match attempt(Some(context.waker())) {
            Ok(Some(outcome)) => Poll::Ready(Ok(outcome)),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }))))
}

impl<S> Watched<S> {
    /// Tries once. If nothing comes of it, `waker` hears of the next change.
    pub(super) fn attempt(
        &self,
        attempt: &mut impl FnMut(&mut S) -> Result<Option<Outcome>>,
        waker: Option<&Waker>,
    ) -> Result<Option<Outcome>> {
        let mut guard = self.lock();
        let result = attempt(&mut guard.0);
        let mut wakers = Vec::new();
        match &result {
            Ok(None) => {
                if let Some(waker) = waker {
                    guard.1.push(waker.clone());
                }
            }
            // It took or put something: others may be able to go on.
            _ => wakers = std::mem::take(&mut guard.1),
        }
        drop(guard);
        wakers.into_iter().for_each(Waker::wake);
        result
    }
}
