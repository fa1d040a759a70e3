//! The running steps of a task.
//!
//! Sessions and masters share one table, because step ids are unique in the cluster and a tensor may
//! be asked for before its step has begun here. A step that somebody runs here stays until its
//! master ends it, or its session ends. A step that is only asked for a tensor stays as long as
//! somebody asks: the question may have come when the step was over.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Rendezvous, Resources, StepId, step_resources};
use tensorfleet_runtime::{LocalRendezvous, StepLook};
use tensorfleet_tensor::{Error, aborted};

use crate::kept::{Calls, Kept};

/// The table of running steps.
#[derive(Debug, Default)]
pub struct Steps {
    table: Mutex<FxHashMap<StepId, Entry>>,
}

#[derive(Debug)]
struct Entry {
    state: Arc<StepState>,
    /// The session that runs the step here, once it does.
    session: Option<String>,
    /// How many wait for a tensor of the step.
    visitors: usize,
}

/// A step as an operator sees it.
#[derive(Clone, Debug)]
pub struct RunningStep {
    pub id: StepId,
    /// The session that runs the step here, if one does: others may only ask for its tensors.
    pub session: Option<String>,
    /// When it was first heard of here.
    pub since: Instant,
    pub look: StepLook,
}

/// What the partitions of one step share on this task.
#[derive(Debug)]
pub struct StepState {
    since: Instant,
    pub rendezvous: Arc<LocalRendezvous>,
    pub resources: Arc<Resources>,
    /// What durable tasks may ask for once more.
    pub(crate) kept: Kept,
    /// The calls that have come, to a durable task.
    pub(crate) calls: Calls,
}

impl StepState {
    /// The state of a step that no other task takes part in.
    pub(crate) fn new() -> StepState {
        let (since, resources) = (Instant::now(), step_resources());
        let (kept, calls) = (Kept::default(), Calls::default());
        StepState { since, rendezvous: Arc::default(), resources, kept, calls }
    }
}

impl Entry {
    fn new() -> Entry {
        Entry { state: Arc::new(StepState::new()), session: None, visitors: 0 }
    }
}

impl Steps {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<StepId, Entry>> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The state of a step that a session runs here.
    pub fn begin(&self, step: StepId, session: &str) -> Arc<StepState> {
        let mut table = self.lock();
        let entry = table.entry(step).or_insert_with(Entry::new);
        if entry.session.is_none() {
            entry.session = Some(session.to_owned());
        }
        Arc::clone(&entry.state)
    }

    /// The state of a step of which somebody wants a tensor.
    pub fn visit(&self, step: StepId) -> Visit<'_> {
        let mut table = self.lock();
        let entry = table.entry(step).or_insert_with(Entry::new);
        entry.visitors += 1;
        Visit { steps: self, step, state: Arc::clone(&entry.state) }
    }

    /// Ends a step: whoever still waits for one of its tensors gets an error.
    pub fn end(&self, step: StepId) {
        let removed = self.lock().remove(&step);
        if let Some(entry) = removed {
            entry.abort(step);
        }
    }

    /// Ends a step of a session, or one that nobody runs here. Those of others go on.
    pub fn end_of_session(&self, step: StepId, session: &str) {
        let removed = {
            let mut table = self.lock();
            let is_own = |entry: &Entry| entry.session.as_deref().is_none_or(|of| of == session);
            if table.get(&step).is_some_and(is_own) { table.remove(&step) } else { None }
        };
        if let Some(entry) = removed {
            entry.abort(step);
        }
    }

    /// Whether a session runs a step here.
    pub fn is_of_session(&self, step: StepId, session: &str) -> bool {
        self.lock().get(&step).is_some_and(|entry| entry.session.as_deref() == Some(session))
    }

    /// Ends the steps of a session.
    pub fn end_session(&self, session: &str) {
        let ended: Vec<(StepId, Entry)> = {
            let mut table = self.lock();
            table.extract_if(|_, entry| entry.session.as_deref() == Some(session)).collect()
        };
        for (step, entry) in ended {
            entry.abort(step);
        }
    }

    /// Fails whatever waits in any step, because the task stops.
    pub fn abort_all(&self, error: &Error) {
        let steps: Vec<_> = self.lock().values().map(|entry| Arc::clone(&entry.state)).collect();
        for state in steps {
            state.rendezvous.abort(error.clone());
        }
    }

    /// What the steps that are known do, the oldest first.
    pub fn look(&self) -> Vec<RunningStep> {
        let steps: Vec<_> = {
            let table = self.lock();
            let steps = table
                .iter()
                .map(|(id, entry)| (*id, entry.session.clone(), Arc::clone(&entry.state)));
            steps.collect()
        };
        let mut steps: Vec<RunningStep> = steps
            .into_iter()
            .map(|(id, session, state)| {
                let look = state.rendezvous.look();
                RunningStep { id, session, since: state.since, look }
            })
            .collect();
        steps.sort_by_key(|step| step.since);
        steps
    }

    /// The number of steps that are known.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether no step is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Entry {
    fn abort(&self, step: StepId) {
        self.state.rendezvous.abort(aborted!("Cleanup {}", step.0).derived());
    }
}

/// A step while somebody waits for one of its tensors.
#[derive(Debug)]
pub struct Visit<'a> {
    steps: &'a Steps,
    step: StepId,
    pub state: Arc<StepState>,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut table = self.steps.lock();
        let Some(entry) = table.get_mut(&self.step) else { return };
        // The step that was visited may have ended, and another begun under its number.
        if !Arc::ptr_eq(&entry.state, &self.state) {
            return;
        }
        entry.visitors -= 1;
        if entry.visitors == 0 && entry.session.is_none() {
            table.remove(&self.step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: StepId = StepId(7);

    #[test]
    fn a_step_that_is_only_asked_for_stays_as_long_as_somebody_asks() {
        let steps = Steps::default();
        let (first, second) = (steps.visit(STEP), steps.visit(STEP));
        drop(first);
        assert_eq!(steps.len(), 1);
        drop(second);
        assert!(steps.is_empty());
    }

    #[test]
    fn a_step_that_runs_stays_until_it_ends() {
        let steps = Steps::default();
        let asked_early = steps.visit(STEP);
        let state = steps.begin(STEP, "s");
        assert!(Arc::ptr_eq(&asked_early.state, &state), "both meet");
        drop(asked_early);
        assert_eq!(steps.len(), 1);
        let asked = steps.visit(STEP);
        steps.end(STEP);
        assert!(steps.is_empty());
        let late = steps.visit(STEP);
        drop(asked);
        assert_eq!(steps.len(), 1, "the one who left had visited an earlier step");
        drop(late);
        assert!(steps.is_empty());
    }

    #[test]
    fn a_session_ends_no_steps_of_others() {
        let steps = Steps::default();
        steps.begin(STEP, "s");
        assert!(steps.is_of_session(STEP, "s") && !steps.is_of_session(STEP, "t"));
        steps.end_of_session(STEP, "t");
        assert_eq!(steps.len(), 1);
        steps.end_of_session(STEP, "s");
        assert!(steps.is_empty());
    }

    #[test]
    fn steps_end_with_their_session() {
        let steps = Steps::default();
        let state = steps.begin(STEP, "s");
        steps.begin(StepId(8), "t");
        steps.end_session("s");
        assert_eq!(steps.len(), 1);
        assert!(state.rendezvous.recv("k").is_err(), "nobody will send any more");
    }
}
