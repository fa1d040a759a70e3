//! Ops of the family `sparse`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Puts the rows of a sparse tensor into a map on the server and returns their handles.
///
/// Op `AddManySparseToTensorsMap`. Output: `sparse_handles: int64`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn add_many_sparse_to_tensors_map(
    graph: &Graph,
    sparse_indices: impl Operand,
    sparse_values: impl Operand,
    sparse_shape: impl Operand,
) -> OpBuilder {
    graph
        .op("AddManySparseToTensorsMap")
        .input(sparse_indices)
        .input(sparse_values)
        .input(sparse_shape)
}

/// Puts a sparse tensor into a map on the server and returns its handle.
///
/// Op `AddSparseToTensorsMap`. Output: `sparse_handle: int64`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn add_sparse_to_tensors_map(
    graph: &Graph,
    sparse_indices: impl Operand,
    sparse_values: impl Operand,
    sparse_shape: impl Operand,
) -> OpBuilder {
    graph.op("AddSparseToTensorsMap").input(sparse_indices).input(sparse_values).input(sparse_shape)
}

/// How often each number comes in each row, as a sparse tensor.
///
/// Op `DenseCountSparseOutput`. Outputs: `output_indices: int64`, `output_values`,
/// `output_dense_shape: int64`.
///
/// Attributes with defaults: `minlength: int = -1`, `maxlength: int = -1`.
#[track_caller]
pub fn dense_count_sparse_output(
    graph: &Graph,
    values: impl Operand,
    weights: impl Operand,
    binary_output: bool,
) -> OpBuilder {
    graph
        .op("DenseCountSparseOutput")
        .input(values)
        .input(weights)
        .attr("binary_output", binary_output)
}

/// Union, intersection or difference of the sets that rows are.
///
/// Op `DenseToDenseSetOperation`. Outputs: `result_indices: int64`, `result_values`,
/// `result_shape: int64`.
///
/// Attributes with defaults: `validate_indices: bool = true`.
#[track_caller]
pub fn dense_to_dense_set_operation(
    graph: &Graph,
    set1: impl Operand,
    set2: impl Operand,
    set_operation: &str,
) -> OpBuilder {
    graph
        .op("DenseToDenseSetOperation")
        .input(set1)
        .input(set2)
        .attr("set_operation", set_operation)
}

/// Union, intersection or difference of the sets that rows are.
///
/// Op `DenseToSparseSetOperation`. Outputs: `result_indices: int64`, `result_values`,
/// `result_shape: int64`.
///
/// Attributes with defaults: `validate_indices: bool = true`.
#[track_caller]
pub fn dense_to_sparse_set_operation(
    graph: &Graph,
    set1: impl Operand,
    set2_indices: impl Operand,
    set2_values: impl Operand,
    set2_shape: impl Operand,
    set_operation: &str,
) -> OpBuilder {
    graph
        .op("DenseToSparseSetOperation")
        .input(set1)
        .input(set2_indices)
        .input(set2_values)
        .input(set2_shape)
        .attr("set_operation", set_operation)
}

/// Sparse tensors from their serialized form, joined into one.
///
/// Op `DeserializeManySparse`. Outputs: `sparse_indices: int64`, `sparse_values`,
/// `sparse_shape: int64`.
#[track_caller]
pub fn deserialize_many_sparse(
    graph: &Graph,
    serialized_sparse: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("DeserializeManySparse").input(serialized_sparse).attr("dtype", dtype)
}

/// Sparse tensors from their serialized form, joined into one.
///
/// Op `DeserializeSparse`. Outputs: `sparse_indices: int64`, `sparse_values`,
/// `sparse_shape: int64`.
#[track_caller]
pub fn deserialize_sparse(
    graph: &Graph,
    serialized_sparse: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("DeserializeSparse").input(serialized_sparse).attr("dtype", dtype)
}

/// How often each number comes in each row.
///
/// Op `RaggedBincount`. Output: `output`.
///
/// Attributes with defaults: `binary_output: bool = false`.
#[track_caller]
pub fn ragged_bincount(
    graph: &Graph,
    splits: impl Operand,
    values: impl Operand,
    size: impl Operand,
    weights: impl Operand,
) -> OpBuilder {
    graph.op("RaggedBincount").input(splits).input(values).input(size).input(weights)
}

/// How often each number comes in each row, as a sparse tensor.
///
/// Op `RaggedCountSparseOutput`. Outputs: `output_indices: int64`, `output_values`,
/// `output_dense_shape: int64`.
///
/// Attributes with defaults: `minlength: int = -1`, `maxlength: int = -1`.
#[track_caller]
pub fn ragged_count_sparse_output(
    graph: &Graph,
    splits: impl Operand,
    values: impl Operand,
    weights: impl Operand,
    binary_output: bool,
) -> OpBuilder {
    graph
        .op("RaggedCountSparseOutput")
        .input(splits)
        .input(values)
        .input(weights)
        .attr("binary_output", binary_output)
}

