//! The threads that compute: one pool for all servers of a process.
//!
//! A thread takes jobs in the order of their arrival. A job with work that can be shared calls for
//! help and begins with it at once; threads that have nothing else to do join in. Nobody waits for
//! help that has not come, so a call costs little where all threads are busy, and never blocks.
//!
//! A thread that has run out of work looks around for a moment before it sleeps: waking it takes
//! longer than many a matrix product, and where one product was, the next is near.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::FlushDenormals;

/// How long a thread without work looks for some before it sleeps, and how long one that shared its
/// work looks for the others to be done.
const LOOK: Duration = Duration::from_micros(10);

/// How often a thread looks between two glances at the clock.
const LOOKS_PER_GLANCE: usize = 32;

type Job = Box<dyn FnOnce() + Send>;

/// A fixed set of threads that run jobs and help each other.
pub struct Threads {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    /// For threads that sleep.
    arrived: Condvar,
    /// Counts what came into the queue, for threads that look without taking the lock.
    arrivals: AtomicUsize,
    threads: usize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Calls that more threads may join. Each is valid while it is here: its owner takes it out, under
    /// the lock, before it goes away.
    calls: Vec<*const Call>,
    /// Threads that sleep, and threads that will look here before they do.
    sleeping: usize,
    looking: usize,
    closed: bool,
}

// SAFETY: the pointers are used under the rule of `Queue::calls`, and what they point to is `Sync`.
unsafe impl Send for Queue {}

/// Work that its owner shares, on the owner's stack.
struct Call {
    /// What every helper runs, valid as long as the call.
    work: *const (dyn Fn() + Sync),
    /// How many more helpers may come; changed under the queue's lock only.
    room: AtomicUsize,
    /// Helpers at work.
    inside: AtomicUsize,
    owner: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

thread_local! {
    /// The pool that this thread belongs to.
    static POOL: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}

/// Whether this thread may compute for long: async code must not.
pub fn is_pool_thread() -> bool {
    POOL.with_borrow(Option::is_some)
}

/// The number of threads in the pool that this thread belongs to.
pub(super) fn count() -> Option<usize> {
    POOL.with_borrow(|pool| pool.as_ref().map(|pool| pool.threads))
}

/// Runs `work` on this thread, and at the same time on at most `helpers` idle ones of its pool.
/// Returns false, without running it, on a thread of no pool.
pub(super) fn share(helpers: usize, work: &(dyn Fn() + Sync)) -> bool {
    POOL.with_borrow(|pool| {
        let Some(pool) = pool else { return false };
        pool.share(helpers, work);
        true
    })
}

impl Threads {
    /// Starts a pool of `threads` threads.
    pub fn new(threads: usize) -> std::io::Result<Threads> {
        let threads = threads.max(1);
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::default()),
            arrived: Condvar::new(),
            arrivals: AtomicUsize::new(0),
            threads,
        });
        // Owned already, so that threads stop again if a later one cannot be started.
        let pool = Threads { shared };
        for index in 0..threads {
            let shared = Arc::clone(&pool.shared);
            std::thread::Builder::new().name(format!("compute-{index}")).spawn(move || {
                POOL.set(Some(Arc::clone(&shared)));
                shared.work();
            })?;
        }
        Ok(pool)
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Queues a job. Jobs never wait for others.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        self.shared.push(Box::new(job));
    }

    /// Runs `f` on a thread of the pool and waits for it; the caller is none of them.
    ///
    /// # Panics
    /// If `f` does.
    pub fn run<R: Send + 'static>(&self, f: impl FnOnce() -> R + Send + 'static) -> R {
        let (sender, receiver) = mpsc::channel();
        self.spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(f));
            sender.send(result).expect("the caller waits");
        });
        let result = receiver.recv().expect("a job sends its result");
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// The queue of the pool, for those that must not keep its threads.
    pub fn jobs(&self) -> Jobs {
        Jobs(Arc::clone(&self.shared))
    }
}

/// Where jobs go in. When the pool is gone nobody runs them.
#[derive(Clone)]
pub struct Jobs(Arc<Shared>);

impl Jobs {
    /// Queues a job.
    pub fn push(&self, job: impl FnOnce() + Send + 'static) {
        self.0.push(Box::new(job));
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.arrivals.fetch_add(1, Ordering::Release);
        self.shared.arrived.notify_all();
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Threads({})", self.threads())
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Jobs")
    }
}

impl Shared {
    fn push(&self, job: Job) {
        let queue = lock(&self.queue);
        // Jobs that own the queue in which they wait would keep each other.
        if !queue.closed {
            self.add(queue, |queue| queue.jobs.push_back(job));
        }
    }

    /// Puts something into the queue and wakes as many threads as it needs.
    fn add(&self, mut queue: MutexGuard<'_, Queue>, put: impl FnOnce(&mut Queue)) {
        put(&mut queue);
        self.arrivals.fetch_add(1, Ordering::Release);
        let woken = queue.wanted().saturating_sub(queue.looking).min(queue.sleeping);
        drop(queue);
        (0..woken).for_each(|_| self.arrived.notify_one());
    }

