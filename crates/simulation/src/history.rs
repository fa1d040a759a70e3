//! What clients have seen: the sums that variables must hold, and all that was wrong.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::executor::{Handle, NodeId};

/// Shared by all clients of a simulation.
#[derive(Clone, Debug)]
pub(crate) struct History {
    handle: Handle,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// For each task, its additions by their numbers.
    additions: BTreeMap<NodeId, Vec<Addition>>,
    /// Who was in trouble, and from when to when.
    faults: Vec<(NodeId, Duration, Duration)>,
    wrong: Vec<String>,
    /// Calls of clients that have not come back, and when that last changed.
    under_way: usize,
    changed: Duration,
    /// Partial runs that clients have begun and not ended.
    partial_runs: usize,
    ended: usize,
    outcomes: BTreeMap<String, usize>,
}

/// An addition to a task's variable. Number `k` adds `4^k`, so the digits of the sum tell how often
/// each one was applied.
#[derive(Clone, Copy, Debug)]
struct Addition {
    /// The first life of the task in which it may have happened; never in an earlier one.
    from: u64,
    /// The life in which it has certainly happened, once.
    acknowledged: Option<u64>,
}

/// After so long without a call every step has been forgotten by everybody.
const CALM: Duration = Duration::from_secs(10);

/// A call of a client that is under way.
#[derive(Debug)]
pub(crate) struct Calling(History);

impl Drop for Calling {
    fn drop(&mut self) {
        let now = self.0.handle.elapsed();
        let mut shared = self.0.lock();
        shared.under_way -= 1;
        shared.changed = now;
    }
}

/// The largest number of additions that a sum can tell apart.
const MAX_ADDITIONS: usize = 30;

impl History {
    pub(crate) fn new(handle: &Handle) -> History {
        History { handle: handle.clone(), shared: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes something that must not be.
    pub(crate) fn wrong(&self, text: String) {
        self.handle.note(|| format!("WRONG: {text}"));
        self.lock().wrong.push(text);
    }

    pub(crate) fn all_wrong(&self) -> Vec<String> {
        self.lock().wrong.clone()
    }

    pub(crate) fn client_ended(&self) {
        self.lock().ended += 1;
    }

    pub(crate) fn clients_ended(&self) -> usize {
        self.lock().ended
    }

    pub(crate) fn count(&self, what: String) {
        *self.lock().outcomes.entry(what).or_default() += 1;
    }

    pub(crate) fn outcomes(&self) -> BTreeMap<String, usize> {
        self.lock().outcomes.clone()
    }

    /// Notes that a client calls; the call is over when the value is dropped.
    pub(crate) fn calling(&self) -> Calling {
        self.lock().under_way += 1;
        Calling(self.clone())
    }

    /// Notes that a step in several calls has begun, or that some have ended.
    pub(crate) fn partial_runs(&self, begun: usize, ended: usize) {
        let mut shared = self.lock();
        shared.partial_runs = (shared.partial_runs + begun).saturating_sub(ended);
        shared.changed = self.handle.elapsed();
    }

    /// Whether no client has wanted anything for a while, and no step is left open.
    pub(crate) fn is_calm(&self) -> bool {
        let now = self.handle.elapsed();
        let shared = self.lock();
        shared.under_way == 0 && shared.partial_runs == 0 && now >= shared.changed + CALM
    }

    /// Notes that a node is in trouble.
    pub(crate) fn fault(&self, node: NodeId, from: Duration, to: Duration) {
        self.lock().faults.push((node, from, to));
    }

    /// Whether a node was in trouble at some time between these.
    pub(crate) fn had_fault(&self, node: NodeId, from: Duration, to: Duration) -> bool {
        self.lock().faults.iter().any(|fault| fault.0 == node && fault.1 <= to && fault.2 >= from)
    }

    pub(crate) fn any_fault(&self) -> bool {
        !self.lock().faults.is_empty()
    }

    /// Begins an addition to a task's variable; returns its number and what to add.
    pub(crate) fn begin(&self, task: NodeId, life: u64) -> Option<(usize, i64)> {
        let mut shared = self.lock();
        let additions = shared.additions.entry(task).or_default();
        if additions.len() == MAX_ADDITIONS {
            return None;
        }
        additions.push(Addition { from: life, acknowledged: None });
        let number = additions.len() - 1;
        Some((number, 1i64 << (2 * number)))
    }

    /// Notes that an addition was acknowledged, and in which life it must have happened.
    pub(crate) fn acknowledge(&self, task: NodeId, number: usize, life: u64) {
        if let Some(additions) = self.lock().additions.get_mut(&task) {
            additions[number].acknowledged = Some(life);
        }
    }

    /// The additions to a task's variable that are certain by now in a life.
    pub(crate) fn certain(&self, task: NodeId, life: u64) -> Vec<usize> {
        let shared = self.lock();
        let additions = shared.additions.get(&task).into_iter().flatten().enumerate();
        let certain = additions.filter(|(_, addition)| addition.acknowledged == Some(life));
        certain.map(|(number, _)| number).collect()
    }

    /// Checks a value of a task's variable in a life: what was certain is in it, and nothing that
    /// nobody attempted, and nothing twice.
    pub(crate) fn check(&self, task: NodeId, life: u64, value: i64, certain: &[usize]) {
        let attempted: Vec<bool> = {
            let shared = self.lock();
            let additions = shared.additions.get(&task).into_iter().flatten();
            additions.map(|addition| addition.from <= life).collect()
        };
        for number in 0..=MAX_ADDITIONS {
            let times = (value >> (2 * number)) & 3;
            let may = attempted.get(number).copied().unwrap_or(false);
            let must = certain.contains(&number);
            if times > i64::from(may) || (must && times == 0) {
                self.wrong(format!(
                    "the variable of task {task} has addition {number} {times} times (attempted: {may}, \
                     acknowledged: {must})"
                ));
            }
        }
    }
}