/// Crossed features of ragged, sparse and dense columns.
///
/// Op `RaggedCross`. Outputs: `output_values`, `output_row_splits`.
#[track_caller]
pub fn ragged_cross(
    graph: &Graph,
    ragged_values: impl IntoIterator<Item = impl Operand>,
    ragged_row_splits: impl IntoIterator<Item = impl Operand>,
    sparse_indices: impl IntoIterator<Item = impl Operand>,
    sparse_values: impl IntoIterator<Item = impl Operand>,
    sparse_shape: impl IntoIterator<Item = impl Operand>,
    dense_inputs: impl IntoIterator<Item = impl Operand>,
    input_order: &str,
    hashed_output: bool,
    num_buckets: i64,
    hash_key: i64,
    out_values_type: DType,
    out_row_splits_type: DType,
) -> OpBuilder {
    graph
        .op("RaggedCross")
        .inputs(ragged_values)
        .inputs(ragged_row_splits)
        .inputs(sparse_indices)
        .inputs(sparse_values)
        .inputs(sparse_shape)
        .inputs(dense_inputs)
        .attr("input_order", input_order)
        .attr("hashed_output", hashed_output)
        .attr("num_buckets", num_buckets)
        .attr("hash_key", hash_key)
        .attr("out_values_type", out_values_type)
        .attr("out_row_splits_type", out_row_splits_type)
}

/// The tensor with a default value in every row that has none.
///
/// Op `RaggedFillEmptyRows`. Outputs: `output_value_rowids: int64`, `output_values`,
/// `empty_row_indicator: bool`, `reverse_index_map: int64`.
#[track_caller]
pub fn ragged_fill_empty_rows(
    graph: &Graph,
    value_rowids: impl Operand,
    values: impl Operand,
    nrows: impl Operand,
    default_value: impl Operand,
) -> OpBuilder {
    graph
        .op("RaggedFillEmptyRows")
        .input(value_rowids)
        .input(values)
        .input(nrows)
        .input(default_value)
}

/// The gradient of filling empty rows.
///
/// Op `RaggedFillEmptyRowsGrad`. Outputs: `d_values`, `d_default_value`.
#[track_caller]
pub fn ragged_fill_empty_rows_grad(
    graph: &Graph,
    reverse_index_map: impl Operand,
    grad_values: impl Operand,
) -> OpBuilder {
    graph.op("RaggedFillEmptyRowsGrad").input(reverse_index_map).input(grad_values)
}

/// Rows of a ragged tensor, picked by index.
///
/// Op `RaggedGather`. Outputs: `output_nested_splits` (a list), `output_dense_values`.
#[track_caller]
pub fn ragged_gather(
    graph: &Graph,
    params_nested_splits: impl IntoIterator<Item = impl Operand>,
    params_dense_values: impl Operand,
    indices: impl Operand,
    output_ragged_rank: i64,
) -> OpBuilder {
    graph
        .op("RaggedGather")
        .inputs(params_nested_splits)
        .input(params_dense_values)
        .input(indices)
        .attr("OUTPUT_RAGGED_RANK", output_ragged_rank)
}

/// A ragged row of numbers for each start, limit and step.
///
/// Op `RaggedRange`. Outputs: `rt_nested_splits`, `rt_dense_values`.
///
/// Attributes with defaults: `Tsplits: type = DT_INT64`.
#[track_caller]
pub fn ragged_range(
    graph: &Graph,
    starts: impl Operand,
    limits: impl Operand,
    deltas: impl Operand,
) -> OpBuilder {
    graph.op("RaggedRange").input(starts).input(limits).input(deltas)
}

/// A ragged tensor from its encoding as variants.
///
/// Op `RaggedTensorFromVariant`. Outputs: `output_nested_splits` (a list), `output_dense_values`.
///
/// Attributes with defaults: `Tsplits: type = DT_INT64`.
#[track_caller]
pub fn ragged_tensor_from_variant(
    graph: &Graph,
    encoded_ragged: impl Operand,
    input_ragged_rank: i64,
    output_ragged_rank: i64,
    tvalues: DType,
) -> OpBuilder {
    graph
        .op("RaggedTensorFromVariant")
        .input(encoded_ragged)
        .attr("input_ragged_rank", input_ragged_rank)
        .attr("output_ragged_rank", output_ragged_rank)
        .attr("Tvalues", tvalues)
}

