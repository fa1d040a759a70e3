//! Where members wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tensorfleet_tensor::{
    Error, Result, cancelled, deadline_exceeded, failed_precondition, internal, invalid_argument,
};

use super::leader::{FOR_EVER, Leader, State};
use tensorfleet_spec::Task;

/// What members wait for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    barriers: FxHashMap<String, Barrier>,
    roll_calls: FxHashMap<Vec<Task>, Arc<RollCall>>,
    /// What each task said of its devices.
    devices: BTreeMap<Task, Vec<u8>>,
}

#[derive(Debug)]
struct Barrier {
    /// Which of the barriers of this name it is.
    counter: i64,
    /// The tasks that it is for, with whether they are there.
    tasks: BTreeMap<Task, bool>,
    first: Task,
    deadline: Instant,
    result: Option<Result<()>>,
}

/// A count of the living.
#[derive(Debug, Default)]
struct RollCall {
    present: std::sync::Mutex<BTreeSet<Task>>,
    answer: OnceLock<Vec<(Task, u64)>>,
}

/// A task is at a barrier.
#[derive(Clone, Debug)]
pub struct WaitAtBarrier {
    pub id: String,
    pub counter: i64,
    pub timeout: Duration,
    pub task: Task,
    /// Whom it is for; nobody means all.
    pub tasks: Vec<Task>,
}

impl WaitAtBarrier {
    fn name(&self) -> String {
        name(&self.id, self.counter)
    }
}

fn name(id: &str, counter: i64) -> String {
    format!("{id}::{counter}")
}

impl Waits {
    /// A task does not come any more.
    pub(super) fn leave(&mut self, task: &Task, why: &str) {
        for (id, barrier) in &mut self.barriers {
            if barrier.result.is_none() && barrier.tasks.contains_key(task) {
                barrier.result = Some(Err(internal!(
                    "Barrier failed because: {why}. Barrier Id: {}, Task: {task}",
                    name(id, barrier.counter)
                )));
            }
        }
    }
}

impl Barrier {
    /// Gives up on those who are late.
    fn look_at_clock(&mut self, id: &str, now: Instant) {
        if self.result.is_some() || now < self.deadline {
            return;
        }
        let late: Vec<&Task> =
            self.tasks.iter().filter(|(_, here)| !**here).map(|(task, _)| task).collect();
        let (there, all) = (self.tasks.len() - late.len(), self.tasks.len());
        let names: String = late.iter().take(20).map(|task| format!("{task}\n")).collect();
        self.result = Some(Err(deadline_exceeded!(
            "Barrier timed out. Id: {}. This usually happens because a task triggered the barrier too \
             early or too slowly. Please look at the task logs (both timed out and first task) to \
             debug further.\n# of tasks that reached the barrier: {there}/{all}.\nThe first task at \
             the barrier: {}. Some timed out task names:\n{names}",
            name(id, self.counter),
            self.first
        )));
    }
}

impl Leader {
    /// Waits until all are at a barrier. Whoever asks again is told the same again.
    pub async fn barrier(&self, request: WaitAtBarrier) -> Result<()> {
        {
            let mut state = self.state();
            self.arrive(&mut state, &request)?;
            self.changed.notify_waiters();
        }
        loop {
            let changed = self.changed.notified();
            let next = {
                let mut state = self.state();
                let now = self.world.now();
                let loss = self.next_loss(&state);
                let barrier = state.waits.barriers.get_mut(&request.id);
                let Some(barrier) = barrier.filter(|known| known.counter == request.counter) else {
                    // The next of this name has begun, so this one was passed.
                    return Ok(());
                };
                barrier.look_at_clock(&request.id, now);
                if let Some(result) = &barrier.result {
                    self.changed.notify_waiters();
                    return result.clone();
                }
                loss.map_or(barrier.deadline, |loss| loss.min(barrier.deadline))
            };
            self.wait(changed, Some(next)).await;
        }
    }

    fn arrive(&self, state: &mut State, request: &WaitAtBarrier) -> Result<()> {
        let tasks: BTreeSet<Task> = match &request.tasks[..] {
            [] => state.tasks().cloned().collect(),
            tasks => tasks.iter().cloned().collect(),
        };
        match state.waits.barriers.get_mut(&request.id) {
            Some(known) if known.counter == request.counter => {
                if known.result.is_none() {
                    known.result = reached(known, &tasks, request);
                }
                return Ok(());
            }
            Some(known) if known.result.is_none() || known.counter > request.counter => {
                let error = internal!(
                    "Barrier ({}) is invoked by the task, but the service thinks it is the {}-th \
                     instance. The service or task probably restarted, check the earlier logs to \
                     debug further. Usually, a restart on the stale tasks will resolve the issue.",
                    request.name(),
                    known.counter
                );
                known.result.get_or_insert_with(|| Err(error.clone()));
                return Err(error);
            }
            _ => {}
        }
        let refused = refused(state, &tasks, request);
        let timeout = request.timeout.min(FOR_EVER);
        let mut barrier = Barrier {
            counter: request.counter,
            tasks: tasks.iter().map(|task| (task.clone(), false)).collect(),
            first: request.task.clone(),
            deadline: self.world.now() + timeout,
            result: refused.map(Err),
        };
        if barrier.result.is_none() {
            barrier.result = reached(&mut barrier, &tasks, request);
        }
        state.waits.barriers.insert(request.id.clone(), barrier);
        Ok(())
    }

