//! How much of a streamed answer waits for its client.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::limits::UNSENT;

/// Bytes that were made and are not sent: whoever makes more waits while these are many.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    unsent: AtomicUsize,
    drained: Notify,
}

impl Backlog {
    pub(super) fn add(&self, len: usize) {
        self.unsent.fetch_add(len, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, len: usize) {
        let before = self.unsent.fetch_sub(len, Ordering::Relaxed);
        if before > UNSENT && before - len <= UNSENT {
            self.drained.notify_one();
        }
    }

    /// Waits until more may be made. Only one waits at a time.
    pub(super) async fn room(&self) {
        while self.unsent.load(Ordering::Relaxed) > UNSENT {
            self.drained.notified().await;
        }
    }
}