/// A ragged tensor as a sparse one.
///
/// Op `RaggedTensorToSparse`. Outputs: `sparse_indices: int64`, `sparse_values`,
/// `sparse_dense_shape: int64`.
#[track_caller]
pub fn ragged_tensor_to_sparse(
    graph: &Graph,
    rt_nested_splits: impl IntoIterator<Item = impl Operand>,
    rt_dense_values: impl Operand,
) -> OpBuilder {
    graph.op("RaggedTensorToSparse").inputs(rt_nested_splits).input(rt_dense_values)
}

/// A ragged tensor with rows filled up to one length.
///
/// Op `RaggedTensorToTensor`. Output: `result`.
#[track_caller]
pub fn ragged_tensor_to_tensor(
    graph: &Graph,
    shape: impl Operand,
    values: impl Operand,
    default_value: impl Operand,
    row_partition_tensors: impl IntoIterator<Item = impl Operand>,
    row_partition_types: &[&str],
) -> OpBuilder {
    graph
        .op("RaggedTensorToTensor")
        .input(shape)
        .input(values)
        .input(default_value)
        .inputs(row_partition_tensors)
        .attr("row_partition_types", strings(row_partition_types))
}

/// A ragged tensor encoded as variants, one for each row if batched.
///
/// Op `RaggedTensorToVariant`. Output: `encoded_ragged: variant`.
#[track_caller]
pub fn ragged_tensor_to_variant(
    graph: &Graph,
    rt_nested_splits: impl IntoIterator<Item = impl Operand>,
    rt_dense_values: impl Operand,
    batched_input: bool,
) -> OpBuilder {
    graph
        .op("RaggedTensorToVariant")
        .inputs(rt_nested_splits)
        .input(rt_dense_values)
        .attr("batched_input", batched_input)
}

/// The gradient of encoding a ragged tensor as variants.
///
/// Op `RaggedTensorToVariantGradient`. Output: `dense_values_grad`.
#[track_caller]
pub fn ragged_tensor_to_variant_gradient(
    graph: &Graph,
    encoded_ragged_grad: impl Operand,
    row_splits: impl Operand,
    dense_values_shape: impl Operand,
    tvalues: DType,
) -> OpBuilder {
    graph
        .op("RaggedTensorToVariantGradient")
        .input(encoded_ragged_grad)
        .input(row_splits)
        .input(dense_values_shape)
        .attr("Tvalues", tvalues)
}

/// The greatest element of each segment of rows.
///
/// Op `SegmentMax`. Output: `output`.
#[track_caller]
pub fn segment_max(graph: &Graph, data: impl Operand, segment_ids: impl Operand) -> OpBuilder {
    graph.op("SegmentMax").input(data).input(segment_ids)
}

/// The mean of each segment of rows.
///
/// Op `SegmentMean`. Output: `output`.
#[track_caller]
pub fn segment_mean(graph: &Graph, data: impl Operand, segment_ids: impl Operand) -> OpBuilder {
    graph.op("SegmentMean").input(data).input(segment_ids)
}

/// The least element of each segment of rows.
///
/// Op `SegmentMin`. Output: `output`.
#[track_caller]
pub fn segment_min(graph: &Graph, data: impl Operand, segment_ids: impl Operand) -> OpBuilder {
    graph.op("SegmentMin").input(data).input(segment_ids)
}

/// The product of each segment of rows.
///
/// Op `SegmentProd`. Output: `output`.
#[track_caller]
pub fn segment_prod(graph: &Graph, data: impl Operand, segment_ids: impl Operand) -> OpBuilder {
    graph.op("SegmentProd").input(data).input(segment_ids)
}

/// The sum of each segment of rows.
///
/// Op `SegmentSum`. Output: `output`.
#[track_caller]
pub fn segment_sum(graph: &Graph, data: impl Operand, segment_ids: impl Operand) -> OpBuilder {
    graph.op("SegmentSum").input(data).input(segment_ids)
}

/// Each row of a sparse tensor in serialized form.
///
/// Op `SerializeManySparse`. Output: `serialized_sparse`.
///
/// Attributes with defaults: `out_type: type = DT_STRING`.
#[track_caller]
pub fn serialize_many_sparse(
    graph: &Graph,
    sparse_indices: impl Operand,
    sparse_values: impl Operand,
    sparse_shape: impl Operand,
) -> OpBuilder {
    graph.op("SerializeManySparse").input(sparse_indices).input(sparse_values).input(sparse_shape)
}

/// A sparse tensor in serialized form.
///
/// Op `SerializeSparse`. Output: `serialized_sparse`.
///
/// Attributes with defaults: `out_type: type = DT_STRING`.
#[track_caller]
pub fn serialize_sparse(
    graph: &Graph,
    sparse_indices: impl Operand,
    sparse_values: impl Operand,
    sparse_shape: impl Operand,
) -> OpBuilder {
    graph.op("SerializeSparse").input(sparse_indices).input(sparse_values).input(sparse_shape)
}

