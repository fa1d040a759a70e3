//! How long a task waits for another one that may be gone.
//!
//! A machine that vanishes is noticed by the system, a process that stands still is not, and
//! TensorFlow's servers hang up on clients that ping often. So while calls wait, the peer is asked for
//! its status now and then; if not even that is answered, all that wait are told.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tensorfleet_cluster::{EventKind, Events};
use tensorfleet_framework::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// A peer is asked after such a part of the time in which its loss must be noticed, and given four
/// such parts to answer. The last one is for those who must be told more than once: TensorFlow's
/// coordinator forgives a parameter server two failures.
const BEATS: u32 = 6;
const ANSWER_BEATS: u32 = 4;
/// A peer that was given up is given such a part of the time to answer again.
const LOST_BEATS: u32 = 20;

/// Watches over the calls to one peer.
#[derive(Debug)]
pub(crate) struct Patience {
    /// In which time the loss of the peer must be noticed.
    silence: Duration,
    waiting: AtomicUsize,
    /// Whether somebody looks after the calls.
    is_watched: AtomicBool,
    /// Whether the peer was given up and has not answered since: the next call need not wait as long
    /// again.
    is_lost: AtomicBool,
    /// How often the peer was given up.
    losses: watch::Sender<u64>,
    /// Where losses are told of.
    events: Arc<Events>,
}

/// What is asked now and then: whether the peer is there.
pub(crate) type Probe = Box<dyn Fn() -> BoxFuture<bool> + Send>;

/// The peer did not answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost;

impl Patience {
    pub(crate) fn new(silence: Duration, events: Arc<Events>) -> Arc<Patience> {
        Arc::new(Patience {
            silence,
            waiting: AtomicUsize::new(0),
            is_watched: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            losses: watch::Sender::new(0),
            events,
        })
    }

    /// In which time the loss of the peer must be noticed.
    pub(crate) fn silence(&self) -> Duration {
        self.silence
    }

    /// The peer does not answer, as somebody else has found out: all that wait are told.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
        self.losses.send_modify(|count| *count += 1);
    }

    /// How many calls wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// Whether the peer was given up and has not answered since.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
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
            let (pause, limit) = if was_lost {
                (Duration::ZERO, self.silence / LOST_BEATS)
            } else {
                (beat, beat * ANSWER_BEATS)
            };
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
            if is_there {
                self.is_lost.store(false, Ordering::Release);
                if was_lost {
                    let text = format!("{who}, which answers again");
                    tracing::info!("{text}");
                    self.events.keep(Instant::now(), EventKind::PeerFound, text);
                }
                continue;
            }
            let count = self.waiting.load(Ordering::Acquire);
            if count > 0 {
                let silence = self.silence;
                let text = format!(
                    "{who} with {count} calls, without an answer; the failure timeout is {silence:?}"
                );
                tracing::warn!("{text}");
                self.events.keep(Instant::now(), EventKind::PeerLost, text);
            }
            self.lose();
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
        let patience = Patience::new(Duration::from_millis(30), Arc::default());
        let [one, other] = [pending::<()>(), pending::<()>()];
        let outcomes = tokio::join!(wait(&patience, one, false), wait(&patience, other, false));
        assert_eq!(outcomes, (Err(Lost), Err(Lost)));
    }

    #[tokio::test]
    async fn what_others_find_out_is_told_to_all_that_wait() {
        let patience = Patience::new(Duration::from_secs(600), Arc::default());
        let call = wait(&patience, pending::<()>(), true);
        let found_out = async { patience.lose() };
        assert_eq!(tokio::join!(call, found_out).0, Err(Lost));
    }

    #[tokio::test]
    async fn calls_to_a_peer_that_answers_may_take_long() {
        let patience = Patience::new(Duration::from_millis(30), Arc::default());
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
