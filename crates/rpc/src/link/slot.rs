//! Whether there is a link to a peer.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::runtime::Handle;

use super::client::Link;

/// The link to one peer, made in the background when it is first wanted.
#[derive(Debug)]
pub(crate) struct LinkSlot(Mutex<State>);

#[derive(Debug)]
enum State {
    /// Nobody has asked yet, or the last link broke.
    Unknown,
    Connecting,
    Up(Arc<Link>),
    /// The peer knows no links, or we shall not use them.
    Never,
}

impl LinkSlot {
    pub(crate) fn new(is_allowed: bool) -> Arc<LinkSlot> {
        let state = if is_allowed { State::Unknown } else { State::Never };
        Arc::new(LinkSlot(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The link, if it is up. If nobody has tried yet, `connect` is run on a runtime; it gives
    /// nothing if the peer did not answer, and no link if it has none to offer.
    pub(crate) fn get<F>(
        self: &Arc<Self>,
        connect: impl FnOnce() -> (Handle, F),
    ) -> Option<Arc<Link>>
    where
        F: Future<Output = Option<Option<Arc<Link>>>> + Send + 'static,
    {
        let mut state = self.lock();
        match &*state {
            State::Up(link) if !link.is_broken() => return Some(Arc::clone(link)),
            State::Connecting | State::Never => return None,
            State::Up(_) | State::Unknown => {}
        }
        *state = State::Connecting;
        drop(state);
        let (runtime, connecting) = connect();
        let this = Arc::clone(self);
        runtime.spawn(async move {
            let state = match connecting.await {
                Some(Some(link)) => State::Up(link),
                Some(None) => State::Never,
                None => State::Unknown,
            };
            *this.lock() = state;
        });
        None
    }
}
