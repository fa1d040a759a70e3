//! Ops of the family `data_flow`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Adds a gradient to an accumulator, unless it is older than the accumulator's step.
///
/// Op `AccumulatorApplyGradient`. No outputs.
#[track_caller]
pub fn accumulator_apply_gradient(
    graph: &Graph,
    handle: impl Operand,
    local_step: impl Operand,
    gradient: impl Operand,
) -> OpBuilder {
    graph.op("AccumulatorApplyGradient").input(handle).input(local_step).input(gradient)
}

/// How many gradients an accumulator holds.
///
/// Op `AccumulatorNumAccumulated`. Output: `num_accumulated: int32`.
#[track_caller]
pub fn accumulator_num_accumulated(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("AccumulatorNumAccumulated").input(handle)
}

/// Says which step an accumulator is at.
///
/// Op `AccumulatorSetGlobalStep`. No outputs.
#[track_caller]
pub fn accumulator_set_global_step(
    graph: &Graph,
    handle: impl Operand,
    new_global_step: impl Operand,
) -> OpBuilder {
    graph.op("AccumulatorSetGlobalStep").input(handle).input(new_global_step)
}

/// Waits for enough gradients and takes their mean or sum.
///
/// Op `AccumulatorTakeGradient`. Output: `average`.
#[track_caller]
pub fn accumulator_take_gradient(
    graph: &Graph,
    handle: impl Operand,
    num_required: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("AccumulatorTakeGradient").input(handle).input(num_required).attr("dtype", dtype)
}

/// A table of rows that come together from several sources.
///
/// Op `Barrier`. Output: `handle: string`.
///
/// Attributes with defaults: `shapes: list(shape) = []`, `capacity: int = -1`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn barrier(graph: &Graph, component_types: &[DType]) -> OpBuilder {
    graph.op("Barrier").attr("component_types", component_types.to_vec())
}

/// Lets a barrier take no more rows.
///
/// Op `BarrierClose`. No outputs.
///
/// Attributes with defaults: `cancel_pending_enqueues: bool = false`.
#[track_caller]
pub fn barrier_close(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("BarrierClose").input(handle)
}

/// How many rows of a barrier still lack something.
///
/// Op `BarrierIncompleteSize`. Output: `size: int32`.
#[track_caller]
pub fn barrier_incomplete_size(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("BarrierIncompleteSize").input(handle)
}

/// Puts one component of several rows into a barrier.
///
/// Op `BarrierInsertMany`. No outputs.
#[track_caller]
pub fn barrier_insert_many(
    graph: &Graph,
    handle: impl Operand,
    keys: impl Operand,
    values: impl Operand,
    component_index: i64,
) -> OpBuilder {
    graph
        .op("BarrierInsertMany")
        .input(handle)
        .input(keys)
        .input(values)
        .attr("component_index", component_index)
}

/// How many rows of a barrier are whole.
///
/// Op `BarrierReadySize`. Output: `size: int32`.
#[track_caller]
pub fn barrier_ready_size(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("BarrierReadySize").input(handle)
}

/// Takes whole rows out of a barrier.
///
/// Op `BarrierTakeMany`. Outputs: `indices: int64`, `keys: string`, `values` (a list).
///
/// Attributes with defaults: `allow_small_batch: bool = false`,
/// `wait_for_incomplete: bool = false`, `timeout_ms: int = -1`.
#[track_caller]
pub fn barrier_take_many(
    graph: &Graph,
    handle: impl Operand,
    num_elements: impl Operand,
    component_types: &[DType],
) -> OpBuilder {
    graph
        .op("BarrierTakeMany")
        .input(handle)
        .input(num_elements)
        .attr("component_types", component_types.to_vec())
}

/// An accumulator of gradients that knows stale ones.
///
/// Op `ConditionalAccumulator`. Output: `handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `reduction_type: string = "MEAN"`.
#[track_caller]
pub fn conditional_accumulator(graph: &Graph, dtype: DType, shape: PartialShape) -> OpBuilder {
    graph.op("ConditionalAccumulator").attr("dtype", dtype).attr("shape", shape)
}

/// Forgets a tensor that the session keeps.
///
/// Op `DeleteSessionTensor`. No outputs.
#[track_caller]
pub fn delete_session_tensor(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("DeleteSessionTensor").input(handle)
}

/// Calls a Python function; only a process with Python can.
///
/// Op `EagerPyFunc`. Output: `output` (a list).
///
/// Attributes with defaults: `is_async: bool = false`.
#[track_caller]
pub fn eager_py_func(
    graph: &Graph,
    input: impl IntoIterator<Item = impl Operand>,
    token: &str,
    tout: &[DType],
) -> OpBuilder {
    graph.op("EagerPyFunc").inputs(input).attr("token", token).attr("Tout", tout.to_vec())
}

