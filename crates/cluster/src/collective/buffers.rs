//! Where the buffers of collectives change hands.
//!
//! Whoever provides one waits until it has been taken, because its step may end after that.

use std::sync::Mutex;

use rustc_hash::FxHashMap;
use tensorfleet_framework::StepId;
use tensorfleet_tensor::{Error, Result, Tensor, aborted, internal};
use tokio::sync::oneshot;

use crate::session::lock;

/// Buffers of all steps, by step and key.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    steps: Mutex<FxHashMap<StepId, FxHashMap<String, Slot>>>,
}

#[derive(Debug)]
enum Slot {
    /// A buffer that nobody has asked for yet.
    Provided(Tensor, oneshot::Sender<()>),
    /// Somebody who asked before there was a buffer.
    Awaited(oneshot::Sender<Tensor>),
}

impl Buffers {
    /// Leaves a buffer and waits until it has been taken.
    pub(super) async fn provide(&self, step: StepId, key: String, buffer: Tensor) -> Result<()> {
        let (taken, wait) = oneshot::channel();
        {
            let mut steps = lock(&self.steps);
            let slots = steps.entry(step).or_default();
            match slots.remove(&key) {
                Some(Slot::Awaited(waiter)) => {
                    let left = waiter.send(buffer);
                    if slots.is_empty() {
                        steps.remove(&step);
                    }
                    // Whoever asked has gone: it was cancelled, and so will this step be.
                    return left.map_err(|_| ended(step));
                }
                Some(provided @ Slot::Provided(..)) => {
                    slots.insert(key.clone(), provided);
                    return Err(internal!(
                        "BufRendezvous::ProvideBuf already called for key {key}"
                    ));
                }
                None => slots.insert(key.clone(), Slot::Provided(buffer, taken)),
            };
        }
        let _tidy = Tidy { buffers: self, step, key };
        wait.await.map_err(|_| ended(step))
    }

    /// Takes a buffer, or waits for it.
    pub(super) async fn consume(&self, step: StepId, key: String) -> Result<Tensor> {
        let (waiter, wait) = oneshot::channel();
        {
            let mut steps = lock(&self.steps);
            let slots = steps.entry(step).or_default();
            match slots.remove(&key) {
                Some(Slot::Provided(buffer, taken)) => {
                    let _ = taken.send(());
                    if slots.is_empty() {
                        steps.remove(&step);
                    }
                    return Ok(buffer);
                }
                Some(awaited @ Slot::Awaited(_)) => {
                    slots.insert(key.clone(), awaited);
                    return Err(internal!(
                        "BufRendezvous::ConsumeBuf already called for key {key}"
                    ));
                }
                None => slots.insert(key.clone(), Slot::Awaited(waiter)),
            };
        }
        let _tidy = Tidy { buffers: self, step, key };
        wait.await.map_err(|_| ended(step))
    }

    /// Fails whoever still waits in a step.
    pub(super) fn end_step(&self, step: StepId) {
        lock(&self.steps).remove(&step);
    }
}

fn ended(step: StepId) -> Error {
    aborted!("Cleanup {}", step.0).derived()
}

/// Clears the place of somebody who waits no longer.
struct Tidy<'a> {
    buffers: &'a Buffers,
    step: StepId,
    key: String,
}

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        let mut steps = lock(&self.buffers.steps);
        let Some(slots) = steps.get_mut(&self.step) else { return };
        // Another may have begun to wait under the key since.
        let gone = match slots.get(&self.key) {
            Some(Slot::Provided(_, taken)) => taken.is_closed(),
            Some(Slot::Awaited(waiter)) => waiter.is_closed(),
            None => false,
        };
        if gone {
            slots.remove(&self.key);
        }
        if slots.is_empty() {
            steps.remove(&self.step);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const STEP: StepId = StepId(3);

    #[test]
    fn a_buffer_goes_to_who_asks_first_or_last() {
        let buffers = Buffers::default();
        let mut asked = Box::pin(buffers.consume(STEP, "a".into()));
        assert!((&mut asked).now_or_never().is_none());
        let provided = buffers.provide(STEP, "a".into(), Tensor::scalar(1i32));
        provided.now_or_never().unwrap().unwrap();
        assert_eq!(asked.now_or_never().unwrap().unwrap().values::<i32>().unwrap(), [1]);

        let mut provided = Box::pin(buffers.provide(STEP, "b".into(), Tensor::scalar(2i32)));
        assert!((&mut provided).now_or_never().is_none(), "waits until it is taken");
        let asked = buffers.consume(STEP, "b".into()).now_or_never().unwrap().unwrap();
        assert_eq!(asked.values::<i32>().unwrap(), [2]);
        provided.now_or_never().unwrap().unwrap();
        assert!(lock(&buffers.steps).is_empty());
    }

    #[test]
    fn who_waits_in_a_step_that_ends_hears_of_it_and_who_leaves_leaves_nothing() {
        let buffers = Buffers::default();
        let mut asked = Box::pin(buffers.consume(STEP, "a".into()));
        assert!((&mut asked).now_or_never().is_none());
        buffers.end_step(STEP);
        assert!(asked.now_or_never().unwrap().is_err());

        let mut asked = Box::pin(buffers.consume(STEP, "a".into()));
        assert!((&mut asked).now_or_never().is_none());
        drop(asked);
        assert!(lock(&buffers.steps).is_empty());
    }
}
