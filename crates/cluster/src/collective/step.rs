//! The collectives of one step: groups by way of the leader, buffers from member to member.

use std::sync::Arc;

use tensorfleet_framework::{
    BoxFuture, Collectives, Consume, DeviceName, Group, JoinGroup, JoinInstance, Member, StepId,
};
use tensorfleet_tensor::{Result, Tensor, internal, unimplemented_error};

use super::peer::{CompleteGroup, CompleteInstance, RecvBuf};
use crate::Task;
use crate::client::{Peers, WorkerClient};
use crate::view::View;

/// The way of a step to the other members of its collectives.
#[derive(Clone, Debug)]
pub(crate) struct StepCollectives {
    pub(crate) task: Arc<Task>,
    pub(crate) view: Arc<View>,
    pub(crate) step: StepId,
}

impl StepCollectives {
    /// A client of the leader, unless this task leads.
    fn leader(&self) -> Result<Option<Arc<dyn WorkerClient>>> {
        leader(&self.task, &self.view.name, &*self.view.peers)
    }

    async fn group(self, join: JoinGroup) -> Result<Arc<Group>> {
        let device = self.view.device(&join.device)?.device.clone();
        let device_type = device.name.kind.clone().unwrap_or_default();
        let member = Member { device: device.name, incarnation: device.incarnation };
        let (key, size) = (join.key, join.size);
        let table = &self.task.collectives;
        let request =
            CompleteGroup { name: join.name, key, size, device_type: device_type.clone(), member };
        if let (None, Some(leader)) = (table.groups.find(key), self.leader()?) {
            let group = peer(&leader)?.complete_group(request.clone()).await?;
            table.groups.learn(size, device_type, group);
        }
        // Whoever is no member, or speaks of another size, finds it out here.
        table.groups.join(request).await
    }

    async fn instance(self, group: Arc<Group>, join: JoinInstance) -> Result<Option<usize>> {
        let (key, instance) = (group.key, join.key);
        let table = &self.task.collectives;
        if let Some(source) = table.known_source(key, instance) {
            return Ok(source);
        }
        let request = CompleteInstance {
            name: join.name,
            device: join.device,
            group: key,
            group_size: group.members.len(),
            instance,
            kind: join.kind,
            dtype: join.dtype,
            shape: join.shape,
            subdivisions: join.subdivisions,
            is_source: join.is_source,
        };
        let Some(leader) = self.leader()? else {
            return table.instances.join(&group, request).await;
        };
        let source = peer(&leader)?.complete_instance(request).await?;
        table.learn_source(key, instance, source);
        Ok(source)
    }

    async fn buffer(self, request: Consume) -> Result<Tensor> {
        let Consume { from, to, key, dtype, shape } = request;
        let task = from.device.task_name();
        let buffer = if task == self.view.name {
            self.task.recv_buf(self.step, key, &from).await?
        } else {
            let client = self.view.peers.worker(&task)?;
            let request = RecvBuf { step: self.step, key, from, to, dtype, shape: shape.clone() };
            peer(&client)?.recv_buf(request).await?
        };
        if buffer.dtype() != dtype || buffer.num_elements() != shape.num_elements() {
            return Err(internal!(
                "RecvBufResponse returned {} bytes where to_tensor expected {}",
                buffer.byte_len(),
                shape.num_elements() * dtype.size()
            ));
        }
        buffer.reshape(shape)
    }
}

/// A client of the task that leads the collectives of a cluster, unless it is `own`. Where the
/// configuration names none it is the first, in the order of names, so that all choose the same.
pub(super) fn leader(
    task: &Task,
    own: &DeviceName,
    peers: &dyn Peers,
) -> Result<Option<Arc<dyn WorkerClient>>> {
    let leader = match &task.collectives.leader {
        Some(leader) => leader.clone(),
        None => {
            let others = peers.tasks().into_iter().map(|(name, _)| name);
            let order = |name: &DeviceName| (name.job.clone(), name.replica, name.task);
            others.min_by_key(order).unwrap_or_else(|| own.clone())
        }
    };
    if leader == *own { Ok(None) } else { peers.worker(&leader).map(Some) }
}

fn peer(client: &Arc<dyn WorkerClient>) -> Result<&dyn super::CollectivePeer> {
    client.collectives().ok_or_else(|| unimplemented_error!("{client:?} knows no collectives"))
}

/// The id of a step that other masters run, too. Dropped when the step has ended here.
#[derive(Debug)]
pub(crate) struct SharedStep {
    task: Arc<Task>,
    graph_key: i64,
    pub(crate) id: StepId,
}

impl SharedStep {
    /// The next step of a graph with collectives, where a leader is named to masters.
    pub(crate) async fn next(task: &Arc<Task>, graph_key: i64) -> Result<Option<SharedStep>> {
        let table = &task.collectives;
        let (Some(_), Some(peers)) = (&table.leader, table.peers.get()) else {
            return Ok(None);
        };
        let known = table.sequences.take(graph_key);
        let id = if known.is_some() {
            known
        } else {
            let start = match leader(task, &task.name, &**peers)? {
                Some(leader) => peer(&leader)?.step_sequence(graph_key).await?,
                None => table.sequences.position(graph_key, &*task.world),
            };
            table.sequences.begin(graph_key, start);
            table.sequences.take(graph_key)
        };
        Ok(id.map(|id| SharedStep { task: Arc::clone(task), graph_key, id }))
    }
}

impl Drop for SharedStep {
    fn drop(&mut self) {
        self.task.collectives.sequences.retire(self.graph_key, self.id);
    }
}

impl Collectives for StepCollectives {
    fn join_group(&self, join: JoinGroup) -> BoxFuture<Result<Arc<Group>>> {
        Box::pin(self.clone().group(join))
    }

    fn join_instance(
        &self,
        group: &Arc<Group>,
        join: JoinInstance,
    ) -> BoxFuture<Result<Option<usize>>> {
        Box::pin(self.clone().instance(Arc::clone(group), join))
    }

    fn provide(&self, key: String, buffer: Tensor) -> BoxFuture<Result<()>> {
        let (task, step) = (Arc::clone(&self.task), self.step);
        Box::pin(async move { task.collectives.buffers.provide(step, key, buffer).await })
    }

    fn consume(&self, request: Consume) -> BoxFuture<Result<Tensor>> {
        Box::pin(self.clone().buffer(request))
    }
}
