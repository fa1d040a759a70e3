//! Threads for work that may block: with files, whose disk may hang for good.
//!
//! They are no compute threads, so nothing else waits for a disk. There are as many as there is work at
//! once, up to a limit; what is more stands in line. Nobody waits for a thread: whoever gave the work may
//! give up, the thread is then of no use until its disk answers, and the log tells who holds it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// How many threads may block at once. They cost little while they do.
pub(crate) const MOST_THREADS: usize = 256;

/// How long a thread waits for more work before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// After which time the log tells of work that is not done; again after twice as long, and so on.
const LONG: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

/// The threads of a pool; dropping it lets them end, and waits for none.
pub(crate) struct FileThreads(Arc<Shared>);

/// What the threads are busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// How many pieces of work are under way.
    pub running: usize,
    /// How many wait for a thread.
    pub waiting: usize,
}

struct Shared {
    limit: usize,
    state: Mutex<State>,
    /// Tells threads of work.
    work: Condvar,
    /// Tells the watching thread that there is something to watch, or nothing any more.
    watch: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Arc<str>, Work)>,
    threads: usize,
    idle: usize,
    running: BTreeMap<u64, Running>,
    begun: u64,
    is_watched: bool,
    is_closed: bool,
}

struct Running {
    what: Arc<str>,
    since: Instant,
    /// When the log tells of it next.
    report: Duration,
}

impl fmt::Debug for FileThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileThreads").field("report", &self.report()).finish()
    }
}

impl Drop for FileThreads {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.work.notify_all();
        self.0.watch.notify_all();
    }
}

impl FileThreads {
    pub(crate) fn new(limit: usize) -> FileThreads {
        FileThreads(Arc::new(Shared {
            limit,
            state: Mutex::default(),
            work: Condvar::new(),
            watch: Condvar::new(),
        }))
    }

    /// Queues work, which the log calls `what`.
    pub(crate) fn push(&self, what: Arc<str>, work: Work) {
        let mut state = self.0.lock();
        state.queue.push_back((what, work));
        if !state.is_watched {
            state.is_watched = start(&self.0, Shared::watch);
        }
        if state.idle >= state.queue.len() {
            self.0.work.notify_one();
        } else if state.threads < self.0.limit {
            // Without one more thread the work waits for those that there are.
            state.threads += usize::from(start(&self.0, Shared::serve));
        }
    }

    pub(crate) fn report(&self) -> FileReport {
        let state = self.0.lock();
        FileReport { running: state.running.len(), waiting: state.queue.len() }
    }
}

fn start(shared: &Arc<Shared>, run: fn(&Shared)) -> bool {
    let shared = Arc::clone(shared);
    thread::Builder::new().name("files".to_owned()).spawn(move || run(&shared)).is_ok()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// What a thread does until there is nothing to do for some time.
    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some((what, work)) = state.queue.pop_front() {
                state = self.run(state, what, work);
                continue;
            }
            if state.is_closed {
                break;
            }
            state.idle += 1;
            let (back, waited) = self
                .work
                .wait_timeout(state, IDLE)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            state = back;
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }

    fn run<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        what: Arc<str>,
        work: Work,
    ) -> MutexGuard<'a, State> {
        let number = state.begun;
        state.begun += 1;
        state.running.insert(number, Running { what, since: Instant::now(), report: LONG });
        if state.running.len() == 1 {
            self.watch.notify_one();
        }
        drop(state);
        // Whoever waits for work that panicked learns of it by what the work owned.
        let _ = catch_unwind(AssertUnwindSafe(work));
        let mut state = self.lock();
        if let Some(Running { what, since, report }) = state.running.remove(&number)
            && report > LONG
        {
            tracing::warn!("{what} went on with its files after {:?}", since.elapsed());
        }
        state
    }

    /// Tells of work that takes long, for as long as there is any.
    fn watch(&self) {
        let mut state = self.lock();
        while !state.is_closed {
            if state.running.is_empty() {
                state = self.watch.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
                continue;
            }
            let waited = self.watch.wait_timeout(state, LONG / 2);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            let (busy, waiting) = (state.running.len(), state.queue.len());
            for Running { what, since, report } in state.running.values_mut() {
                let elapsed = since.elapsed();
                if elapsed < *report {
                    continue;
                }
                *report = elapsed * 2;
                tracing::warn!(
                    "{what} has been waiting for its files for {elapsed:?}; {busy} of {} threads for \
                     files are busy, {waiting} pieces of work wait for one",
                    self.limit
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_beyond_the_limit_waits_and_is_done_when_a_thread_is_free() {
        let threads = FileThreads::new(2);
        let (begun, has_begun) = mpsc::channel();
        let mut doors = Vec::new();
        for number in 0..3 {
            let (door, closed) = mpsc::channel::<()>();
            let begun = begun.clone();
            let work = move || {
                begun.send(number).unwrap();
                closed.recv().unwrap_err();
            };
            threads.push("work".into(), Box::new(work));
            doors.push(door);
        }
        let mut both = [has_begun.recv().unwrap(), has_begun.recv().unwrap()];
        both.sort_unstable();
        assert_eq!(both, [0, 1]);
        assert_eq!(threads.report(), FileReport { running: 2, waiting: 1 });
        doors.remove(0);
        assert_eq!(has_begun.recv(), Ok(2));
    }

    #[test]
    fn a_panic_costs_no_thread() {
        let threads = FileThreads::new(1);
        threads.push("work".into(), Box::new(|| panic!("on purpose")));
        let (done, is_done) = mpsc::channel();
        threads.push("work".into(), Box::new(move || done.send(()).unwrap()));
        is_done.recv().unwrap();
    }

    #[test]
    fn dropping_the_threads_waits_for_none() {
        let threads = FileThreads::new(1);
        let (door, closed) = mpsc::channel::<()>();
        let (done, is_done) = mpsc::channel();
        threads.push(
            "work".into(),
            Box::new(move || {
                closed.recv().unwrap_err();
                done.send(()).unwrap();
            }),
        );
        drop(threads);
        drop(door);
        is_done.recv().unwrap();
    }
}
