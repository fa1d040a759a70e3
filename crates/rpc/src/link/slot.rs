//! Whether there is a link to a peer.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::client::Link;

/// How long a peer without a link is left alone: at first, and at most. It may only have been slow,
/// or be another program by now.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The link to one peer, made in the background when it is first wanted.
#[derive(Debug)]
pub(crate) struct LinkSlot(Mutex<State>);

#[derive(Debug)]
enum State {
    /// Nobody has asked yet, or the last link broke.
    Unknown,
    Connecting,
    Up(Arc<Link>),
    /// None came up; the next attempt is not before a time.
    Failed {
        until: Instant,
        pause: Duration,
    },
    /// We shall not use links.
    Never,
}

/// What is known of the link to a peer.
#[derive(Debug)]
pub(crate) struct LinkReport {
    pub(crate) state: &'static str,
    pub(crate) waiting: usize,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl LinkSlot {
    /// What is known of the link.
    pub(crate) fn report(&self) -> LinkReport {
        let (state, (waiting, sent, received)) = match &*self.lock() {
            State::Up(link) if link.is_broken() => ("broken", link.traffic()),
            State::Up(link) => ("up", link.traffic()),
            State::Unknown => ("unused", (0, 0, 0)),
            State::Connecting => ("connecting", (0, 0, 0)),
            State::Failed { .. } => ("refused", (0, 0, 0)),
            State::Never => ("off", (0, 0, 0)),
        };
        LinkReport { state, waiting, sent, received }
    }

    #[cfg(test)]
    fn impatient() -> Arc<LinkSlot> {
        let failed = State::Failed { until: Instant::now(), pause: Duration::ZERO };
        Arc::new(LinkSlot(Mutex::new(failed)))
    }

    pub(crate) fn new(is_allowed: bool) -> Arc<LinkSlot> {
        let state = if is_allowed { State::Unknown } else { State::Never };
        Arc::new(LinkSlot(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The link, if it is up. If nobody has tried yet, or not for a while, `connect` is run on a
    /// runtime.
    pub(crate) fn get<F>(
        self: &Arc<Self>,
        connect: impl FnOnce() -> (Handle, F),
    ) -> Option<Arc<Link>>
    where
        F: Future<Output = Option<Arc<Link>>> + Send + 'static,
    {
        let mut state = self.lock();
        let pause = match &*state {
            State::Up(link) if !link.is_broken() => return Some(Arc::clone(link)),
            State::Connecting | State::Never => return None,
            State::Failed { until, .. } if Instant::now() < *until => return None,
            State::Failed { pause, .. } => (*pause * 2).min(LONGEST_PAUSE),
            State::Up(_) | State::Unknown => FIRST_PAUSE,
        };
        *state = State::Connecting;
        drop(state);
        let (runtime, connecting) = connect();
        let this = Arc::clone(self);
        runtime.spawn(async move {
            let state = match connecting.await {
                Some(link) => State::Up(link),
                None => State::Failed { until: Instant::now() + pause, pause },
            };
            *this.lock() = state;
        });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_peer_without_a_link_is_asked_again() {
        let slot = LinkSlot::impatient();
        for _ in 0..3 {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let connect = async {
                // Whoever waits for it is this test.
                let _ = sender.send(());
                None
            };
            let handle = Handle::current();
            assert!(slot.get(|| (handle, connect)).is_none());
            receiver.await.unwrap();
            while !matches!(*slot.lock(), State::Failed { .. }) {
                tokio::task::yield_now().await;
            }
        }
    }

    #[tokio::test]
    async fn a_peer_is_not_asked_at_every_call() {
        let slot = LinkSlot::new(true);
        let until = Instant::now() + LONGEST_PAUSE;
        *slot.lock() = State::Failed { until, pause: LONGEST_PAUSE };
        let asked = || -> (Handle, std::future::Ready<Option<Arc<Link>>>) {
            panic!("it is too early");
        };
        assert!(slot.get(asked).is_none());
    }
}
