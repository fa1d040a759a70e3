//! Requests that were seen before: a network may deliver one twice.

use std::collections::VecDeque;
use std::sync::Mutex;

use rustc_hash::FxHashSet;
use tensorfleet_tensor::{Result, aborted};

/// How many ids are remembered.
const CAPACITY: usize = 100_000;

/// Remembers the ids of recent requests.
#[derive(Debug, Default)]
pub(crate) struct RecentRequests {
    ids: Mutex<Ids>,
}

#[derive(Debug, Default)]
struct Ids {
    known: FxHashSet<i64>,
    order: VecDeque<i64>,
}

impl RecentRequests {
    /// Refuses an id that was seen before. Zero stands for a request that is not tracked.
    pub(crate) fn check(&self, id: i64, method: &str) -> Result<()> {
        if id == 0 {
            return Ok(());
        }
        let mut ids = self.ids.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !ids.known.insert(id) {
            return Err(aborted!("The same {method} request was received twice. request_id: {id}"));
        }
        ids.order.push_back(id);
        if ids.order.len() > CAPACITY
            && let Some(oldest) = ids.order.pop_front()
        {
            ids.known.remove(&oldest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repetitions_are_refused() {
        let recent = RecentRequests::default();
        assert!(recent.check(1, "X").is_ok());
        assert!(recent.check(1, "X").is_err());
        assert!(recent.check(0, "X").is_ok() && recent.check(0, "X").is_ok());
        for id in 2..=CAPACITY as i64 + 1 {
            recent.check(id, "X").unwrap();
        }
        assert!(recent.check(1, "X").is_ok(), "the oldest id is forgotten");
    }
}
