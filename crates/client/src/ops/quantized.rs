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
