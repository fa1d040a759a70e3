//! Ops of the family `state`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Gives a reference variable a value.
///
/// Op `Assign`. Output: `output_ref`.
///
/// Attributes with defaults: `validate_shape: bool = true`, `use_locking: bool = true`.
#[track_caller]
pub fn assign(graph: &Graph, ref_: impl Operand, value: impl Operand) -> OpBuilder {
    graph.op("Assign").input(ref_).input(value)
}

/// Adds to a reference variable.
///
/// Op `AssignAdd`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn assign_add(graph: &Graph, ref_: impl Operand, value: impl Operand) -> OpBuilder {
    graph.op("AssignAdd").input(ref_).input(value)
}

/// Adds to a variable.
///
/// Op `AssignAddVariableOp`. No outputs.
#[track_caller]
pub fn assign_add_variable_op(
    graph: &Graph,
    resource: impl Operand,
    value: impl Operand,
) -> OpBuilder {
    graph.op("AssignAddVariableOp").input(resource).input(value)
}

/// Subtracts from a reference variable.
///
/// Op `AssignSub`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn assign_sub(graph: &Graph, ref_: impl Operand, value: impl Operand) -> OpBuilder {
    graph.op("AssignSub").input(ref_).input(value)
}

/// Subtracts from a variable.
///
/// Op `AssignSubVariableOp`. No outputs.
#[track_caller]
pub fn assign_sub_variable_op(
    graph: &Graph,
    resource: impl Operand,
    value: impl Operand,
) -> OpBuilder {
    graph.op("AssignSubVariableOp").input(resource).input(value)
}

/// Gives a variable a value.
///
/// Op `AssignVariableOp`. No outputs.
///
/// Attributes with defaults: `validate_shape: bool = false`.
#[track_caller]
pub fn assign_variable_op(graph: &Graph, resource: impl Operand, value: impl Operand) -> OpBuilder {
    graph.op("AssignVariableOp").input(resource).input(value)
}

/// Uses a lock up, which frees its mutex.
///
/// Op `ConsumeMutexLock`. No outputs.
#[track_caller]
pub fn consume_mutex_lock(graph: &Graph, mutex_lock: impl Operand) -> OpBuilder {
    graph.op("ConsumeMutexLock").input(mutex_lock)
}

/// The value of a variable, which is then one more; fails with `OUT_OF_RANGE` at the limit.
///
/// Op `CountUpTo`. Output: `output`.
#[track_caller]
pub fn count_up_to(graph: &Graph, ref_: impl Operand, limit: i64) -> OpBuilder {
    graph.op("CountUpTo").input(ref_).attr("limit", limit)
}

/// Forgets a resource.
///
/// Op `DestroyResourceOp`. No outputs.
///
/// Attributes with defaults: `ignore_lookup_error: bool = true`.
#[track_caller]
pub fn destroy_resource_op(graph: &Graph, resource: impl Operand) -> OpBuilder {
    graph.op("DestroyResourceOp").input(resource)
}

/// The last value of a temporary variable, which is then gone.
///
/// Op `DestroyTemporaryVariable`. Output: `value`.
#[track_caller]
pub fn destroy_temporary_variable(graph: &Graph, ref_: impl Operand, var_name: &str) -> OpBuilder {
    graph.op("DestroyTemporaryVariable").input(ref_).attr("var_name", var_name)
}

/// Does nothing here: reading a variable never copies it.
///
/// Op `DisableCopyOnRead`. No outputs.
#[track_caller]
pub fn disable_copy_on_read(graph: &Graph, resource: impl Operand) -> OpBuilder {
    graph.op("DisableCopyOnRead").input(resource)
}

/// Whether a handle keeps its resource alive.
///
/// Op `IsResourceHandleRefCounting`. Output: `result: bool`.
#[track_caller]
pub fn is_resource_handle_ref_counting(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("IsResourceHandleRefCounting").input(handle)
}

/// Whether a variable has a value.
///
/// Op `IsVariableInitialized`. Output: `is_initialized: bool`.
#[track_caller]
pub fn is_variable_initialized(graph: &Graph, ref_: impl Operand) -> OpBuilder {
    graph.op("IsVariableInitialized").input(ref_)
}

/// The same handle without its hold on the resource.
///
/// Op `MakeWeakResourceHandle`. Output: `dup: resource`.
#[track_caller]
pub fn make_weak_resource_handle(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("MakeWeakResourceHandle").input(handle)
}

