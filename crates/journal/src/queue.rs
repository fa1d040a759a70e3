//! Frames on their way to the disk, and who waits for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_channel::oneshot;
use tensorfleet_framework::BoxFuture;
use tensorfleet_tensor::{Error, Result, unavailable};

use crate::durability::Durability;
use crate::frame::Kind;
use crate::outcome::Outcomes;
use crate::payload::Payload;

/// Above so many bytes that the disk has not taken, steps wait for it at their end.
const BACKLOG: usize = 256 << 20;

/// What the threads of a journal share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) durability: Durability,
    /// Held shared by whoever changes something, and alone by whoever looks at everything at once.
    pub(crate) gate: RwLock<()>,
    queue: Mutex<Queue>,
    /// There is something to write.
    pub(crate) work: Condvar,
    /// Something is on the disk, a unit has ended, or all is over.
    pub(crate) progress: Condvar,
}

/// The state of the log.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The number of the next frame.
    pub(crate) next: u64,
    pub(crate) pending: Vec<Pending>,
    pub(crate) pending_bytes: usize,
    pending_since: Option<Instant>,
    /// Since when something written is not on the disk for sure.
    unsynced_since: Option<Instant>,
    /// The same for what is being synced.
    syncing_since: Option<Instant>,
    /// Units that have changed something and not ended.
    pub(crate) open: BTreeSet<u64>,
    /// All frames up to this number are on the disk.
    pub(crate) durable: u64,
    waiters: Vec<(u64, oneshot::Sender<Result<()>>)>,
    /// Why nothing can be written any more.
    pub(crate) failed: Option<Error>,
    /// What is pending is written, and then nothing any more.
    pub(crate) closing: bool,
    /// How many ops have been told since the last snapshot; and in which generation of numbers.
    pub(crate) ops: u32,
    pub(crate) generation: u32,
    /// How many variables and other resources have got a number.
    pub(crate) numbered: u64,
    /// What became of calls of masters.
    pub(crate) outcomes: Outcomes,
    /// The next frame begins a new file.
    pub(crate) rotate: bool,
    /// Bytes since the last snapshot, with those of files that were found.
    pub(crate) logged: u64,
    /// How often a snapshot was asked for, how many of these questions have an answer, and the last one.
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    pub(crate) answer: Option<Result<u64>>,
    /// For who ships the log: by the first record of each file, up to where it is on the disk.
    pub(crate) ends: BTreeMap<u64, u64>,
    /// Up to which record all is elsewhere too, and when that was found.
    pub(crate) backed_up: Option<(u64, Instant)>,
    /// Why it is not going on, if it is not.
    pub(crate) backup_error: Option<String>,
}

/// A frame to be written.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
    pub(crate) payload: Vec<Bytes>,
    /// The next file begins with this frame.
    pub(crate) rotate: bool,
}