    fn share(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        if helpers == 0 || self.threads == 1 {
            return work();
        }
        // SAFETY: only the lifetime changes. `Open` sees to it that nobody uses the pointer when this
        // function is left, by a panic or not.
        let work_of_helpers = unsafe {
            std::mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync)>(work)
        };
        let call = Call {
            work: work_of_helpers,
            room: AtomicUsize::new(helpers.min(self.threads - 1)),
            inside: AtomicUsize::new(0),
            owner: std::thread::current(),
            panic: Mutex::new(None),
        };
        let open = Open { call: &call, shared: self };
        self.add(lock(&self.queue), |queue| queue.calls.push(&raw const call));
        work();
        drop(open);
        if let Some(panic) = lock(&call.panic).take() {
            resume_unwind(panic);
        }
    }

    fn work(&self) {
        let _flush = FlushDenormals::new();
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                // A job reports its own panics; here they must only not end the thread.
                let _ = catch_unwind(AssertUnwindSafe(job));
                queue = lock(&self.queue);
            } else if let Some(call) = queue.join() {
                drop(queue);
                // SAFETY: `join` made this thread one that is inside, which keeps the call.
                unsafe { Call::help(call) };
                queue = lock(&self.queue);
            } else if queue.closed {
                return;
            } else {
                queue = self.look_or_sleep(queue);
            }
        }
    }

    /// Returns when something may have come.
    fn look_or_sleep<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        let before = self.arrivals.load(Ordering::Relaxed);
        queue.looking += 1;
        drop(queue);
        let something_came = look(|| self.arrivals.load(Ordering::Acquire) != before);
        queue = lock(&self.queue);
        queue.looking -= 1;
        if something_came || self.arrivals.load(Ordering::Relaxed) != before {
            return queue;
        }
        queue.sleeping += 1;
        queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.sleeping -= 1;
        queue
    }
}

impl Queue {
    /// How many threads could do something.
    fn wanted(&self) -> usize {
        // SAFETY: calls in the queue are valid.
        let room = |call: &*const Call| unsafe { (**call).room.load(Ordering::Relaxed) };
        self.jobs.len() + self.calls.iter().map(room).sum::<usize>()
    }

    /// Makes this thread a helper of the oldest call that has room.
    fn join(&mut self) -> Option<*const Call> {
        let pointer = *self.calls.first()?;
        // SAFETY: calls in the queue are valid.
        let call = unsafe { &*pointer };
        call.inside.fetch_add(1, Ordering::Relaxed);
        if call.room.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.calls.remove(0);
        }
        Some(pointer)
    }
}

impl Call {
    /// Helps, and leaves.
    ///
    /// # Safety
    /// This thread must be one of those inside.
    unsafe fn help(call: *const Call) {
        // SAFETY: the owner waits for this thread to leave.
        let owner = unsafe {
            let call = &*call;
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (*call.work)())) {
                *lock(&call.panic) = Some(panic);
            }
            call.owner.clone()
        };
        // SAFETY: as above; it is the last use of the call.
        if unsafe { (*call).inside.fetch_sub(1, Ordering::Release) } == 1 {
            owner.unpark();
        }
    }
}

/// A call that others may join; dropping it ends the call.
struct Open<'a> {
    call: &'a Call,
    shared: &'a Shared,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        lock(&self.shared.queue).calls.retain(|&call| !std::ptr::eq(call, self.call));
        // From here on nobody joins.
        let all_left = || self.call.inside.load(Ordering::Acquire) == 0;
        if !look(all_left) {
            while !all_left() {
                std::thread::park();
            }
        }
    }
}

/// Waits for a moment, awake, until something happened.
fn look(happened: impl Fn() -> bool) -> bool {
    let mut until = None;
    loop {
        for _ in 0..LOOKS_PER_GLANCE {
            if happened() {
                return true;
            }
            std::hint::spin_loop();
        }
        let now = Instant::now();
        if now >= *until.get_or_insert(now + LOOK) {
            return false;
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn a_panicking_job_does_not_end_its_thread() {
        let pool = Threads::new(1).unwrap();
        pool.spawn(|| panic!("on purpose"));
        assert!(pool.run(is_pool_thread));
        assert!(!is_pool_thread());
    }

    #[test]
    fn idle_threads_help() {
        let pool = Threads::new(4).unwrap();
        pool.run(|| {
            for _ in 0..100 {
                // Nobody passes before all four are there.
                let barrier = Barrier::new(4);
                assert!(share(9, &|| {
                    barrier.wait();
                }));
            }
        });
    }

    #[test]
    fn nobody_waits_for_help_that_does_not_come() {
        let pool = Threads::new(2).unwrap();
        let (release, released) = mpsc::channel::<()>();
        let (busy, is_busy) = mpsc::channel();
        pool.spawn(move || {
            busy.send(()).unwrap();
            released.recv().unwrap();
        });
        is_busy.recv().unwrap();
        let runs = pool.run(|| {
            let runs = AtomicUsize::new(0);
            share(1, &|| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
            runs.into_inner()
        });
        assert_eq!(runs, 1);
        release.send(()).unwrap();
    }

    #[test]
    fn shared_work_may_share_its_own() {
        let pool = Threads::new(3).unwrap();
        let runs = pool.run(|| {
            let runs = AtomicUsize::new(0);
            for _ in 0..200 {
                share(2, &|| {
                    share(2, &|| {
                        runs.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
            runs.into_inner()
        });
        assert!(runs >= 200);
    }

    #[test]
    fn a_helper_s_panic_is_the_caller_s() {
        let pool = Threads::new(2).unwrap();
        let panic = pool.run(|| {
            let barrier = Barrier::new(2);
            let owner = std::thread::current().id();
            let shared = AssertUnwindSafe(|| {
                share(1, &|| {
                    barrier.wait();
                    assert!(std::thread::current().id() == owner, "on purpose");
                })
            });
            catch_unwind(shared).unwrap_err()
        });
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
        assert!(pool.run(is_pool_thread));
    }
}