/// A queue that returns what came first.
///
/// Op `FIFOQueue`. Output: `handle: string`.
///
/// Attributes with defaults: `shapes: list(shape) = []`, `capacity: int = -1`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn fifo_queue(graph: &Graph, component_types: &[DType]) -> OpBuilder {
    graph.op("FIFOQueue").attr("component_types", component_types.to_vec())
}

/// A queue that returns what came first.
///
/// Op `FIFOQueueV2`. Output: `handle: resource`.
///
/// Attributes with defaults: `shapes: list(shape) = []`, `capacity: int = -1`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn fifo_queue_v2(graph: &Graph, component_types: &[DType]) -> OpBuilder {
    graph.op("FIFOQueueV2").attr("component_types", component_types.to_vec())
}

/// The older form of a handle of a queue.
///
/// Op `FakeQueue`. Output: `handle: string`.
#[track_caller]
pub fn fake_queue(graph: &Graph, resource: impl Operand) -> OpBuilder {
    graph.op("FakeQueue").input(resource)
}

/// Keeps a tensor in the session and returns its handle.
///
/// Op `GetSessionHandle`. Output: `handle: string`.
#[track_caller]
pub fn get_session_handle(graph: &Graph, value: impl Operand) -> OpBuilder {
    graph.op("GetSessionHandle").input(value)
}

/// Keeps a tensor in the session and returns its handle.
///
/// Op `GetSessionHandleV2`. Output: `handle: resource`.
#[track_caller]
pub fn get_session_handle_v2(graph: &Graph, value: impl Operand) -> OpBuilder {
    graph.op("GetSessionHandleV2").input(value)
}

/// A tensor that the session keeps.
///
/// Op `GetSessionTensor`. Output: `value`.
#[track_caller]
pub fn get_session_tensor(graph: &Graph, handle: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("GetSessionTensor").input(handle).attr("dtype", dtype)
}

/// Forgets all tuples.
///
/// Op `MapClear`. No outputs.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn map_clear(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("MapClear").attr("dtypes", dtypes.to_vec())
}

/// How many tuples still lack something.
///
/// Op `MapIncompleteSize`. Output: `size: int32`.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn map_incomplete_size(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("MapIncompleteSize").attr("dtypes", dtypes.to_vec())
}

/// The tuple of a key, which stays.
///
/// Op `MapPeek`. Output: `values` (a list).
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn map_peek(
    graph: &Graph,
    key: impl Operand,
    indices: impl Operand,
    dtypes: &[DType],
) -> OpBuilder {
    graph.op("MapPeek").input(key).input(indices).attr("dtypes", dtypes.to_vec())
}

/// How many tuples are whole.
///
/// Op `MapSize`. Output: `size: int32`.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn map_size(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("MapSize").attr("dtypes", dtypes.to_vec())
}

/// Puts a tuple under a key.
///
/// Op `MapStage`. No outputs.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn map_stage(
    graph: &Graph,
    key: impl Operand,
    indices: impl Operand,
    values: impl IntoIterator<Item = impl Operand>,
    dtypes: &[DType],
) -> OpBuilder {
    graph.op("MapStage").input(key).input(indices).inputs(values).attr("dtypes", dtypes.to_vec())
}

/// Takes the tuple of a key, and waits for it.
///
/// Op `MapUnstage`. Output: `values` (a list).
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn map_unstage(
    graph: &Graph,
    key: impl Operand,
    indices: impl Operand,
    dtypes: &[DType],
) -> OpBuilder {
    graph.op("MapUnstage").input(key).input(indices).attr("dtypes", dtypes.to_vec())
}

/// Takes a tuple and its key, and waits if there is none.
///
/// Op `MapUnstageNoKey`. Outputs: `key: int64`, `values` (a list).
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn map_unstage_no_key(graph: &Graph, indices: impl Operand, dtypes: &[DType]) -> OpBuilder {
    graph.op("MapUnstageNoKey").input(indices).attr("dtypes", dtypes.to_vec())
}

/// Forgets all tuples.
///
/// Op `OrderedMapClear`. No outputs.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn ordered_map_clear(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("OrderedMapClear").attr("dtypes", dtypes.to_vec())
}

/// How many tuples still lack something.
///
/// Op `OrderedMapIncompleteSize`. Output: `size: int32`.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn ordered_map_incomplete_size(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("OrderedMapIncompleteSize").attr("dtypes", dtypes.to_vec())
}

/// The tuple of a key, which stays.
///
/// Op `OrderedMapPeek`. Output: `values` (a list).
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn ordered_map_peek(
    graph: &Graph,
    key: impl Operand,
    indices: impl Operand,
    dtypes: &[DType],
) -> OpBuilder {
    graph.op("OrderedMapPeek").input(key).input(indices).attr("dtypes", dtypes.to_vec())
}

