//! The leader: which members live, and what they wait for together.
//!
//! Nobody watches the clock. Whoever looks at the members finds those lost that have been silent for
//! too long, and whoever waits looks again when the next could be.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tensorfleet_tensor::{
    Code, Error, Result, aborted, failed_precondition, invalid_argument, unavailable,
};
use tokio::sync::Notify;

use super::CoordinationOptions;
use super::barriers::Waits;
use super::store::Store;
use crate::session::lock;
use crate::world::World;
use tensorfleet_spec::Task;

/// The leader of some tasks.
#[derive(Debug)]
pub struct Leader {
    pub incarnation: u64,
    pub store: Store,
    pub(super) world: Arc<dyn World>,
    options: CoordinationOptions,
    state: Mutex<State>,
    pub(super) changed: Notify,
}

/// What the leader knows.
#[derive(Debug)]
pub(super) struct State {
    members: BTreeMap<Task, MemberState>,
    /// Counts the changes of members.
    version: i64,
    pub(super) waits: Waits,
}

#[derive(Debug)]
struct MemberState {
    standing: Standing,
    incarnation: u64,
    heard: Instant,
}

/// How a member stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Disconnected,
    Connected,
    Failed(Error),
}

/// A member as others are told of it.
#[derive(Clone, Debug)]
pub struct TaskState {
    pub task: Task,
    pub standing: Standing,
    pub incarnation: u64,
}

impl Leader {
    pub(super) fn new(world: Arc<dyn World>, options: &CoordinationOptions) -> Leader {
        let heard = world.now();
        let member = || MemberState { standing: Standing::Disconnected, incarnation: 0, heard };
        let members = options.tasks.iter().map(|task| (task.clone(), member())).collect();
        Leader {
            incarnation: world.random_nonzero(),
            store: Store::default(),
            world,
            options: options.clone(),
            state: Mutex::new(State { members, version: 1, waits: Waits::default() }),
            changed: Notify::new(),
        }
    }

    pub(super) fn is_for(&self, options: &CoordinationOptions) -> bool {
        self.options == *options
    }

