//! Ops of the family `quantized`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Floating-point numbers from quantized ones and their range.
///
/// Op `Dequantize`. Output: `output`.
///
/// Attributes with defaults: `mode: string = "MIN_COMBINED"`, `narrow_range: bool = false`,
/// `axis: int = -1`, `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn dequantize(
    graph: &Graph,
    input: impl Operand,
    min_range: impl Operand,
    max_range: impl Operand,
) -> OpBuilder {
    graph.op("Dequantize").input(input).input(min_range).input(max_range)
}

/// Sums of products as bytes, in the range of those that are there.
///
/// Op `QuantizeDownAndShrinkRange`. Outputs: `output`, `output_min: float`, `output_max: float`.
#[track_caller]
pub fn quantize_down_and_shrink_range(
    graph: &Graph,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
    out_type: DType,
) -> OpBuilder {
    graph
        .op("QuantizeDownAndShrinkRange")
        .input(input)
        .input(input_min)
        .input(input_max)
        .attr("out_type", out_type)
}

/// Numbers as small integers that stand for a range.
///
/// Op `QuantizeV2`. Outputs: `output`, `output_min: float`, `output_max: float`.
///
/// Attributes with defaults: `mode: string = "MIN_COMBINED"`,
/// `round_mode: string = "HALF_AWAY_FROM_ZERO"`, `narrow_range: bool = false`, `axis: int = -1`,
/// `ensure_minimum_range: float = 0.01`.
#[track_caller]
pub fn quantize_v2(
    graph: &Graph,
    input: impl Operand,
    min_range: impl Operand,
    max_range: impl Operand,
    t: DType,
) -> OpBuilder {
    graph.op("QuantizeV2").input(input).input(min_range).input(max_range).attr("T", t)
}

/// The sum of quantized numbers.
///
/// Op `QuantizedAdd`. Outputs: `z`, `min_z: float`, `max_z: float`.
///
/// Attributes with defaults: `Toutput: type = DT_QINT32`.
#[track_caller]
pub fn quantized_add(
    graph: &Graph,
    x: impl Operand,
    y: impl Operand,
    min_x: impl Operand,
    max_x: impl Operand,
    min_y: impl Operand,
    max_y: impl Operand,
) -> OpBuilder {
    graph.op("QuantizedAdd").input(x).input(y).input(min_x).input(max_x).input(min_y).input(max_y)
}

/// Batch normalisation of quantized numbers by given moments.
///
/// Op `QuantizedBatchNormWithGlobalNormalization`. Outputs: `result`, `result_min: float`,
/// `result_max: float`.
#[track_caller]
pub fn quantized_batch_norm_with_global_normalization(
    graph: &Graph,
    t: impl Operand,
    t_min: impl Operand,
    t_max: impl Operand,
    m: impl Operand,
    m_min: impl Operand,
    m_max: impl Operand,
    v: impl Operand,
    v_min: impl Operand,
    v_max: impl Operand,
    beta: impl Operand,
    beta_min: impl Operand,
    beta_max: impl Operand,
    gamma: impl Operand,
    gamma_min: impl Operand,
    gamma_max: impl Operand,
    out_type: DType,
    variance_epsilon: f32,
    scale_after_normalization: bool,
) -> OpBuilder {
    graph
        .op("QuantizedBatchNormWithGlobalNormalization")
        .input(t)
        .input(t_min)
        .input(t_max)
        .input(m)
        .input(m_min)
        .input(m_max)
        .input(v)
        .input(v_min)
        .input(v_max)
        .input(beta)
        .input(beta_min)
        .input(beta_max)
        .input(gamma)
        .input(gamma_min)
        .input(gamma_max)
        .attr("out_type", out_type)
        .attr("variance_epsilon", variance_epsilon)
        .attr("scale_after_normalization", scale_after_normalization)
}