/// Waits for a mutex and locks it until the lock is gone.
///
/// Op `MutexLock`. Output: `mutex_lock: variant`.
#[track_caller]
pub fn mutex_lock(graph: &Graph, mutex: impl Operand) -> OpBuilder {
    graph.op("MutexLock").input(mutex)
}

/// A handle to a mutex on the server.
///
/// Op `MutexV2`. Output: `resource: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn mutex_v2(graph: &Graph) -> OpBuilder {
    graph.op("MutexV2")
}

/// The value of a variable.
///
/// Op `ReadVariableOp`. Output: `value`.
#[track_caller]
pub fn read_variable_op(graph: &Graph, resource: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("ReadVariableOp").input(resource).attr("dtype", dtype)
}

/// The value of a variable, which is then one more; fails with `OUT_OF_RANGE` at the limit.
///
/// Op `ResourceCountUpTo`. Output: `output`.
#[track_caller]
pub fn resource_count_up_to(
    graph: &Graph,
    resource: impl Operand,
    limit: i64,
    t: DType,
) -> OpBuilder {
    graph.op("ResourceCountUpTo").input(resource).attr("limit", limit).attr("T", t)
}

/// Rows of a variable, picked by index, without reading the whole of it.
///
/// Op `ResourceGather`. Output: `output`.
///
/// Attributes with defaults: `batch_dims: int = 0`, `validate_indices: bool = true`.
#[track_caller]
pub fn resource_gather(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("ResourceGather").input(resource).input(indices).attr("dtype", dtype)
}

/// Parts of a variable, picked by coordinates.
///
/// Op `ResourceGatherNd`. Output: `output`.
#[track_caller]
pub fn resource_gather_nd(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("ResourceGatherNd").input(resource).input(indices).attr("dtype", dtype)
}

/// Adds to rows of a variable.
///
/// Op `ResourceScatterAdd`. No outputs.
#[track_caller]
pub fn resource_scatter_add(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterAdd").input(resource).input(indices).input(updates)
}

/// Divides rows of a variable.
///
/// Op `ResourceScatterDiv`. No outputs.
#[track_caller]
pub fn resource_scatter_div(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterDiv").input(resource).input(indices).input(updates)
}

/// Raises rows of a variable to at least the updates.
///
/// Op `ResourceScatterMax`. No outputs.
#[track_caller]
pub fn resource_scatter_max(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterMax").input(resource).input(indices).input(updates)
}

/// Lowers rows of a variable to at most the updates.
///
/// Op `ResourceScatterMin`. No outputs.
#[track_caller]
pub fn resource_scatter_min(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterMin").input(resource).input(indices).input(updates)
}

/// Multiplies rows of a variable.
///
/// Op `ResourceScatterMul`. No outputs.
#[track_caller]
pub fn resource_scatter_mul(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterMul").input(resource).input(indices).input(updates)
}

/// Adds to parts of a variable, given by coordinates.
///
/// Op `ResourceScatterNdAdd`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn resource_scatter_nd_add(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterNdAdd").input(ref_).input(indices).input(updates)
}

/// Raises parts of a variable, given by coordinates, to at least the updates.
///
/// Op `ResourceScatterNdMax`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn resource_scatter_nd_max(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterNdMax").input(ref_).input(indices).input(updates)
}

/// Lowers parts of a variable, given by coordinates, to at most the updates.
///
/// Op `ResourceScatterNdMin`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn resource_scatter_nd_min(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterNdMin").input(ref_).input(indices).input(updates)
}

/// Subtracts from parts of a variable, given by coordinates.
///
/// Op `ResourceScatterNdSub`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn resource_scatter_nd_sub(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterNdSub").input(ref_).input(indices).input(updates)
}

/// Replaces parts of a variable, given by coordinates.
///
/// Op `ResourceScatterNdUpdate`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn resource_scatter_nd_update(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterNdUpdate").input(ref_).input(indices).input(updates)
}

/// Subtracts from rows of a variable.
///
/// Op `ResourceScatterSub`. No outputs.
#[track_caller]
pub fn resource_scatter_sub(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterSub").input(resource).input(indices).input(updates)
}

/// Replaces rows of a variable.
///
/// Op `ResourceScatterUpdate`. No outputs.
#[track_caller]
pub fn resource_scatter_update(
    graph: &Graph,
    resource: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ResourceScatterUpdate").input(resource).input(indices).input(updates)
}

