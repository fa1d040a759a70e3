//! Ops of the family `functional`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Calls the function whose number `branch_index` is.
///
/// Op `Case`. Output: `output` (a list).
///
/// Attributes with defaults: `output_shapes: list(shape) = []`.
#[track_caller]
pub fn case(
    graph: &Graph,
    branch_index: impl Operand,
    input: impl IntoIterator<Item = impl Operand>,
    tout: &[DType],
    branches: &[Func],
) -> OpBuilder {
    graph
        .op("Case")
        .input(branch_index)
        .inputs(input)
        .attr("Tout", tout.to_vec())
        .attr("branches", branches.to_vec())
}

/// The place of this node's device in a list of names.
///
/// Op `DeviceIndex`. Output: `index: int32`.
#[track_caller]
pub fn device_index(graph: &Graph, device_names: &[&str]) -> OpBuilder {
    graph.op("DeviceIndex").attr("device_names", strings(device_names))
}

/// Stands for an argument that is never used.
///
/// Op `FakeParam`. Output: `output`.
#[track_caller]
pub fn fake_param(graph: &Graph, dtype: DType, shape: PartialShape) -> OpBuilder {
    graph.op("FakeParam").attr("dtype", dtype).attr("shape", shape)
}

/// Calls a function for each number from `start` to `limit`.
///
/// Op `For`. Output: `output` (a list).
#[track_caller]
pub fn for_(
    graph: &Graph,
    start: impl Operand,
    limit: impl Operand,
    delta: impl Operand,
    input: impl IntoIterator<Item = impl Operand>,
    body: Func,
) -> OpBuilder {
    graph.op("For").input(start).input(limit).input(delta).inputs(input).attr("body", body)
}

/// Calls one of two functions, as a condition says.
///
/// Op `If`. Output: `output` (a list).
///
/// Attributes with defaults: `output_shapes: list(shape) = []`.
#[track_caller]
pub fn if_(
    graph: &Graph,
    cond: impl Operand,
    input: impl IntoIterator<Item = impl Operand>,
    tout: &[DType],
    then_branch: Func,
    else_branch: Func,
) -> OpBuilder {
    graph
        .op("If")
        .input(cond)
        .inputs(input)
        .attr("Tout", tout.to_vec())
        .attr("then_branch", then_branch)
        .attr("else_branch", else_branch)
}

/// Calls a function whose nodes may be on several devices.
///
/// Op `PartitionedCall`. Output: `output` (a list).
///
/// Attributes with defaults: `config: string = ""`, `config_proto: string = ""`,
/// `executor_type: string = ""`.
#[track_caller]
pub fn partitioned_call(
    graph: &Graph,
    args: impl IntoIterator<Item = impl Operand>,
    tout: &[DType],
    f: Func,
) -> OpBuilder {
    graph.op("PartitionedCall").inputs(args).attr("Tout", tout.to_vec()).attr("f", f)
}

/// Calls a function on another device.
///
/// Op `RemoteCall`. Output: `output` (a list).
#[track_caller]
pub fn remote_call(
    graph: &Graph,
    target: impl Operand,
    args: impl IntoIterator<Item = impl Operand>,
    tout: &[DType],
    f: Func,
) -> OpBuilder {
    graph.op("RemoteCall").input(target).inputs(args).attr("Tout", tout.to_vec()).attr("f", f)
}

/// Calls a function with side effects whose nodes may be on several devices.
///
/// Op `StatefulPartitionedCall`. Output: `output` (a list).
///
/// Attributes with defaults: `config: string = ""`, `config_proto: string = ""`,
/// `executor_type: string = ""`.
#[track_caller]
pub fn stateful_partitioned_call(
    graph: &Graph,
    args: impl IntoIterator<Item = impl Operand>,
    tout: &[DType],
    f: Func,
) -> OpBuilder {
    graph.op("StatefulPartitionedCall").inputs(args).attr("Tout", tout.to_vec()).attr("f", f)
}

/// Calls the function whose number `branch_index` is; none has side effects.
///
/// Op `StatelessCase`. Output: `output` (a list).
///
/// Attributes with defaults: `output_shapes: list(shape) = []`.
#[track_caller]
pub fn stateless_case(
    graph: &Graph,
    branch_index: impl Operand,
    input: impl IntoIterator<Item = impl Operand>,
    tout: &[DType],
    branches: &[Func],
) -> OpBuilder {
    graph
        .op("StatelessCase")
        .input(branch_index)
        .inputs(input)
        .attr("Tout", tout.to_vec())
        .attr("branches", branches.to_vec())
}

/// Calls one of two functions without side effects, as a condition says.
///
/// Op `StatelessIf`. Output: `output` (a list).
///
/// Attributes with defaults: `output_shapes: list(shape) = []`.
#[track_caller]
pub fn stateless_if(
    graph: &Graph,
    cond: impl Operand,
    input: impl IntoIterator<Item = impl Operand>,
    tout: &[DType],
    then_branch: Func,
    else_branch: Func,
) -> OpBuilder {
    graph
        .op("StatelessIf")
        .input(cond)
        .inputs(input)
        .attr("Tout", tout.to_vec())
        .attr("then_branch", then_branch)
        .attr("else_branch", else_branch)
}

/// Calls a function without side effects on its own results as long as a condition holds.
///
/// Op `StatelessWhile`. Output: `output` (a list).
///
/// Attributes with defaults: `output_shapes: list(shape) = []`, `parallel_iterations: int = 10`.
#[track_caller]
pub fn stateless_while(
    graph: &Graph,
    input: impl IntoIterator<Item = impl Operand>,
    cond: Func,
    body: Func,
) -> OpBuilder {
    graph.op("StatelessWhile").inputs(input).attr("cond", cond).attr("body", body)
}

/// The gradient of a function.
///
/// Op `SymbolicGradient`. Output: `output` (a list).
#[track_caller]
pub fn symbolic_gradient(
    graph: &Graph,
    input: impl IntoIterator<Item = impl Operand>,
    tout: &[DType],
    f: Func,
) -> OpBuilder {
    graph.op("SymbolicGradient").inputs(input).attr("Tout", tout.to_vec()).attr("f", f)
}

/// Whether a value counts as true.
///
/// Op `ToBool`. Output: `output: bool`.
#[track_caller]
pub fn to_bool(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("ToBool").input(input)
}

/// Calls a function on its own results as long as a condition holds.
///
/// Op `While`. Output: `output` (a list).
///
/// Attributes with defaults: `output_shapes: list(shape) = []`, `parallel_iterations: int = 10`.
#[track_caller]
pub fn while_(
    graph: &Graph,
    input: impl IntoIterator<Item = impl Operand>,
    cond: Func,
    body: Func,
) -> OpBuilder {
    graph.op("While").inputs(input).attr("cond", cond).attr("body", body)
}
