//! Short work that goes on where it is woken, instead of on a thread that has to be woken first.
//!
//! Whoever makes a tensor that another task waits for also sends it. Nothing here may take long: it
//! takes the time of somebody who has other work.

use std::fmt;
use std::mem::replace;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Wake, Waker};

use tensorfleet_framework::BoxFuture;

/// A future that is polled by whoever wakes it, on the spot.
pub(super) struct Prompt(Mutex<State>);

enum State {
    /// It waits to be woken.
    Waits(BoxFuture<()>),
    /// A thread polls it.
    Polled,
    /// A thread polls it, and it was woken meanwhile.
    Woken,
    Over,
}

impl Prompt {
    /// Work that begins when it is first woken.
    pub(super) fn new(work: BoxFuture<()>) -> Arc<Prompt> {
        Arc::new(Prompt(Mutex::new(State::Waits(work))))
    }

    /// Ends the work where it is.
    pub(super) fn cancel(&self) {
        let before = replace(&mut *self.lock(), State::Over);
        // What the future owns may wake others when it is dropped.
        drop(before);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes the future to poll it, unless somebody else has it.
    fn take(&self) -> Option<BoxFuture<()>> {
        let mut state = self.lock();
        match replace(&mut *state, State::Polled) {
            State::Waits(work) => Some(work),
            State::Polled | State::Woken => {
                *state = State::Woken;
                None
            }
            State::Over => {
                *state = State::Over;
                None
            }
        }
    }

    /// Puts the future back after a poll; returns it if it must be polled again.
    fn put(&self, work: BoxFuture<()>) -> Option<BoxFuture<()>> {
        let mut state = self.lock();
        match *state {
            State::Woken => {
                *state = State::Polled;
                Some(work)
            }
            State::Over => {
                drop(state);
                drop(work);
                None
            }
            State::Polled | State::Waits(_) => {
                *state = State::Waits(work);
                None
            }
        }
    }
}

impl Wake for Prompt {
    fn wake(self: Arc<Self>) {
        let Some(mut work) = self.take() else { return };
        let waker = Waker::from(Arc::clone(&self));
        let mut cx = Context::from_waker(&waker);
        while work.as_mut().poll(&mut cx).is_pending() {
            match self.put(work) {
                Some(again) => work = again,
                None => return,
            }
        }
        *self.lock() = State::Over;
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prompt")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

    use tokio::sync::{Notify, oneshot};

    use super::*;

    #[test]
    fn work_goes_on_on_the_thread_that_wakes_it() {
        let (sender, receiver) = oneshot::channel();
        let place = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&place);
        let prompt = Prompt::new(Box::pin(async move {
            receiver.await.unwrap();
            *seen.lock().unwrap() = Some(std::thread::current().id());
        }));
        Arc::clone(&prompt).wake();
        assert_eq!(*place.lock().unwrap(), None);
        let waking = std::thread::spawn(move || {
            sender.send(()).unwrap();
            std::thread::current().id()
        });
        assert_eq!(Some(waking.join().unwrap()), *place.lock().unwrap());
        prompt.wake();
    }

    #[test]
    fn work_that_wakes_itself_goes_on() {
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        Prompt::new(Box::pin(std::future::poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            if counted.fetch_add(1, Ordering::Relaxed) < 5 {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })))
        .wake();
        assert_eq!(turns.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn cancelled_work_is_dropped() {
        let (sender, receiver) = oneshot::channel::<()>();
        let prompt = Prompt::new(Box::pin(async move {
            let _owned = sender;
            Notify::new().notified().await;
        }));
        Arc::clone(&prompt).wake();
        prompt.cancel();
        assert!(receiver.blocking_recv().is_err());
        prompt.wake();
    }
}