impl Shared {
    pub(crate) fn new(durability: Durability, queue: Queue) -> Shared {
        Shared {
            durability,
            gate: RwLock::new(()),
            queue: Mutex::new(queue),
            work: Condvar::new(),
            progress: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for progress.
    pub(crate) fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.progress.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up for good: who waits gets the error, and nothing can change any more.
    pub(crate) fn fail(&self, error: &Error) {
        let mut queue = self.lock();
        if queue.failed.is_none() {
            queue.failed = Some(error.clone());
        }
        queue.pending.clear();
        queue.pending_bytes = 0;
        for (_, waiter) in queue.waiters.drain(..) {
            // Whoever has stopped waiting needs no answer.
            let _ = waiter.send(Err(error.clone()));
        }
        self.work.notify_all();
        self.progress.notify_all();
    }

    /// Everything up to a number is on the disk: the file that begins with `first` up to a place.
    pub(crate) fn synced(&self, number: u64, first: u64, end: u64) {
        let mut queue = self.lock();
        queue.durable = number;
        queue.ends.insert(first, end);
        queue.syncing_since = None;
        let mut waiting = Vec::new();
        for (wanted, waiter) in std::mem::take(&mut queue.waiters) {
            if wanted <= number {
                // Whoever has stopped waiting needs no answer.
                let _ = waiter.send(Ok(()));
            } else {
                waiting.push((wanted, waiter));
            }
        }
        queue.waiters = waiting;
        self.progress.notify_all();
    }
}

impl Queue {
    /// The state of a log that goes on with a number.
    pub(crate) fn new(next: u64, numbered: u64, logged: u64) -> Queue {
        Queue { next, durable: next - 1, generation: 1, numbered, logged, ..Queue::default() }
    }

    /// Puts a frame at the end and returns its number. Nothing happens if nothing can be written.
    pub(crate) fn append(&mut self, shared: &Shared, kind: Kind, payload: Payload) -> u64 {
        let number = self.next;
        if self.failed.is_some() {
            return number;
        }
        self.next += 1;
        let payload = payload.finish();
        let bytes: usize = payload.iter().map(Bytes::len).sum();
        self.pending_bytes += bytes;
        self.logged += bytes as u64;
        self.pending_since.get_or_insert_with(Instant::now);
        let rotate = std::mem::take(&mut self.rotate);
        self.pending.push(Pending { kind, number, payload, rotate });
        shared.work.notify_one();
        number
    }

    /// Tells all outcomes that are remembered once more.
    pub(crate) fn tell_outcomes(&mut self, shared: &Shared) {
        for outcome in self.outcomes.all() {
            // It has been told before, so it can be.
            if let Ok(payload) = outcome.encode(0) {
                self.append(shared, Kind::Outcome, payload);
            }
        }
    }

    /// What is to be waited for until frames up to a number may be relied on.
    pub(crate) fn wait_for(
        &mut self,
        number: u64,
        durability: Durability,
    ) -> Option<BoxFuture<Result<()>>> {
        if let Some(error) = self.failed.clone() {
            return Some(Box::pin(std::future::ready(Err(error))));
        }
        let waits = match durability {
            Durability::Sync => true,
            Durability::Interval(time) => self.pending_bytes > BACKLOG || self.lag() > time,
            Durability::None => false,
        };
        if !waits {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.waiters.push((number, sender));
        Some(Box::pin(async move {
            receiver.await.unwrap_or_else(|_| Err(unavailable!("the journal has been closed")))
        }))
    }

    /// Has everything up to a number synced soon, whoever waits for it.
    pub(crate) fn ask_for_sync(&mut self, shared: &Shared, number: u64) {
        if self.durable < number {
            let (sender, _) = oneshot::channel();
            self.waiters.push((number, sender));
            shared.work.notify_one();
        }
    }

    /// Whether somebody waits for what has been written, the last of it with this number.
    pub(crate) fn is_awaited(&self, written: u64) -> bool {
        self.waiters.iter().any(|(wanted, _)| *wanted <= written)
    }

    /// For how long something has been waiting to be on the disk.
    pub(crate) fn lag(&self) -> Duration {
        let oldest = self.syncing_since.or(self.unsynced_since).or(self.pending_since);
        oldest.map_or(Duration::ZERO, |oldest| oldest.elapsed())
    }

    /// Takes what is pending in order to write it.
    pub(crate) fn take(&mut self) -> Vec<Pending> {
        self.unsynced_since = self.unsynced_since.or(self.pending_since.take());
        self.pending_bytes = 0;
        std::mem::take(&mut self.pending)
    }

    /// When what is written has to be synced, if it has.
    pub(crate) fn sync_at(&self, interval: Duration) -> Option<Instant> {
        Some(self.unsynced_since? + interval / 2)
    }

    /// Begins to sync what is written; false if nothing is.
    pub(crate) fn begin_sync(&mut self) -> bool {
        self.syncing_since = self.unsynced_since.take();
        self.syncing_since.is_some()
    }
}