/// The number of different elements in each row.
///
/// Op `SetSize`. Output: `size: int32`.
///
/// Attributes with defaults: `validate_indices: bool = true`.
#[track_caller]
pub fn set_size(
    graph: &Graph,
    set_indices: impl Operand,
    set_values: impl Operand,
    set_shape: impl Operand,
) -> OpBuilder {
    graph.op("SetSize").input(set_indices).input(set_values).input(set_shape)
}

/// The sum of two sparse tensors, without what becomes too small.
///
/// Op `SparseAdd`. Outputs: `sum_indices: int64`, `sum_values`, `sum_shape: int64`.
#[track_caller]
pub fn sparse_add(
    graph: &Graph,
    a_indices: impl Operand,
    a_values: impl Operand,
    a_shape: impl Operand,
    b_indices: impl Operand,
    b_values: impl Operand,
    b_shape: impl Operand,
    thresh: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseAdd")
        .input(a_indices)
        .input(a_values)
        .input(a_shape)
        .input(b_indices)
        .input(b_values)
        .input(b_shape)
        .input(thresh)
}

/// The gradient of the sum of two sparse tensors.
///
/// Op `SparseAddGrad`. Outputs: `a_val_grad`, `b_val_grad`.
#[track_caller]
pub fn sparse_add_grad(
    graph: &Graph,
    backprop_val_grad: impl Operand,
    a_indices: impl Operand,
    b_indices: impl Operand,
    sum_indices: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseAddGrad")
        .input(backprop_val_grad)
        .input(a_indices)
        .input(b_indices)
        .input(sum_indices)
}

/// How often each number comes in each row.
///
/// Op `SparseBincount`. Output: `output`.
///
/// Attributes with defaults: `binary_output: bool = false`.
#[track_caller]
pub fn sparse_bincount(
    graph: &Graph,
    indices: impl Operand,
    values: impl Operand,
    dense_shape: impl Operand,
    size: impl Operand,
    weights: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseBincount")
        .input(indices)
        .input(values)
        .input(dense_shape)
        .input(size)
        .input(weights)
}

/// Sparse tensors joined along an axis.
///
/// Op `SparseConcat`. Outputs: `output_indices: int64`, `output_values`, `output_shape: int64`.
#[track_caller]
pub fn sparse_concat(
    graph: &Graph,
    indices: impl IntoIterator<Item = impl Operand>,
    values: impl IntoIterator<Item = impl Operand>,
    shapes: impl IntoIterator<Item = impl Operand>,
    concat_dim: i64,
) -> OpBuilder {
    graph
        .op("SparseConcat")
        .inputs(indices)
        .inputs(values)
        .inputs(shapes)
        .attr("concat_dim", concat_dim)
}

/// How often each number comes in each row, as a sparse tensor.
///
/// Op `SparseCountSparseOutput`. Outputs: `output_indices: int64`, `output_values`,
/// `output_dense_shape: int64`.
///
/// Attributes with defaults: `minlength: int = -1`, `maxlength: int = -1`.
#[track_caller]
pub fn sparse_count_sparse_output(
    graph: &Graph,
    indices: impl Operand,
    values: impl Operand,
    dense_shape: impl Operand,
    weights: impl Operand,
    binary_output: bool,
) -> OpBuilder {
    graph
        .op("SparseCountSparseOutput")
        .input(indices)
        .input(values)
        .input(dense_shape)
        .input(weights)
        .attr("binary_output", binary_output)
}

/// Crossed features of sparse and dense columns.
///
/// Op `SparseCross`. Outputs: `output_indices: int64`, `output_values`, `output_shape: int64`.
#[track_caller]
pub fn sparse_cross(
    graph: &Graph,
    indices: impl IntoIterator<Item = impl Operand>,
    values: impl IntoIterator<Item = impl Operand>,
    shapes: impl IntoIterator<Item = impl Operand>,
    dense_inputs: impl IntoIterator<Item = impl Operand>,
    hashed_output: bool,
    num_buckets: i64,
    hash_key: i64,
    out_type: DType,
    internal_type: DType,
) -> OpBuilder {
    graph
        .op("SparseCross")
        .inputs(indices)
        .inputs(values)
        .inputs(shapes)
        .inputs(dense_inputs)
        .attr("hashed_output", hashed_output)
        .attr("num_buckets", num_buckets)
        .attr("hash_key", hash_key)
        .attr("out_type", out_type)
        .attr("internal_type", internal_type)
}

/// Crossed features of sparse and dense columns.
///
/// Op `SparseCrossHashed`. Outputs: `output_indices: int64`, `output_values: int64`,
/// `output_shape: int64`.
#[track_caller]
pub fn sparse_cross_hashed(
    graph: &Graph,
    indices: impl IntoIterator<Item = impl Operand>,
    values: impl IntoIterator<Item = impl Operand>,
    shapes: impl IntoIterator<Item = impl Operand>,
    dense_inputs: impl IntoIterator<Item = impl Operand>,
    num_buckets: impl Operand,
    strong_hash: impl Operand,
    salt: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseCrossHashed")
        .inputs(indices)
        .inputs(values)
        .inputs(shapes)
        .inputs(dense_inputs)
        .input(num_buckets)
        .input(strong_hash)
        .input(salt)
}

