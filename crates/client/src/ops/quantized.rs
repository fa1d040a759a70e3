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