/// A quantized vector added to every place, by channel.
///
/// Op `QuantizedBiasAdd`. Outputs: `output`, `min_out: float`, `max_out: float`.
#[track_caller]
pub fn quantized_bias_add(
    graph: &Graph,
    input: impl Operand,
    bias: impl Operand,
    min_input: impl Operand,
    max_input: impl Operand,
    min_bias: impl Operand,
    max_bias: impl Operand,
    out_type: DType,
) -> OpBuilder {
    graph
        .op("QuantizedBiasAdd")
        .input(input)
        .input(bias)
        .input(min_input)
        .input(max_input)
        .input(min_bias)
        .input(max_bias)
        .attr("out_type", out_type)
}

/// Quantized tensors joined along an axis, in a range that holds them all.
///
/// Op `QuantizedConcat`. Outputs: `output`, `output_min: float`, `output_max: float`.
#[track_caller]
pub fn quantized_concat(
    graph: &Graph,
    concat_dim: impl Operand,
    values: impl IntoIterator<Item = impl Operand>,
    input_mins: impl IntoIterator<Item = impl Operand>,
    input_maxes: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph
        .op("QuantizedConcat")
        .input(concat_dim)
        .inputs(values)
        .inputs(input_mins)
        .inputs(input_maxes)
}

/// Every channel of every quantized image with mean zero and variance one.
///
/// Op `QuantizedInstanceNorm`. Outputs: `y`, `y_min: float`, `y_max: float`.
///
/// Attributes with defaults: `output_range_given: bool = false`, `given_y_min: float = 0`,
/// `given_y_max: float = 0`, `variance_epsilon: float = 0.00001`, `min_separation: float = 0.001`.
#[track_caller]
pub fn quantized_instance_norm(
    graph: &Graph,
    x: impl Operand,
    x_min: impl Operand,
    x_max: impl Operand,
) -> OpBuilder {
    graph.op("QuantizedInstanceNorm").input(x).input(x_min).input(x_max)
}

/// The product of two quantized matrices.
///
/// Op `QuantizedMatMul`. Outputs: `out`, `min_out: float`, `max_out: float`.
///
/// Attributes with defaults: `Toutput: type = DT_QINT32`, `transpose_a: bool = false`,
/// `transpose_b: bool = false`, `Tactivation: type = DT_QUINT8`.
#[track_caller]
pub fn quantized_mat_mul(
    graph: &Graph,
    a: impl Operand,
    b: impl Operand,
    min_a: impl Operand,
    max_a: impl Operand,
    min_b: impl Operand,
    max_b: impl Operand,
) -> OpBuilder {
    graph
        .op("QuantizedMatMul")
        .input(a)
        .input(b)
        .input(min_a)
        .input(max_a)
        .input(min_b)
        .input(max_b)
}

/// The product of quantized numbers.
///
/// Op `QuantizedMul`. Outputs: `z`, `min_z: float`, `max_z: float`.
///
/// Attributes with defaults: `Toutput: type = DT_QINT32`.
#[track_caller]
pub fn quantized_mul(
    graph: &Graph,
    x: impl Operand,
    y: impl Operand,
    min_x: impl Operand,
    max_x: impl Operand,
    min_y: impl Operand,
    max_y: impl Operand,
) -> OpBuilder {
    graph.op("QuantizedMul").input(x).input(y).input(min_x).input(max_x).input(min_y).input(max_y)
}

/// Quantized numbers, zero where they are negative.
///
/// Op `QuantizedRelu`. Outputs: `activations`, `min_activations: float`, `max_activations: float`.
///
/// Attributes with defaults: `out_type: type = DT_QUINT8`.
#[track_caller]
pub fn quantized_relu(
    graph: &Graph,
    features: impl Operand,
    min_features: impl Operand,
    max_features: impl Operand,
) -> OpBuilder {
    graph.op("QuantizedRelu").input(features).input(min_features).input(max_features)
}

/// Quantized numbers, clipped to zero and six.
///
/// Op `QuantizedRelu6`. Outputs: `activations`, `min_activations: float`, `max_activations: float`.
///
/// Attributes with defaults: `out_type: type = DT_QUINT8`.
#[track_caller]
pub fn quantized_relu6(
    graph: &Graph,
    features: impl Operand,
    min_features: impl Operand,
    max_features: impl Operand,
) -> OpBuilder {
    graph.op("QuantizedRelu6").input(features).input(min_features).input(max_features)
}