/// Crossed features of sparse and dense columns.
///
/// Op `SparseCrossV2`. Outputs: `output_indices: int64`, `output_values: string`,
/// `output_shape: int64`.
#[track_caller]
pub fn sparse_cross_v2(
    graph: &Graph,
    indices: impl IntoIterator<Item = impl Operand>,
    values: impl IntoIterator<Item = impl Operand>,
    shapes: impl IntoIterator<Item = impl Operand>,
    dense_inputs: impl IntoIterator<Item = impl Operand>,
    sep: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseCrossV2")
        .inputs(indices)
        .inputs(values)
        .inputs(shapes)
        .inputs(dense_inputs)
        .input(sep)
}

/// The elements of a sparse tensor plus those of a dense one in the same places.
///
/// Op `SparseDenseCwiseAdd`. Output: `output`.
#[track_caller]
pub fn sparse_dense_cwise_add(
    graph: &Graph,
    sp_indices: impl Operand,
    sp_values: impl Operand,
    sp_shape: impl Operand,
    dense: impl Operand,
) -> OpBuilder {
    graph.op("SparseDenseCwiseAdd").input(sp_indices).input(sp_values).input(sp_shape).input(dense)
}

/// The elements of a sparse tensor divided by those of a dense one in the same places.
///
/// Op `SparseDenseCwiseDiv`. Output: `output`.
#[track_caller]
pub fn sparse_dense_cwise_div(
    graph: &Graph,
    sp_indices: impl Operand,
    sp_values: impl Operand,
    sp_shape: impl Operand,
    dense: impl Operand,
) -> OpBuilder {
    graph.op("SparseDenseCwiseDiv").input(sp_indices).input(sp_values).input(sp_shape).input(dense)
}

/// The elements of a sparse tensor times those of a dense one in the same places.
///
/// Op `SparseDenseCwiseMul`. Output: `output`.
#[track_caller]
pub fn sparse_dense_cwise_mul(
    graph: &Graph,
    sp_indices: impl Operand,
    sp_values: impl Operand,
    sp_shape: impl Operand,
    dense: impl Operand,
) -> OpBuilder {
    graph.op("SparseDenseCwiseMul").input(sp_indices).input(sp_values).input(sp_shape).input(dense)
}

/// The tensor with a default value in every row that has none.
///
/// Op `SparseFillEmptyRows`. Outputs: `output_indices: int64`, `output_values`,
/// `empty_row_indicator: bool`, `reverse_index_map: int64`.
#[track_caller]
pub fn sparse_fill_empty_rows(
    graph: &Graph,
    indices: impl Operand,
    values: impl Operand,
    dense_shape: impl Operand,
    default_value: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseFillEmptyRows")
        .input(indices)
        .input(values)
        .input(dense_shape)
        .input(default_value)
}

/// The gradient of filling empty rows.
///
/// Op `SparseFillEmptyRowsGrad`. Outputs: `d_values`, `d_default_value`.
#[track_caller]
pub fn sparse_fill_empty_rows_grad(
    graph: &Graph,
    reverse_index_map: impl Operand,
    grad_values: impl Operand,
) -> OpBuilder {
    graph.op("SparseFillEmptyRowsGrad").input(reverse_index_map).input(grad_values)
}

/// The greatest element of a sparse tensor along some axes.
///
/// Op `SparseReduceMax`. Output: `output`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn sparse_reduce_max(
    graph: &Graph,
    input_indices: impl Operand,
    input_values: impl Operand,
    input_shape: impl Operand,
    reduction_axes: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseReduceMax")
        .input(input_indices)
        .input(input_values)
        .input(input_shape)
        .input(reduction_axes)
}

/// The greatest element of a sparse tensor along some axes.
///
/// Op `SparseReduceMaxSparse`. Outputs: `output_indices: int64`, `output_values`,
/// `output_shape: int64`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn sparse_reduce_max_sparse(
    graph: &Graph,
    input_indices: impl Operand,
    input_values: impl Operand,
    input_shape: impl Operand,
    reduction_axes: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseReduceMaxSparse")
        .input(input_indices)
        .input(input_values)
        .input(input_shape)
        .input(reduction_axes)
}

/// The sum of a sparse tensor along some axes.
///
/// Op `SparseReduceSum`. Output: `output`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn sparse_reduce_sum(
    graph: &Graph,
    input_indices: impl Operand,
    input_values: impl Operand,
    input_shape: impl Operand,
    reduction_axes: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseReduceSum")
        .input(input_indices)
        .input(input_values)
        .input(input_shape)
        .input(reduction_axes)
}

