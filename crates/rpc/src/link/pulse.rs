//! Whether the other end is still there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::frame::Kind;
use super::outbox::Outbox;

/// Silence is looked for so many times in the time in which it must be noticed.
const BEATS: u32 = 6;
/// So many times nothing may be found. What is left of the time is for the beat in which the silence
/// began, and for those who must be told more than once: TensorFlow's coordinator forgives a
/// parameter server two failures.
const SILENT_BEATS: u32 = 4;

/// Whether something came since somebody last looked.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<AtomicBool>);

impl Heard {
    pub(super) fn mark(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Ends when nothing came for most of a time, although it was asked for.
pub(super) async fn silence(heard: Heard, outbox: &Outbox, limit: Duration) {
    let mut silent = 0;
    while silent < SILENT_BEATS {
        tokio::time::sleep(limit / BEATS).await;
        silent = if heard.take() { 0 } else { silent + 1 };
        if silent == 1 {
            outbox.send(Kind::Ping, 0, &[]);
        }
    }
}
