//! Ops of the family `array`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Matrices with everything outside of a band around the diagonal set to zero.
///
/// Op `BatchMatrixBandPart`. Output: `band`.
#[track_caller]
pub fn batch_matrix_band_part(
    graph: &Graph,
    input: impl Operand,
    num_lower: impl Operand,
    num_upper: impl Operand,
) -> OpBuilder {
    graph.op("BatchMatrixBandPart").input(input).input(num_lower).input(num_upper)
}

/// Matrices with given diagonals.
///
/// Op `BatchMatrixDiag`. Output: `output`.
#[track_caller]
pub fn batch_matrix_diag(graph: &Graph, diagonal: impl Operand) -> OpBuilder {
    graph.op("BatchMatrixDiag").input(diagonal)
}

/// Diagonals of matrices.
///
/// Op `BatchMatrixDiagPart`. Output: `diagonal`.
#[track_caller]
pub fn batch_matrix_diag_part(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchMatrixDiagPart").input(input)
}

/// Matrices with some diagonals replaced.
///
/// Op `BatchMatrixSetDiag`. Output: `output`.
#[track_caller]
pub fn batch_matrix_set_diag(
    graph: &Graph,
    input: impl Operand,
    diagonal: impl Operand,
) -> OpBuilder {
    graph.op("BatchMatrixSetDiag").input(input).input(diagonal)
}

/// Blocks moved from the batch axis back into space, and cut to size.
///
/// Op `BatchToSpace`. Output: `output`.
#[track_caller]
pub fn batch_to_space(
    graph: &Graph,
    input: impl Operand,
    crops: impl Operand,
    block_size: i64,
) -> OpBuilder {
    graph.op("BatchToSpace").input(input).input(crops).attr("block_size", block_size)
}

/// Blocks moved from the batch axis back into space, and cut to size.
///
/// Op `BatchToSpaceND`. Output: `output`.
#[track_caller]
pub fn batch_to_space_nd(
    graph: &Graph,
    input: impl Operand,
    block_shape: impl Operand,
    crops: impl Operand,
) -> OpBuilder {
    graph.op("BatchToSpaceND").input(input).input(block_shape).input(crops)
}

/// The same bytes as another type.
///
/// Op `Bitcast`. Output: `output`.
#[track_caller]
pub fn bitcast(graph: &Graph, input: impl Operand, type_: DType) -> OpBuilder {
    graph.op("Bitcast").input(input).attr("type", type_)
}

/// The tensor repeated along axes of size one, in another shape.
///
/// Op `BroadcastTo`. Output: `output`.
#[track_caller]
pub fn broadcast_to(graph: &Graph, input: impl Operand, shape: impl Operand) -> OpBuilder {
    graph.op("BroadcastTo").input(input).input(shape)
}

/// Tensors joined along an axis.
///
/// Op `Concat`. Output: `output`.
#[track_caller]
pub fn concat(
    graph: &Graph,
    concat_dim: impl Operand,
    values: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("Concat").input(concat_dim).inputs(values)
}

/// Where each part begins in tensors joined along an axis.
///
/// Op `ConcatOffset`. Output: `offset` (a list).
#[track_caller]
pub fn concat_offset(
    graph: &Graph,
    concat_dim: impl Operand,
    shape: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("ConcatOffset").input(concat_dim).inputs(shape)
}

/// Tensors joined along an axis.
///
/// Op `ConcatV2`. Output: `output`.
#[track_caller]
pub fn concat_v2(
    graph: &Graph,
    values: impl IntoIterator<Item = impl Operand>,
    axis: impl Operand,
) -> OpBuilder {
    graph.op("ConcatV2").inputs(values).input(axis)
}

/// The axes in another order, with complex elements conjugated.
///
/// Op `ConjugateTranspose`. Output: `y`.
#[track_caller]
pub fn conjugate_transpose(graph: &Graph, x: impl Operand, perm: impl Operand) -> OpBuilder {
    graph.op("ConjugateTranspose").input(x).input(perm)
}

/// The same tensor, marked so that a debugger finds its gradient.
///
/// Op `DebugGradientIdentity`. Output: `output`.
#[track_caller]
pub fn debug_gradient_identity(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DebugGradientIdentity").input(input)
}

/// The same tensor, marked so that a debugger finds its gradient.
///
/// Op `DebugGradientRefIdentity`. Output: `output`.
#[track_caller]
pub fn debug_gradient_ref_identity(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DebugGradientRefIdentity").input(input)
}

/// A copy that shares no memory.
///
/// Op `DeepCopy`. Output: `y`.
#[track_caller]
pub fn deep_copy(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("DeepCopy").input(x)
}

/// Blocks moved from the channels of images into their height and width.
///
/// Op `DepthToSpace`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn depth_to_space(graph: &Graph, input: impl Operand, block_size: i64) -> OpBuilder {
    graph.op("DepthToSpace").input(input).attr("block_size", block_size)
}

