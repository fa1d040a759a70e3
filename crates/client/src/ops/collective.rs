//! Ops of the family `collective`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Sends part `i` of the input to member `i` of the group.
///
/// Op `CollectiveAllToAllV2`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`,
/// `is_stateless: bool = false`.
#[track_caller]
pub fn collective_all_to_all_v2(
    graph: &Graph,
    input: impl Operand,
    group_size: impl Operand,
    group_key: impl Operand,
    instance_key: impl Operand,
    ordering_token: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph
        .op("CollectiveAllToAllV2")
        .input(input)
        .input(group_size)
        .input(group_key)
        .input(instance_key)
        .inputs(ordering_token)
}

/// Sends part `i` of the input to member `i` of the communicator's group.
///
/// Op `CollectiveAllToAllV3`. Output: `data`.
///
/// Attributes with defaults: `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_all_to_all_v3(
    graph: &Graph,
    input: impl Operand,
    communicator: impl Operand,
    group_assignment: impl Operand,
) -> OpBuilder {
    graph.op("CollectiveAllToAllV3").input(input).input(communicator).input(group_assignment)
}

/// Finds the group that a device belongs to.
///
/// Op `CollectiveAssignGroupV2`. Outputs: `group_size: int32`, `group_key: int32`.
#[track_caller]
pub fn collective_assign_group_v2(
    graph: &Graph,
    group_assignment: impl Operand,
    device_index: impl Operand,
    base_key: impl Operand,
) -> OpBuilder {
    graph.op("CollectiveAssignGroupV2").input(group_assignment).input(device_index).input(base_key)
}

/// Receives the value that a member of the group broadcasts.
///
/// Op `CollectiveBcastRecv`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_bcast_recv(
    graph: &Graph,
    t: DType,
    group_size: i64,
    group_key: i64,
    instance_key: i64,
    shape: PartialShape,
) -> OpBuilder {
    graph
        .op("CollectiveBcastRecv")
        .attr("T", t)
        .attr("group_size", group_size)
        .attr("group_key", group_key)
        .attr("instance_key", instance_key)
        .attr("shape", shape)
}

/// Receives the value that a member of the group broadcasts.
///
/// Op `CollectiveBcastRecvV2`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_bcast_recv_v2(
    graph: &Graph,
    group_size: impl Operand,
    group_key: impl Operand,
    instance_key: impl Operand,
    shape: impl Operand,
    t: DType,
) -> OpBuilder {
    graph
        .op("CollectiveBcastRecvV2")
        .input(group_size)
        .input(group_key)
        .input(instance_key)
        .input(shape)
        .attr("T", t)
}

/// Broadcasts a value to all members of the group.
///
/// Op `CollectiveBcastSend`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_bcast_send(
    graph: &Graph,
    input: impl Operand,
    group_size: i64,
    group_key: i64,
    instance_key: i64,
    shape: PartialShape,
) -> OpBuilder {
    graph
        .op("CollectiveBcastSend")
        .input(input)
        .attr("group_size", group_size)
        .attr("group_key", group_key)
        .attr("instance_key", instance_key)
        .attr("shape", shape)
}

/// Broadcasts a value to all members of the group.
///
/// Op `CollectiveBcastSendV2`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_bcast_send_v2(
    graph: &Graph,
    input: impl Operand,
    group_size: impl Operand,
    group_key: impl Operand,
    instance_key: impl Operand,
) -> OpBuilder {
    graph
        .op("CollectiveBcastSendV2")
        .input(input)
        .input(group_size)
        .input(group_key)
        .input(instance_key)
}

/// Puts the values of all members of the group one after the other.
///
/// Op `CollectiveGather`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_gather(
    graph: &Graph,
    input: impl Operand,
    group_size: i64,
    group_key: i64,
    instance_key: i64,
    shape: PartialShape,
) -> OpBuilder {
    graph
        .op("CollectiveGather")
        .input(input)
        .attr("group_size", group_size)
        .attr("group_key", group_key)
        .attr("instance_key", instance_key)
        .attr("shape", shape)
}

