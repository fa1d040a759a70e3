//! What collective ops need of the tasks around them: groups of devices, and buffers that their
//! members exchange.

use std::fmt;
use std::sync::Arc;

use tensorfleet_tensor::{DType, Result, Shape, Tensor};

use crate::{BoxFuture, DeviceName};

/// What a collective does, by TensorFlow's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectiveKind {
    Reduction = 0,
    Broadcast = 1,
    Gather = 2,
    AllToAll = 4,
    ReduceScatter = 5,
}

impl CollectiveKind {
    /// The kind that a message means.
    pub fn from_number(number: i32) -> Option<CollectiveKind> {
        use CollectiveKind::{AllToAll, Broadcast, Gather, ReduceScatter, Reduction};
        [Reduction, Broadcast, Gather, AllToAll, ReduceScatter]
            .into_iter()
            .find(|&kind| kind as i32 == number)
    }
}

/// A device that takes part, as its group knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub device: DeviceName,
    pub incarnation: u64,
}

/// Devices that work together, in the order of their ranks.
#[derive(Clone, Debug)]
pub struct Group {
    pub key: i32,
    pub members: Vec<Member>,
}

impl Group {
    /// A group of members that joined in any order. Ranks follow the names, so that every task finds
    /// the same, and devices of one task are neighbours.
    pub fn new(key: i32, mut members: Vec<Member>) -> Group {
        members.sort_by(|a, b| order(&a.device).cmp(&order(&b.device)));
        Group { key, members }
    }

    /// The rank of a device.
    pub fn rank(&self, device: &DeviceName) -> Option<usize> {
        self.members.iter().position(|member| member.device == *device)
    }

    /// How many members each task has, in the order of ranks.
    pub fn devices_per_task(&self) -> Vec<usize> {
        let mut counts = Vec::new();
        let mut task = None;
        for member in &self.members {
            let name = member.device.task_name();
            match counts.last_mut() {
                Some(count) if task.as_ref() == Some(&name) => *count += 1,
                _ => counts.push(1),
            }
            task = Some(name);
        }
        counts
    }
}

type Order<'a> = (Option<&'a str>, Option<u32>, Option<u32>, Option<&'a str>, Option<u32>);

fn order(name: &DeviceName) -> Order<'_> {
    (name.job.as_deref(), name.replica, name.task, name.kind.as_deref(), name.index)
}

/// How a device joins a group.
#[derive(Clone, Debug)]
pub struct JoinGroup {
    /// The node that joins, for messages.
    pub name: String,
    pub device: DeviceName,
    pub key: i32,
    pub size: usize,
    pub kind: CollectiveKind,
}

/// How a member joins one collective of its group.
#[derive(Clone, Debug)]
pub struct JoinInstance {
    /// The node that joins, for messages.
    pub name: String,
    pub device: DeviceName,
    pub key: i32,
    pub kind: CollectiveKind,
    pub dtype: DType,
    pub shape: Shape,
    pub subdivisions: Vec<i32>,
    /// Whether the member has the value that is broadcast.
    pub is_source: bool,
}

/// The way of a step's collective ops to the other members of their groups.
pub trait Collectives: fmt::Debug + Send + Sync {
    /// Waits until all members have joined.
    fn join_group(&self, join: JoinGroup) -> BoxFuture<Result<Arc<Group>>>;

    /// Waits until all members of a group have joined one of its collectives, and returns the rank
    /// of the one that is the source, if one is.
    fn join_instance(
        &self,
        group: &Arc<Group>,
        join: JoinInstance,
    ) -> BoxFuture<Result<Option<usize>>>;

    /// Leaves a buffer for the member that asks for `key`, and waits until it has it.
    fn provide(&self, key: String, buffer: Tensor) -> BoxFuture<Result<()>>;

    /// Fetches the buffer that a member provides.
    fn consume(&self, request: Consume) -> BoxFuture<Result<Tensor>>;
}

/// Which buffer is wanted, and what it must be.
#[derive(Clone, Debug)]
pub struct Consume {
    pub from: Member,
    pub to: DeviceName,
    pub key: String,
    pub dtype: DType,
    pub shape: Shape,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_names_by_number() {
        let member =
            |name: &str| Member { device: DeviceName::parse(name).unwrap(), incarnation: 1 };
        let names = [
            "/job:worker/replica:0/task:10/device:CPU:0",
            "/job:worker/replica:0/task:2/device:CPU:1",
            "/job:chief/replica:0/task:3/device:CPU:0",
            "/job:worker/replica:0/task:2/device:CPU:0",
        ];
        let group = Group::new(1, names.iter().map(|name| member(name)).collect());
        let ranks = names.map(|name| group.rank(&DeviceName::parse(name).unwrap()).unwrap());
        assert_eq!(ranks, [3, 2, 0, 1]);
        assert_eq!(group.devices_per_task(), [1, 2, 1]);
    }
}
