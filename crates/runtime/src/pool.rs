//! The threads on which steps compute: one pool for all servers of a process.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};

use tensorfleet_kernels::FlushDenormals;

type Job = Box<dyn FnOnce() + Send>;

/// A fixed set of threads that run jobs in the order of their arrival. Jobs never wait for others.
pub struct ComputePool {
    shared: Arc<Shared>,
    threads: usize,
}

struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

thread_local! {
    static IS_POOL_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread may compute for long: async code must not.
pub(crate) fn is_pool_thread() -> bool {
    IS_POOL_THREAD.get()
}

impl ComputePool {
    /// Starts a pool of `threads` threads.
    pub fn new(threads: usize) -> std::io::Result<ComputePool> {
        let threads = threads.max(1);
        let shared =
            Arc::new(Shared { queue: Mutex::new(Queue::default()), arrived: Condvar::new() });
        for index in 0..threads {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name(format!("compute-{index}"))
                .spawn(move || shared.work())?;
        }
        Ok(ComputePool { shared, threads })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Queues a job.
    pub(crate) fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        self.shared.push(Box::new(job));
    }

    /// The queue of the pool, for those that must not keep its threads.
    pub(crate) fn jobs(&self) -> Jobs {
        Jobs(Arc::clone(&self.shared))
    }
}

/// Where jobs go in. When the pool is gone nobody runs them.
#[derive(Clone)]
pub(crate) struct Jobs(Arc<Shared>);

impl Jobs {
    /// Queues a job.
    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        self.0.push(Box::new(job));
    }
}

impl Drop for ComputePool {
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.arrived.notify_all();
    }
}

impl fmt::Debug for ComputePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComputePool({} threads)", self.threads)
    }
}

impl Shared {
    fn push(&self, job: Job) {
        let mut queue = lock(&self.queue);
        // Jobs that own the queue in which they wait would keep each other.
        if !queue.closed {
            queue.jobs.push_back(job);
            drop(queue);
            self.arrived.notify_one();
        }
    }

    fn work(&self) {
        IS_POOL_THREAD.set(true);
        let _flush = FlushDenormals::new();
        loop {
            let mut queue = lock(&self.queue);
            let job = loop {
                match queue.jobs.pop_front() {
                    Some(job) => break job,
                    None if queue.closed => return,
                    None => {
                        queue = self
                            .arrived
                            .wait(queue)
                            .unwrap_or_else(|poisoned| poisoned.into_inner());
                    }
                }
            };
            drop(queue);
            // A job reports its own panics; here they must only not end the thread.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }
}

fn lock(queue: &Mutex<Queue>) -> std::sync::MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_panicking_job_does_not_end_its_thread() {
        let pool = ComputePool::new(1).unwrap();
        pool.spawn(|| panic!("on purpose"));
        let (sender, receiver) = mpsc::channel();
        pool.spawn(move || sender.send(is_pool_thread()).unwrap());
        assert!(receiver.recv().unwrap());
    }
}
