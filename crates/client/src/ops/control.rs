//! Ops of the family `control`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Ends the process, or only the step if it is asked to.
///
/// Op `Abort`. No outputs.
///
/// Attributes with defaults: `error_msg: string = ""`, `exit_without_error: bool = false`.
#[track_caller]
pub fn abort(graph: &Graph) -> OpBuilder {
    graph.op("Abort")
}

/// A tensor that is part of the graph.
///
/// Op `Const`. Output: `output`.
#[track_caller]
pub fn const_(graph: &Graph, value: Tensor, dtype: DType) -> OpBuilder {
    graph.op("Const").attr("value", value).attr("dtype", dtype)
}

/// Does nothing, also in a branch that is not taken.
///
/// Op `ControlTrigger`. No outputs.
#[track_caller]
pub fn control_trigger(graph: &Graph) -> OpBuilder {
    graph.op("ControlTrigger")
}

/// Brings a tensor into a loop.
///
/// Op `Enter`. Output: `output`.
///
/// Attributes with defaults: `is_constant: bool = false`, `parallel_iterations: int = 10`.
#[track_caller]
pub fn enter(graph: &Graph, data: impl Operand, frame_name: &str) -> OpBuilder {
    graph.op("Enter").input(data).attr("frame_name", frame_name)
}

/// Takes a tensor out of a loop when that ends.
///
/// Op `Exit`. Output: `output`.
#[track_caller]
pub fn exit(graph: &Graph, data: impl Operand) -> OpBuilder {
    graph.op("Exit").input(data)
}

/// A tensor that is part of the graph.
///
/// Op `HostConst`. Output: `output`.
#[track_caller]
pub fn host_const(graph: &Graph, value: Tensor, dtype: DType) -> OpBuilder {
    graph.op("HostConst").attr("value", value).attr("dtype", dtype)
}

/// The same tensor.
///
/// Op `Identity`. Output: `output`.
#[track_caller]
pub fn identity(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Identity").input(input)
}

/// The same tensors.
///
/// Op `IdentityN`. Output: `output` (a list).
#[track_caller]
pub fn identity_n(graph: &Graph, input: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("IdentityN").inputs(input)
}

/// Marks the condition of a loop.
///
/// Op `LoopCond`. Output: `output: bool`.
#[track_caller]
pub fn loop_cond(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("LoopCond").input(input)
}

/// Whichever of its inputs arrives first.
///
/// Op `Merge`. Outputs: `output`, `value_index: int32`.
#[track_caller]
pub fn merge(graph: &Graph, inputs: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("Merge").inputs(inputs)
}

/// Hands a tensor to the next round of a loop.
///
/// Op `NextIteration`. Output: `output`.
#[track_caller]
pub fn next_iteration(graph: &Graph, data: impl Operand) -> OpBuilder {
    graph.op("NextIteration").input(data)
}

/// Does nothing; something to wait for.
///
/// Op `NoOp`. No outputs.
#[track_caller]
pub fn no_op(graph: &Graph) -> OpBuilder {
    graph.op("NoOp")
}

/// A tensor that must be fed.
///
/// Op `Placeholder`. Output: `output`.
///
/// Attributes with defaults: `shape: shape = <unknown>`.
#[track_caller]
pub fn placeholder(graph: &Graph, dtype: DType) -> OpBuilder {
    graph.op("Placeholder").attr("dtype", dtype)
}

/// A tensor that must be fed.
///
/// Op `PlaceholderV2`. Output: `output`.
#[track_caller]
pub fn placeholder_v2(graph: &Graph, dtype: DType, shape: PartialShape) -> OpBuilder {
    graph.op("PlaceholderV2").attr("dtype", dtype).attr("shape", shape)
}

/// A tensor that may be fed, with the value that it has otherwise.
///
/// Op `PlaceholderWithDefault`. Output: `output`.
#[track_caller]
pub fn placeholder_with_default(
    graph: &Graph,
    input: impl Operand,
    shape: PartialShape,
) -> OpBuilder {
    graph.op("PlaceholderWithDefault").input(input).attr("shape", shape)
}

/// The same tensor; asking for a gradient through it is an error.
///
/// Op `PreventGradient`. Output: `output`.
///
/// Attributes with defaults: `message: string = ""`.
#[track_caller]
pub fn prevent_gradient(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("PreventGradient").input(input)
}

/// Brings a tensor into a loop.
///
/// Op `RefEnter`. Output: `output`.
///
/// Attributes with defaults: `is_constant: bool = false`, `parallel_iterations: int = 10`.
#[track_caller]
pub fn ref_enter(graph: &Graph, data: impl Operand, frame_name: &str) -> OpBuilder {
    graph.op("RefEnter").input(data).attr("frame_name", frame_name)
}

/// Takes a tensor out of a loop when that ends.
///
/// Op `RefExit`. Output: `output`.
#[track_caller]
pub fn ref_exit(graph: &Graph, data: impl Operand) -> OpBuilder {
    graph.op("RefExit").input(data)
}

/// The same tensor.
///
/// Op `RefIdentity`. Output: `output`.
#[track_caller]
pub fn ref_identity(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("RefIdentity").input(input)
}

/// Whichever of its inputs arrives first.
///
/// Op `RefMerge`. Outputs: `output`, `value_index: int32`.
#[track_caller]
pub fn ref_merge(graph: &Graph, inputs: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("RefMerge").inputs(inputs)
}

/// Hands a tensor to the next round of a loop.
///
/// Op `RefNextIteration`. Output: `output`.
#[track_caller]
pub fn ref_next_iteration(graph: &Graph, data: impl Operand) -> OpBuilder {
    graph.op("RefNextIteration").input(data)
}

/// `RefSelect`: `output` of `index`, `inputs`.
///
/// Output: `output`.
#[track_caller]
pub fn ref_select(
    graph: &Graph,
    index: impl Operand,
    inputs: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("RefSelect").input(index).inputs(inputs)
}

/// The tensor on one of two outputs, as a condition says; the other output is dead.
///
/// Op `RefSwitch`. Outputs: `output_false`, `output_true`.
#[track_caller]
pub fn ref_switch(graph: &Graph, data: impl Operand, pred: impl Operand) -> OpBuilder {
    graph.op("RefSwitch").input(data).input(pred)
}

/// A copy of the tensor.
///
/// Op `Snapshot`. Output: `output`.
#[track_caller]
pub fn snapshot(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Snapshot").input(input)
}

/// The same tensor, which gradients do not flow back through.
///
/// Op `StopGradient`. Output: `output`.
#[track_caller]
pub fn stop_gradient(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("StopGradient").input(input)
}

/// The tensor on one of two outputs, as a condition says; the other output is dead.
///
/// Op `Switch`. Outputs: `output_false`, `output_true`.
#[track_caller]
pub fn switch(graph: &Graph, data: impl Operand, pred: impl Operand) -> OpBuilder {
    graph.op("Switch").input(data).input(pred)
}

/// Waits for a device, which a CPU never needs.
///
/// Op `SyncDevice`. No outputs.
#[track_caller]
pub fn sync_device(graph: &Graph) -> OpBuilder {
    graph.op("SyncDevice")
}