/// A quantized tensor in another shape.
///
/// Op `QuantizedReshape`. Outputs: `output`, `output_min: float`, `output_max: float`.
#[track_caller]
pub fn quantized_reshape(
    graph: &Graph,
    tensor: impl Operand,
    shape: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
) -> OpBuilder {
    graph.op("QuantizedReshape").input(tensor).input(shape).input(input_min).input(input_max)
}

/// The range of the sums of products that are there.
///
/// Op `RequantizationRange`. Outputs: `output_min: float`, `output_max: float`.
#[track_caller]
pub fn requantization_range(
    graph: &Graph,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
) -> OpBuilder {
    graph.op("RequantizationRange").input(input).input(input_min).input(input_max)
}

/// The range of the sums that are there, where every channel has its own range.
///
/// Op `RequantizationRangePerChannel`. Outputs: `output_min: float`, `output_max: float`.
#[track_caller]
pub fn requantization_range_per_channel(
    graph: &Graph,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
    clip_value_max: f32,
) -> OpBuilder {
    graph
        .op("RequantizationRangePerChannel")
        .input(input)
        .input(input_min)
        .input(input_max)
        .attr("clip_value_max", clip_value_max)
}

/// Sums of products as bytes, in a requested range.
///
/// Op `Requantize`. Outputs: `output`, `output_min: float`, `output_max: float`.
#[track_caller]
pub fn requantize(
    graph: &Graph,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
    requested_output_min: impl Operand,
    requested_output_max: impl Operand,
    out_type: DType,
) -> OpBuilder {
    graph
        .op("Requantize")
        .input(input)
        .input(input_min)
        .input(input_max)
        .input(requested_output_min)
        .input(requested_output_max)
        .attr("out_type", out_type)
}

/// Sums of products as bytes in a requested range, where every channel has its own range.
///
/// Op `RequantizePerChannel`. Outputs: `output`, `output_min: float`, `output_max: float`.
///
/// Attributes with defaults: `out_type: type = DT_QUINT8`.
#[track_caller]
pub fn requantize_per_channel(
    graph: &Graph,
    input: impl Operand,
    input_min: impl Operand,
    input_max: impl Operand,
    requested_output_min: impl Operand,
    requested_output_max: impl Operand,
) -> OpBuilder {
    graph
        .op("RequantizePerChannel")
        .input(input)
        .input(input_min)
        .input(input_max)
        .input(requested_output_min)
        .input(requested_output_max)
}

/// Floating-point numbers from integers with a scale and a zero point.
///
/// Op `UniformDequantize`. Output: `output`.
///
/// Attributes with defaults: `quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_dequantize(
    graph: &Graph,
    input: impl Operand,
    scales: impl Operand,
    zero_points: impl Operand,
    tout: DType,
    quantization_min_val: i64,
    quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformDequantize")
        .input(input)
        .input(scales)
        .input(zero_points)
        .attr("Tout", tout)
        .attr("quantization_min_val", quantization_min_val)
        .attr("quantization_max_val", quantization_max_val)
}

/// Numbers as integers with a scale and a zero point.
///
/// Op `UniformQuantize`. Output: `output`.
///
/// Attributes with defaults: `quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_quantize(
    graph: &Graph,
    input: impl Operand,
    scales: impl Operand,
    zero_points: impl Operand,
    tout: DType,
    quantization_min_val: i64,
    quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformQuantize")
        .input(input)
        .input(scales)
        .input(zero_points)
        .attr("Tout", tout)
        .attr("quantization_min_val", quantization_min_val)
        .attr("quantization_max_val", quantization_max_val)
}

