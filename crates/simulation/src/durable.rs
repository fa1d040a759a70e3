//! Disks that outlive simulated tasks, and the journal that such a task writes to: sums and the outcomes
//! of calls instead of ops, because a sum is all that a task has here.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use std::time::Duration;

use tensorfleet_framework::{
    BoxFuture, CallId, Durable, Event, Journal, Parcel, Place, Recalled, RecordedOp, Sent, StepId,
    Unit, Value, Variable,
};
use tensorfleet_tensor::{Result, unavailable, unimplemented_error};
use tokio::sync::oneshot;

use crate::executor::{Handle, Life};

/// What a task has on its disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimDisk(Arc<Mutex<Content>>);

#[derive(Debug, Default)]
struct Content {
    /// The task's variable, with what has ended.
    value: i64,
    incarnation: u64,
    /// What became of calls, and in which life.
    outcomes: BTreeMap<(i64, u64, u32), Outcome>,
    /// A planted bug: calls that are made again are not recognised.
    forgets: bool,
}

#[derive(Clone, Debug)]
struct Outcome {
    life: u64,
    what: Recalled,
    sent: Vec<(String, Parcel)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn key(call: CallId) -> (i64, u64, u32) {
    (call.step, call.session, call.device)
}

impl SimDisk {
    pub(crate) fn new(incarnation: u64, forgets: bool) -> SimDisk {
        let content = Content { incarnation, forgets, ..Content::default() };
        SimDisk(Arc::new(Mutex::new(content)))
    }

    pub(crate) fn value(&self) -> i64 {
        lock(&self.0).value
    }

    pub(crate) fn incarnation(&self) -> u64 {
        lock(&self.0).incarnation
    }
}

/// The journal of a task in one of its lives.
#[derive(Clone, Debug)]
pub(crate) struct SimJournal {
    pub(crate) disk: SimDisk,
    pub(crate) handle: Handle,
    pub(crate) life: Life,
}

impl SimJournal {
    fn unit(&self, call: Option<CallId>) -> Arc<dyn Unit> {
        Arc::new(SimUnit {
            journal: self.clone(),
            call,
            gate: RwLock::new(()),
            changes: Mutex::default(),
            is_over: AtomicBool::new(false),
        })
    }

    fn former(&self, call: CallId) -> Option<Outcome> {
        let content = lock(&self.disk.0);
        let found = content.outcomes.get(&key(call)).filter(|_| !content.forgets);
        found.filter(|outcome| outcome.life != self.life.number).cloned()
    }

    fn commit(&self, call: Option<CallId>, what: Recalled, changes: Changes) {
        let mut content = lock(&self.disk.0);
        content.value += changes.delta;
        if let Some(call) = call {
            let outcome = Outcome { life: self.life.number, what, sent: changes.sent };
            content.outcomes.insert(key(call), outcome);
        }
    }
}

impl Journal for SimJournal {
    fn begin(&self) -> Arc<dyn Unit> {
        self.unit(None)
    }

    fn begin_call(&self, call: CallId) -> Arc<dyn Unit> {
        self.unit(Some(call))
    }

    fn recall(&self, call: CallId) -> Option<Recalled> {
        self.former(call).map(|outcome| outcome.what)
    }

    fn recall_sent(&self, step: StepId, device: u32, key: &str) -> Option<Sent> {
        let calls: Vec<CallId> = {
            let content = lock(&self.disk.0);
            let of_step =
                content.outcomes.keys().filter(|call| (call.0, call.2) == (step.0, device));
            of_step.map(|&(step, session, device)| CallId { session, step, device }).collect()
        };
        let outcome = calls.into_iter().find_map(|call| self.former(call))?;
        let found = outcome.sent.into_iter().find(|(sent, _)| sent == key);
        Some(found.map_or(Sent::Lost(outcome.what), |(_, parcel)| Sent::Kept(parcel)))
    }

    fn forget_calls(&self, step: StepId) {
        lock(&self.disk.0).outcomes.retain(|call, _| call.0 != step.0);
    }

    fn created(&self, _: &Variable, _: &Place<'_>) -> u64 {
        1
    }

    fn described(&self, _: &dyn Durable, _: &Place<'_>) -> Result<u64> {
        Err(unimplemented_error!("a simulated disk keeps variables only"))
    }
}

#[derive(Debug, Default)]
struct Changes {
    delta: i64,
    sent: Vec<(String, Parcel)>,
}

#[derive(Debug)]
struct SimUnit {
    journal: SimJournal,
    call: Option<CallId>,
    gate: RwLock<()>,
    changes: Mutex<Changes>,
    is_over: AtomicBool,
}

impl Unit for SimUnit {
    fn enter(&self) -> Result<RwLockReadGuard<'_, ()>> {
        Ok(self.gate.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    fn changed(&self, change: &RecordedOp<'_>, _: &[u64], failed: bool) {
        let added = match change.inputs.get(1) {
            Some(Value::Tensor(tensor)) if !failed => tensor.scalar_value::<i64>().ok(),
            _ => None,
        };
        lock(&self.changes).delta += added.unwrap_or_default();
    }

    fn happened(&self, _: u64, _: &Event, _: bool) {}

    fn sent(&self, key: &str, parcel: &Parcel) {
        lock(&self.changes).sent.push((key.to_owned(), parcel.clone()));
    }

    fn deleted(&self, _: &[u64]) {}

    fn end(&self) -> Option<BoxFuture<Result<()>>> {
        let changes = std::mem::take(&mut *lock(&self.changes));
        self.is_over.store(true, Ordering::Relaxed);
        if changes.delta == 0 {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let (journal, call) = (self.journal.clone(), self.call);
        let SimJournal { handle, life, .. } = &self.journal;
        // At times a disk has written for long before it says so.
        let (before, after) = handle.draw(|random| {
            let slow = if random.percent(20) { 2_000_000 } else { 20_000 };
            (random.below(20_000), random.below(slow))
        });
        let clock = handle.clone();
        // The disk works whether anybody waits or not.
        handle.spawn(
            *life,
            Box::pin(async move {
                clock.sleep(Duration::from_micros(before)).await;
                journal.commit(call, Recalled::Done, changes);
                clock.sleep(Duration::from_micros(after)).await;
                // Whoever has stopped waiting needs no answer.
                let _ = sender.send(());
            }),
        );
        Some(Box::pin(async move {
            receiver.await.map_err(|_| unavailable!("the journal has been closed"))
        }))
    }
}

impl Drop for SimUnit {
    fn drop(&mut self) {
        let changes = std::mem::take(&mut *lock(&self.changes));
        let is_over = self.is_over.load(Ordering::Relaxed);
        // Those of a dead process are dropped because it is dead, and tell nobody.
        if !is_over && changes.delta != 0 && self.journal.handle.lives(self.journal.life) {
            self.journal.commit(self.call, Recalled::Cut, changes);
        }
    }
}