/// Puts the values of all members of the group one after the other.
///
/// Op `CollectiveGatherV2`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`,
/// `is_stateless: bool = false`.
#[track_caller]
pub fn collective_gather_v2(
    graph: &Graph,
    input: impl Operand,
    group_size: impl Operand,
    group_key: impl Operand,
    instance_key: impl Operand,
    ordering_token: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph
        .op("CollectiveGatherV2")
        .input(input)
        .input(group_size)
        .input(group_key)
        .input(instance_key)
        .inputs(ordering_token)
}

/// Waits for the members of a group and makes a handle for it.
///
/// Op `CollectiveInitializeCommunicator`. Output: `communicator: resource`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_initialize_communicator(
    graph: &Graph,
    group_key: impl Operand,
    rank: impl Operand,
    group_size: impl Operand,
) -> OpBuilder {
    graph.op("CollectiveInitializeCommunicator").input(group_key).input(rank).input(group_size)
}

/// Combines the values of all members of the group.
///
/// Op `CollectiveReduce`. Output: `data`.
///
/// Attributes with defaults: `wait_for: list(int) = []`, `communication_hint: string = "auto"`,
/// `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_reduce(
    graph: &Graph,
    input: impl Operand,
    group_size: i64,
    group_key: i64,
    instance_key: i64,
    merge_op: &str,
    final_op: &str,
    subdiv_offsets: &[i64],
) -> OpBuilder {
    graph
        .op("CollectiveReduce")
        .input(input)
        .attr("group_size", group_size)
        .attr("group_key", group_key)
        .attr("instance_key", instance_key)
        .attr("merge_op", merge_op)
        .attr("final_op", final_op)
        .attr("subdiv_offsets", subdiv_offsets.to_vec())
}

/// Combines the values of all members of the group and leaves each a part.
///
/// Op `CollectiveReduceScatterV2`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`,
/// `is_stateless: bool = false`, `max_subdivs_per_device: int = -1`.
#[track_caller]
pub fn collective_reduce_scatter_v2(
    graph: &Graph,
    input: impl Operand,
    group_size: impl Operand,
    group_key: impl Operand,
    instance_key: impl Operand,
    ordering_token: impl IntoIterator<Item = impl Operand>,
    merge_op: &str,
    final_op: &str,
) -> OpBuilder {
    graph
        .op("CollectiveReduceScatterV2")
        .input(input)
        .input(group_size)
        .input(group_key)
        .input(instance_key)
        .inputs(ordering_token)
        .attr("merge_op", merge_op)
        .attr("final_op", final_op)
}

/// Combines the values of all members of the group.
///
/// Op `CollectiveReduceV2`. Output: `data`.
///
/// Attributes with defaults: `communication_hint: string = "auto"`, `timeout_seconds: float = 0`,
/// `is_stateless: bool = false`, `max_subdivs_per_device: int = -1`.
#[track_caller]
pub fn collective_reduce_v2(
    graph: &Graph,
    input: impl Operand,
    group_size: impl Operand,
    group_key: impl Operand,
    instance_key: impl Operand,
    ordering_token: impl IntoIterator<Item = impl Operand>,
    merge_op: &str,
    final_op: &str,
) -> OpBuilder {
    graph
        .op("CollectiveReduceV2")
        .input(input)
        .input(group_size)
        .input(group_key)
        .input(instance_key)
        .inputs(ordering_token)
        .attr("merge_op", merge_op)
        .attr("final_op", final_op)
}

/// Combines the values of all members of the communicator's group.
///
/// Op `CollectiveReduceV3`. Output: `data`.
///
/// Attributes with defaults: `timeout_seconds: float = 0`.
#[track_caller]
pub fn collective_reduce_v3(
    graph: &Graph,
    input: impl Operand,
    communicator: impl Operand,
    group_assignment: impl Operand,
    reduction: &str,
) -> OpBuilder {
    graph
        .op("CollectiveReduceV3")
        .input(input)
        .input(communicator)
        .input(group_assignment)
        .attr("reduction", reduction)
}
