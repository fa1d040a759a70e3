//! What a step keeps on a task for the sake of durable peers, which may die and run their part again.

use std::future::Future;
use std::sync::Mutex;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::{CallId, Parcel};
use tensorfleet_tensor::{Error, Result, aborted};
use tokio::sync::{Notify, watch};

use crate::session::lock;

/// Tensors that durable tasks have fetched or will fetch. They stay until the step ends, for who comes
/// back asks for them once more.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    parcels: Mutex<FxHashMap<String, Parcel>>,
    arrived: Notify,
    /// What a durable task has sent and has not kept.
    sent: Mutex<FxHashSet<String>>,
}

impl Kept {
    pub(crate) fn keep(&self, key: &str, parcel: Parcel) {
        lock(&self.parcels).insert(key.to_owned(), parcel);
        self.arrived.notify_waiters();
    }

    /// Notes that a tensor was sent that is not kept.
    pub(crate) fn has_sent(&self, key: &str) {
        lock(&self.sent).insert(key.to_owned());
    }

    /// Whether a tensor was sent that is not kept: if it is not there, somebody has taken it.
    pub(crate) fn is_sent(&self, key: &str) -> bool {
        lock(&self.sent).contains(key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<Parcel> {
        let parcels = lock(&self.parcels);
        if parcels.is_empty() { None } else { parcels.get(key).cloned() }
    }

    /// Waits for a tensor, which may come here or in another way.
    pub(crate) async fn wait(
        &self,
        key: &str,
        other: impl Future<Output = Result<Parcel>>,
    ) -> Result<Parcel> {
        let mut other = std::pin::pin!(other);
        loop {
            // Who arrives after this is noticed.
            let arrived = self.arrived.notified();
            if let Some(parcel) = self.get(key) {
                return Ok(parcel);
            }
            tokio::select! {
                biased;
                outcome = &mut other => return outcome,
                () = arrived => {}
            }
        }
    }
}

/// The calls of a step that have come to a durable task in its present life: a master that has lost
/// the way to it makes a call again.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<FxHashMap<CallId, watch::Receiver<Option<bool>>>>);

/// How a call enters.
#[derive(Debug)]
pub(crate) enum Entry {
    First(FirstCall),
    /// It has come before.
    Again(CallBefore),
}

/// A call while it is made.
#[derive(Debug)]
pub(crate) struct FirstCall {
    over: watch::Sender<Option<bool>>,
}

/// The same call when it came first.
#[derive(Debug)]
pub(crate) struct CallBefore(watch::Receiver<Option<bool>>);

impl Calls {
    pub(crate) fn enter(&self, call: CallId) -> Entry {
        let mut calls = lock(&self.0);
        if let Some(before) = calls.get(&call) {
            return Entry::Again(CallBefore(before.clone()));
        }
        let (over, first) = watch::channel(None);
        calls.insert(call, first);
        Entry::First(FirstCall { over })
    }
}

impl FirstCall {
    /// It is done, all of it.
    pub(crate) fn is_done(&self) {
        self.over.send_replace(Some(true));
    }
}

impl Drop for FirstCall {
    fn drop(&mut self) {
        self.over.send_if_modified(|over| over.is_none().then(|| *over = Some(false)).is_some());
    }
}

impl CallBefore {
    /// Waits until it is over; fails if it was not done.
    pub(crate) async fn done(mut self) -> Result<()> {
        match self.0.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(true)) => Ok(()),
            _ => Err(cut_off()),
        }
    }
}

/// Why a call cannot be made again.
pub(crate) fn cut_off() -> Error {
    aborted!(
        "the step was cut off in the middle, and some of its changes may stand: it is not run again by \
         itself"
    )
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tensorfleet_tensor::Tensor;

    use super::*;

    const CALL: CallId = CallId { session: 1, step: 2, device: 0 };

    #[test]
    fn everybody_who_asks_gets_what_is_kept() {
        let kept = Kept::default();
        let never = || std::future::pending::<Result<Parcel>>();
        let mut early = Box::pin(kept.wait("k", never()));
        assert!(early.as_mut().now_or_never().is_none());
        kept.keep("other", Parcel { tensor: Tensor::scalar(1), is_dead: false });
        assert!(early.as_mut().now_or_never().is_none());
        kept.keep("k", Parcel { tensor: Tensor::scalar(2), is_dead: false });
        for waiting in [early, Box::pin(kept.wait("k", never()))] {
            let parcel = waiting.now_or_never().unwrap().unwrap();
            assert_eq!(parcel.tensor.scalar_value::<i32>().unwrap(), 2);
        }
    }

    #[test]
    fn a_call_is_made_once_and_who_makes_it_again_hears_what_came_of_it() {
        for is_done in [true, false] {
            let calls = Calls::default();
            let Entry::First(first) = calls.enter(CALL) else { panic!("nobody was here") };
            let Entry::Again(again) = calls.enter(CALL) else { panic!("somebody was here") };
            let mut again = Box::pin(again.done());
            assert!(again.as_mut().now_or_never().is_none(), "it is under way");
            if is_done {
                first.is_done();
            }
            drop(first);
            assert_eq!(again.now_or_never().unwrap().is_ok(), is_done);
            let Entry::Again(late) = calls.enter(CALL) else { panic!("somebody was here") };
            assert_eq!(late.done().now_or_never().unwrap().is_ok(), is_done);
        }
    }
}
