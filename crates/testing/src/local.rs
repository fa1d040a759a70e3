//! Background work of tests: run by the thread that waits for something, in order.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use tensorfleet_framework::{BoxFuture, Spawn};
use tensorfleet_tensor::{Result, internal};

thread_local! {
    static QUEUE: Arc<Mutex<VecDeque<Arc<Task>>>> = Arc::default();
}

/// Leaves futures to [`finish`], called by the same thread.
#[derive(Debug)]
pub(crate) struct LocalTasks;

impl Spawn for LocalTasks {
    fn spawn(&self, future: BoxFuture<()>) {
        let queue = QUEUE.with(Arc::clone);
        Arc::new(Task { future: Mutex::new(Some(future)), queue }).wake();
    }

    fn spawn_file_work(&self, _: Arc<str>, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}

struct Task {
    future: Mutex<Option<BoxFuture<()>>>,
    queue: Arc<Mutex<VecDeque<Arc<Task>>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let queue = Arc::clone(&self.queue);
        lock(&queue).push_back(self);
    }
}

impl Task {
    fn run(self: &Arc<Self>) {
        let waker = Waker::from(Arc::clone(self));
        let mut future = lock(&self.future);
        if let Some(running) = future.as_mut()
            && running.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
        {
            *future = None;
        }
    }
}

/// The result of a future. An error if it waits and no background work is left to wake it.
pub fn finish<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let mut future = pin!(future);
    let woken = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    let queue = QUEUE.with(Arc::clone);
    loop {
        if woken.0.swap(false, Ordering::AcqRel)
            && let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker))
        {
            return result;
        }
        let task = lock(&queue).pop_front();
        match task {
            Some(task) => task.run(),
            None if woken.0.load(Ordering::Acquire) => {}
            None => return Err(internal!("the op waits")),
        }
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