/// How many tuples are whole.
///
/// Op `OrderedMapSize`. Output: `size: int32`.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn ordered_map_size(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("OrderedMapSize").attr("dtypes", dtypes.to_vec())
}

/// Puts a tuple under a key.
///
/// Op `OrderedMapStage`. No outputs.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn ordered_map_stage(
    graph: &Graph,
    key: impl Operand,
    indices: impl Operand,
    values: impl IntoIterator<Item = impl Operand>,
    dtypes: &[DType],
) -> OpBuilder {
    graph
        .op("OrderedMapStage")
        .input(key)
        .input(indices)
        .inputs(values)
        .attr("dtypes", dtypes.to_vec())
}

/// Takes the tuple of a key, and waits for it.
///
/// Op `OrderedMapUnstage`. Output: `values` (a list).
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn ordered_map_unstage(
    graph: &Graph,
    key: impl Operand,
    indices: impl Operand,
    dtypes: &[DType],
) -> OpBuilder {
    graph.op("OrderedMapUnstage").input(key).input(indices).attr("dtypes", dtypes.to_vec())
}

/// Takes a tuple and its key, and waits if there is none.
///
/// Op `OrderedMapUnstageNoKey`. Outputs: `key: int64`, `values` (a list).
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn ordered_map_unstage_no_key(
    graph: &Graph,
    indices: impl Operand,
    dtypes: &[DType],
) -> OpBuilder {
    graph.op("OrderedMapUnstageNoKey").input(indices).attr("dtypes", dtypes.to_vec())
}

/// A queue of tensors of varying shapes, filled up when taken together.
///
/// Op `PaddingFIFOQueue`. Output: `handle: string`.
///
/// Attributes with defaults: `shapes: list(shape) = []`, `capacity: int = -1`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn padding_fifo_queue(graph: &Graph, component_types: &[DType]) -> OpBuilder {
    graph.op("PaddingFIFOQueue").attr("component_types", component_types.to_vec())
}

/// A queue of tensors of varying shapes, filled up when taken together.
///
/// Op `PaddingFIFOQueueV2`. Output: `handle: resource`.
///
/// Attributes with defaults: `shapes: list(shape) = []`, `capacity: int = -1`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn padding_fifo_queue_v2(graph: &Graph, component_types: &[DType]) -> OpBuilder {
    graph.op("PaddingFIFOQueueV2").attr("component_types", component_types.to_vec())
}

/// A queue that returns the least number first.
///
/// Op `PriorityQueue`. Output: `handle: string`.
///
/// Attributes with defaults: `component_types: list(type) = []`, `capacity: int = -1`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn priority_queue(graph: &Graph, shapes: &[PartialShape]) -> OpBuilder {
    graph.op("PriorityQueue").attr("shapes", shapes.to_vec())
}

/// A queue that returns the least number first.
///
/// Op `PriorityQueueV2`. Output: `handle: resource`.
///
/// Attributes with defaults: `component_types: list(type) = []`, `capacity: int = -1`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn priority_queue_v2(graph: &Graph, shapes: &[PartialShape]) -> OpBuilder {
    graph.op("PriorityQueueV2").attr("shapes", shapes.to_vec())
}

/// Calls a Python function; only a process with Python can.
///
/// Op `PyFunc`. Output: `output` (a list).
#[track_caller]
pub fn py_func(
    graph: &Graph,
    input: impl IntoIterator<Item = impl Operand>,
    token: &str,
    tout: &[DType],
) -> OpBuilder {
    graph.op("PyFunc").inputs(input).attr("token", token).attr("Tout", tout.to_vec())
}

/// Calls a Python function; only a process with Python can.
///
/// Op `PyFuncStateless`. Output: `output` (a list).
#[track_caller]
pub fn py_func_stateless(
    graph: &Graph,
    input: impl IntoIterator<Item = impl Operand>,
    token: &str,
    tout: &[DType],
) -> OpBuilder {
    graph.op("PyFuncStateless").inputs(input).attr("token", token).attr("Tout", tout.to_vec())
}

/// Lets a queue take no more elements.
///
/// Op `QueueClose`. No outputs.
///
/// Attributes with defaults: `cancel_pending_enqueues: bool = false`.
#[track_caller]
pub fn queue_close(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("QueueClose").input(handle)
}

/// Lets a queue take no more elements.
///
/// Op `QueueCloseV2`. No outputs.
///
/// Attributes with defaults: `cancel_pending_enqueues: bool = false`.
#[track_caller]
pub fn queue_close_v2(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("QueueCloseV2").input(handle)
}

