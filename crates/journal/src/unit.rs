//! The journal as kernels and steps see it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLockReadGuard};

use tensorfleet_framework::{
    BoxFuture, CallId, Changer, Durable, Event, Journal, Parcel, Place, Recalled, RecordedOp, Sent,
    StepId, Unit, Variable,
};
use tensorfleet_tensor::Result;

use crate::frame::Kind;
use crate::outcome::{self, Outcome, SentSoFar};
use crate::payload::Payload;
use crate::queue::{Queue, Shared};
use crate::record::{Changed, Description, deleted};
use crate::resource::{Described, Happened};
use crate::wire;

/// What resources know of a journal.
#[derive(Debug)]
pub(crate) struct Pen(pub(crate) Arc<Shared>);

impl Journal for Pen {
    fn begin(&self) -> Arc<dyn Unit> {
        Arc::new(StepUnit::new(&self.0, None))
    }

    fn begin_call(&self, call: CallId) -> Arc<dyn Unit> {
        Arc::new(StepUnit::new(&self.0, Some(call)))
    }

    fn recall(&self, call: CallId) -> Option<Recalled> {
        self.0.lock().outcomes.recall(call)
    }

    fn recall_sent(&self, step: StepId, device: u32, key: &str) -> Option<Sent> {
        self.0.lock().outcomes.recall_sent(step, device, key)
    }

    fn forget_calls(&self, step: StepId) {
        self.0.lock().outcomes.forget(step);
    }

    fn created(&self, variable: &Variable, place: &Place<'_>) -> u64 {
        let mut queue = self.0.lock();
        queue.numbered += 1;
        let description = Description::new(queue.numbered, variable, place);
        queue.append(&self.0, Kind::Created, description.encode());
        description.number
    }

    fn described(&self, resource: &dyn Durable, place: &Place<'_>) -> Result<u64> {
        let mut queue = self.0.lock();
        let number = queue.numbered + 1;
        let payload = Described::new(number, resource, place)?.encode()?;
        queue.numbered = number;
        queue.append(&self.0, Kind::Described, payload);
        Ok(number)
    }
}

/// What one step changes. It is known by the number of its first frame, and by zero before that.
#[derive(Debug)]
struct StepUnit {
    shared: Arc<Shared>,
    id: AtomicU64,
    /// The call of a master that it belongs to, and what that has sent.
    call: Option<CallId>,
    sent: Mutex<SentSoFar>,
}

impl StepUnit {
    fn new(shared: &Arc<Shared>, call: Option<CallId>) -> StepUnit {
        StepUnit { shared: Arc::clone(shared), id: AtomicU64::new(0), call, sent: Mutex::default() }
    }

    /// The number of the unit, which has now changed something.
    fn open(&self, queue: &mut Queue) -> u64 {
        // The queue's lock orders this.
        let known = self.id.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        let id = queue.next;
        self.id.store(id, Ordering::Relaxed);
        queue.open.insert(id);
        if let Some(call) = self.call {
            queue.append(&self.shared, Kind::Begun, outcome::begun(id, call));
        }
        id
    }

    fn tell(&self, kind: Kind, payload: impl FnOnce(&mut Queue) -> Result<Payload>) {
        let mut queue = self.shared.lock();
        match payload(&mut queue) {
            Ok(payload) => {
                queue.append(&self.shared, kind, payload);
            }
            // What cannot be told must not be relied on.
            Err(error) => {
                drop(queue);
                self.shared.fail(&error);
            }
        }
    }

    fn close(&self, what: Recalled) -> Option<BoxFuture<Result<()>>> {
        let mut queue = self.shared.lock();
        let id = self.id.swap(0, Ordering::Relaxed);
        if id == 0 {
            return None;
        }
        queue.open.remove(&id);
        if let Some(call) = self.call {
            let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = Outcome { call, what, sent: std::mem::take(&mut sent.parcels) };
            // Only what can be written has been kept.
            if let Ok(payload) = outcome.encode(id) {
                queue.append(&self.shared, Kind::Outcome, payload);
            }
            queue.outcomes.insert(outcome, false);
        }
        let number = queue.append(&self.shared, Kind::Ended, Payload::default().long(id));
        self.shared.progress.notify_all();
        queue.wait_for(number, self.shared.durability)
    }
}

impl Unit for StepUnit {
    fn enter(&self) -> Result<RwLockReadGuard<'_, ()>> {
        let gate = self.shared.gate.read().unwrap_or_else(PoisonError::into_inner);
        match &self.shared.lock().failed {
            Some(error) => Err(error.clone()),
            None => Ok(gate),
        }
    }

    fn changed(&self, change: &RecordedOp<'_>, variables: &[u64], failed: bool) {
        self.tell(Kind::Changed, |queue| {
            let op = tell_op(queue, &self.shared, change.changer)?;
            Changed::encode(self.open(queue), op, change, variables, failed)
        });
    }

    fn happened(&self, resource: u64, event: &Event, failed: bool) {
        self.tell(Kind::Happened, |queue| {
            Happened::encode(self.open(queue), resource, event, failed)
        });
    }

    fn deleted(&self, resources: &[u64]) {
        self.tell(Kind::Deleted, |queue| Ok(deleted(self.open(queue), resources)));
    }

    fn sent(&self, key: &str, parcel: &Parcel) {
        if self.call.is_some() {
            let has_changed = self.id.load(Ordering::Relaxed) != 0;
            let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
            sent.keep(key, parcel, has_changed);
        }
    }

    fn end(&self) -> Option<BoxFuture<Result<()>>> {
        self.close(Recalled::Done)
    }
}

impl Drop for StepUnit {
    fn drop(&mut self) {
        self.close(Recalled::Cut);
    }
}

/// The number of an op, told once in each generation.
fn tell_op(queue: &mut Queue, shared: &Shared, changer: &Changer) -> Result<u32> {
    let noted = changer.noted.load(Ordering::Relaxed);
    if (noted >> 32) as u32 == queue.generation {
        return Ok(noted as u32);
    }
    let node = wire::encode_node(&changer.node)?;
    queue.ops += 1;
    let op = queue.ops;
    queue.append(shared, Kind::Op, Payload::default().word(op).bytes(&node));
    let noted = u64::from(queue.generation) << 32 | u64::from(op);
    changer.noted.store(noted, Ordering::Relaxed);
    Ok(op)
}
