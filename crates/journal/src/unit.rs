//! The journal as kernels and steps see it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLockReadGuard};

use tensorfleet_framework::{BoxFuture, Changer, Journal, Place, RecordedOp, Unit, Variable};
use tensorfleet_tensor::Result;

use crate::frame::Kind;
use crate::payload::Payload;
use crate::queue::{Queue, Shared};
use crate::record::{Changed, Description, deleted};
use crate::wire;

/// What resources know of a journal.
#[derive(Debug)]
pub(crate) struct Pen(pub(crate) Arc<Shared>);

impl Journal for Pen {
    fn begin(&self) -> Arc<dyn Unit> {
        Arc::new(StepUnit { shared: Arc::clone(&self.0), id: AtomicU64::new(0) })
    }

    fn created(&self, variable: &Variable, place: &Place<'_>) -> u64 {
        let mut queue = self.0.lock();
        queue.variables += 1;
        let description = Description::new(queue.variables, variable, place);
        queue.append(&self.0, Kind::Created, description.encode());
        description.number
    }
}

/// What one step changes. It is known by the number of its first frame, and by zero before that.
#[derive(Debug)]
struct StepUnit {
    shared: Arc<Shared>,
    id: AtomicU64,
}

impl StepUnit {
    /// The number of the unit, which has now changed something.
    fn open(&self, queue: &mut Queue) -> u64 {
        // The queue's lock orders this.
        let known = self.id.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        self.id.store(queue.next, Ordering::Relaxed);
        queue.open.insert(queue.next);
        queue.next
    }

    fn close(&self) -> Option<BoxFuture<Result<()>>> {
        let mut queue = self.shared.lock();
        let id = self.id.swap(0, Ordering::Relaxed);
        if id == 0 {
            return None;
        }
        queue.open.remove(&id);
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
        let mut queue = self.shared.lock();
        let told = tell_op(&mut queue, &self.shared, change.changer).and_then(|op| {
            let unit = self.open(&mut queue);
            Ok((unit, Changed::encode(unit, op, change, variables, failed)?))
        });
        match told {
            Ok((_, payload)) => {
                queue.append(&self.shared, Kind::Changed, payload);
            }
            // What cannot be told must not be relied on.
            Err(error) => {
                drop(queue);
                self.shared.fail(&error);
            }
        }
    }

    fn deleted(&self, variables: &[u64]) {
        let mut queue = self.shared.lock();
        let unit = self.open(&mut queue);
        queue.append(&self.shared, Kind::Deleted, deleted(unit, variables));
    }

    fn end(&self) -> Option<BoxFuture<Result<()>>> {
        self.close()
    }
}

impl Drop for StepUnit {
    fn drop(&mut self) {
        self.close();
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