/// Takes an element, and waits if there is none.
///
/// Op `QueueDequeue`. Output: `components` (a list).
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_dequeue(graph: &Graph, handle: impl Operand, component_types: &[DType]) -> OpBuilder {
    graph.op("QueueDequeue").input(handle).attr("component_types", component_types.to_vec())
}

/// Takes a number of elements, stacked.
///
/// Op `QueueDequeueMany`. Output: `components` (a list).
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_dequeue_many(
    graph: &Graph,
    handle: impl Operand,
    n: impl Operand,
    component_types: &[DType],
) -> OpBuilder {
    graph
        .op("QueueDequeueMany")
        .input(handle)
        .input(n)
        .attr("component_types", component_types.to_vec())
}

/// Takes a number of elements, stacked.
///
/// Op `QueueDequeueManyV2`. Output: `components` (a list).
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_dequeue_many_v2(
    graph: &Graph,
    handle: impl Operand,
    n: impl Operand,
    component_types: &[DType],
) -> OpBuilder {
    graph
        .op("QueueDequeueManyV2")
        .input(handle)
        .input(n)
        .attr("component_types", component_types.to_vec())
}

/// Takes a number of elements, or what is left of a closed queue.
///
/// Op `QueueDequeueUpTo`. Output: `components` (a list).
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_dequeue_up_to(
    graph: &Graph,
    handle: impl Operand,
    n: impl Operand,
    component_types: &[DType],
) -> OpBuilder {
    graph
        .op("QueueDequeueUpTo")
        .input(handle)
        .input(n)
        .attr("component_types", component_types.to_vec())
}

/// Takes a number of elements, or what is left of a closed queue.
///
/// Op `QueueDequeueUpToV2`. Output: `components` (a list).
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_dequeue_up_to_v2(
    graph: &Graph,
    handle: impl Operand,
    n: impl Operand,
    component_types: &[DType],
) -> OpBuilder {
    graph
        .op("QueueDequeueUpToV2")
        .input(handle)
        .input(n)
        .attr("component_types", component_types.to_vec())
}

/// Takes an element, and waits if there is none.
///
/// Op `QueueDequeueV2`. Output: `components` (a list).
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_dequeue_v2(
    graph: &Graph,
    handle: impl Operand,
    component_types: &[DType],
) -> OpBuilder {
    graph.op("QueueDequeueV2").input(handle).attr("component_types", component_types.to_vec())
}

/// Puts an element into a queue, and waits if it is full.
///
/// Op `QueueEnqueue`. No outputs.
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_enqueue(
    graph: &Graph,
    handle: impl Operand,
    components: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("QueueEnqueue").input(handle).inputs(components)
}

/// Puts the slices of tensors into a queue.
///
/// Op `QueueEnqueueMany`. No outputs.
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_enqueue_many(
    graph: &Graph,
    handle: impl Operand,
    components: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("QueueEnqueueMany").input(handle).inputs(components)
}

/// Puts the slices of tensors into a queue.
///
/// Op `QueueEnqueueManyV2`. No outputs.
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_enqueue_many_v2(
    graph: &Graph,
    handle: impl Operand,
    components: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("QueueEnqueueManyV2").input(handle).inputs(components)
}

/// Puts an element into a queue, and waits if it is full.
///
/// Op `QueueEnqueueV2`. No outputs.
///
/// Attributes with defaults: `timeout_ms: int = -1`.
#[track_caller]
pub fn queue_enqueue_v2(
    graph: &Graph,
    handle: impl Operand,
    components: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("QueueEnqueueV2").input(handle).inputs(components)
}

/// Whether a queue is closed.
///
/// Op `QueueIsClosed`. Output: `is_closed: bool`.
#[track_caller]
pub fn queue_is_closed(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("QueueIsClosed").input(handle)
}

/// Whether a queue is closed.
///
/// Op `QueueIsClosedV2`. Output: `is_closed: bool`.
#[track_caller]
pub fn queue_is_closed_v2(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("QueueIsClosedV2").input(handle)
}

/// The number of elements in a queue.
///
/// Op `QueueSize`. Output: `size: int32`.
#[track_caller]
pub fn queue_size(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("QueueSize").input(handle)
}

/// The number of elements in a queue.
///
/// Op `QueueSizeV2`. Output: `size: int32`.
#[track_caller]
pub fn queue_size_v2(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("QueueSizeV2").input(handle)
}

/// A queue that returns elements at random.
///
/// Op `RandomShuffleQueue`. Output: `handle: string`.
///
/// Attributes with defaults: `shapes: list(shape) = []`, `capacity: int = -1`,
/// `min_after_dequeue: int = 0`, `seed: int = 0`, `seed2: int = 0`, `container: string = ""`,
/// `shared_name: string = ""`.
#[track_caller]
pub fn random_shuffle_queue(graph: &Graph, component_types: &[DType]) -> OpBuilder {
    graph.op("RandomShuffleQueue").attr("component_types", component_types.to_vec())
}

