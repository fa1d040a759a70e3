//! What tasks ask of each other for collectives, and how a task answers.

use std::fmt;
use std::sync::Arc;

use tensorfleet_framework::{BoxFuture, CollectiveKind, DeviceName, Group, Member, StepId};
use tensorfleet_tensor::{DType, Error, Result, Shape, Tensor, failed_precondition};

use crate::Task;

/// A task that members of collectives speak to.
pub trait CollectivePeer: fmt::Debug + Send + Sync {
    /// Joins a group; the leader answers when it is complete.
    fn complete_group(&self, request: CompleteGroup) -> BoxFuture<Result<Arc<Group>>>;

    /// Joins a collective; the leader answers with the rank of the source when all have joined.
    fn complete_instance(&self, request: CompleteInstance) -> BoxFuture<Result<Option<usize>>>;

    /// Fetches a buffer that a device of the task provides.
    fn recv_buf(&self, request: RecvBuf) -> BoxFuture<Result<Tensor>>;

    /// The id that the next step of a graph has; the leader answers.
    fn step_sequence(&self, graph_key: i64) -> BoxFuture<Result<i64>>;
}

/// A device joins a group.
#[derive(Clone, Debug)]
pub struct CompleteGroup {
    /// The node that joins, for messages.
    pub name: String,
    pub key: i32,
    pub size: usize,
    pub device_type: String,
    pub member: Member,
}

/// A member joins a collective.
#[derive(Clone, Debug)]
pub struct CompleteInstance {
    pub name: String,
    pub device: DeviceName,
    pub group: i32,
    pub group_size: usize,
    pub instance: i32,
    pub kind: CollectiveKind,
    pub dtype: DType,
    pub shape: Shape,
    pub subdivisions: Vec<i32>,
    pub is_source: bool,
}

/// Which buffer is wanted.
#[derive(Clone, Debug)]
pub struct RecvBuf {
    pub step: StepId,
    pub key: String,
    pub from: Member,
    pub to: DeviceName,
    pub dtype: DType,
    pub shape: Shape,
}

impl Task {
    /// Answers as the leader of a group.
    pub async fn complete_instance(&self, request: CompleteInstance) -> Result<Option<usize>> {
        let key = request.group;
        let Some(group) = self.collectives.groups.find(key) else {
            return Err(failed_precondition!(
                "group {key} not found. This normally means the server has restarted"
            ));
        };
        self.collectives.instances.join(&group, request).await
    }

    /// Answers as the leader of a group.
    pub async fn complete_group(&self, request: CompleteGroup) -> Result<Arc<Group>> {
        self.collectives.groups.join(request).await
    }

    /// Hands a buffer of one of this task's devices over. Names are those of a session, so only
    /// the local part says which device is meant.
    pub async fn recv_buf(&self, step: StepId, key: String, from: &Member) -> Result<Tensor> {
        let local = from.device.local();
        let device = self.devices.iter().find(|device| device.device.name.local() == local);
        if let Some(device) = device
            && device.device.incarnation != from.incarnation
        {
            return Err(restarted(from, device.device.incarnation));
        }
        self.collectives.buffers.consume(step, key).await
    }

    /// Where masters of a graph are in its sequence of steps.
    pub fn step_sequence(&self, graph_key: i64) -> i64 {
        self.collectives.sequences.position(graph_key, &*self.world)
    }
}

fn restarted(from: &Member, have: u64) -> Error {
    failed_precondition!(
        "RecvBuf expects a different device incarnation: {} vs. {have}. Your worker job that \
         contains device (\"{}\") was probably restarted. Check your worker job for the reason why \
         it was restarted.",
        from.incarnation,
        from.device
    )
}