    /// Fails a barrier for all who wait at it.
    pub fn cancel_barrier(&self, id: &str, counter: i64, task: &Task) -> Result<()> {
        let mut state = self.state();
        let Some(barrier) = state.waits.barriers.get_mut(id) else { return Ok(()) };
        if barrier.counter != counter {
            return Err(failed_precondition!(
                "Barrier ({}) is cancelled by task, but the service thinks it is the {}-th instance. \
                 This is likely due to a restart in the task or service.",
                name(id, counter),
                barrier.counter
            ));
        }
        if let Some(result) = &barrier.result {
            let code = result.as_ref().err().map_or(0, |error| error.code() as i32);
            return Err(failed_precondition!(
                "Barrier ({}) has already been passed with status code: {code}",
                name(id, counter)
            ));
        }
        let barrier_name = name(id, counter);
        barrier.result =
            Some(Err(cancelled!("Barrier ({barrier_name}) is cancelled by task: {task}")));
        self.changed.notify_waiters();
        Ok(())
    }

    /// Waits for all tasks, and returns what they said of their devices, one after the other.
    pub async fn wait_for_all(&self, task: Task, devices: Vec<u8>) -> Result<Vec<u8>> {
        self.state().waits.devices.insert(task.clone(), devices);
        let id = format!("WaitForAllTasks::{}", self.incarnation);
        let all = WaitAtBarrier { id, counter: 0, timeout: FOR_EVER, task, tasks: Vec::new() };
        self.barrier(all).await?;
        Ok(self.state().waits.devices.values().flatten().copied().collect())
    }

    /// Which of some tasks live, agreed upon by those that do.
    pub async fn alive(&self, task: &Task, mut tasks: Vec<Task>) -> Result<Vec<(Task, u64)>> {
        if !tasks.contains(task) {
            return Err(invalid_argument!(
                "Requesting task {task} is not one of the tasks specified in a GetAliveTasks request."
            ));
        }
        tasks.sort_unstable();
        tasks.dedup();
        let call = {
            let mut state = self.state();
            let call = Arc::clone(state.waits.roll_calls.entry(tasks.clone()).or_default());
            crate::session::lock(&call.present).insert(task.clone());
            self.changed.notify_waiters();
            call
        };
        loop {
            let changed = self.changed.notified();
            let next = {
                let mut state = self.state();
                if let Some(answer) = call.answer.get() {
                    return Ok(answer.clone());
                }
                let alive: Vec<(Task, u64)> = tasks
                    .iter()
                    .filter_map(|task| Some((task.clone(), state.incarnation(task)?)))
                    .collect();
                let present = crate::session::lock(&call.present);
                if alive.iter().all(|(task, _)| present.contains(task)) {
                    state.waits.roll_calls.remove(&tasks);
                    self.changed.notify_waiters();
                    return Ok(call.answer.get_or_init(|| alive).clone());
                }
                self.next_loss(&state)
            };
            self.wait(changed, next).await;
        }
    }
}

/// A task is there. Returns what has become of the barrier.
fn reached(
    barrier: &mut Barrier,
    tasks: &BTreeSet<Task>,
    request: &WaitAtBarrier,
) -> Option<Result<()>> {
    if !barrier.tasks.keys().eq(tasks) {
        return Some(Err(invalid_argument!(
            "Conflicting tasks specified by different processes for the same barrier: {}. Check that \
             the callers are invoking the barrier with the same arguments.",
            request.name()
        )));
    }
    let Some(here) = barrier.tasks.get_mut(&request.task) else {
        return Some(Err(invalid_argument!(
            "A non-participating task ({}) called the barrier: {}",
            request.task,
            request.name()
        )));
    };
    *here = true;
    barrier.tasks.values().all(|here| *here).then_some(Ok(()))
}

/// Why a new barrier cannot be passed, if it cannot.
fn refused(state: &State, tasks: &BTreeSet<Task>, request: &WaitAtBarrier) -> Option<Error> {
    for task in tasks {
        if !state.is_member(task) {
            return Some(invalid_argument!(
                "Unexpected task ({task}) that is not in the cluster called the barrier. Barrier Id: \
                 {}",
                request.name()
            ));
        }
        if let Some(error) = state.failure(task) {
            return Some(internal!(
                "Task ({task}) is already in error before the barrier was called. Barrier Id: {} Task \
                 error: {error}",
                request.name()
            ));
        }
    }
    None
}