/// A queue that returns elements at random.
///
/// Op `RandomShuffleQueueV2`. Output: `handle: resource`.
///
/// Attributes with defaults: `shapes: list(shape) = []`, `capacity: int = -1`,
/// `min_after_dequeue: int = 0`, `seed: int = 0`, `seed2: int = 0`, `container: string = ""`,
/// `shared_name: string = ""`.
#[track_caller]
pub fn random_shuffle_queue_v2(graph: &Graph, component_types: &[DType]) -> OpBuilder {
    graph.op("RandomShuffleQueueV2").attr("component_types", component_types.to_vec())
}

/// Adds a gradient to an accumulator, unless it is older than the accumulator's step.
///
/// Op `ResourceAccumulatorApplyGradient`. No outputs.
#[track_caller]
pub fn resource_accumulator_apply_gradient(
    graph: &Graph,
    handle: impl Operand,
    local_step: impl Operand,
    gradient: impl Operand,
) -> OpBuilder {
    graph.op("ResourceAccumulatorApplyGradient").input(handle).input(local_step).input(gradient)
}

/// How many gradients an accumulator holds.
///
/// Op `ResourceAccumulatorNumAccumulated`. Output: `num_accumulated: int32`.
#[track_caller]
pub fn resource_accumulator_num_accumulated(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("ResourceAccumulatorNumAccumulated").input(handle)
}

/// Says which step an accumulator is at.
///
/// Op `ResourceAccumulatorSetGlobalStep`. No outputs.
#[track_caller]
pub fn resource_accumulator_set_global_step(
    graph: &Graph,
    handle: impl Operand,
    new_global_step: impl Operand,
) -> OpBuilder {
    graph.op("ResourceAccumulatorSetGlobalStep").input(handle).input(new_global_step)
}

/// Waits for enough gradients and takes their mean or sum.
///
/// Op `ResourceAccumulatorTakeGradient`. Output: `average`.
#[track_caller]
pub fn resource_accumulator_take_gradient(
    graph: &Graph,
    handle: impl Operand,
    num_required: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph
        .op("ResourceAccumulatorTakeGradient")
        .input(handle)
        .input(num_required)
        .attr("dtype", dtype)
}

/// An accumulator of gradients that knows stale ones.
///
/// Op `ResourceConditionalAccumulator`. Output: `handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `reduction_type: string = "MEAN"`.
#[track_caller]
pub fn resource_conditional_accumulator(
    graph: &Graph,
    dtype: DType,
    shape: PartialShape,
) -> OpBuilder {
    graph.op("ResourceConditionalAccumulator").attr("dtype", dtype).attr("shape", shape)
}

/// Adds rows of a gradient to an accumulator.
///
/// Op `SparseAccumulatorApplyGradient`. No outputs.
#[track_caller]
pub fn sparse_accumulator_apply_gradient(
    graph: &Graph,
    handle: impl Operand,
    local_step: impl Operand,
    gradient_indices: impl Operand,
    gradient_values: impl Operand,
    gradient_shape: impl Operand,
    has_known_shape: bool,
) -> OpBuilder {
    graph
        .op("SparseAccumulatorApplyGradient")
        .input(handle)
        .input(local_step)
        .input(gradient_indices)
        .input(gradient_values)
        .input(gradient_shape)
        .attr("has_known_shape", has_known_shape)
}

/// Waits for enough gradients and takes the mean or sum of their rows.
///
/// Op `SparseAccumulatorTakeGradient`. Outputs: `indices: int64`, `values`, `shape: int64`.
#[track_caller]
pub fn sparse_accumulator_take_gradient(
    graph: &Graph,
    handle: impl Operand,
    num_required: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("SparseAccumulatorTakeGradient").input(handle).input(num_required).attr("dtype", dtype)
}

/// An accumulator of gradients that have only some rows.
///
/// Op `SparseConditionalAccumulator`. Output: `handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `reduction_type: string = "MEAN"`.
#[track_caller]
pub fn sparse_conditional_accumulator(
    graph: &Graph,
    dtype: DType,
    shape: PartialShape,
) -> OpBuilder {
    graph.op("SparseConditionalAccumulator").attr("dtype", dtype).attr("shape", shape)
}

/// A stack of tensors.
///
/// Op `Stack`. Output: `handle: string`.
///
/// Attributes with defaults: `stack_name: string = ""`.
#[track_caller]
pub fn stack(graph: &Graph, elem_type: DType) -> OpBuilder {
    graph.op("Stack").attr("elem_type", elem_type)
}