/// A tensor of twice the rank with the elements on its diagonal.
///
/// Op `Diag`. Output: `output`.
#[track_caller]
pub fn diag(graph: &Graph, diagonal: impl Operand) -> OpBuilder {
    graph.op("Diag").input(diagonal)
}

/// The diagonal of a tensor whose axes come in equal pairs.
///
/// Op `DiagPart`. Output: `diagonal`.
#[track_caller]
pub fn diag_part(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DiagPart").input(input)
}

/// The slices of a tensor shared out by number.
///
/// Op `DynamicPartition`. Output: `outputs` (a list).
#[track_caller]
pub fn dynamic_partition(
    graph: &Graph,
    data: impl Operand,
    partitions: impl Operand,
    num_partitions: i64,
) -> OpBuilder {
    graph
        .op("DynamicPartition")
        .input(data)
        .input(partitions)
        .attr("num_partitions", num_partitions)
}

/// Slices of several tensors, each put at its index.
///
/// Op `DynamicStitch`. Output: `merged`.
#[track_caller]
pub fn dynamic_stitch(
    graph: &Graph,
    indices: impl IntoIterator<Item = impl Operand>,
    data: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("DynamicStitch").inputs(indices).inputs(data)
}

/// How many changes make one sequence of a sparse tensor into another.
///
/// Op `EditDistance`. Output: `output: float`.
///
/// Attributes with defaults: `normalize: bool = true`.
#[track_caller]
pub fn edit_distance(
    graph: &Graph,
    hypothesis_indices: impl Operand,
    hypothesis_values: impl Operand,
    hypothesis_shape: impl Operand,
    truth_indices: impl Operand,
    truth_values: impl Operand,
    truth_shape: impl Operand,
) -> OpBuilder {
    graph
        .op("EditDistance")
        .input(hypothesis_indices)
        .input(hypothesis_values)
        .input(hypothesis_shape)
        .input(truth_indices)
        .input(truth_values)
        .input(truth_shape)
}

/// A tensor whose elements may be anything.
///
/// Op `Empty`. Output: `output`.
///
/// Attributes with defaults: `init: bool = false`.
#[track_caller]
pub fn empty(graph: &Graph, shape: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("Empty").input(shape).attr("dtype", dtype)
}

/// The same tensor; fails unless it has the shape.
///
/// Op `EnsureShape`. Output: `output`.
#[track_caller]
pub fn ensure_shape(graph: &Graph, input: impl Operand, shape: PartialShape) -> OpBuilder {
    graph.op("EnsureShape").input(input).attr("shape", shape)
}

/// An axis of size one more.
///
/// Op `ExpandDims`. Output: `output`.
#[track_caller]
pub fn expand_dims(graph: &Graph, input: impl Operand, dim: impl Operand) -> OpBuilder {
    graph.op("ExpandDims").input(input).input(dim)
}

/// Windows of images, side by side along the channels.
///
/// Op `ExtractImagePatches`. Output: `patches`.
#[track_caller]
pub fn extract_image_patches(
    graph: &Graph,
    images: impl Operand,
    ksizes: &[i64],
    strides: &[i64],
    rates: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("ExtractImagePatches")
        .input(images)
        .attr("ksizes", ksizes.to_vec())
        .attr("strides", strides.to_vec())
        .attr("rates", rates.to_vec())
        .attr("padding", padding)
}

