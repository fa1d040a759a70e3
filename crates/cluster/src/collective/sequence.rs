//! Step ids that several masters use one after the other.
//!
//! Buffers are found by the id of their step. Where every task has a master of its own, all of them
//! start from the id that the leader drew for the key of the graph, and count.

use std::collections::BTreeSet;
use std::sync::Mutex;

use rustc_hash::FxHashMap;
use tensorfleet_framework::StepId;

use crate::session::lock;
use crate::world::World;

/// The upper bits of a step id are free for other uses.
const MASK: i64 = (1 << 57) - 1;

/// The sequences of step ids, by graph key.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    table: Mutex<FxHashMap<i64, Sequence>>,
}

#[derive(Debug)]
struct Sequence {
    next: i64,
    running: BTreeSet<i64>,
}

impl Sequences {
    /// The id with which masters that join go on, for the leader to say: that of the oldest step
    /// under way, because it waits for them.
    pub(super) fn position(&self, key: i64, world: &dyn World) -> i64 {
        let mut table = lock(&self.table);
        let start = || Sequence::from(world.random_step_id().0 & MASK);
        let sequence = table.entry(key).or_insert_with(start);
        sequence.running.first().copied().unwrap_or(sequence.next)
    }

    /// Takes the next id, if a start is known.
    pub(super) fn take(&self, key: i64) -> Option<StepId> {
        let mut table = lock(&self.table);
        let sequence = table.get_mut(&key)?;
        let id = sequence.next;
        sequence.next = (id + 1) & MASK;
        sequence.running.insert(id);
        Some(StepId(id))
    }

    /// Notes that a step has ended.
    pub(super) fn retire(&self, key: i64, id: StepId) {
        if let Some(sequence) = lock(&self.table).get_mut(&key) {
            sequence.running.remove(&id.0);
        }
    }

    /// Starts to count where the leader is.
    pub(super) fn begin(&self, key: i64, start: i64) {
        lock(&self.table).entry(key).or_insert_with(|| Sequence::from(start));
    }
}

impl From<i64> for Sequence {
    fn from(next: i64) -> Sequence {
        Sequence { next, running: BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Runtime;

    use super::*;
    use crate::world::RealWorld;

    #[test]
    fn masters_count_alike_also_if_one_joins_while_another_waits() {
        let runtime = Runtime::new().unwrap();
        let world = RealWorld(runtime.handle().clone());
        let position = |sequences: &Sequences, key| sequences.position(key, &world);
        let (leader, follower) = (Sequences::default(), Sequences::default());
        assert!(follower.take(5).is_none());
        position(&leader, 5);
        let first = leader.take(5).unwrap();
        follower.begin(5, position(&leader, 5));
        assert_eq!(follower.take(5).unwrap(), first);
        leader.retire(5, first);
        assert_eq!(leader.take(5).unwrap(), follower.take(5).unwrap());
        assert_ne!(position(&leader, 5), position(&leader, 6));
    }
}