/// Forgets a stack.
///
/// Op `StackClose`. No outputs.
#[track_caller]
pub fn stack_close(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("StackClose").input(handle)
}

/// Forgets a stack.
///
/// Op `StackCloseV2`. No outputs.
#[track_caller]
pub fn stack_close_v2(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("StackCloseV2").input(handle)
}

/// Takes the top of a stack.
///
/// Op `StackPop`. Output: `elem`.
#[track_caller]
pub fn stack_pop(graph: &Graph, handle: impl Operand, elem_type: DType) -> OpBuilder {
    graph.op("StackPop").input(handle).attr("elem_type", elem_type)
}

/// Takes the top of a stack.
///
/// Op `StackPopV2`. Output: `elem`.
#[track_caller]
pub fn stack_pop_v2(graph: &Graph, handle: impl Operand, elem_type: DType) -> OpBuilder {
    graph.op("StackPopV2").input(handle).attr("elem_type", elem_type)
}

/// Puts a tensor on a stack.
///
/// Op `StackPush`. Output: `output`.
///
/// Attributes with defaults: `swap_memory: bool = false`.
#[track_caller]
pub fn stack_push(graph: &Graph, handle: impl Operand, elem: impl Operand) -> OpBuilder {
    graph.op("StackPush").input(handle).input(elem)
}

/// Puts a tensor on a stack.
///
/// Op `StackPushV2`. Output: `output`.
///
/// Attributes with defaults: `swap_memory: bool = false`.
#[track_caller]
pub fn stack_push_v2(graph: &Graph, handle: impl Operand, elem: impl Operand) -> OpBuilder {
    graph.op("StackPushV2").input(handle).input(elem)
}

/// A stack of tensors.
///
/// Op `StackV2`. Output: `handle: resource`.
///
/// Attributes with defaults: `stack_name: string = ""`.
#[track_caller]
pub fn stack_v2(graph: &Graph, max_size: impl Operand, elem_type: DType) -> OpBuilder {
    graph.op("StackV2").input(max_size).attr("elem_type", elem_type)
}

/// Puts a tuple into a staging area.
///
/// Op `Stage`. No outputs.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn stage(graph: &Graph, values: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("Stage").inputs(values)
}

/// Forgets all tuples of a staging area.
///
/// Op `StageClear`. No outputs.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn stage_clear(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("StageClear").attr("dtypes", dtypes.to_vec())
}

/// A tuple of a staging area, which stays.
///
/// Op `StagePeek`. Output: `values` (a list).
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn stage_peek(graph: &Graph, index: impl Operand, dtypes: &[DType]) -> OpBuilder {
    graph.op("StagePeek").input(index).attr("dtypes", dtypes.to_vec())
}

/// The number of tuples in a staging area.
///
/// Op `StageSize`. Output: `size: int32`.
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn stage_size(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("StageSize").attr("dtypes", dtypes.to_vec())
}

/// An array of tensors, each written once.
///
/// Op `TensorArray`. Output: `handle: string`.
///
/// Attributes with defaults: `dynamic_size: bool = false`, `clear_after_read: bool = true`,
/// `tensor_array_name: string = ""`, `element_shape: shape = <unknown>`.
#[track_caller]
pub fn tensor_array(graph: &Graph, size: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("TensorArray").input(size).attr("dtype", dtype)
}

/// Forgets an array.
///
/// Op `TensorArrayClose`. No outputs.
#[track_caller]
pub fn tensor_array_close(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("TensorArrayClose").input(handle)
}

/// Forgets an array.
///
/// Op `TensorArrayCloseV2`. No outputs.
#[track_caller]
pub fn tensor_array_close_v2(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("TensorArrayCloseV2").input(handle)
}

/// Forgets an array.
///
/// Op `TensorArrayCloseV3`. No outputs.
#[track_caller]
pub fn tensor_array_close_v3(graph: &Graph, handle: impl Operand) -> OpBuilder {
    graph.op("TensorArrayCloseV3").input(handle)
}

/// The elements of an array, joined along their first axis.
///
/// Op `TensorArrayConcat`. Outputs: `value`, `lengths: int64`.
///
/// Attributes with defaults: `element_shape_except0: shape = <unknown>`.
#[track_caller]
pub fn tensor_array_concat(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayConcat").input(handle).input(flow_in).attr("dtype", dtype)
}

/// The elements of an array, joined along their first axis.
///
/// Op `TensorArrayConcatV2`. Outputs: `value`, `lengths: int64`.
///
/// Attributes with defaults: `element_shape_except0: shape = <unknown>`.
#[track_caller]
pub fn tensor_array_concat_v2(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayConcatV2").input(handle).input(flow_in).attr("dtype", dtype)
}

