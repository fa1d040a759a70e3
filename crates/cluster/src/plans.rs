//! The plans of a session, by what is fed, fetched and run. Those that were not used for the longest time
//! go when there are too many.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_planner::StepSpec;
use tokio::sync::OnceCell;

use crate::session::{CompiledPlan, Route};

/// A plan, made by the first who needs it.
pub(crate) type PlanCell = Arc<OnceCell<Arc<CompiledPlan>>>;

type Key = (StepSpec, Route);

#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// Each with the number of the use that was its last.
    cells: FxHashMap<Key, (u64, PlanCell)>,
    uses: u64,
}

impl Plans {
    /// Finds a plan or makes room for it. Plans that run now stay with those who run them.
    pub(crate) fn find_or_insert(&mut self, key: &Key, most: usize) -> PlanCell {
        self.uses += 1;
        if let Some((used, cell)) = self.cells.get_mut(key) {
            *used = self.uses;
            return Arc::clone(cell);
        }
        if self.cells.len() >= most.max(1) {
            self.forget_oldest(most.max(1));
        }
        let cell = PlanCell::default();
        self.cells.insert(key.clone(), (self.uses, Arc::clone(&cell)));
        cell
    }

    /// Forgets an eighth of what there may be, so that it is seldom looked for.
    fn forget_oldest(&mut self, most: usize) {
        let mut uses: Vec<u64> = self.cells.values().map(|(used, _)| *used).collect();
        uses.sort_unstable();
        let going = (self.cells.len() + 1 - most).max(most / 8).min(uses.len());
        if let Some(last) = going.checked_sub(1).map(|last| uses[last]) {
            self.cells.retain(|_, (used, _)| *used > last);
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.cells.remove(key);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &PlanCell)> {
        self.cells.iter().map(|(key, (_, cell))| (key, cell))
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_go() {
        let key = |name: &str| {
            (StepSpec { fetches: vec![name.to_owned()], ..StepSpec::default() }, Route::Arguments)
        };
        let mut plans = Plans::default();
        let kept = plans.find_or_insert(&key("a"), 3);
        plans.find_or_insert(&key("b"), 3);
        plans.find_or_insert(&key("c"), 3);
        assert!(Arc::ptr_eq(&plans.find_or_insert(&key("a"), 3), &kept));
        plans.find_or_insert(&key("d"), 3);
        assert_eq!(plans.len(), 3);
        assert!(Arc::ptr_eq(&plans.find_or_insert(&key("a"), 3), &kept));
        plans.find_or_insert(&key("b"), 1);
        assert_eq!(plans.len(), 1);
    }
}
