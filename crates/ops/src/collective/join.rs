//! A run of a collective: the members find each other, then do what the op does.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tensorfleet_framework::{BoxFuture, Group, JoinGroup, JoinInstance, Outcome, Spawn};
use tensorfleet_tensor::{Result, Shape, Tensor, deadline_exceeded, internal, invalid_argument};

use super::params::{Action, Collective, Surroundings};
use super::{all_to_all, ring, tree};

/// What a member knows once all have come.
#[derive(Debug)]
pub(super) struct Membership {
    pub(super) collective: Collective,
    pub(super) place: Surroundings,
    pub(super) group: Arc<Group>,
    pub(super) rank: usize,
    /// The rank of the member whose value is broadcast.
    pub(super) source: Option<usize>,
}

impl Membership {
    /// The name of a buffer of this run, among all of its step.
    pub(super) fn key(&self, rest: std::fmt::Arguments<'_>) -> String {
        let Collective { group_key, instance_key, .. } = &self.collective;
        format!("{group_key}:{instance_key}:{}:{rest}", self.place.frame)
    }
}

/// Runs a collective. `shape` is that of the result; a receiver has no input.
pub(super) async fn run(
    collective: Collective,
    place: Surroundings,
    input: Option<Tensor>,
    shape: Shape,
) -> Result<Outcome> {
    let size = collective.group_size;
    let Ok(members @ 1..) = usize::try_from(size) else {
        return Err(invalid_argument!("group_size must be positive integer but got {size}"));
    };
    let (timeout, spawner) = (collective.timeout, Arc::clone(&place.step.spawner));
    let joining = Box::pin(join(collective, place, shape.clone(), members));
    let late = "Collective has timed out waiting for other workers.";
    let member = within(timeout, &*spawner, joining, late).await?;
    let working = Box::pin(work(member, input, shape));
    let late = "Collective has timed out during execution.";
    let output = within(timeout, &*spawner, working, late).await?;
    Ok(Outcome::from(vec![output]))
}

async fn join(
    collective: Collective,
    place: Surroundings,
    shape: Shape,
    members: usize,
) -> Result<Membership> {
    let kind = collective.action.kind();
    let (name, device) = (collective.name.clone(), place.device.clone());
    let group = JoinGroup {
        name: name.clone(),
        device: device.clone(),
        key: collective.group_key,
        size: members,
        kind,
    };
    let group = place.collectives.join_group(group).await?;
    let rank = group
        .rank(&device)
        .ok_or_else(|| internal!("{device} is no member of group {}", group.key))?;
    let instance = JoinInstance {
        name,
        device,
        key: collective.instance_key,
        kind,
        dtype: collective.dtype,
        shape,
        subdivisions: collective.subdivisions.clone(),
        is_source: matches!(collective.action, Action::Send),
    };
    let source = place.collectives.join_instance(&group, instance).await?;
    Ok(Membership { collective, place, group, rank, source })
}

async fn work(member: Membership, input: Option<Tensor>, shape: Shape) -> Result<Tensor> {
    let input = || input.clone().ok_or_else(|| internal!("a collective lacks its input"));
    match member.collective.action {
        Action::Reduce(reduction) => ring::reduce(&member, reduction, input()?).await,
        Action::ReduceScatter(reduction) => {
            let all = ring::reduce(&member, reduction, input()?).await?;
            let rows = shape.dims().first().copied().unwrap_or_default();
            all.rows(member.rank * rows..(member.rank + 1) * rows)
        }
        Action::Gather => ring::gather(&member, input()?, shape).await,
        Action::Send => tree::broadcast(&member, Some(input()?), shape).await,
        Action::Receive => tree::broadcast(&member, None, shape).await,
        Action::AllToAll => all_to_all::exchange(&member, input()?).await,
    }
}

/// Awaits a future, but not for ever.
async fn within<T>(
    limit: Option<Duration>,
    spawner: &dyn Spawn,
    future: impl Future<Output = Result<T>> + Unpin,
    late: &str,
) -> Result<T> {
    let Some(limit) = limit else { return future.await };
    let over: BoxFuture<()> = spawner.sleep(limit);
    match select(future, over).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(((), _)) => Err(deadline_exceeded!("{late}")),
    }
}
