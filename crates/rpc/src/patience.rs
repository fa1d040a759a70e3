//! How long a task waits for another one that may be gone.
//!
//! A machine that vanishes is noticed by the system, a process that stands still is not, and
//! TensorFlow's servers hang up on clients that ping often. So while calls wait, the peer is asked for
//! its status now and then; if not even that is answered, all that wait are told.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tensorfleet_framework::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Asked so many times in the time that a peer may be silent, and given the rest to answer.
const BEATS: u32 = 3;

/// Watches over the calls to one peer.
#[derive(Debug)]
pub(crate) struct Patience {
    /// How long the peer may be silent.
    silence: Duration,
    waiting: AtomicUsize,
    /// Whether somebody looks after the calls.
    is_watched: AtomicBool,
    /// Whether the peer was given up and has not answered since: the next call need not wait as long
    /// again.
    is_lost: AtomicBool,
    /// How often the peer was given up.
    losses: watch::Sender<u64>,
}

/// What is asked now and then: whether the peer is there.
pub(crate) type Probe = Box<dyn Fn() -> BoxFuture<bool> + Send>;

/// The peer did not answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost;

impl Patience {
    pub(crate) fn new(silence: Duration) -> Arc<Patience> {
        Arc::new(Patience {
            silence,
            waiting: AtomicUsize::new(0),
            is_watched: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            losses: watch::Sender::new(0),
        })
    }

    /// How long the peer may be silent.
    pub(crate) fn silence(&self) -> Duration {
        self.silence
    }

    /// Waits for a call as long as the peer is there. `probe` makes what is asked, if nobody asks yet;
    /// `who` names both ends, for the log.
    pub(crate) async fn wait<T>(
        self: Arc<Self>,
        runtime: &Handle,
        call: impl Future<Output = T>,
        probe: impl FnOnce() -> Probe,
        who: impl FnOnce() -> String,
    ) -> Result<T, Lost> {
        let mut losses = self.losses.subscribe();
        let _counted = Counted::new(&self.waiting);
        if !self.is_watched.swap(true, Ordering::AcqRel) {
            runtime.spawn(Arc::clone(&self).watch(probe(), who()));
        }
        let lost = pin!(losses.changed());
        tokio::select! {
            biased;
            outcome = call => Ok(outcome),
            _ = lost => Err(Lost),
        }
    }

    /// Asks while anybody waits.
    async fn watch(self: Arc<Self>, probe: Probe, who: String) {
        loop {
            let beat = self.silence / BEATS;
            let was_lost = self.is_lost.load(Ordering::Acquire);
            let (pause, limit) =
                if was_lost { (Duration::ZERO, beat) } else { (beat, self.silence - beat) };
            tokio::time::sleep(pause).await;
            if self.waiting.load(Ordering::Acquire) == 0 {
                self.is_watched.store(false, Ordering::Release);
                // Somebody may have come meanwhile, and seen the watch.
                let is_needed = self.waiting.load(Ordering::Acquire) > 0;
                if !is_needed || self.is_watched.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
            let is_there = tokio::time::timeout(limit, probe()).await.unwrap_or(false);
            self.is_lost.store(!is_there, Ordering::Release);
            if !is_there {
                let count = self.waiting.load(Ordering::Acquire);
                if count > 0 {
                    let silence = self.silence;
                    tracing::warn!("{who} with {count} calls, and has no answer for {silence:?}");
                }
                self.losses.send_modify(|count| *count += 1);
            }
        }
    }
}

/// Counts those who wait.
struct Counted<'a>(&'a AtomicUsize);

impl Counted<'_> {
    fn new(count: &AtomicUsize) -> Counted<'_> {
        count.fetch_add(1, Ordering::AcqRel);
        Counted(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    async fn wait<T>(
        patience: &Arc<Patience>,
        call: impl Future<Output = T>,
        answers: bool,
    ) -> Result<T, Lost> {
        let probe = move || -> Probe {
            Box::new(move || if answers { Box::pin(ready(true)) } else { Box::pin(pending()) })
        };
        let patience = Arc::clone(patience);
        patience.wait(&Handle::current(), call, probe, || "a waits for b".to_owned()).await
    }

    #[tokio::test]
    async fn calls_to_a_peer_that_stands_still_end() {
        let patience = Patience::new(Duration::from_millis(30));
        let [one, other] = [pending::<()>(), pending::<()>()];
        let outcomes = tokio::join!(wait(&patience, one, false), wait(&patience, other, false));
        assert_eq!(outcomes, (Err(Lost), Err(Lost)));
    }

    #[tokio::test]
    async fn calls_to_a_peer_that_answers_may_take_long() {
        let patience = Patience::new(Duration::from_millis(30));
        let long = tokio::time::sleep(Duration::from_millis(200));
        assert_eq!(wait(&patience, long, true).await, Ok(()));
        assert_eq!(wait(&patience, ready(7), true).await, Ok(7));
        // Nobody waits, so soon nobody asks; later calls are looked after again.
        while patience.is_watched.load(Ordering::Acquire) {
            tokio::task::yield_now().await;
        }
        assert_eq!(wait(&patience, pending::<()>(), false).await, Err(Lost));
    }
}
