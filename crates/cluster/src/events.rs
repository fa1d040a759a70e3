//! What has happened on a task, for whoever looks later: a ring that forgets the oldest.
//!
//! Whoever tells of an event gives the line for the log as well, so that both say the same.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How many events are kept.
const KEPT: usize = 256;

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    SessionOpened,
    SessionClosed,
    ContextOpened,
    ContextClosed,
    /// A task is waited for, or does not answer.
    PeerLost,
    PeerFound,
    StepFailed,
    StepSlow,
    Reset,
    Drain,
    /// The threads that compute make no progress, or do so again.
    Stall,
    /// Something was refused because there is too much of it.
    Limit,
}

impl EventKind {
    /// The name in a status.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::SessionOpened => "session_opened",
            EventKind::SessionClosed => "session_closed",
            EventKind::ContextOpened => "context_opened",
            EventKind::ContextClosed => "context_closed",
            EventKind::PeerLost => "peer_lost",
            EventKind::PeerFound => "peer_found",
            EventKind::StepFailed => "step_failed",
            EventKind::StepSlow => "step_slow",
            EventKind::Reset => "reset",
            EventKind::Drain => "drain",
            EventKind::Stall => "stall",
            EventKind::Limit => "limit",
        }
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// Counts all events of the task: whoever looks again knows which are new.
    pub number: u64,
    pub at: Instant,
    pub kind: EventKind,
    pub text: String,
}

/// The latest events of a task.
#[derive(Debug, Default)]
pub struct Events(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    told: u64,
    latest: VecDeque<Event>,
}

impl Events {
    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an event.
    pub fn keep(&self, at: Instant, kind: EventKind, text: impl Into<String>) {
        let mut ring = self.lock();
        ring.told += 1;
        let number = ring.told;
        if ring.latest.len() == KEPT {
            ring.latest.pop_front();
        }
        ring.latest.push_back(Event { number, at, kind, text: text.into() });
    }

    /// The events that are kept, the oldest first.
    pub fn latest(&self) -> Vec<Event> {
        self.lock().latest.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let events = Events::default();
        let now = Instant::now();
        for number in 1..=KEPT + 10 {
            events.keep(now, EventKind::Reset, number.to_string());
        }
        let latest = events.latest();
        assert_eq!(latest.len(), KEPT);
        assert_eq!((latest[0].number, &*latest[0].text), (11, "11"));
    }
}
