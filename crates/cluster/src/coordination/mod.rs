//! The coordination service: a leader knows which tasks of a cluster live, keeps values under keys for
//! all of them, and lets them wait for each other.
//!
//! A TensorFlow 2 client that wants it names the leader when it opens its contexts. The leader and
//! the members are there as long as one of these contexts is.

mod barriers;
mod leader;
mod member;
mod store;

use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tensorfleet_framework::BoxFuture;
use tensorfleet_tensor::{Result, internal};

pub use barriers::WaitAtBarrier;
pub use leader::{Leader, Standing, TaskState};
pub use member::Member;
pub use store::Store;

use crate::client::{Peers, WorkerClient};
use crate::session::lock;
use crate::task::Task;
use tensorfleet_spec as spec;

/// How a client wants tasks coordinated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinationOptions {
    pub leader: spec::Task,
    /// All tasks that may take part.
    pub tasks: Vec<spec::Task>,
    /// The task that is asked to take part.
    pub own: spec::Task,
    /// A member is lost when nothing is heard of it for so long.
    pub heartbeat_timeout: Duration,
    /// Whether a member that has restarted may simply come back.
    pub allow_restarts: bool,
    /// Whether tasks join and tell the leader that they live. Without it there is a leader alone.
    pub heartbeats: bool,
}

/// What a member asks of the leader.
pub trait LeaderClient: fmt::Debug + Send + Sync {
    /// Joins; returns the incarnation of the leader.
    fn register(&self, task: spec::Task, incarnation: u64) -> BoxFuture<Result<u64>>;

    /// Tells that the member lives; returns the incarnation of the leader.
    fn heartbeat(&self, task: spec::Task, incarnation: u64) -> BoxFuture<Result<u64>>;
}

/// What a task has to do with coordination.
#[derive(Debug, Default)]
pub struct Coordination {
    leader: Mutex<Weak<Leader>>,
    member: Mutex<Weak<Member>>,
}

/// A context's share in coordination, which goes on as long as somebody has one.
#[derive(Debug)]
pub(crate) struct Share {
    _leader: Option<Arc<Leader>>,
    _member: Option<Arc<Member>>,
}

impl Coordination {
    /// The leader, if this task is.
    pub fn leader(&self) -> Result<Arc<Leader>> {
        let leader = lock(&self.leader).upgrade();
        leader.ok_or_else(|| internal!("Coordination service is not enabled."))
    }

    /// The task's membership.
    pub fn member(&self) -> Result<Arc<Member>> {
        let member = lock(&self.member).upgrade();
        member.ok_or_else(|| {
            internal!("CoordinationServiceAgent is uninitialized or has already shutdown.")
        })
    }

    /// Leads, if the task is to, and takes part. What is there already for the same cluster stays.
    pub(crate) fn take_part(
        &self,
        task: &Task,
        peers: &dyn Peers,
        options: CoordinationOptions,
    ) -> Result<Share> {
        let leader = (options.leader == options.own).then(|| {
            let mut known = lock(&self.leader);
            match known.upgrade() {
                Some(leader) if leader.is_for(&options) => leader,
                _ => {
                    let leader = Arc::new(Leader::new(Arc::clone(&task.world), &options));
                    *known = Arc::downgrade(&leader);
                    leader
                }
            }
        });
        if !options.heartbeats {
            return Ok(Share { _leader: leader, _member: None });
        }
        let client = match &leader {
            Some(leader) => AnyLeader::Here(Arc::downgrade(leader)),
            None => AnyLeader::There(peers.worker(&device_name(&options.leader))?),
        };
        let mut known = lock(&self.member);
        let member = match known.upgrade() {
            Some(member) if member.is_for(&options) => member,
            _ => {
                let member = Member::start(task, client, options);
                *known = Arc::downgrade(&member);
                member
            }
        };
        Ok(Share { _leader: leader, _member: Some(member) })
    }
}

fn device_name(task: &spec::Task) -> tensorfleet_framework::DeviceName {
    tensorfleet_framework::DeviceName {
        job: Some(task.job.clone()),
        replica: Some(0),
        task: Some(task.index),
        ..Default::default()
    }
}

/// The leader, in this task or in another one.
#[derive(Clone, Debug)]
enum AnyLeader {
    Here(Weak<Leader>),
    There(Arc<dyn WorkerClient>),
}

impl AnyLeader {
    fn ask<T: Send + 'static>(
        &self,
        here: impl FnOnce(&Leader) -> Result<T>,
        there: impl FnOnce(&dyn LeaderClient) -> BoxFuture<Result<T>>,
    ) -> BoxFuture<Result<T>> {
        let answer = match self {
            AnyLeader::Here(leader) => match leader.upgrade() {
                Some(leader) => here(&leader),
                None => Err(internal!("Coordination service has stopped.")),
            },
            AnyLeader::There(client) => match client.coordination() {
                Some(client) => return there(client),
                None => Err(internal!("the leader cannot be asked from here")),
            },
        };
        Box::pin(std::future::ready(answer))
    }
}

impl LeaderClient for AnyLeader {
    fn register(&self, task: spec::Task, incarnation: u64) -> BoxFuture<Result<u64>> {
        let there = task.clone();
        self.ask(
            |leader| leader.register(&task, incarnation),
            |client| client.register(there, incarnation),
        )
    }

    fn heartbeat(&self, task: spec::Task, incarnation: u64) -> BoxFuture<Result<u64>> {
        let there = task.clone();
        self.ask(
            |leader| leader.heartbeat(&task, incarnation),
            |client| client.heartbeat(there, incarnation),
        )
    }
}
