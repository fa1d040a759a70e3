//! What a task does and has done: the one place that counts it, and that lets work in.
//!
//! Handlers ask before they begin and tell how it ended. So it is known how many steps run when a
//! server is to stop, new ones can be refused then, and the log tells of what failed or took long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tensorfleet_cluster::{EventKind, Events};
use tensorfleet_tensor::{Code, Error, Result, unavailable};
use tokio::sync::{Notify, watch};

/// What counts as a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A step of a session of this master.
    Step,
    /// This task's part of a step of another master.
    Part,
    /// Ops that a TensorFlow 2 client enqueues, or a part of a function.
    Eager,
}

impl Work {
    pub(crate) const ALL: [Work; 3] = [Work::Step, Work::Part, Work::Eager];

    /// The name in status and metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Work::Step => "step",
            Work::Part => "part",
            Work::Eager => "eager",
        }
    }
}

/// Codes are numbered from 0, which is no error, to 16.
const CODES: usize = 17;

/// The log tells of one failure of a kind in so much time, and of how many more there were.
const QUIET: Duration = Duration::from_secs(1);

/// The work of a task.
#[derive(Debug)]
pub(crate) struct Activity {
    /// The name of the task.
    task: String,
    pub(crate) started: SystemTime,
    /// Work that takes so many nanoseconds is told of; the number can be changed.
    slow: AtomicU64,
    counts: [Counts; 3],
    errors: [AtomicU64; CODES],
    is_draining: AtomicBool,
    is_stalled: AtomicBool,
    is_closed: AtomicBool,
    /// Whether the task takes no work any more, or has no threads for it; health checks follow it.
    pub(crate) unready: watch::Sender<bool>,
    /// Work ended while the task drains.
    ended: Notify,
    reports: Mutex<[Report; CODES]>,
    /// Where failures are told of.
    events: Arc<Events>,
}

#[derive(Debug, Default)]
struct Counts {
    begun: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
    nanoseconds: AtomicU64,
}

/// When a kind of failure was told of last, and how many there were since.
#[derive(Clone, Copy, Debug, Default)]
struct Report {
    told: Option<Instant>,
    since: u64,
}

/// The counts of a kind of work at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tally {
    pub(crate) running: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) seconds: f64,
}

impl Activity {
    pub(crate) fn new(task: String, slow: Option<Duration>, events: Arc<Events>) -> Activity {
        Activity {
            task,
            started: SystemTime::now(),
            slow: AtomicU64::new(nanoseconds(slow)),
            counts: Default::default(),
            errors: Default::default(),
            is_draining: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            unready: watch::Sender::new(false),
            ended: Notify::new(),
            reports: Mutex::default(),
            events,
        }
    }

    /// Tells of work that takes so long from now on.
    pub(crate) fn tell_of_work_above(&self, slow: Option<Duration>) {
        self.slow.store(nanoseconds(slow), Ordering::Relaxed);
    }

    fn tell(&self, kind: EventKind, text: String) {
        tracing::info!("{text}");
        self.events.keep(Instant::now(), kind, text);
    }

    /// Lets a piece of work begin, unless the task drains.
    pub(crate) fn begin(&self, work: Work) -> Result<Running<'_>> {
        let counts = &self.counts[work as usize];
        // Counted before it is asked: whoever drains either sees the work or is seen by it.
        counts.begun.fetch_add(1, Ordering::SeqCst);
        if self.is_draining() {
            counts.begun.fetch_sub(1, Ordering::SeqCst);
            self.ended.notify_waiters();
            self.errors[Code::Unavailable as usize].fetch_add(1, Ordering::Relaxed);
            return Err(self.refusal());
        }
        Ok(Running { activity: self, work, begun: Instant::now(), is_told: false })
    }

    /// Refuses what would become work, as a new session, if the task drains.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_draining() { Err(self.refusal()) } else { Ok(()) }
    }

    fn refusal(&self) -> Error {
        unavailable!("{} is draining: it finishes its steps and takes no new ones", self.task)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    /// Refuses new work from now on.
    pub(crate) fn drain(&self) {
        if !self.is_draining.swap(true, Ordering::SeqCst) {
            let text = format!("{} drains: {} steps are running", self.task, self.running());
            self.tell(EventKind::Drain, text);
        }
        self.unready.send_replace(true);
    }

    /// The task ends.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.unready.send_replace(true);
    }

    /// Whether the threads that compute make no progress.
    pub(crate) fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::SeqCst)
    }

    /// Notes whether the threads that compute make progress, and tells of it.
    pub(crate) fn set_stalled(&self, is_stalled: bool, text: String) {
        self.is_stalled.store(is_stalled, Ordering::SeqCst);
        // Asked while nobody else can change it: whoever drains or ends does so before, or is next.
        self.unready.send_modify(|unready| {
            *unready = is_stalled || self.is_draining() || self.is_closed.load(Ordering::SeqCst);
        });
        tracing::warn!("{text}");
        self.events.keep(Instant::now(), EventKind::Stall, text);
    }

    /// How much work has begun.
    pub(crate) fn begun(&self) -> u64 {
        self.counts.iter().map(|counts| counts.begun.load(Ordering::Relaxed)).sum()
    }

    /// Waits until no work is under way.
    pub(crate) async fn idle(&self) {
        loop {
            let ended = self.ended.notified();
            if self.running() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// How much is under way.
    pub(crate) fn running(&self) -> u64 {
        Work::ALL.iter().map(|&work| self.tally(work).running).sum()
    }

    pub(crate) fn tally(&self, work: Work) -> Tally {
        let counts = &self.counts[work as usize];
        let done = counts.ended.load(Ordering::SeqCst);
        let begun = counts.begun.load(Ordering::SeqCst);
        let nanoseconds = counts.nanoseconds.load(Ordering::Relaxed);
        Tally {
            running: begun.saturating_sub(done),
            done,
            failed: counts.failed.load(Ordering::Relaxed),
            seconds: Duration::from_nanos(nanoseconds).as_secs_f64(),
        }
    }

    /// How many failures there were of each code, without those of which there were none.
    pub(crate) fn errors(&self) -> impl Iterator<Item = (Code, u64)> {
        let counts = self.errors.iter().zip(0..).skip(1);
        counts.filter_map(|(count, number)| {
            let count = count.load(Ordering::Relaxed);
            (count > 0).then(|| (Code::from_number(number), count))
        })
    }

    /// Whether to tell of a failure now, and how many were not told of before.
    fn may_tell(&self, code: Code) -> Option<u64> {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let report = &mut reports[code as usize];
        if report.told.is_some_and(|told| told.elapsed() < QUIET) {
            report.since += 1;
            return None;
        }
        report.told = Some(Instant::now());
        Some(std::mem::take(&mut report.since))
    }

    fn failed(&self, work: Work, error: &Error, whose: impl FnOnce() -> String) {
        self.errors[error.code() as usize].fetch_add(1, Ordering::Relaxed);
        // Whoever had the cause tells of it.
        if error.is_derived() {
            return;
        }
        if let Some(more) = self.may_tell(error.code()) {
            let more = if more > 0 { format!(" (and {more} more before)") } else { String::new() };
            let (what, whose, code) = (work.name(), whose(), error.code().name());
            let message = in_one_line(error.message());
            let text = format!("{what} of {whose} failed: {code}: {message}{more}");
            self.tell(EventKind::StepFailed, text);
        }
    }
}

/// A piece of work under way. One that is dropped was given up by whoever asked for it.
#[derive(Debug)]
pub(crate) struct Running<'a> {
    activity: &'a Activity,
    work: Work,
    begun: Instant,
    is_told: bool,
}