/// The sum of a sparse tensor along some axes.
///
/// Op `SparseReduceSumSparse`. Outputs: `output_indices: int64`, `output_values`,
/// `output_shape: int64`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn sparse_reduce_sum_sparse(
    graph: &Graph,
    input_indices: impl Operand,
    input_values: impl Operand,
    input_shape: impl Operand,
    reduction_axes: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseReduceSumSparse")
        .input(input_indices)
        .input(input_values)
        .input(input_shape)
        .input(reduction_axes)
}

/// A sparse tensor with its elements in row-major order.
///
/// Op `SparseReorder`. Outputs: `output_indices: int64`, `output_values`.
#[track_caller]
pub fn sparse_reorder(
    graph: &Graph,
    input_indices: impl Operand,
    input_values: impl Operand,
    input_shape: impl Operand,
) -> OpBuilder {
    graph.op("SparseReorder").input(input_indices).input(input_values).input(input_shape)
}

/// The indices of a sparse tensor in another shape.
///
/// Op `SparseReshape`. Outputs: `output_indices: int64`, `output_shape: int64`.
#[track_caller]
pub fn sparse_reshape(
    graph: &Graph,
    input_indices: impl Operand,
    input_shape: impl Operand,
    new_shape: impl Operand,
) -> OpBuilder {
    graph.op("SparseReshape").input(input_indices).input(input_shape).input(new_shape)
}

/// The mean of rows picked by index, for each segment.
///
/// Op `SparseSegmentMean`. Output: `output`.
///
/// Attributes with defaults: `sparse_gradient: bool = false`.
#[track_caller]
pub fn sparse_segment_mean(
    graph: &Graph,
    data: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
) -> OpBuilder {
    graph.op("SparseSegmentMean").input(data).input(indices).input(segment_ids)
}

/// The gradient of the means of picked rows.
///
/// Op `SparseSegmentMeanGrad`. Output: `output`.
#[track_caller]
pub fn sparse_segment_mean_grad(
    graph: &Graph,
    grad: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    output_dim0: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentMeanGrad")
        .input(grad)
        .input(indices)
        .input(segment_ids)
        .input(output_dim0)
}

/// The gradient of the means of picked rows.
///
/// Op `SparseSegmentMeanGradV2`. Outputs: `output`, `sorted_unique_indices`.
#[track_caller]
pub fn sparse_segment_mean_grad_v2(
    graph: &Graph,
    grad: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    dense_output_dim0: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentMeanGradV2")
        .input(grad)
        .input(indices)
        .input(segment_ids)
        .input(dense_output_dim0)
}

/// The mean of rows picked by index, for each segment.
///
/// Op `SparseSegmentMeanWithNumSegments`. Output: `output`.
///
/// Attributes with defaults: `sparse_gradient: bool = false`.
#[track_caller]
pub fn sparse_segment_mean_with_num_segments(
    graph: &Graph,
    data: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    num_segments: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentMeanWithNumSegments")
        .input(data)
        .input(indices)
        .input(segment_ids)
        .input(num_segments)
}

/// The sum of rows picked by index divided by the root of their number, for each segment.
///
/// Op `SparseSegmentSqrtN`. Output: `output`.
///
/// Attributes with defaults: `sparse_gradient: bool = false`.
#[track_caller]
pub fn sparse_segment_sqrt_n(
    graph: &Graph,
    data: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
) -> OpBuilder {
    graph.op("SparseSegmentSqrtN").input(data).input(indices).input(segment_ids)
}

/// The gradient of sums divided by the roots of their numbers.
///
/// Op `SparseSegmentSqrtNGrad`. Output: `output`.
#[track_caller]
pub fn sparse_segment_sqrt_n_grad(
    graph: &Graph,
    grad: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    output_dim0: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentSqrtNGrad")
        .input(grad)
        .input(indices)
        .input(segment_ids)
        .input(output_dim0)
}

/// The gradient of sums divided by the roots of their numbers.
///
/// Op `SparseSegmentSqrtNGradV2`. Outputs: `output`, `sorted_unique_indices`.
#[track_caller]
pub fn sparse_segment_sqrt_n_grad_v2(
    graph: &Graph,
    grad: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    dense_output_dim0: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentSqrtNGradV2")
        .input(grad)
        .input(indices)
        .input(segment_ids)
        .input(dense_output_dim0)
}

/// The sum of rows picked by index divided by the root of their number, for each segment.
///
/// Op `SparseSegmentSqrtNWithNumSegments`. Output: `output`.
///
/// Attributes with defaults: `sparse_gradient: bool = false`.
#[track_caller]
pub fn sparse_segment_sqrt_n_with_num_segments(
    graph: &Graph,
    data: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    num_segments: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentSqrtNWithNumSegments")
        .input(data)
        .input(indices)
        .input(segment_ids)
        .input(num_segments)
}