/// Windows of volumes, side by side along the channels.
///
/// Op `ExtractVolumePatches`. Output: `patches`.
#[track_caller]
pub fn extract_volume_patches(
    graph: &Graph,
    input: impl Operand,
    ksizes: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("ExtractVolumePatches")
        .input(input)
        .attr("ksizes", ksizes.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// Numbers as they are after being quantized in a fixed range.
///
/// Op `FakeQuantWithMinMaxArgs`. Output: `outputs: float`.
///
/// Attributes with defaults: `min: float = -6`, `max: float = 6`, `num_bits: int = 8`,
/// `narrow_range: bool = false`.
#[track_caller]
pub fn fake_quant_with_min_max_args(graph: &Graph, inputs: impl Operand) -> OpBuilder {
    graph.op("FakeQuantWithMinMaxArgs").input(inputs)
}

/// The gradient of fake quantization.
///
/// Op `FakeQuantWithMinMaxArgsGradient`. Output: `backprops: float`.
///
/// Attributes with defaults: `min: float = -6`, `max: float = 6`, `num_bits: int = 8`,
/// `narrow_range: bool = false`.
#[track_caller]
pub fn fake_quant_with_min_max_args_gradient(
    graph: &Graph,
    gradients: impl Operand,
    inputs: impl Operand,
) -> OpBuilder {
    graph.op("FakeQuantWithMinMaxArgsGradient").input(gradients).input(inputs)
}

/// Numbers as they are after being quantized in a range given by tensors.
///
/// Op `FakeQuantWithMinMaxVars`. Output: `outputs: float`.
///
/// Attributes with defaults: `num_bits: int = 8`, `narrow_range: bool = false`.
#[track_caller]
pub fn fake_quant_with_min_max_vars(
    graph: &Graph,
    inputs: impl Operand,
    min: impl Operand,
    max: impl Operand,
) -> OpBuilder {
    graph.op("FakeQuantWithMinMaxVars").input(inputs).input(min).input(max)
}

/// The gradient of fake quantization.
///
/// Op `FakeQuantWithMinMaxVarsGradient`. Outputs: `backprops_wrt_input: float`,
/// `backprop_wrt_min: float`, `backprop_wrt_max: float`.
///
/// Attributes with defaults: `num_bits: int = 8`, `narrow_range: bool = false`.
#[track_caller]
pub fn fake_quant_with_min_max_vars_gradient(
    graph: &Graph,
    gradients: impl Operand,
    inputs: impl Operand,
    min: impl Operand,
    max: impl Operand,
) -> OpBuilder {
    graph.op("FakeQuantWithMinMaxVarsGradient").input(gradients).input(inputs).input(min).input(max)
}

/// Numbers as they are after being quantized in a range for each channel.
///
/// Op `FakeQuantWithMinMaxVarsPerChannel`. Output: `outputs: float`.
///
/// Attributes with defaults: `num_bits: int = 8`, `narrow_range: bool = false`.
#[track_caller]
pub fn fake_quant_with_min_max_vars_per_channel(
    graph: &Graph,
    inputs: impl Operand,
    min: impl Operand,
    max: impl Operand,
) -> OpBuilder {
    graph.op("FakeQuantWithMinMaxVarsPerChannel").input(inputs).input(min).input(max)
}

/// The gradient of fake quantization.
///
/// Op `FakeQuantWithMinMaxVarsPerChannelGradient`. Outputs: `backprops_wrt_input: float`,
/// `backprop_wrt_min: float`, `backprop_wrt_max: float`.
///
/// Attributes with defaults: `num_bits: int = 8`, `narrow_range: bool = false`.
#[track_caller]
pub fn fake_quant_with_min_max_vars_per_channel_gradient(
    graph: &Graph,
    gradients: impl Operand,
    inputs: impl Operand,
    min: impl Operand,
    max: impl Operand,
) -> OpBuilder {
    graph
        .op("FakeQuantWithMinMaxVarsPerChannelGradient")
        .input(gradients)
        .input(inputs)
        .input(min)
        .input(max)
}

/// A tensor of one value.
///
/// Op `Fill`. Output: `output`.
#[track_caller]
pub fn fill(graph: &Graph, dims: impl Operand, value: impl Operand) -> OpBuilder {
    graph.op("Fill").input(dims).input(value)
}

/// Slices of a tensor along its first axis, picked by index.
///
/// Op `Gather`. Output: `output`.
///
/// Attributes with defaults: `validate_indices: bool = true`.
#[track_caller]
pub fn gather(graph: &Graph, params: impl Operand, indices: impl Operand) -> OpBuilder {
    graph.op("Gather").input(params).input(indices)
}

/// Parts of a tensor, picked by coordinates.
///
/// Op `GatherNd`. Output: `output`.
///
/// Attributes with defaults: `bad_indices_policy: string = ""`.
#[track_caller]
pub fn gather_nd(graph: &Graph, params: impl Operand, indices: impl Operand) -> OpBuilder {
    graph.op("GatherNd").input(params).input(indices)
}

/// Slices of a tensor along an axis, picked by index.
///
/// Op `GatherV2`. Output: `output`.
///
/// Attributes with defaults: `batch_dims: int = 0`.
#[track_caller]
pub fn gather_v2(
    graph: &Graph,
    params: impl Operand,
    indices: impl Operand,
    axis: impl Operand,
) -> OpBuilder {
    graph.op("GatherV2").input(params).input(indices).input(axis)
}

/// The same tensor, promised never to change.
///
/// Op `GuaranteeConst`. Output: `output`.
#[track_caller]
pub fn guarantee_const(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("GuaranteeConst").input(input)
}

/// The tensor with rows added to.
///
/// Op `InplaceAdd`. Output: `y`.
#[track_caller]
pub fn inplace_add(graph: &Graph, x: impl Operand, i: impl Operand, v: impl Operand) -> OpBuilder {
    graph.op("InplaceAdd").input(x).input(i).input(v)
}

/// The tensor with rows subtracted from.
///
/// Op `InplaceSub`. Output: `y`.
#[track_caller]
pub fn inplace_sub(graph: &Graph, x: impl Operand, i: impl Operand, v: impl Operand) -> OpBuilder {
    graph.op("InplaceSub").input(x).input(i).input(v)
}

/// The tensor with rows replaced.
///
/// Op `InplaceUpdate`. Output: `y`.
#[track_caller]
pub fn inplace_update(
    graph: &Graph,
    x: impl Operand,
    i: impl Operand,
    v: impl Operand,
) -> OpBuilder {
    graph.op("InplaceUpdate").input(x).input(i).input(v)
}

/// The permutation that undoes another.
///
/// Op `InvertPermutation`. Output: `y`.
#[track_caller]
pub fn invert_permutation(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("InvertPermutation").input(x)
}

/// What a list has and another has not, and where.
///
/// Op `ListDiff`. Outputs: `out`, `idx`.
///
/// Attributes with defaults: `out_idx: type = DT_INT32`.
#[track_caller]
pub fn list_diff(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("ListDiff").input(x).input(y)
}

/// The first place in each sorted row where a value could be put.
///
/// Op `LowerBound`. Output: `output`.
///
/// Attributes with defaults: `out_type: type = DT_INT32`.
#[track_caller]
pub fn lower_bound(graph: &Graph, sorted_inputs: impl Operand, values: impl Operand) -> OpBuilder {
    graph.op("LowerBound").input(sorted_inputs).input(values)
}

/// Matrices with everything outside of a band around the diagonal set to zero.
///
/// Op `MatrixBandPart`. Output: `band`.
#[track_caller]
pub fn matrix_band_part(
    graph: &Graph,
    input: impl Operand,
    num_lower: impl Operand,
    num_upper: impl Operand,
) -> OpBuilder {
    graph.op("MatrixBandPart").input(input).input(num_lower).input(num_upper)
}

/// Matrices with given diagonals.
///
/// Op `MatrixDiag`. Output: `output`.
#[track_caller]
pub fn matrix_diag(graph: &Graph, diagonal: impl Operand) -> OpBuilder {
    graph.op("MatrixDiag").input(diagonal)
}

/// Diagonals of matrices.
///
/// Op `MatrixDiagPart`. Output: `diagonal`.
#[track_caller]
pub fn matrix_diag_part(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("MatrixDiagPart").input(input)
}

/// Diagonals of matrices.
///
/// Op `MatrixDiagPartV2`. Output: `diagonal`.
#[track_caller]
pub fn matrix_diag_part_v2(
    graph: &Graph,
    input: impl Operand,
    k: impl Operand,
    padding_value: impl Operand,
) -> OpBuilder {
    graph.op("MatrixDiagPartV2").input(input).input(k).input(padding_value)
}

/// Diagonals of matrices.
///
/// Op `MatrixDiagPartV3`. Output: `diagonal`.
///
/// Attributes with defaults: `align: string = "RIGHT_LEFT"`.
#[track_caller]
pub fn matrix_diag_part_v3(
    graph: &Graph,
    input: impl Operand,
    k: impl Operand,
    padding_value: impl Operand,
) -> OpBuilder {
    graph.op("MatrixDiagPartV3").input(input).input(k).input(padding_value)
}

/// Matrices with given diagonals.
///
/// Op `MatrixDiagV2`. Output: `output`.
#[track_caller]
pub fn matrix_diag_v2(
    graph: &Graph,
    diagonal: impl Operand,
    k: impl Operand,
    num_rows: impl Operand,
    num_cols: impl Operand,
    padding_value: impl Operand,
) -> OpBuilder {
    graph
        .op("MatrixDiagV2")
        .input(diagonal)
        .input(k)
        .input(num_rows)
        .input(num_cols)
        .input(padding_value)
}

/// Matrices with given diagonals.
///
/// Op `MatrixDiagV3`. Output: `output`.
///
/// Attributes with defaults: `align: string = "RIGHT_LEFT"`.
#[track_caller]
pub fn matrix_diag_v3(
    graph: &Graph,
    diagonal: impl Operand,
    k: impl Operand,
    num_rows: impl Operand,
    num_cols: impl Operand,
    padding_value: impl Operand,
) -> OpBuilder {
    graph
        .op("MatrixDiagV3")
        .input(diagonal)
        .input(k)
        .input(num_rows)
        .input(num_cols)
        .input(padding_value)
}

/// Matrices with some diagonals replaced.
///
/// Op `MatrixSetDiag`. Output: `output`.
#[track_caller]
pub fn matrix_set_diag(graph: &Graph, input: impl Operand, diagonal: impl Operand) -> OpBuilder {
    graph.op("MatrixSetDiag").input(input).input(diagonal)
}

/// Matrices with some diagonals replaced.
///
/// Op `MatrixSetDiagV2`. Output: `output`.
#[track_caller]
pub fn matrix_set_diag_v2(
    graph: &Graph,
    input: impl Operand,
    diagonal: impl Operand,
    k: impl Operand,
) -> OpBuilder {
    graph.op("MatrixSetDiagV2").input(input).input(diagonal).input(k)
}

/// Matrices with some diagonals replaced.
///
/// Op `MatrixSetDiagV3`. Output: `output`.
///
/// Attributes with defaults: `align: string = "RIGHT_LEFT"`.
#[track_caller]
pub fn matrix_set_diag_v3(
    graph: &Graph,
    input: impl Operand,
    diagonal: impl Operand,
    k: impl Operand,
) -> OpBuilder {
    graph.op("MatrixSetDiagV3").input(input).input(diagonal).input(k)
}

/// The tensor with its edges mirrored outwards.
///
/// Op `MirrorPad`. Output: `output`.
#[track_caller]
pub fn mirror_pad(
    graph: &Graph,
    input: impl Operand,
    paddings: impl Operand,
    mode: &str,
) -> OpBuilder {
    graph.op("MirrorPad").input(input).input(paddings).attr("mode", mode)
}

/// The gradient of mirrored edges: they are folded back.
///
/// Op `MirrorPadGrad`. Output: `output`.
#[track_caller]
pub fn mirror_pad_grad(
    graph: &Graph,
    input: impl Operand,
    paddings: impl Operand,
    mode: &str,
) -> OpBuilder {
    graph.op("MirrorPadGrad").input(input).input(paddings).attr("mode", mode)
}

/// For each index a vector that is `on_value` there and `off_value` elsewhere.
///
/// Op `OneHot`. Output: `output`.
///
/// Attributes with defaults: `axis: int = -1`.
#[track_caller]
pub fn one_hot(
    graph: &Graph,
    indices: impl Operand,
    depth: impl Operand,
    on_value: impl Operand,
    off_value: impl Operand,
) -> OpBuilder {
    graph.op("OneHot").input(indices).input(depth).input(on_value).input(off_value)
}

/// Ones in the shape of a tensor.
///
/// Op `OnesLike`. Output: `y`.
#[track_caller]
pub fn ones_like(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("OnesLike").input(x)
}

/// Tensors of one shape stacked along a new axis.
///
/// Op `Pack`. Output: `output`.
///
/// Attributes with defaults: `axis: int = 0`.
#[track_caller]
pub fn pack(graph: &Graph, values: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("Pack").inputs(values)
}

/// The tensor with zeros around it.
///
/// Op `Pad`. Output: `output`.
#[track_caller]
pub fn pad(graph: &Graph, input: impl Operand, paddings: impl Operand) -> OpBuilder {
    graph.op("Pad").input(input).input(paddings)
}

/// The tensor with a value around it.
///
/// Op `PadV2`. Output: `output`.
#[track_caller]
pub fn pad_v2(
    graph: &Graph,
    input: impl Operand,
    paddings: impl Operand,
    constant_values: impl Operand,
) -> OpBuilder {
    graph.op("PadV2").input(input).input(paddings).input(constant_values)
}

/// Tensors joined along the first axis.
///
/// Op `ParallelConcat`. Output: `output`.
#[track_caller]
pub fn parallel_concat(
    graph: &Graph,
    values: impl IntoIterator<Item = impl Operand>,
    shape: PartialShape,
) -> OpBuilder {
    graph.op("ParallelConcat").inputs(values).attr("shape", shape)
}

/// Slices of several tensors, each put at its index.
///
/// Op `ParallelDynamicStitch`. Output: `merged`.
#[track_caller]
pub fn parallel_dynamic_stitch(
    graph: &Graph,
    indices: impl IntoIterator<Item = impl Operand>,
    data: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("ParallelDynamicStitch").inputs(indices).inputs(data)
}

/// Numbers as they are after being quantized and turned back.
///
/// Op `QuantizeAndDequantize`. Output: `output`.
///
/// Attributes with defaults: `signed_input: bool = true`, `num_bits: int = 8`,
/// `range_given: bool = false`, `input_min: float = 0`, `input_max: float = 0`.
#[track_caller]
pub fn quantize_and_dequantize(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("QuantizeAndDequantize").input(input)
}

/// Numbers as they are after being quantized and turned back.
///
/// Op `QuantizeAndDequantizeV2`. Output: `output`.
///
/// Attributes with defaults: `signed_input: bool = true`, `num_bits: int = 8`,
/// `range_given: bool = false`, `round_mode: string = "HALF_TO_EVEN"`,
/// `narrow_range: bool = false`, `axis: int = -1`.
#[track_caller]
pub fn quantize_and_dequantize_v2(
    graph: &Graph,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
) -> OpBuilder {
    graph.op("QuantizeAndDequantizeV2").input(input).input(input_min).input(input_max)
}

/// Numbers as they are after being quantized and turned back.
///
/// Op `QuantizeAndDequantizeV3`. Output: `output`.
///
/// Attributes with defaults: `signed_input: bool = true`, `range_given: bool = true`,
/// `narrow_range: bool = false`, `axis: int = -1`.
#[track_caller]
pub fn quantize_and_dequantize_v3(
    graph: &Graph,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
    num_bits: impl Operand,
) -> OpBuilder {
    graph
        .op("QuantizeAndDequantizeV3")
        .input(input)
        .input(input_min)
        .input(input_max)
        .input(num_bits)
}

/// Numbers as they are after being quantized and turned back.
///
/// Op `QuantizeAndDequantizeV4`. Output: `output`.
///
/// Attributes with defaults: `signed_input: bool = true`, `num_bits: int = 8`,
/// `range_given: bool = false`, `round_mode: string = "HALF_TO_EVEN"`,
/// `narrow_range: bool = false`, `axis: int = -1`.
#[track_caller]
pub fn quantize_and_dequantize_v4(
    graph: &Graph,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
) -> OpBuilder {
    graph.op("QuantizeAndDequantizeV4").input(input).input(input_min).input(input_max)
}

/// The gradient of quantizing and turning back.
///
/// Op `QuantizeAndDequantizeV4Grad`. Outputs: `input_backprop`, `input_min_backprop`,
/// `input_max_backprop`.
///
/// Attributes with defaults: `axis: int = -1`.
#[track_caller]
pub fn quantize_and_dequantize_v4_grad(
    graph: &Graph,
    gradients: impl Operand,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
) -> OpBuilder {
    graph
        .op("QuantizeAndDequantizeV4Grad")
        .input(gradients)
        .input(input)
        .input(input_min)
        .input(input_max)
}

/// The number of axes.
///
/// Op `Rank`. Output: `output: int32`.
#[track_caller]
pub fn rank(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Rank").input(input)
}

/// The same elements in another shape.
///
/// Op `Reshape`. Output: `output`.
#[track_caller]
pub fn reshape(graph: &Graph, tensor: impl Operand, shape: impl Operand) -> OpBuilder {
    graph.op("Reshape").input(tensor).input(shape)
}

/// Replaces a part of a variable.
///
/// Op `ResourceStridedSliceAssign`. No outputs.
///
/// Attributes with defaults: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`,
/// `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
#[track_caller]
pub fn resource_strided_slice_assign(
    graph: &Graph,
    ref_: impl Operand,
    begin: impl Operand,
    end: impl Operand,
    strides: impl Operand,
    value: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceStridedSliceAssign")
        .input(ref_)
        .input(begin)
        .input(end)
        .input(strides)
        .input(value)
}

/// The elements in reverse along some axes.
///
/// Op `Reverse`. Output: `output`.
#[track_caller]
pub fn reverse(graph: &Graph, tensor: impl Operand, dims: impl Operand) -> OpBuilder {
    graph.op("Reverse").input(tensor).input(dims)
}

/// The first elements of each row in reverse.
///
/// Op `ReverseSequence`. Output: `output`.
///
/// Attributes with defaults: `batch_dim: int = 0`.
#[track_caller]
pub fn reverse_sequence(
    graph: &Graph,
    input: impl Operand,
    seq_lengths: impl Operand,
    seq_dim: i64,
) -> OpBuilder {
    graph.op("ReverseSequence").input(input).input(seq_lengths).attr("seq_dim", seq_dim)
}

/// The elements in reverse along some axes.
///
/// Op `ReverseV2`. Output: `output`.
#[track_caller]
pub fn reverse_v2(graph: &Graph, tensor: impl Operand, axis: impl Operand) -> OpBuilder {
    graph.op("ReverseV2").input(tensor).input(axis)
}

/// The elements moved along some axes, those at the end back to the beginning.
///
/// Op `Roll`. Output: `output`.
#[track_caller]
pub fn roll(
    graph: &Graph,
    input: impl Operand,
    shift: impl Operand,
    axis: impl Operand,
) -> OpBuilder {
    graph.op("Roll").input(input).input(shift).input(axis)
}

/// Zeros with updates added at some coordinates.
///
/// Op `ScatterNd`. Output: `output`.
///
/// Attributes with defaults: `bad_indices_policy: string = ""`.
#[track_caller]
pub fn scatter_nd(
    graph: &Graph,
    indices: impl Operand,
    updates: impl Operand,
    shape: impl Operand,
) -> OpBuilder {
    graph.op("ScatterNd").input(indices).input(updates).input(shape)
}

/// The tensor with updates added at some coordinates.
///
/// Op `ScatterNdNonAliasingAdd`. Output: `output`.
///
/// Attributes with defaults: `bad_indices_policy: string = ""`.
#[track_caller]
pub fn scatter_nd_non_aliasing_add(
    graph: &Graph,
    input: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("ScatterNdNonAliasingAdd").input(input).input(indices).input(updates)
}

/// The shape of a tensor, as a vector.
///
/// Op `Shape`. Output: `output`.
///
/// Attributes with defaults: `out_type: type = DT_INT32`.
#[track_caller]
pub fn shape(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Shape").input(input)
}

/// The shapes of several tensors.
///
/// Op `ShapeN`. Output: `output` (a list).
///
/// Attributes with defaults: `out_type: type = DT_INT32`.
#[track_caller]
pub fn shape_n(graph: &Graph, input: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("ShapeN").inputs(input)
}

/// The number of elements.
///
/// Op `Size`. Output: `output`.
///
/// Attributes with defaults: `out_type: type = DT_INT32`.
#[track_caller]
pub fn size(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Size").input(input)
}

/// A part of a tensor: `size` elements from `begin` on in each axis.
///
/// Op `Slice`. Output: `output`.
#[track_caller]
pub fn slice(
    graph: &Graph,
    input: impl Operand,
    begin: impl Operand,
    size: impl Operand,
) -> OpBuilder {
    graph.op("Slice").input(input).input(begin).input(size)
}

/// Blocks moved from space into the batch axis, after padding.
///
/// Op `SpaceToBatch`. Output: `output`.
#[track_caller]
pub fn space_to_batch(
    graph: &Graph,
    input: impl Operand,
    paddings: impl Operand,
    block_size: i64,
) -> OpBuilder {
    graph.op("SpaceToBatch").input(input).input(paddings).attr("block_size", block_size)
}

/// Blocks moved from space into the batch axis, after padding.
///
/// Op `SpaceToBatchND`. Output: `output`.
#[track_caller]
pub fn space_to_batch_nd(
    graph: &Graph,
    input: impl Operand,
    block_shape: impl Operand,
    paddings: impl Operand,
) -> OpBuilder {
    graph.op("SpaceToBatchND").input(input).input(block_shape).input(paddings)
}

/// Blocks moved from the height and width of images into their channels.
///
/// Op `SpaceToDepth`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn space_to_depth(graph: &Graph, input: impl Operand, block_size: i64) -> OpBuilder {
    graph.op("SpaceToDepth").input(input).attr("block_size", block_size)
}

/// A tensor in equal parts along an axis.
///
/// Op `Split`. Output: `output` (a list).
#[track_caller]
pub fn split(
    graph: &Graph,
    split_dim: impl Operand,
    value: impl Operand,
    num_split: i64,
) -> OpBuilder {
    graph.op("Split").input(split_dim).input(value).attr("num_split", num_split)
}

/// A tensor in parts of given sizes along an axis.
///
/// Op `SplitV`. Output: `output` (a list).
#[track_caller]
pub fn split_v(
    graph: &Graph,
    value: impl Operand,
    size_splits: impl Operand,
    split_dim: impl Operand,
    num_split: i64,
) -> OpBuilder {
    graph.op("SplitV").input(value).input(size_splits).input(split_dim).attr("num_split", num_split)
}

/// The tensor without axes of size one.
///
/// Op `Squeeze`. Output: `output`.
///
/// Attributes with defaults: `squeeze_dims: list(int) = []`.
#[track_caller]
pub fn squeeze(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Squeeze").input(input)
}

/// A part of a tensor, as `begin:end:stride` in each axis says.
///
/// Op `StridedSlice`. Output: `output`.
///
/// Attributes with defaults: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`,
/// `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
#[track_caller]
pub fn strided_slice(
    graph: &Graph,
    input: impl Operand,
    begin: impl Operand,
    end: impl Operand,
    strides: impl Operand,
) -> OpBuilder {
    graph.op("StridedSlice").input(input).input(begin).input(end).input(strides)
}

/// Replaces a part of a reference variable.
///
/// Op `StridedSliceAssign`. Output: `output_ref`.
///
/// Attributes with defaults: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`,
/// `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
#[track_caller]
pub fn strided_slice_assign(
    graph: &Graph,
    ref_: impl Operand,
    begin: impl Operand,
    end: impl Operand,
    strides: impl Operand,
    value: impl Operand,
) -> OpBuilder {
    graph.op("StridedSliceAssign").input(ref_).input(begin).input(end).input(strides).input(value)
}

/// The gradient of a part of a tensor: zeros around it.
///
/// Op `StridedSliceGrad`. Output: `output`.
///
/// Attributes with defaults: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`,
/// `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
#[track_caller]
pub fn strided_slice_grad(
    graph: &Graph,
    shape: impl Operand,
    begin: impl Operand,
    end: impl Operand,
    strides: impl Operand,
    dy: impl Operand,
) -> OpBuilder {
    graph.op("StridedSliceGrad").input(shape).input(begin).input(end).input(strides).input(dy)
}

/// The tensor with updates added at some coordinates.
///
/// Op `TensorScatterAdd`. Output: `output`.
///
/// Attributes with defaults: `bad_indices_policy: string = ""`.
#[track_caller]
pub fn tensor_scatter_add(
    graph: &Graph,
    tensor: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("TensorScatterAdd").input(tensor).input(indices).input(updates)
}

/// The tensor raised to at least the updates at some coordinates.
///
/// Op `TensorScatterMax`. Output: `output`.
///
/// Attributes with defaults: `bad_indices_policy: string = ""`.
#[track_caller]
pub fn tensor_scatter_max(
    graph: &Graph,
    tensor: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("TensorScatterMax").input(tensor).input(indices).input(updates)
}

/// The tensor lowered to at most the updates at some coordinates.
///
/// Op `TensorScatterMin`. Output: `output`.
///
/// Attributes with defaults: `bad_indices_policy: string = ""`.
#[track_caller]
pub fn tensor_scatter_min(
    graph: &Graph,
    tensor: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("TensorScatterMin").input(tensor).input(indices).input(updates)
}

/// The tensor with updates subtracted at some coordinates.
///
/// Op `TensorScatterSub`. Output: `output`.
///
/// Attributes with defaults: `bad_indices_policy: string = ""`.
#[track_caller]
pub fn tensor_scatter_sub(
    graph: &Graph,
    tensor: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("TensorScatterSub").input(tensor).input(indices).input(updates)
}

/// The tensor with updates put at some coordinates.
///
/// Op `TensorScatterUpdate`. Output: `output`.
///
/// Attributes with defaults: `bad_indices_policy: string = ""`.
#[track_caller]
pub fn tensor_scatter_update(
    graph: &Graph,
    tensor: impl Operand,
    indices: impl Operand,
    updates: impl Operand,
) -> OpBuilder {
    graph.op("TensorScatterUpdate").input(tensor).input(indices).input(updates)
}

/// The tensor with a part replaced.
///
/// Op `TensorStridedSliceUpdate`. Output: `output`.
///
/// Attributes with defaults: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`,
/// `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
#[track_caller]
pub fn tensor_strided_slice_update(
    graph: &Graph,
    input: impl Operand,
    begin: impl Operand,
    end: impl Operand,
    strides: impl Operand,
    value: impl Operand,
) -> OpBuilder {
    graph
        .op("TensorStridedSliceUpdate")
        .input(input)
        .input(begin)
        .input(end)
        .input(strides)
        .input(value)
}

/// The tensor repeated along each axis.
///
/// Op `Tile`. Output: `output`.
#[track_caller]
pub fn tile(graph: &Graph, input: impl Operand, multiples: impl Operand) -> OpBuilder {
    graph.op("Tile").input(input).input(multiples)
}

/// The gradient of a repeated tensor: repetitions are added up.
///
/// Op `TileGrad`. Output: `output`.
#[track_caller]
pub fn tile_grad(graph: &Graph, input: impl Operand, multiples: impl Operand) -> OpBuilder {
    graph.op("TileGrad").input(input).input(multiples)
}

/// The axes in another order.
///
/// Op `Transpose`. Output: `y`.
#[track_caller]
pub fn transpose(graph: &Graph, x: impl Operand, perm: impl Operand) -> OpBuilder {
    graph.op("Transpose").input(x).input(perm)
}

/// The different elements in the order in which they come, and where each element is among them.
///
/// Op `Unique`. Outputs: `y`, `idx`.
///
/// Attributes with defaults: `out_idx: type = DT_INT32`.
#[track_caller]
pub fn unique(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Unique").input(x)
}

/// The different elements in the order in which they come, and where each element is among them.
///
/// Op `UniqueV2`. Outputs: `y`, `idx`.
///
/// Attributes with defaults: `out_idx: type = DT_INT32`.
#[track_caller]
pub fn unique_v2(graph: &Graph, x: impl Operand, axis: impl Operand) -> OpBuilder {
    graph.op("UniqueV2").input(x).input(axis)
}

/// The different elements, where each is among them, and how often they come.
///
/// Op `UniqueWithCounts`. Outputs: `y`, `idx`, `count`.
///
/// Attributes with defaults: `out_idx: type = DT_INT32`.
#[track_caller]
pub fn unique_with_counts(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("UniqueWithCounts").input(x)
}

/// The different elements, where each is among them, and how often they come.
///
/// Op `UniqueWithCountsV2`. Outputs: `y`, `idx`, `count`.
///
/// Attributes with defaults: `out_idx: type = DT_INT32`.
#[track_caller]
pub fn unique_with_counts_v2(graph: &Graph, x: impl Operand, axis: impl Operand) -> OpBuilder {
    graph.op("UniqueWithCountsV2").input(x).input(axis)
}

/// The slices along an axis, as tensors of their own.
///
/// Op `Unpack`. Output: `output` (a list).
///
/// Attributes with defaults: `axis: int = 0`.
#[track_caller]
pub fn unpack(graph: &Graph, value: impl Operand, num: i64) -> OpBuilder {
    graph.op("Unpack").input(value).attr("num", num)
}

/// Coordinates from positions in a flat tensor.
///
/// Op `UnravelIndex`. Output: `output`.
#[track_caller]
pub fn unravel_index(graph: &Graph, indices: impl Operand, dims: impl Operand) -> OpBuilder {
    graph.op("UnravelIndex").input(indices).input(dims)
}

/// The last place in each sorted row where a value could be put.
///
/// Op `UpperBound`. Output: `output`.
///
/// Attributes with defaults: `out_type: type = DT_INT32`.
#[track_caller]
pub fn upper_bound(graph: &Graph, sorted_inputs: impl Operand, values: impl Operand) -> OpBuilder {
    graph.op("UpperBound").input(sorted_inputs).input(values)
}

/// The coordinates of all elements that are true or not zero.
///
/// Op `Where`. Output: `index: int64`.
#[track_caller]
pub fn where_(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Where").input(input)
}

/// Zeros in the shape of a tensor.
///
/// Op `ZerosLike`. Output: `y`.
#[track_caller]
pub fn zeros_like(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("ZerosLike").input(x)
}
