//! Futures that run on the compute pool by themselves, without anybody awaiting them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use tensorfleet_framework::{BoxFuture, Spawn};

use crate::pool::{ComputePool, Jobs};
use crate::turn;

impl Spawn for ComputePool {
    fn spawn(&self, future: BoxFuture<()>) {
        let jobs = self.jobs();
        let task = Task { future: Mutex::new(Some(future)), state: AtomicU8::new(IDLE), jobs };
        Arc::new(task).wake();
    }

    fn spawn_file_work(&self, what: Arc<str>, work: Box<dyn FnOnce() + Send>) {
        ComputePool::spawn_file_work(self, what, work);
    }
}

/// A future and whether it is queued. It is in the queue of the pool at most once.
struct Task {
    future: Mutex<Option<BoxFuture<()>>>,
    state: AtomicU8,
    /// Not the pool itself: a task that waits forever must not keep its threads.
    jobs: Jobs,
}

/// The task waits to be woken.
const IDLE: u8 = 0;
/// A job of the pool will poll it.
const QUEUED: u8 = 1;
/// A thread polls it.
const RUNNING: u8 = 2;
/// A thread polls it, and it was woken meanwhile.
const WOKEN: u8 = 3;
const DONE: u8 = 4;

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let woken =
            self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| match state {
                IDLE => Some(QUEUED),
                RUNNING => Some(WOKEN),
                _ => None,
            });
        if woken == Ok(IDLE) {
            self.queue();
        }
    }
}

impl Task {
    fn queue(self: Arc<Self>) {
        let jobs = self.jobs.clone();
        jobs.push(move || self.run());
    }

    fn run(self: Arc<Self>) {
        self.state.store(RUNNING, Ordering::Release);
        let waker = Waker::from(Arc::clone(&self));
        let mut slot = self.future.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(future) = slot.as_mut() else { return };
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let mut cx = Context::from_waker(&waker);
            turn::within(turn::allowance(), || future.as_mut().poll(&mut cx).is_ready()).0
        }));
        // Whoever waits for a future that panicked learns of it by what the future owned.
        if polled.unwrap_or(true) {
            self.state.store(DONE, Ordering::Release);
            let done = slot.take();
            drop(slot);
            drop(done);
            return;
        }
        drop(slot);
        let paused =
            self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire);
        if paused.is_err() {
            self.state.store(QUEUED, Ordering::Release);
            self.queue();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Poll;

    use super::*;

    #[test]
    fn a_task_goes_on_whenever_it_is_woken() {
        let pool = ComputePool::new(2).unwrap();
        let (sender, receiver) = mpsc::channel();
        let mut left = 3;
        Spawn::spawn(
            &pool,
            Box::pin(std::future::poll_fn(move |cx| {
                left -= 1;
                if left > 0 {
                    let waker = cx.waker().clone();
                    std::thread::spawn(move || waker.wake());
                    return Poll::Pending;
                }
                sender.send("done").unwrap();
                Poll::Ready(())
            })),
        );
        assert_eq!(receiver.recv(), Ok("done"));
    }

    #[test]
    fn what_a_panicking_task_owns_is_dropped() {
        let pool = ComputePool::new(1).unwrap();
        let (sender, receiver) = mpsc::channel::<()>();
        Spawn::spawn(
            &pool,
            Box::pin(async move {
                let _owned = sender;
                panic!("on purpose");
            }),
        );
        assert!(receiver.recv().is_err());
    }
}