    /// What is known now: members that have been silent for too long are lost.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        let now = self.world.now();
        let silent = |member: &MemberState| {
            member.standing == Standing::Connected
                && now.saturating_duration_since(member.heard) >= self.options.heartbeat_timeout
        };
        let lost: Vec<Task> = state
            .members
            .iter()
            .filter(|(_, member)| silent(member))
            .map(|(task, _)| task.clone())
            .collect();
        for task in lost {
            let error = unavailable!(
                "Task {task} heartbeat timeout. This indicates that the remote task has failed, got \
                 preempted, or crashed unexpectedly. Check the task logs for an earlier error or \
                 scheduler events (e.g. preemption, eviction) to debug further."
            );
            self.fail(&mut state, &task, error);
        }
        state
    }

    /// When the next member could be lost.
    pub(super) fn next_loss(&self, state: &State) -> Option<Instant> {
        let connected = |member: &&MemberState| member.standing == Standing::Connected;
        let heard = state.members.values().filter(connected).map(|member| member.heard).min();
        heard.map(|heard| heard + self.options.heartbeat_timeout)
    }

    fn fail(&self, state: &mut State, task: &Task, error: Error) {
        state.waits.leave(task, &format!("task is set to ERROR: {error}"));
        self.change(state, task, Standing::Failed(error));
    }

    fn change(&self, state: &mut State, task: &Task, standing: Standing) {
        if let Some(member) = state.members.get_mut(task) {
            member.standing = standing;
        }
        state.version += 1;
        self.changed.notify_waiters();
    }

    /// Joins.
    pub fn register(&self, task: &Task, incarnation: u64) -> Result<u64> {
        let mut state = self.state();
        let Some(member) = state.members.get_mut(task) else {
            return Err(invalid_argument!("Unexpected task registered with task_name={task}"));
        };
        let again = self.options.allow_restarts;
        match &member.standing {
            Standing::Connected if member.incarnation != incarnation && !again => {
                let error = aborted!(
                    "{task} unexpectedly tried to connect with a different incarnation. It has likely \
                     restarted."
                );
                self.fail(&mut state, task, error.clone());
                return Err(error);
            }
            Standing::Failed(error) if !(again && error.code() == Code::Unavailable) => {
                return Err(aborted!(
                    "{task} unexpectedly tried to connect while it is already in error. ResetTask() \
                     should be called before a subsequent connect attempt. Existing error: {error}"
                ));
            }
            _ => {}
        }
        (member.incarnation, member.heard) = (incarnation, self.world.now());
        self.change(&mut state, task, Standing::Connected);
        Ok(self.incarnation)
    }

    /// A member lives.
    pub fn heartbeat(&self, task: &Task, incarnation: u64) -> Result<u64> {
        let mut state = self.state();
        let Some(member) = state.members.get_mut(task) else {
            return Err(invalid_argument!(
                "Unexpected heartbeat request from task: {task}. This usually implies a configuration \
                 error."
            ));
        };
        match &member.standing {
            Standing::Failed(error) => Err(aborted!(
                "Unexpected heartbeat request from an already-in-error task: {task} with existing \
                 error: {error}"
            )),
            Standing::Disconnected => Err(invalid_argument!(
                "Task with task_name={task} must be registered before sending heartbeat messages. The \
                 service might have restarted, please restart / reset and register again."
            )),
            Standing::Connected if member.incarnation == incarnation => {
                member.heard = self.world.now();
                Ok(self.incarnation)
            }
            Standing::Connected => {
                let error = aborted!(
                    "{task} Heartbeat: Incarnation ID mismatch: expecting {} but got {incarnation}. \
                     The task has restarted and likely crashed earlier - check for any earlier errors \
                     or any scheduler events (e.g. preemption, eviction) to debug further.",
                    member.incarnation
                );
                self.fail(&mut state, task, error.clone());
                Err(error)
            }
        }
    }

    /// Leaves, whether in error or not.
    pub fn disconnect(&self, task: &Task) -> Result<()> {
        let mut state = self.state();
        match state.members.get(task).map(|member| &member.standing) {
            None => Err(invalid_argument!("Unexpected disconnect request with task_name={task}")),
            Some(Standing::Disconnected) => {
                Err(failed_precondition!("The task is already disconnected: {task}"))
            }
            Some(_) => {
                state.waits.leave(task, "task disconnected");
                self.change(&mut state, task, Standing::Disconnected);
                Ok(())
            }
        }
    }

    /// A member says that it has failed.
    pub fn report(&self, task: &Task, error: Error) -> Result<()> {
        let mut state = self.state();
        match state.members.get(task).map(|member| &member.standing) {
            None => Err(invalid_argument!("Unexpected request from task {task}")),
            Some(Standing::Connected) => {
                self.fail(&mut state, task, error);
                Ok(())
            }
            Some(_) => Err(failed_precondition!("The task is not connected: {task}")),
        }
    }

    /// How tasks stand.
    pub fn states(&self, tasks: &[Task]) -> Result<Vec<TaskState>> {
        let state = self.state();
        let one = |task: &Task| {
            let unknown = || invalid_argument!("{task} is not a task that is coordinated");
            state.members.get(task).map(|member| told(task, member)).ok_or_else(unknown)
        };
        tasks.iter().map(one).collect()
    }

    /// How the tasks of a job stand, as soon as a version is over.
    pub async fn watch(&self, job: &str, version: i64) -> (Vec<TaskState>, i64) {
        loop {
            let changed = self.changed.notified();
            let next = {
                let state = self.state();
                if state.version != version {
                    let of_job = state.members.iter().filter(|(task, _)| task.job == job);
                    return (
                        of_job.map(|(task, member)| told(task, member)).collect(),
                        state.version,
                    );
                }
                self.next_loss(&state)
            };
            self.wait(changed, next).await;
        }
    }

    /// Waits for a change, or for a time when something may have changed by itself.
    pub(super) async fn wait(&self, changed: impl Future<Output = ()>, next: Option<Instant>) {
        match next {
            Some(time) => {
                let _came_before: Option<()> = self.world.until(time, changed).await;
            }
            None => changed.await,
        }
    }
}

impl State {
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.members.keys()
    }

    pub(super) fn is_member(&self, task: &Task) -> bool {
        self.members.contains_key(task)
    }

    pub(super) fn failure(&self, task: &Task) -> Option<&Error> {
        match &self.members.get(task)?.standing {
            Standing::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The incarnation of a task that lives.
    pub(super) fn incarnation(&self, task: &Task) -> Option<u64> {
        let member = self.members.get(task)?;
        (member.standing == Standing::Connected).then_some(member.incarnation)
    }
}

fn told(task: &Task, member: &MemberState) -> TaskState {
    TaskState {
        task: task.clone(),
        standing: member.standing.clone(),
        incarnation: member.incarnation,
    }
}

/// A time so far ahead that nobody lives to see it.
pub(super) const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