/// The elements of an array, joined along their first axis.
///
/// Op `TensorArrayConcatV3`. Outputs: `value`, `lengths: int64`.
///
/// Attributes with defaults: `element_shape_except0: shape = <unknown>`.
#[track_caller]
pub fn tensor_array_concat_v3(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayConcatV3").input(handle).input(flow_in).attr("dtype", dtype)
}

/// Some elements of an array, stacked.
///
/// Op `TensorArrayGather`. Output: `value`.
///
/// Attributes with defaults: `element_shape: shape = <unknown>`.
#[track_caller]
pub fn tensor_array_gather(
    graph: &Graph,
    handle: impl Operand,
    indices: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayGather").input(handle).input(indices).input(flow_in).attr("dtype", dtype)
}

/// Some elements of an array, stacked.
///
/// Op `TensorArrayGatherV2`. Output: `value`.
///
/// Attributes with defaults: `element_shape: shape = <unknown>`.
#[track_caller]
pub fn tensor_array_gather_v2(
    graph: &Graph,
    handle: impl Operand,
    indices: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayGatherV2").input(handle).input(indices).input(flow_in).attr("dtype", dtype)
}

/// Some elements of an array, stacked.
///
/// Op `TensorArrayGatherV3`. Output: `value`.
///
/// Attributes with defaults: `element_shape: shape = <unknown>`.
#[track_caller]
pub fn tensor_array_gather_v3(
    graph: &Graph,
    handle: impl Operand,
    indices: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayGatherV3").input(handle).input(indices).input(flow_in).attr("dtype", dtype)
}

/// The array of gradients beside an array.
///
/// Op `TensorArrayGrad`. Output: `grad_handle: string`.
#[track_caller]
pub fn tensor_array_grad(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
    source: &str,
) -> OpBuilder {
    graph.op("TensorArrayGrad").input(handle).input(flow_in).attr("source", source)
}

/// The array of gradients beside an array.
///
/// Op `TensorArrayGradV2`. Output: `grad_handle: string`.
#[track_caller]
pub fn tensor_array_grad_v2(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
    source: &str,
) -> OpBuilder {
    graph.op("TensorArrayGradV2").input(handle).input(flow_in).attr("source", source)
}

/// The array of gradients beside an array.
///
/// Op `TensorArrayGradV3`. Outputs: `grad_handle: resource`, `flow_out: float`.
#[track_caller]
pub fn tensor_array_grad_v3(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
    source: &str,
) -> OpBuilder {
    graph.op("TensorArrayGradV3").input(handle).input(flow_in).attr("source", source)
}

/// The array of gradients beside an array.
///
/// Op `TensorArrayGradWithShape`. Outputs: `grad_handle: resource`, `flow_out: float`.
#[track_caller]
pub fn tensor_array_grad_with_shape(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
    shape_to_prepend: impl Operand,
    source: &str,
) -> OpBuilder {
    graph
        .op("TensorArrayGradWithShape")
        .input(handle)
        .input(flow_in)
        .input(shape_to_prepend)
        .attr("source", source)
}

/// All elements of an array, stacked.
///
/// Op `TensorArrayPack`. Output: `value`.
///
/// Attributes with defaults: `element_shape: shape = <unknown>`.
#[track_caller]
pub fn tensor_array_pack(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayPack").input(handle).input(flow_in).attr("dtype", dtype)
}

/// An element of an array.
///
/// Op `TensorArrayRead`. Output: `value`.
#[track_caller]
pub fn tensor_array_read(
    graph: &Graph,
    handle: impl Operand,
    index: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayRead").input(handle).input(index).input(flow_in).attr("dtype", dtype)
}

/// An element of an array.
///
/// Op `TensorArrayReadV2`. Output: `value`.
#[track_caller]
pub fn tensor_array_read_v2(
    graph: &Graph,
    handle: impl Operand,
    index: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayReadV2").input(handle).input(index).input(flow_in).attr("dtype", dtype)
}

/// An element of an array.
///
/// Op `TensorArrayReadV3`. Output: `value`.
#[track_caller]
pub fn tensor_array_read_v3(
    graph: &Graph,
    handle: impl Operand,
    index: impl Operand,
    flow_in: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TensorArrayReadV3").input(handle).input(index).input(flow_in).attr("dtype", dtype)
}

/// Writes slices of a tensor to some places of an array.
///
/// Op `TensorArrayScatter`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_scatter(
    graph: &Graph,
    handle: impl Operand,
    indices: impl Operand,
    value: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArrayScatter").input(handle).input(indices).input(value).input(flow_in)
}

