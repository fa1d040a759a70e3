//! A member: it joins, and tells the leader that it lives.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tensorfleet_tensor::{Code, Error, Result};

use super::{AnyLeader, CoordinationOptions, LeaderClient};
use crate::session::lock;
use crate::task::Task;
use crate::world::World;

/// A task that takes part. It does as long as somebody holds it.
#[derive(Debug)]
pub struct Member {
    options: CoordinationOptions,
    leader: AnyLeader,
    incarnation: u64,
    failure: Mutex<Option<Error>>,
}

/// How long a member waits before it tries again to join.
const RETRY: Duration = Duration::from_millis(500);

impl Member {
    /// Takes part, and goes on until it is dropped.
    pub(super) fn start(
        task: &Task,
        leader: AnyLeader,
        options: CoordinationOptions,
    ) -> Arc<Member> {
        let member = Arc::new(Member {
            leader,
            incarnation: task.devices[0].device.incarnation,
            failure: Mutex::default(),
            options,
        });
        let (weak, world) = (Arc::downgrade(&member), Arc::clone(&task.world));
        task.world.spawn(Box::pin(take_part(weak, world)));
        member
    }

    pub(super) fn is_for(&self, options: &CoordinationOptions) -> bool {
        self.options == *options && lock(&self.failure).is_none()
    }

    /// Somebody says that the cluster has failed: there is no use in going on.
    pub fn fail(&self, error: Error) {
        tracing::warn!("the coordination service reports to {}: {error}", self.options.own);
        lock(&self.failure).get_or_insert(error);
    }

    async fn register(&self) -> Result<u64> {
        self.leader.register(self.options.own.clone(), self.incarnation).await
    }

    async fn heartbeat(&self) -> Result<u64> {
        self.leader.heartbeat(self.options.own.clone(), self.incarnation).await
    }
}

/// Joins and tells the leader, again and again, that the member lives. Ends with the member.
async fn take_part(member: Weak<Member>, world: Arc<dyn World>) {
    let mut joined: Option<u64> = None;
    loop {
        let pause = {
            let Some(member) = member.upgrade() else { return };
            if lock(&member.failure).is_some() {
                return;
            }
            let interval = member.options.heartbeat_timeout / 2;
            let limit = member.options.heartbeat_timeout;
            let call = async {
                match joined {
                    None => member.register().await,
                    Some(_) => member.heartbeat().await,
                }
            };
            match (world.within(limit, call).await, joined) {
                (Some(Ok(leader)), None) => {
                    joined = Some(leader);
                    interval
                }
                (Some(Ok(leader)), Some(known)) if leader == known => interval,
                // Another leader, or one that has forgotten this member.
                (Some(Ok(_)), Some(_)) => {
                    joined = None;
                    Duration::ZERO
                }
                (Some(Err(error)), Some(_)) if error.code() == Code::InvalidArgument => {
                    joined = None;
                    RETRY
                }
                (Some(Err(error)), _) if error.code() == Code::Aborted => {
                    member.fail(error);
                    return;
                }
                // It cannot be reached, or does not know yet that it leads.
                _ => RETRY.min(interval),
            }
        };
        world.sleep(pause).await;
    }
}
