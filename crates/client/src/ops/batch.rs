//! Ops of the family `batch`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Puts the inputs of several steps one after the other, for one of them to compute.
///
/// Op `Batch`. Outputs: `batched_tensors` (a list), `batch_index: int64`, `id: int64`.
///
/// Attributes with defaults: `max_enqueued_batches: int = 10`,
/// `allowed_batch_sizes: list(int) = []`, `container: string = ""`, `shared_name: string = ""`,
/// `batching_queue: string = ""`.
#[track_caller]
pub fn batch(
    graph: &Graph,
    in_tensors: impl IntoIterator<Item = impl Operand>,
    num_batch_threads: i64,
    max_batch_size: i64,
    batch_timeout_micros: i64,
    grad_timeout_micros: i64,
) -> OpBuilder {
    graph
        .op("Batch")
        .inputs(in_tensors)
        .attr("num_batch_threads", num_batch_threads)
        .attr("max_batch_size", max_batch_size)
        .attr("batch_timeout_micros", batch_timeout_micros)
        .attr("grad_timeout_micros", grad_timeout_micros)
}

/// Calls a function once for the inputs of several steps.
///
/// Op `BatchFunction`. Output: `out_tensors` (a list).
///
/// Attributes with defaults: `max_enqueued_batches: int = 10`,
/// `allowed_batch_sizes: list(int) = []`, `container: string = ""`, `shared_name: string = ""`,
/// `batching_queue: string = ""`, `low_priority_max_batch_size: int = 0`,
/// `low_priority_batch_timeout_micros: int = 0`,
/// `low_priority_allowed_batch_sizes: list(int) = []`,
/// `low_priority_max_enqueued_batches: int = 0`,
/// `mixed_priority_policy: string = "low_priority_padding_with_max_batch_size"`,
/// `batch_padding_policy: string = "PAD_UP"`, `enable_large_batch_splitting: bool = false`.
#[track_caller]
pub fn batch_function(
    graph: &Graph,
    in_tensors: impl IntoIterator<Item = impl Operand>,
    captured_tensors: impl IntoIterator<Item = impl Operand>,
    f: Func,
    num_batch_threads: i64,
    max_batch_size: i64,
    batch_timeout_micros: i64,
    tout: &[DType],
) -> OpBuilder {
    graph
        .op("BatchFunction")
        .inputs(in_tensors)
        .inputs(captured_tensors)
        .attr("f", f)
        .attr("num_batch_threads", num_batch_threads)
        .attr("max_batch_size", max_batch_size)
        .attr("batch_timeout_micros", batch_timeout_micros)
        .attr("Tout", tout.to_vec())
}

/// Gives every step its rows of a batch.
///
/// Op `Unbatch`. Output: `unbatched_tensor`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn unbatch(
    graph: &Graph,
    batched_tensor: impl Operand,
    batch_index: impl Operand,
    id: impl Operand,
    timeout_micros: i64,
) -> OpBuilder {
    graph
        .op("Unbatch")
        .input(batched_tensor)
        .input(batch_index)
        .input(id)
        .attr("timeout_micros", timeout_micros)
}

/// Puts the gradients of the parts of a batch together again.
///
/// Op `UnbatchGrad`. Output: `batched_grad`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn unbatch_grad(
    graph: &Graph,
    original_input: impl Operand,
    batch_index: impl Operand,
    grad: impl Operand,
    id: impl Operand,
) -> OpBuilder {
    graph.op("UnbatchGrad").input(original_input).input(batch_index).input(grad).input(id)
}