/// Writes slices of a tensor to some places of an array.
///
/// Op `TensorArrayScatterV2`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_scatter_v2(
    graph: &Graph,
    handle: impl Operand,
    indices: impl Operand,
    value: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArrayScatterV2").input(handle).input(indices).input(value).input(flow_in)
}

/// Writes slices of a tensor to some places of an array.
///
/// Op `TensorArrayScatterV3`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_scatter_v3(
    graph: &Graph,
    handle: impl Operand,
    indices: impl Operand,
    value: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArrayScatterV3").input(handle).input(indices).input(value).input(flow_in)
}

/// The number of places in an array.
///
/// Op `TensorArraySize`. Output: `size: int32`.
#[track_caller]
pub fn tensor_array_size(graph: &Graph, handle: impl Operand, flow_in: impl Operand) -> OpBuilder {
    graph.op("TensorArraySize").input(handle).input(flow_in)
}

/// The number of places in an array.
///
/// Op `TensorArraySizeV2`. Output: `size: int32`.
#[track_caller]
pub fn tensor_array_size_v2(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArraySizeV2").input(handle).input(flow_in)
}

/// The number of places in an array.
///
/// Op `TensorArraySizeV3`. Output: `size: int32`.
#[track_caller]
pub fn tensor_array_size_v3(
    graph: &Graph,
    handle: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArraySizeV3").input(handle).input(flow_in)
}

/// Writes parts of a tensor to an array.
///
/// Op `TensorArraySplit`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_split(
    graph: &Graph,
    handle: impl Operand,
    value: impl Operand,
    lengths: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArraySplit").input(handle).input(value).input(lengths).input(flow_in)
}

/// Writes parts of a tensor to an array.
///
/// Op `TensorArraySplitV2`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_split_v2(
    graph: &Graph,
    handle: impl Operand,
    value: impl Operand,
    lengths: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArraySplitV2").input(handle).input(value).input(lengths).input(flow_in)
}

/// Writes parts of a tensor to an array.
///
/// Op `TensorArraySplitV3`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_split_v3(
    graph: &Graph,
    handle: impl Operand,
    value: impl Operand,
    lengths: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArraySplitV3").input(handle).input(value).input(lengths).input(flow_in)
}

/// Writes the slices of a tensor to an array.
///
/// Op `TensorArrayUnpack`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_unpack(
    graph: &Graph,
    handle: impl Operand,
    value: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArrayUnpack").input(handle).input(value).input(flow_in)
}

/// An array of tensors, each written once.
///
/// Op `TensorArrayV2`. Output: `handle: string`.
///
/// Attributes with defaults: `element_shape: shape = <unknown>`, `dynamic_size: bool = false`,
/// `clear_after_read: bool = true`, `tensor_array_name: string = ""`.
#[track_caller]
pub fn tensor_array_v2(graph: &Graph, size: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("TensorArrayV2").input(size).attr("dtype", dtype)
}

/// An array of tensors, each written once.
///
/// Op `TensorArrayV3`. Outputs: `handle: resource`, `flow: float`.
///
/// Attributes with defaults: `element_shape: shape = <unknown>`, `dynamic_size: bool = false`,
/// `clear_after_read: bool = true`, `identical_element_shapes: bool = false`,
/// `tensor_array_name: string = ""`.
#[track_caller]
pub fn tensor_array_v3(graph: &Graph, size: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("TensorArrayV3").input(size).attr("dtype", dtype)
}

/// Writes an element of an array.
///
/// Op `TensorArrayWrite`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_write(
    graph: &Graph,
    handle: impl Operand,
    index: impl Operand,
    value: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArrayWrite").input(handle).input(index).input(value).input(flow_in)
}

/// Writes an element of an array.
///
/// Op `TensorArrayWriteV2`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_write_v2(
    graph: &Graph,
    handle: impl Operand,
    index: impl Operand,
    value: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArrayWriteV2").input(handle).input(index).input(value).input(flow_in)
}

/// Writes an element of an array.
///
/// Op `TensorArrayWriteV3`. Output: `flow_out: float`.
#[track_caller]
pub fn tensor_array_write_v3(
    graph: &Graph,
    handle: impl Operand,
    index: impl Operand,
    value: impl Operand,
    flow_in: impl Operand,
) -> OpBuilder {
    graph.op("TensorArrayWriteV3").input(handle).input(index).input(value).input(flow_in)
}

/// Takes a tuple out of a staging area, and waits if there is none.
///
/// Op `Unstage`. Output: `values` (a list).
///
/// Attributes with defaults: `capacity: int = 0`, `memory_limit: int = 0`,
/// `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn unstage(graph: &Graph, dtypes: &[DType]) -> OpBuilder {
    graph.op("Unstage").attr("dtypes", dtypes.to_vec())
}