impl Running<'_> {
    /// Tells how it ended. `whose` names who asked for it.
    pub(crate) fn end<T>(mut self, outcome: Result<T>, whose: impl Fn() -> String) -> Result<T> {
        self.is_told = true;
        let taken = self.begun.elapsed();
        let counts = &self.activity.counts[self.work as usize];
        let taken_nanoseconds = nanoseconds(Some(taken));
        counts.nanoseconds.fetch_add(taken_nanoseconds, Ordering::Relaxed);
        if let Err(error) = &outcome {
            counts.failed.fetch_add(1, Ordering::Relaxed);
            self.activity.failed(self.work, error, &whose);
        }
        if taken_nanoseconds >= self.activity.slow.load(Ordering::Relaxed) {
            let text = format!("slow: {} of {} took {taken:.1?}", self.work.name(), whose());
            self.activity.tell(EventKind::StepSlow, text);
        }
        outcome
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let counts = &self.activity.counts[self.work as usize];
        if !self.is_told {
            counts.failed.fetch_add(1, Ordering::Relaxed);
            self.activity.errors[Code::Cancelled as usize].fetch_add(1, Ordering::Relaxed);
        }
        counts.ended.fetch_add(1, Ordering::SeqCst);
        if self.activity.is_draining() {
            self.activity.ended.notify_waiters();
        }
    }
}

/// A time as a number; none is longer than any.
fn nanoseconds(time: Option<Duration>) -> u64 {
    time.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(u64::MAX)
}

/// Logs have one line for one thing.
fn in_one_line(text: &str) -> String {
    const LONGEST: usize = 400;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::invalid_argument;

    use super::*;

    fn activity() -> Activity {
        Activity::new("/job:worker/task:0".to_owned(), None, Arc::default())
    }

    #[test]
    fn work_is_counted_by_how_it_ends() {
        let activity = activity();
        let running = activity.begin(Work::Step).unwrap();
        assert_eq!(activity.running(), 1);
        let failed = running.end(Err::<(), _>(invalid_argument!("x")), || "s".to_owned());
        assert!(failed.is_err());
        activity.begin(Work::Step).unwrap().end(Ok(()), || "s".to_owned()).unwrap();
        drop(activity.begin(Work::Part).unwrap());
        let step = activity.tally(Work::Step);
        assert_eq!((step.running, step.done, step.failed), (0, 2, 1));
        assert_eq!(activity.tally(Work::Part).failed, 1);
        let errors: Vec<(Code, u64)> = activity.errors().collect();
        assert_eq!(errors, [(Code::Cancelled, 1), (Code::InvalidArgument, 1)]);
    }

    #[test]
    fn failures_of_one_kind_are_told_of_once_a_while() {
        let activity = activity();
        assert_eq!(activity.may_tell(Code::Internal), Some(0));
        assert_eq!(activity.may_tell(Code::Internal), None);
        assert_eq!(activity.may_tell(Code::Aborted), Some(0));
        let told = Instant::now().checked_sub(2 * QUIET);
        activity.reports.lock().unwrap()[Code::Internal as usize].told = told;
        assert_eq!(activity.may_tell(Code::Internal), Some(1));
    }

    #[tokio::test]
    async fn a_task_that_drains_waits_for_its_work_and_takes_no_more() {
        let activity = activity();
        let running = activity.begin(Work::Eager).unwrap();
        activity.drain();
        let refused = activity.begin(Work::Step).unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable);
        assert!(refused.message().contains("is draining"), "{refused}");
        assert!(activity.check_open().is_err());
        let (idle, ()) = tokio::join!(activity.idle(), async { drop(running) });
        assert_eq!((idle, activity.running()), ((), 0));
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(in_one_line("a\n  b"), "a b");
        assert_eq!(in_one_line(&"é".repeat(500)).chars().count(), 401);
    }
}