/// The sum of integers with scales and zero points.
///
/// Op `UniformQuantizedAdd`. Output: `output`.
///
/// Attributes with defaults: `lhs_quantization_axis: int = -1`, `rhs_quantization_axis: int = -1`,
/// `output_quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_quantized_add(
    graph: &Graph,
    lhs: impl Operand,
    rhs: impl Operand,
    lhs_scales: impl Operand,
    lhs_zero_points: impl Operand,
    rhs_scales: impl Operand,
    rhs_zero_points: impl Operand,
    output_scales: impl Operand,
    output_zero_points: impl Operand,
    lhs_quantization_min_val: i64,
    lhs_quantization_max_val: i64,
    rhs_quantization_min_val: i64,
    rhs_quantization_max_val: i64,
    output_quantization_min_val: i64,
    output_quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformQuantizedAdd")
        .input(lhs)
        .input(rhs)
        .input(lhs_scales)
        .input(lhs_zero_points)
        .input(rhs_scales)
        .input(rhs_zero_points)
        .input(output_scales)
        .input(output_zero_points)
        .attr("lhs_quantization_min_val", lhs_quantization_min_val)
        .attr("lhs_quantization_max_val", lhs_quantization_max_val)
        .attr("rhs_quantization_min_val", rhs_quantization_min_val)
        .attr("rhs_quantization_max_val", rhs_quantization_max_val)
        .attr("output_quantization_min_val", output_quantization_min_val)
        .attr("output_quantization_max_val", output_quantization_max_val)
}

/// Integers with a scale and a zero point, clipped to a range.
///
/// Op `UniformQuantizedClipByValue`. Output: `output`.
///
/// Attributes with defaults: `quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_quantized_clip_by_value(
    graph: &Graph,
    operand: impl Operand,
    min: impl Operand,
    max: impl Operand,
    scales: impl Operand,
    zero_points: impl Operand,
    quantization_min_val: i64,
    quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformQuantizedClipByValue")
        .input(operand)
        .input(min)
        .input(max)
        .input(scales)
        .input(zero_points)
        .attr("quantization_min_val", quantization_min_val)
        .attr("quantization_max_val", quantization_max_val)
}

/// A convolution of integers with scales and zero points.
///
/// Op `UniformQuantizedConvolution`. Output: `output`.
///
/// Attributes with defaults: `window_strides: list(int) = []`, `explicit_padding: list(int) = []`,
/// `lhs_dilation: list(int) = []`, `rhs_dilation: list(int) = []`, `batch_group_count: int = 1`,
/// `feature_group_count: int = 1`, `dimension_numbers: string = ""`,
/// `lhs_quantization_axis: int = -1`, `rhs_quantization_axis: int = -1`,
/// `output_quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_quantized_convolution(
    graph: &Graph,
    lhs: impl Operand,
    rhs: impl Operand,
    lhs_scales: impl Operand,
    lhs_zero_points: impl Operand,
    rhs_scales: impl Operand,
    rhs_zero_points: impl Operand,
    output_scales: impl Operand,
    output_zero_points: impl Operand,
    tout: DType,
    padding: &str,
    lhs_quantization_min_val: i64,
    lhs_quantization_max_val: i64,
    rhs_quantization_min_val: i64,
    rhs_quantization_max_val: i64,
    output_quantization_min_val: i64,
    output_quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformQuantizedConvolution")
        .input(lhs)
        .input(rhs)
        .input(lhs_scales)
        .input(lhs_zero_points)
        .input(rhs_scales)
        .input(rhs_zero_points)
        .input(output_scales)
        .input(output_zero_points)
        .attr("Tout", tout)
        .attr("padding", padding)
        .attr("lhs_quantization_min_val", lhs_quantization_min_val)
        .attr("lhs_quantization_max_val", lhs_quantization_max_val)
        .attr("rhs_quantization_min_val", rhs_quantization_min_val)
        .attr("rhs_quantization_max_val", rhs_quantization_max_val)
        .attr("output_quantization_min_val", output_quantization_min_val)
        .attr("output_quantization_max_val", output_quantization_max_val)
}