/// The sum of rows picked by index, for each segment.
///
/// Op `SparseSegmentSum`. Output: `output`.
///
/// Attributes with defaults: `sparse_gradient: bool = false`.
#[track_caller]
pub fn sparse_segment_sum(
    graph: &Graph,
    data: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
) -> OpBuilder {
    graph.op("SparseSegmentSum").input(data).input(indices).input(segment_ids)
}

/// The gradient of the sums of picked rows.
///
/// Op `SparseSegmentSumGrad`. Output: `output`.
#[track_caller]
pub fn sparse_segment_sum_grad(
    graph: &Graph,
    grad: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    output_dim0: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentSumGrad")
        .input(grad)
        .input(indices)
        .input(segment_ids)
        .input(output_dim0)
}

/// The gradient of the sums of picked rows.
///
/// Op `SparseSegmentSumGradV2`. Outputs: `output`, `sorted_unique_indices`.
#[track_caller]
pub fn sparse_segment_sum_grad_v2(
    graph: &Graph,
    grad: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    dense_output_dim0: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentSumGradV2")
        .input(grad)
        .input(indices)
        .input(segment_ids)
        .input(dense_output_dim0)
}

/// The sum of rows picked by index, for each segment.
///
/// Op `SparseSegmentSumWithNumSegments`. Output: `output`.
///
/// Attributes with defaults: `sparse_gradient: bool = false`.
#[track_caller]
pub fn sparse_segment_sum_with_num_segments(
    graph: &Graph,
    data: impl Operand,
    indices: impl Operand,
    segment_ids: impl Operand,
    num_segments: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSegmentSumWithNumSegments")
        .input(data)
        .input(indices)
        .input(segment_ids)
        .input(num_segments)
}

/// A part of a sparse tensor.
///
/// Op `SparseSlice`. Outputs: `output_indices: int64`, `output_values`, `output_shape: int64`.
#[track_caller]
pub fn sparse_slice(
    graph: &Graph,
    indices: impl Operand,
    values: impl Operand,
    shape: impl Operand,
    start: impl Operand,
    size: impl Operand,
) -> OpBuilder {
    graph.op("SparseSlice").input(indices).input(values).input(shape).input(start).input(size)
}

/// The gradient of a part of a sparse tensor.
///
/// Op `SparseSliceGrad`. Output: `val_grad`.
#[track_caller]
pub fn sparse_slice_grad(
    graph: &Graph,
    backprop_val_grad: impl Operand,
    input_indices: impl Operand,
    input_start: impl Operand,
    output_indices: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSliceGrad")
        .input(backprop_val_grad)
        .input(input_indices)
        .input(input_start)
        .input(output_indices)
}

/// Softmax over the elements that each row of a sparse tensor has.
///
/// Op `SparseSoftmax`. Output: `output`.
#[track_caller]
pub fn sparse_softmax(
    graph: &Graph,
    sp_indices: impl Operand,
    sp_values: impl Operand,
    sp_shape: impl Operand,
) -> OpBuilder {
    graph.op("SparseSoftmax").input(sp_indices).input(sp_values).input(sp_shape)
}

/// The greater of the elements of two sparse tensors.
///
/// Op `SparseSparseMaximum`. Outputs: `output_indices: int64`, `output_values`.
#[track_caller]
pub fn sparse_sparse_maximum(
    graph: &Graph,
    a_indices: impl Operand,
    a_values: impl Operand,
    a_shape: impl Operand,
    b_indices: impl Operand,
    b_values: impl Operand,
    b_shape: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSparseMaximum")
        .input(a_indices)
        .input(a_values)
        .input(a_shape)
        .input(b_indices)
        .input(b_values)
        .input(b_shape)
}

/// The lesser of the elements of two sparse tensors.
///
/// Op `SparseSparseMinimum`. Outputs: `output_indices: int64`, `output_values`.
#[track_caller]
pub fn sparse_sparse_minimum(
    graph: &Graph,
    a_indices: impl Operand,
    a_values: impl Operand,
    a_shape: impl Operand,
    b_indices: impl Operand,
    b_values: impl Operand,
    b_shape: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseSparseMinimum")
        .input(a_indices)
        .input(a_values)
        .input(a_shape)
        .input(b_indices)
        .input(b_values)
        .input(b_shape)
}

/// A sparse tensor in parts along an axis.
///
/// Op `SparseSplit`. Outputs: `output_indices: int64` (a list), `output_values` (a list),
/// `output_shape: int64` (a list).
#[track_caller]
pub fn sparse_split(
    graph: &Graph,
    split_dim: impl Operand,
    indices: impl Operand,
    values: impl Operand,
    shape: impl Operand,
    num_split: i64,
) -> OpBuilder {
    graph
        .op("SparseSplit")
        .input(split_dim)
        .input(indices)
        .input(values)
        .input(shape)
        .attr("num_split", num_split)
}