/// Adds to rows of a variable.
///
/// Op `ScatterAdd`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn scatter_add(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterAdd").input(ref_).input(indices).input(updates)
}

/// Divides rows of a variable.
///
/// Op `ScatterDiv`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn scatter_div(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterDiv").input(ref_).input(indices).input(updates)
}

/// Raises rows of a variable to at least the updates.
///
/// Op `ScatterMax`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn scatter_max(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterMax").input(ref_).input(indices).input(updates)
}

/// Lowers rows of a variable to at most the updates.
///
/// Op `ScatterMin`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn scatter_min(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterMin").input(ref_).input(indices).input(updates)
}

/// Multiplies rows of a variable.
///
/// Op `ScatterMul`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn scatter_mul(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterMul").input(ref_).input(indices).input(updates)
}

/// Adds to parts of a variable, given by coordinates.
///
/// Op `ScatterNdAdd`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn scatter_nd_add(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterNdAdd").input(ref_).input(indices).input(updates)
}

/// Raises parts of a variable, given by coordinates, to at least the updates.
///
/// Op `ScatterNdMax`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn scatter_nd_max(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterNdMax").input(ref_).input(indices).input(updates)
}

/// Lowers parts of a variable, given by coordinates, to at most the updates.
///
/// Op `ScatterNdMin`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn scatter_nd_min(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterNdMin").input(ref_).input(indices).input(updates)
}

/// Subtracts from parts of a variable, given by coordinates.
///
/// Op `ScatterNdSub`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn scatter_nd_sub(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterNdSub").input(ref_).input(indices).input(updates)
}

/// Replaces parts of a variable, given by coordinates.
///
/// Op `ScatterNdUpdate`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
#[track_caller]
pub fn scatter_nd_update(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterNdUpdate").input(ref_).input(indices).input(updates)
}

/// Subtracts from rows of a variable.
///
/// Op `ScatterSub`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn scatter_sub(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterSub").input(ref_).input(indices).input(updates)
}

/// Replaces rows of a variable.
///
/// Op `ScatterUpdate`. Output: `output_ref`.
///
/// Attributes with defaults: `use_locking: bool = true`.
#[track_caller]
pub fn scatter_update(
    graph: &Graph,
    ref_: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterUpdate").input(ref_).input(indices).input(updates)
}

/// A variable that lives for one step.
///
/// Op `TemporaryVariable`. Output: `ref`.
///
/// Attributes with defaults: `var_name: string = ""`.
#[track_caller]
pub fn temporary_variable(graph: &Graph, shape: PartialShape, dtype: DType) -> OpBuilder {
    graph.op("TemporaryVariable").attr("shape", shape).attr("dtype", dtype)
}

/// The handle of a variable.
///
/// Op `VarHandleOp`. Output: `resource: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `debug_name: string = ""`, `allowed_devices: list(string) = []`.
#[track_caller]
pub fn var_handle_op(graph: &Graph, dtype: DType, shape: PartialShape) -> OpBuilder {
    graph.op("VarHandleOp").attr("dtype", dtype).attr("shape", shape)
}

/// Whether a variable has a value.
///
/// Op `VarIsInitializedOp`. Output: `is_initialized: bool`.
#[track_caller]
pub fn var_is_initialized_op(graph: &Graph, resource: impl Operand) -> OpBuilder {
    graph.op("VarIsInitializedOp").input(resource)
}

/// A reference to a variable; new programs use `VarHandleOp`.
///
/// Op `Variable`. Output: `ref`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn variable(graph: &Graph, shape: PartialShape, dtype: DType) -> OpBuilder {
    graph.op("Variable").attr("shape", shape).attr("dtype", dtype)
}

/// The shape of a variable's value.
///
/// Op `VariableShape`. Output: `output`.
///
/// Attributes with defaults: `out_type: type = DT_INT32`.
#[track_caller]
pub fn variable_shape(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("VariableShape").input(input)
}

/// A reference to a variable; new programs use `VarHandleOp`.
///
/// Op `VariableV2`. Output: `ref`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn variable_v2(graph: &Graph, shape: PartialShape, dtype: DType) -> OpBuilder {
    graph.op("VariableV2").attr("shape", shape).attr("dtype", dtype)
}
