//! Where steps compute: threads, one pool for all servers of a process, or whoever is given the jobs.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tensorfleet_kernels::Threads;
use tensorfleet_kernels::parallel::{self, is_pool_thread};

use crate::files::{FileReport, FileThreads, MOST_THREADS};

/// Runs steps' nodes and tasks as its jobs; kernels share their work on its threads.
#[derive(Debug)]
pub struct ComputePool {
    kind: Kind,
    /// For what may block: no job does.
    files: FileThreads,
    /// Jobs of steps that no thread has taken yet.
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum Kind {
    Threads(Threads),
    Given(Given),
}

/// Who runs jobs in the place of threads.
#[derive(Clone)]
pub(crate) struct Given(Arc<dyn Fn(Job) + Send + Sync>);

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given")
    }
}

/// Work for a pool. It never waits for other work.
pub type Job = Box<dyn FnOnce() + Send>;

impl ComputePool {
    /// Starts a pool of `threads` threads.
    pub fn new(threads: usize) -> std::io::Result<ComputePool> {
        let kind = Kind::Threads(Threads::new(threads)?);
        Ok(ComputePool { kind, files: FileThreads::new(MOST_THREADS), waiting: Arc::default() })
    }

    /// A pool without threads: each job is given to `run`, which runs it when and where it likes.
    pub fn inline(run: impl Fn(Job) + Send + Sync + 'static) -> ComputePool {
        let kind = Kind::Given(Given(Arc::new(run)));
        ComputePool { kind, files: FileThreads::new(0), waiting: Arc::default() }
    }

    /// How many jobs run at once.
    pub fn threads(&self) -> usize {
        match &self.kind {
            Kind::Threads(threads) => threads.threads(),
            Kind::Given(_) => 1,
        }
    }

    /// How many jobs of steps wait for a thread.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Queues a job.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Arc::clone(&self.waiting);
        let job = move || {
            waiting.fetch_sub(1, Ordering::Relaxed);
            job();
        };
        match &self.kind {
            Kind::Threads(threads) => threads.spawn(job),
            Kind::Given(given) => given.push(job),
        }
    }

    /// Queues work that may block, which the log calls `what`.
    pub(crate) fn spawn_file_work(&self, what: Arc<str>, work: Job) {
        match &self.kind {
            Kind::Threads(_) => self.files.push(what, work),
            Kind::Given(given) => given.push(work),
        }
    }

    /// What the threads that may block are busy with.
    pub fn file_report(&self) -> FileReport {
        self.files.report()
    }

    /// The queue of the pool, for those that must not keep its threads.
    pub(crate) fn jobs(&self) -> Jobs {
        match &self.kind {
            Kind::Threads(threads) => Jobs::Threads(threads.jobs()),
            Kind::Given(given) => Jobs::Given(given.clone()),
        }
    }
}

/// Where jobs go in.
#[derive(Clone, Debug)]
pub(crate) enum Jobs {
    Threads(parallel::Jobs),
    Given(Given),
}

impl Jobs {
    /// Queues a job.
    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        match self {
            Jobs::Threads(jobs) => jobs.push(job),
            Jobs::Given(given) => given.push(job),
        }
    }
}

thread_local! {
    /// Whether a job without a thread of its own runs here.
    static IN_JOB: Cell<bool> = const { Cell::new(false) };
}

impl Given {
    fn push(&self, job: impl FnOnce() + Send + 'static) {
        (self.0)(Box::new(move || {
            let outer = IN_JOB.replace(true);
            job();
            IN_JOB.set(outer);
        }));
    }
}

/// Whether what runs here may compute for long: async code must not.
pub(crate) fn may_compute() -> bool {
    is_pool_thread() || IN_JOB.get()
}