/// The sum of a sparse and a dense tensor.
///
/// Op `SparseTensorDenseAdd`. Output: `output`.
#[track_caller]
pub fn sparse_tensor_dense_add(
    graph: &Graph,
    a_indices: impl Operand,
    a_values: impl Operand,
    a_shape: impl Operand,
    b: impl Operand,
) -> OpBuilder {
    graph.op("SparseTensorDenseAdd").input(a_indices).input(a_values).input(a_shape).input(b)
}

/// The product of a sparse and a dense matrix.
///
/// Op `SparseTensorDenseMatMul`. Output: `product`.
///
/// Attributes with defaults: `adjoint_a: bool = false`, `adjoint_b: bool = false`.
#[track_caller]
pub fn sparse_tensor_dense_mat_mul(
    graph: &Graph,
    a_indices: impl Operand,
    a_values: impl Operand,
    a_shape: impl Operand,
    b: impl Operand,
) -> OpBuilder {
    graph.op("SparseTensorDenseMatMul").input(a_indices).input(a_values).input(a_shape).input(b)
}

/// A dense tensor with values at some places and a default elsewhere.
///
/// Op `SparseToDense`. Output: `dense`.
///
/// Attributes with defaults: `validate_indices: bool = true`.
#[track_caller]
pub fn sparse_to_dense(
    graph: &Graph,
    sparse_indices: impl Operand,
    output_shape: impl Operand,
    sparse_values: impl Operand,
    default_value: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseToDense")
        .input(sparse_indices)
        .input(output_shape)
        .input(sparse_values)
        .input(default_value)
}

/// Union, intersection or difference of the sets that rows are.
///
/// Op `SparseToSparseSetOperation`. Outputs: `result_indices: int64`, `result_values`,
/// `result_shape: int64`.
///
/// Attributes with defaults: `validate_indices: bool = true`.
#[track_caller]
pub fn sparse_to_sparse_set_operation(
    graph: &Graph,
    set1_indices: impl Operand,
    set1_values: impl Operand,
    set1_shape: impl Operand,
    set2_indices: impl Operand,
    set2_values: impl Operand,
    set2_shape: impl Operand,
    set_operation: &str,
) -> OpBuilder {
    graph
        .op("SparseToSparseSetOperation")
        .input(set1_indices)
        .input(set1_values)
        .input(set1_shape)
        .input(set2_indices)
        .input(set2_values)
        .input(set2_shape)
        .attr("set_operation", set_operation)
}

/// Takes sparse tensors out of a map on the server, joined into one.
///
/// Op `TakeManySparseFromTensorsMap`. Outputs: `sparse_indices: int64`, `sparse_values`,
/// `sparse_shape: int64`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn take_many_sparse_from_tensors_map(
    graph: &Graph,
    sparse_handles: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("TakeManySparseFromTensorsMap").input(sparse_handles).attr("dtype", dtype)
}

/// The greatest element of each segment of rows.
///
/// Op `UnsortedSegmentMax`. Output: `output`.
#[track_caller]
pub fn unsorted_segment_max(
    graph: &Graph,
    data: impl Operand,
    segment_ids: impl Operand,
    num_segments: impl Operand,
) -> OpBuilder {
    graph.op("UnsortedSegmentMax").input(data).input(segment_ids).input(num_segments)
}

/// The least element of each segment of rows.
///
/// Op `UnsortedSegmentMin`. Output: `output`.
#[track_caller]
pub fn unsorted_segment_min(
    graph: &Graph,
    data: impl Operand,
    segment_ids: impl Operand,
    num_segments: impl Operand,
) -> OpBuilder {
    graph.op("UnsortedSegmentMin").input(data).input(segment_ids).input(num_segments)
}

/// The product of each segment of rows.
///
/// Op `UnsortedSegmentProd`. Output: `output`.
#[track_caller]
pub fn unsorted_segment_prod(
    graph: &Graph,
    data: impl Operand,
    segment_ids: impl Operand,
    num_segments: impl Operand,
) -> OpBuilder {
    graph.op("UnsortedSegmentProd").input(data).input(segment_ids).input(num_segments)
}

/// The sum of each segment of rows.
///
/// Op `UnsortedSegmentSum`. Output: `output`.
#[track_caller]
pub fn unsorted_segment_sum(
    graph: &Graph,
    data: impl Operand,
    segment_ids: impl Operand,
    num_segments: impl Operand,
) -> OpBuilder {
    graph.op("UnsortedSegmentSum").input(data).input(segment_ids).input(num_segments)
}