/// A convolution of numbers with a kernel of integers.
///
/// Op `UniformQuantizedConvolutionHybrid`. Output: `output`.
///
/// Attributes with defaults: `window_strides: list(int) = []`, `explicit_padding: list(int) = []`,
/// `lhs_dilation: list(int) = []`, `rhs_dilation: list(int) = []`, `batch_group_count: int = 1`,
/// `feature_group_count: int = 1`, `dimension_numbers: string = ""`,
/// `rhs_quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_quantized_convolution_hybrid(
    graph: &Graph,
    lhs: impl Operand,
    rhs: impl Operand,
    rhs_scales: impl Operand,
    rhs_zero_points: impl Operand,
    tout: DType,
    padding: &str,
    rhs_quantization_min_val: i64,
    rhs_quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformQuantizedConvolutionHybrid")
        .input(lhs)
        .input(rhs)
        .input(rhs_scales)
        .input(rhs_zero_points)
        .attr("Tout", tout)
        .attr("padding", padding)
        .attr("rhs_quantization_min_val", rhs_quantization_min_val)
        .attr("rhs_quantization_max_val", rhs_quantization_max_val)
}

/// The product of matrices of integers with scales and zero points.
///
/// Op `UniformQuantizedDot`. Output: `output`.
///
/// Attributes with defaults: `lhs_quantization_axis: int = -1`, `rhs_quantization_axis: int = -1`,
/// `output_quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_quantized_dot(
    graph: &Graph,
    lhs: impl Operand,
    rhs: impl Operand,
    lhs_scales: impl Operand,
    lhs_zero_points: impl Operand,
    rhs_scales: impl Operand,
    rhs_zero_points: impl Operand,
    output_scales: impl Operand,
    output_zero_points: impl Operand,
    tout: DType,
    lhs_quantization_min_val: i64,
    lhs_quantization_max_val: i64,
    rhs_quantization_min_val: i64,
    rhs_quantization_max_val: i64,
    output_quantization_min_val: i64,
    output_quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformQuantizedDot")
        .input(lhs)
        .input(rhs)
        .input(lhs_scales)
        .input(lhs_zero_points)
        .input(rhs_scales)
        .input(rhs_zero_points)
        .input(output_scales)
        .input(output_zero_points)
        .attr("Tout", tout)
        .attr("lhs_quantization_min_val", lhs_quantization_min_val)
        .attr("lhs_quantization_max_val", lhs_quantization_max_val)
        .attr("rhs_quantization_min_val", rhs_quantization_min_val)
        .attr("rhs_quantization_max_val", rhs_quantization_max_val)
        .attr("output_quantization_min_val", output_quantization_min_val)
        .attr("output_quantization_max_val", output_quantization_max_val)
}

/// The product of a matrix of numbers and one of integers.
///
/// Op `UniformQuantizedDotHybrid`. Output: `output`.
///
/// Attributes with defaults: `rhs_quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_quantized_dot_hybrid(
    graph: &Graph,
    lhs: impl Operand,
    rhs: impl Operand,
    rhs_scales: impl Operand,
    rhs_zero_points: impl Operand,
    tout: DType,
    rhs_quantization_min_val: i64,
    rhs_quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformQuantizedDotHybrid")
        .input(lhs)
        .input(rhs)
        .input(rhs_scales)
        .input(rhs_zero_points)
        .attr("Tout", tout)
        .attr("rhs_quantization_min_val", rhs_quantization_min_val)
        .attr("rhs_quantization_max_val", rhs_quantization_max_val)
}

/// Integers with another scale and zero point.
///
/// Op `UniformRequantize`. Output: `output`.
///
/// Attributes with defaults: `input_quantization_axis: int = -1`,
/// `output_quantization_axis: int = -1`.
#[track_caller]
pub fn uniform_requantize(
    graph: &Graph,
    input: impl Operand,
    input_scales: impl Operand,
    input_zero_points: impl Operand,
    output_scales: impl Operand,
    output_zero_points: impl Operand,
    tout: DType,
    input_quantization_min_val: i64,
    input_quantization_max_val: i64,
    output_quantization_min_val: i64,
    output_quantization_max_val: i64,
) -> OpBuilder {
    graph
        .op("UniformRequantize")
        .input(input)
        .input(input_scales)
        .input(input_zero_points)
        .input(output_scales)
        .input(output_zero_points)
        .attr("Tout", tout)
        .attr("input_quantization_min_val", input_quantization_min_val)
        .attr("input_quantization_max_val", input_quantization_max_val)
        .attr("output_quantization_min_val", output_quantization_min_val)
        .attr("output_quantization_max_val", output_quantization_max_val)
}
