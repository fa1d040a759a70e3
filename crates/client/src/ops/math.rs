//! Ops of the family `math`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// The absolute value of each element.
///
/// Op `Abs`. Output: `y`.
#[track_caller]
pub fn abs(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Abs").input(x)
}

/// The sum of tensors of one shape.
///
/// Op `AccumulateNV2`. Output: `sum`.
#[track_caller]
pub fn accumulate_nv2(
    graph: &Graph,
    inputs: impl IntoIterator<Item = impl Operand>,
    shape: PartialShape,
) -> OpBuilder {
    graph.op("AccumulateNV2").inputs(inputs).attr("shape", shape)
}

/// The arc cosine of each element, in radians.
///
/// Op `Acos`. Output: `y`.
#[track_caller]
pub fn acos(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Acos").input(x)
}

/// The inverse hyperbolic cosine of each element.
///
/// Op `Acosh`. Output: `y`.
#[track_caller]
pub fn acosh(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Acosh").input(x)
}

/// The sum of two tensors, element by element, with broadcasting.
///
/// Op `Add`. Output: `z`.
#[track_caller]
pub fn add(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Add").input(x).input(y)
}

/// The sum of tensors of one shape.
///
/// Op `AddN`. Output: `sum`.
#[track_caller]
pub fn add_n(graph: &Graph, inputs: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("AddN").inputs(inputs)
}

/// The sum of two tensors, element by element, with broadcasting.
///
/// Op `AddV2`. Output: `z`.
#[track_caller]
pub fn add_v2(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("AddV2").input(x).input(y)
}

/// Whether all elements along some axes are true.
///
/// Op `All`. Output: `output: bool`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn all(graph: &Graph, input: impl Operand, reduction_indices: impl Operand) -> OpBuilder {
    graph.op("All").input(input).input(reduction_indices)
}

/// The angle of complex numbers in the plane.
///
/// Op `Angle`. Output: `output`.
///
/// Attributes with defaults: `Tout: type = DT_FLOAT`.
#[track_caller]
pub fn angle(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Angle").input(input)
}

/// Whether any element along some axes is true.
///
/// Op `Any`. Output: `output: bool`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn any(graph: &Graph, input: impl Operand, reduction_indices: impl Operand) -> OpBuilder {
    graph.op("Any").input(input).input(reduction_indices)
}

/// Whether elements differ by less than `tolerance`.
///
/// Op `ApproximateEqual`. Output: `z: bool`.
///
/// Attributes with defaults: `tolerance: float = 0.00001`.
#[track_caller]
pub fn approximate_equal(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("ApproximateEqual").input(x).input(y)
}

/// The position of the greatest element along an axis.
///
/// Op `ArgMax`. Output: `output`.
///
/// Attributes with defaults: `output_type: type = DT_INT64`.
#[track_caller]
pub fn arg_max(graph: &Graph, input: impl Operand, dimension: impl Operand) -> OpBuilder {
    graph.op("ArgMax").input(input).input(dimension)
}

/// The position of the least element along an axis.
///
/// Op `ArgMin`. Output: `output`.
///
/// Attributes with defaults: `output_type: type = DT_INT64`.
#[track_caller]
pub fn arg_min(graph: &Graph, input: impl Operand, dimension: impl Operand) -> OpBuilder {
    graph.op("ArgMin").input(input).input(dimension)
}

/// The arc sine of each element, in radians.
///
/// Op `Asin`. Output: `y`.
#[track_caller]
pub fn asin(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Asin").input(x)
}

/// The inverse hyperbolic sine of each element.
///
/// Op `Asinh`. Output: `y`.
#[track_caller]
pub fn asinh(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Asinh").input(x)
}

/// The arc tangent of each element, in radians.
///
/// Op `Atan`. Output: `y`.
#[track_caller]
pub fn atan(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Atan").input(x)
}

/// The angle of each point `(x, y)`, in the right quadrant.
///
/// Op `Atan2`. Output: `z`.
#[track_caller]
pub fn atan2(graph: &Graph, y: impl Operand, x: impl Operand) -> OpBuilder {
    graph.op("Atan2").input(y).input(x)
}

/// The inverse hyperbolic tangent of each element.
///
/// Op `Atanh`. Output: `y`.
#[track_caller]
pub fn atanh(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Atanh").input(x)
}

/// The products of two batches of matrices that have the same outer dimensions.
///
/// Op `BatchMatMul`. Output: `output`.
///
/// Attributes with defaults: `adj_x: bool = false`, `adj_y: bool = false`, `grad_x: bool = false`,
/// `grad_y: bool = false`.
#[track_caller]
pub fn batch_mat_mul(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("BatchMatMul").input(x).input(y)
}

/// The products of two batches of matrices; outer dimensions are broadcast.
///
/// Op `BatchMatMulV2`. Output: `output`.
///
/// Attributes with defaults: `adj_x: bool = false`, `adj_y: bool = false`, `grad_x: bool = false`,
/// `grad_y: bool = false`.
#[track_caller]
pub fn batch_mat_mul_v2(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("BatchMatMulV2").input(x).input(y)
}

/// The products of two batches of matrices; outer dimensions are broadcast.
///
/// Op `BatchMatMulV3`. Output: `output`.
///
/// Attributes with defaults: `adj_x: bool = false`, `adj_y: bool = false`, `grad_x: bool = false`,
/// `grad_y: bool = false`.
#[track_caller]
pub fn batch_mat_mul_v3(graph: &Graph, x: impl Operand, y: impl Operand, tout: DType) -> OpBuilder {
    graph.op("BatchMatMulV3").input(x).input(y).attr("Tout", tout)
}

/// A modified Bessel function of the first kind; `e` means scaled by `exp(-|x|)`.
///
/// Op `BesselI0`. Output: `y`.
#[track_caller]
pub fn bessel_i0(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselI0").input(x)
}

/// A modified Bessel function of the first kind; `e` means scaled by `exp(-|x|)`.
///
/// Op `BesselI0e`. Output: `y`.
#[track_caller]
pub fn bessel_i0e(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselI0e").input(x)
}

/// A modified Bessel function of the first kind; `e` means scaled by `exp(-|x|)`.
///
/// Op `BesselI1`. Output: `y`.
#[track_caller]
pub fn bessel_i1(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselI1").input(x)
}

/// A modified Bessel function of the first kind; `e` means scaled by `exp(-|x|)`.
///
/// Op `BesselI1e`. Output: `y`.
#[track_caller]
pub fn bessel_i1e(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselI1e").input(x)
}

/// A Bessel function of the first kind.
///
/// Op `BesselJ0`. Output: `y`.
#[track_caller]
pub fn bessel_j0(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselJ0").input(x)
}

/// A Bessel function of the first kind.
///
/// Op `BesselJ1`. Output: `y`.
#[track_caller]
pub fn bessel_j1(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselJ1").input(x)
}

/// A modified Bessel function of the second kind; `e` means scaled by `exp(x)`.
///
/// Op `BesselK0`. Output: `y`.
#[track_caller]
pub fn bessel_k0(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselK0").input(x)
}

/// A modified Bessel function of the second kind; `e` means scaled by `exp(x)`.
///
/// Op `BesselK0e`. Output: `y`.
#[track_caller]
pub fn bessel_k0e(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselK0e").input(x)
}

/// A modified Bessel function of the second kind; `e` means scaled by `exp(x)`.
///
/// Op `BesselK1`. Output: `y`.
#[track_caller]
pub fn bessel_k1(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselK1").input(x)
}

/// A modified Bessel function of the second kind; `e` means scaled by `exp(x)`.
///
/// Op `BesselK1e`. Output: `y`.
#[track_caller]
pub fn bessel_k1e(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselK1e").input(x)
}

/// A Bessel function of the second kind.
///
/// Op `BesselY0`. Output: `y`.
#[track_caller]
pub fn bessel_y0(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselY0").input(x)
}

/// A Bessel function of the second kind.
///
/// Op `BesselY1`. Output: `y`.
#[track_caller]
pub fn bessel_y1(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("BesselY1").input(x)
}

/// The regularised incomplete beta function.
///
/// Op `Betainc`. Output: `z`.
#[track_caller]
pub fn betainc(graph: &Graph, a: impl Operand, b: impl Operand, x: impl Operand) -> OpBuilder {
    graph.op("Betainc").input(a).input(b).input(x)
}

/// How often each number comes, or the sums of weights by number.
///
/// Op `Bincount`. Output: `bins`.
#[track_caller]
pub fn bincount(
    graph: &Graph,
    arr: impl Operand,
    size: impl Operand,
    weights: impl Operand,
) -> OpBuilder {
    graph.op("Bincount").input(arr).input(size).input(weights)
}

/// The bits that both integers have.
///
/// Op `BitwiseAnd`. Output: `z`.
#[track_caller]
pub fn bitwise_and(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("BitwiseAnd").input(x).input(y)
}

/// The bits that one of two integers has.
///
/// Op `BitwiseOr`. Output: `z`.
#[track_caller]
pub fn bitwise_or(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("BitwiseOr").input(x).input(y)
}

/// The bits in which two integers differ.
///
/// Op `BitwiseXor`. Output: `z`.
#[track_caller]
pub fn bitwise_xor(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("BitwiseXor").input(x).input(y)
}

/// The shape that two shapes are broadcast to.
///
/// Op `BroadcastArgs`. Output: `r0`.
#[track_caller]
pub fn broadcast_args(graph: &Graph, s0: impl Operand, s1: impl Operand) -> OpBuilder {
    graph.op("BroadcastArgs").input(s0).input(s1)
}

/// The axes over which the gradient of a broadcast operation is summed, for both operands.
///
/// Op `BroadcastGradientArgs`. Outputs: `r0`, `r1`.
#[track_caller]
pub fn broadcast_gradient_args(graph: &Graph, s0: impl Operand, s1: impl Operand) -> OpBuilder {
    graph.op("BroadcastGradientArgs").input(s0).input(s1)
}

/// The number of the interval between `boundaries` that each element falls into.
///
/// Op `Bucketize`. Output: `output: int32`.
#[track_caller]
pub fn bucketize(graph: &Graph, input: impl Operand, boundaries: &[f32]) -> OpBuilder {
    graph.op("Bucketize").input(input).attr("boundaries", boundaries.to_vec())
}

/// The elements as another type.
///
/// Op `Cast`. Output: `y`.
///
/// Attributes with defaults: `Truncate: bool = false`.
#[track_caller]
pub fn cast(graph: &Graph, x: impl Operand, dstt: DType) -> OpBuilder {
    graph.op("Cast").input(x).attr("DstT", dstt)
}

/// The least integer that is not smaller, element by element.
///
/// Op `Ceil`. Output: `y`.
#[track_caller]
pub fn ceil(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Ceil").input(x)
}

/// The tensor itself; fails with `message` if it holds NaN or infinity.
///
/// Op `CheckNumerics`. Output: `output`.
#[track_caller]
pub fn check_numerics(graph: &Graph, tensor: impl Operand, message: &str) -> OpBuilder {
    graph.op("CheckNumerics").input(tensor).attr("message", message)
}

/// The tensor itself; fails with `message` if it holds NaN or infinity.
///
/// Op `CheckNumericsV2`. Output: `output`.
#[track_caller]
pub fn check_numerics_v2(graph: &Graph, tensor: impl Operand, message: &str) -> OpBuilder {
    graph.op("CheckNumericsV2").input(tensor).attr("message", message)
}

/// The elements, none below the least nor above the greatest value given.
///
/// Op `ClipByValue`. Output: `output`.
#[track_caller]
pub fn clip_by_value(
    graph: &Graph,
    t: impl Operand,
    clip_value_min: impl Operand,
    clip_value_max: impl Operand,
) -> OpBuilder {
    graph.op("ClipByValue").input(t).input(clip_value_min).input(clip_value_max)
}

/// Complex numbers from real and imaginary parts.
///
/// Op `Complex`. Output: `out`.
///
/// Attributes with defaults: `Tout: type = DT_COMPLEX64`.
#[track_caller]
pub fn complex(graph: &Graph, real: impl Operand, imag: impl Operand) -> OpBuilder {
    graph.op("Complex").input(real).input(imag)
}

/// The absolute value of complex numbers.
///
/// Op `ComplexAbs`. Output: `y`.
///
/// Attributes with defaults: `Tout: type = DT_FLOAT`.
#[track_caller]
pub fn complex_abs(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("ComplexAbs").input(x)
}

/// The complex conjugate.
///
/// Op `Conj`. Output: `output`.
#[track_caller]
pub fn conj(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Conj").input(input)
}

/// The cosine of each element.
///
/// Op `Cos`. Output: `y`.
#[track_caller]
pub fn cos(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Cos").input(x)
}

/// The hyperbolic cosine of each element.
///
/// Op `Cosh`. Output: `y`.
#[track_caller]
pub fn cosh(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Cosh").input(x)
}

/// The cross products of vectors of three elements.
///
/// Op `Cross`. Output: `product`.
#[track_caller]
pub fn cross(graph: &Graph, a: impl Operand, b: impl Operand) -> OpBuilder {
    graph.op("Cross").input(a).input(b)
}

/// The products of all elements up to each place of an axis.
///
/// Op `Cumprod`. Output: `out`.
///
/// Attributes with defaults: `exclusive: bool = false`, `reverse: bool = false`.
#[track_caller]
pub fn cumprod(graph: &Graph, x: impl Operand, axis: impl Operand) -> OpBuilder {
    graph.op("Cumprod").input(x).input(axis)
}

/// The sums of all elements up to each place of an axis.
///
/// Op `Cumsum`. Output: `out`.
///
/// Attributes with defaults: `exclusive: bool = false`, `reverse: bool = false`.
#[track_caller]
pub fn cumsum(graph: &Graph, x: impl Operand, axis: impl Operand) -> OpBuilder {
    graph.op("Cumsum").input(x).input(axis)
}

/// The logarithms of sums of exponentials up to each place of an axis.
///
/// Op `CumulativeLogsumexp`. Output: `out`.
///
/// Attributes with defaults: `exclusive: bool = false`, `reverse: bool = false`.
#[track_caller]
pub fn cumulative_logsumexp(graph: &Graph, x: impl Operand, axis: impl Operand) -> OpBuilder {
    graph.op("CumulativeLogsumexp").input(x).input(axis)
}

/// Dawson's integral.
///
/// Op `Dawsn`. Output: `y`.
#[track_caller]
pub fn dawsn(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Dawsn").input(x)
}

/// How often each number comes, or the sums of weights by number.
///
/// Op `DenseBincount`. Output: `output`.
///
/// Attributes with defaults: `binary_output: bool = false`.
#[track_caller]
pub fn dense_bincount(
    graph: &Graph,
    input: impl Operand,
    size: impl Operand,
    weights: impl Operand,
) -> OpBuilder {
    graph.op("DenseBincount").input(input).input(size).input(weights)
}

/// The derivative of the logarithm of the gamma function.
///
/// Op `Digamma`. Output: `y`.
#[track_caller]
pub fn digamma(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Digamma").input(x)
}

/// The quotient of two tensors, element by element, with broadcasting.
///
/// Op `Div`. Output: `z`.
#[track_caller]
pub fn div(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Div").input(x).input(y)
}

/// The quotient of two tensors; zero where the divisor is zero.
///
/// Op `DivNoNan`. Output: `z`.
#[track_caller]
pub fn div_no_nan(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("DivNoNan").input(x).input(y)
}

/// Products of one or two tensors, summed over labels as an equation says.
///
/// Op `Einsum`. Output: `output`.
#[track_caller]
pub fn einsum(
    graph: &Graph,
    inputs: impl IntoIterator<Item = impl Operand>,
    equation: &str,
) -> OpBuilder {
    graph.op("Einsum").inputs(inputs).attr("equation", equation)
}

/// Where elements of two tensors are equal.
///
/// Op `Equal`. Output: `z: bool`.
///
/// Attributes with defaults: `incompatible_shape_error: bool = true`.
#[track_caller]
pub fn equal(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Equal").input(x).input(y)
}

/// The Gauss error function.
///
/// Op `Erf`. Output: `y`.
#[track_caller]
pub fn erf(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Erf").input(x)
}

/// One minus the Gauss error function, exact far from zero.
///
/// Op `Erfc`. Output: `y`.
#[track_caller]
pub fn erfc(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Erfc").input(x)
}

/// The inverse of the Gauss error function.
///
/// Op `Erfinv`. Output: `y`.
#[track_caller]
pub fn erfinv(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Erfinv").input(x)
}

/// The square root of the sum of squares along some axes.
///
/// Op `EuclideanNorm`. Output: `output`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn euclidean_norm(
    graph: &Graph,
    input: impl Operand,
    reduction_indices: impl Operand,
) -> OpBuilder {
    graph.op("EuclideanNorm").input(input).input(reduction_indices)
}

/// `e` to the power of each element.
///
/// Op `Exp`. Output: `y`.
#[track_caller]
pub fn exp(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Exp").input(x)
}

/// The exponential integral.
///
/// Op `Expint`. Output: `y`.
#[track_caller]
pub fn expint(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Expint").input(x)
}

/// `e^x - 1`, exact near zero.
///
/// Op `Expm1`. Output: `y`.
#[track_caller]
pub fn expm1(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Expm1").input(x)
}

/// A fact about factorials, as a string.
///
/// Op `Fact`. Output: `fact: string`.
#[track_caller]
pub fn fact(graph: &Graph) -> OpBuilder {
    graph.op("Fact")
}

/// The greatest integer that is not greater, element by element.
///
/// Op `Floor`. Output: `y`.
#[track_caller]
pub fn floor(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Floor").input(x)
}

/// The quotient rounded towards minus infinity.
///
/// Op `FloorDiv`. Output: `z`.
#[track_caller]
pub fn floor_div(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("FloorDiv").input(x).input(y)
}

/// The remainder that has the sign of the divisor.
///
/// Op `FloorMod`. Output: `z`.
#[track_caller]
pub fn floor_mod(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("FloorMod").input(x).input(y)
}

/// A Fresnel integral.
///
/// Op `FresnelCos`. Output: `y`.
#[track_caller]
pub fn fresnel_cos(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("FresnelCos").input(x)
}

/// A Fresnel integral.
///
/// Op `FresnelSin`. Output: `y`.
#[track_caller]
pub fn fresnel_sin(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("FresnelSin").input(x)
}

/// Where the first tensor's elements are greater.
///
/// Op `Greater`. Output: `z: bool`.
#[track_caller]
pub fn greater(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Greater").input(x).input(y)
}

/// Where the first tensor's elements are greater or equal.
///
/// Op `GreaterEqual`. Output: `z: bool`.
#[track_caller]
pub fn greater_equal(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("GreaterEqual").input(x).input(y)
}

/// How many values fall into each of `nbins` equal parts of a range.
///
/// Op `HistogramFixedWidth`. Output: `out`.
///
/// Attributes with defaults: `dtype: type = DT_INT32`.
#[track_caller]
pub fn histogram_fixed_width(
    graph: &Graph,
    values: impl Operand,
    value_range: impl Operand,
    nbins: impl Operand,
) -> OpBuilder {
    graph.op("HistogramFixedWidth").input(values).input(value_range).input(nbins)
}

/// The lower regularised incomplete gamma function.
///
/// Op `Igamma`. Output: `z`.
#[track_caller]
pub fn igamma(graph: &Graph, a: impl Operand, x: impl Operand) -> OpBuilder {
    graph.op("Igamma").input(a).input(x)
}

/// The derivative of the lower regularised incomplete gamma function by its first argument.
///
/// Op `IgammaGradA`. Output: `z`.
#[track_caller]
pub fn igamma_grad_a(graph: &Graph, a: impl Operand, x: impl Operand) -> OpBuilder {
    graph.op("IgammaGradA").input(a).input(x)
}

/// The upper regularised incomplete gamma function.
///
/// Op `Igammac`. Output: `z`.
#[track_caller]
pub fn igammac(graph: &Graph, a: impl Operand, x: impl Operand) -> OpBuilder {
    graph.op("Igammac").input(a).input(x)
}

/// The imaginary part.
///
/// Op `Imag`. Output: `output`.
///
/// Attributes with defaults: `Tout: type = DT_FLOAT`.
#[track_caller]
pub fn imag(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Imag").input(input)
}

/// One divided by each element.
///
/// Op `Inv`. Output: `y`.
#[track_caller]
pub fn inv(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Inv").input(x)
}

/// The gradient of the reciprocal, given its result `y`.
///
/// Op `InvGrad`. Output: `z`.
#[track_caller]
pub fn inv_grad(graph: &Graph, y: impl Operand, dy: impl Operand) -> OpBuilder {
    graph.op("InvGrad").input(y).input(dy)
}

/// All bits flipped.
///
/// Op `Invert`. Output: `y`.
#[track_caller]
pub fn invert(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Invert").input(x)
}

/// Where elements are neither infinite nor NaN.
///
/// Op `IsFinite`. Output: `y: bool`.
#[track_caller]
pub fn is_finite(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("IsFinite").input(x)
}

/// Where elements are infinite.
///
/// Op `IsInf`. Output: `y: bool`.
#[track_caller]
pub fn is_inf(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("IsInf").input(x)
}

/// Where elements are NaN.
///
/// Op `IsNan`. Output: `y: bool`.
#[track_caller]
pub fn is_nan(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("IsNan").input(x)
}

/// The bits of integers moved up.
///
/// Op `LeftShift`. Output: `z`.
#[track_caller]
pub fn left_shift(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("LeftShift").input(x).input(y)
}

/// Where the first tensor's elements are less.
///
/// Op `Less`. Output: `z: bool`.
#[track_caller]
pub fn less(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Less").input(x).input(y)
}

/// Where the first tensor's elements are less or equal.
///
/// Op `LessEqual`. Output: `z: bool`.
#[track_caller]
pub fn less_equal(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("LessEqual").input(x).input(y)
}

/// The logarithm of the absolute value of the gamma function.
///
/// Op `Lgamma`. Output: `y`.
#[track_caller]
pub fn lgamma(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Lgamma").input(x)
}

/// `num` numbers at equal distances from `start` to `stop`, both included.
///
/// Op `LinSpace`. Output: `output`.
#[track_caller]
pub fn lin_space(
    graph: &Graph,
    start: impl Operand,
    stop: impl Operand,
    num: impl Operand,
) -> OpBuilder {
    graph.op("LinSpace").input(start).input(stop).input(num)
}

/// The natural logarithm of each element.
///
/// Op `Log`. Output: `y`.
#[track_caller]
pub fn log(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Log").input(x)
}

/// `ln(1 + x)`, exact near zero.
///
/// Op `Log1p`. Output: `y`.
#[track_caller]
pub fn log1p(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Log1p").input(x)
}

/// Where both are true.
///
/// Op `LogicalAnd`. Output: `z: bool`.
#[track_caller]
pub fn logical_and(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("LogicalAnd").input(x).input(y)
}

/// True where false was.
///
/// Op `LogicalNot`. Output: `y: bool`.
#[track_caller]
pub fn logical_not(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("LogicalNot").input(x)
}

/// Where one of the two is true.
///
/// Op `LogicalOr`. Output: `z: bool`.
#[track_caller]
pub fn logical_or(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("LogicalOr").input(x).input(y)
}

/// The product of two matrices, either of which may be taken transposed.
///
/// Op `MatMul`. Output: `product`.
///
/// Attributes with defaults: `transpose_a: bool = false`, `transpose_b: bool = false`,
/// `grad_a: bool = false`, `grad_b: bool = false`.
#[track_caller]
pub fn mat_mul(graph: &Graph, a: impl Operand, b: impl Operand) -> OpBuilder {
    graph.op("MatMul").input(a).input(b)
}

/// The greatest element along some axes.
///
/// Op `Max`. Output: `output`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn max(graph: &Graph, input: impl Operand, reduction_indices: impl Operand) -> OpBuilder {
    graph.op("Max").input(input).input(reduction_indices)
}

/// The greater of each two elements.
///
/// Op `Maximum`. Output: `z`.
#[track_caller]
pub fn maximum(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Maximum").input(x).input(y)
}

/// The mean along some axes.
///
/// Op `Mean`. Output: `output`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn mean(graph: &Graph, input: impl Operand, reduction_indices: impl Operand) -> OpBuilder {
    graph.op("Mean").input(input).input(reduction_indices)
}

/// The least element along some axes.
///
/// Op `Min`. Output: `output`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn min(graph: &Graph, input: impl Operand, reduction_indices: impl Operand) -> OpBuilder {
    graph.op("Min").input(input).input(reduction_indices)
}

/// The lesser of each two elements.
///
/// Op `Minimum`. Output: `z`.
#[track_caller]
pub fn minimum(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Minimum").input(x).input(y)
}

/// The remainder that has the sign of the dividend.
///
/// Op `Mod`. Output: `z`.
#[track_caller]
pub fn mod_(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Mod").input(x).input(y)
}

/// The product of two tensors, element by element, with broadcasting.
///
/// Op `Mul`. Output: `z`.
#[track_caller]
pub fn mul(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Mul").input(x).input(y)
}

/// The product of two tensors; zero where the second is zero, whatever the first is.
///
/// Op `MulNoNan`. Output: `z`.
#[track_caller]
pub fn mul_no_nan(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("MulNoNan").input(x).input(y)
}

/// The quantile function of the standard normal distribution.
///
/// Op `Ndtri`. Output: `y`.
#[track_caller]
pub fn ndtri(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Ndtri").input(x)
}

/// Each element with the other sign.
///
/// Op `Neg`. Output: `y`.
#[track_caller]
pub fn neg(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Neg").input(x)
}

/// The number next to `x1` that can be represented, towards `x2`.
///
/// Op `NextAfter`. Output: `output`.
#[track_caller]
pub fn next_after(graph: &Graph, x1: impl Operand, x2: impl Operand) -> OpBuilder {
    graph.op("NextAfter").input(x1).input(x2)
}

/// Where elements of two tensors differ.
///
/// Op `NotEqual`. Output: `z: bool`.
///
/// Attributes with defaults: `incompatible_shape_error: bool = true`.
#[track_caller]
pub fn not_equal(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("NotEqual").input(x).input(y)
}

/// A derivative of the digamma function.
///
/// Op `Polygamma`. Output: `z`.
#[track_caller]
pub fn polygamma(graph: &Graph, a: impl Operand, x: impl Operand) -> OpBuilder {
    graph.op("Polygamma").input(a).input(x)
}

/// The number of bits that are set in each element.
///
/// Op `PopulationCount`. Output: `y: uint8`.
#[track_caller]
pub fn population_count(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("PopulationCount").input(x)
}

/// The first tensor's elements to the power of the second's.
///
/// Op `Pow`. Output: `z`.
#[track_caller]
pub fn pow(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Pow").input(x).input(y)
}

/// The product along some axes.
///
/// Op `Prod`. Output: `output`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn prod(graph: &Graph, input: impl Operand, reduction_indices: impl Operand) -> OpBuilder {
    graph.op("Prod").input(input).input(reduction_indices)
}

/// The derivative of gamma samples by the shape parameter.
///
/// Op `RandomGammaGrad`. Output: `output`.
#[track_caller]
pub fn random_gamma_grad(graph: &Graph, alpha: impl Operand, sample: impl Operand) -> OpBuilder {
    graph.op("RandomGammaGrad").input(alpha).input(sample)
}

/// The numbers from `start` up to `limit`, exclusive, in steps of `delta`.
///
/// Op `Range`. Output: `output`.
#[track_caller]
pub fn range(
    graph: &Graph,
    start: impl Operand,
    limit: impl Operand,
    delta: impl Operand,
) -> OpBuilder {
    graph.op("Range").input(start).input(limit).input(delta)
}

/// The real part.
///
/// Op `Real`. Output: `output`.
///
/// Attributes with defaults: `Tout: type = DT_FLOAT`.
#[track_caller]
pub fn real(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Real").input(input)
}

/// The quotient of two tensors, element by element, with broadcasting.
///
/// Op `RealDiv`. Output: `z`.
#[track_caller]
pub fn real_div(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("RealDiv").input(x).input(y)
}

/// One divided by each element.
///
/// Op `Reciprocal`. Output: `y`.
#[track_caller]
pub fn reciprocal(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Reciprocal").input(x)
}

/// The gradient of the reciprocal, given its result `y`.
///
/// Op `ReciprocalGrad`. Output: `z`.
#[track_caller]
pub fn reciprocal_grad(graph: &Graph, y: impl Operand, dy: impl Operand) -> OpBuilder {
    graph.op("ReciprocalGrad").input(y).input(dy)
}

/// The bits of integers moved down.
///
/// Op `RightShift`. Output: `z`.
#[track_caller]
pub fn right_shift(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("RightShift").input(x).input(y)
}

/// The nearest integer, the even one of two.
///
/// Op `Rint`. Output: `y`.
#[track_caller]
pub fn rint(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Rint").input(x)
}

/// The nearest integer, the even one of two.
///
/// Op `Round`. Output: `y`.
#[track_caller]
pub fn round(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Round").input(x)
}

/// One divided by the square root.
///
/// Op `Rsqrt`. Output: `y`.
#[track_caller]
pub fn rsqrt(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Rsqrt").input(x)
}

/// The gradient of the reciprocal square root, given its result `y`.
///
/// Op `RsqrtGrad`. Output: `z`.
#[track_caller]
pub fn rsqrt_grad(graph: &Graph, y: impl Operand, dy: impl Operand) -> OpBuilder {
    graph.op("RsqrtGrad").input(y).input(dy)
}

/// Elements, or whole rows, of `t` where `condition` holds, of `e` elsewhere.
///
/// Op `Select`. Output: `output`.
#[track_caller]
pub fn select(
    graph: &Graph,
    condition: impl Operand,
    t: impl Operand,
    e: impl Operand,
) -> OpBuilder {
    graph.op("Select").input(condition).input(t).input(e)
}

/// Elements of `t` where `condition` holds, of `e` elsewhere, with broadcasting.
///
/// Op `SelectV2`. Output: `output`.
#[track_caller]
pub fn select_v2(
    graph: &Graph,
    condition: impl Operand,
    t: impl Operand,
    e: impl Operand,
) -> OpBuilder {
    graph.op("SelectV2").input(condition).input(t).input(e)
}

/// `1 / (1 + e^-x)`.
///
/// Op `Sigmoid`. Output: `y`.
#[track_caller]
pub fn sigmoid(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Sigmoid").input(x)
}

/// The gradient of the sigmoid, given its result `y`.
///
/// Op `SigmoidGrad`. Output: `z`.
#[track_caller]
pub fn sigmoid_grad(graph: &Graph, y: impl Operand, dy: impl Operand) -> OpBuilder {
    graph.op("SigmoidGrad").input(y).input(dy)
}

/// -1, 0 or 1 by the sign of each element.
///
/// Op `Sign`. Output: `y`.
#[track_caller]
pub fn sign(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Sign").input(x)
}

/// The sine of each element.
///
/// Op `Sin`. Output: `y`.
#[track_caller]
pub fn sin(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Sin").input(x)
}

/// The hyperbolic sine of each element.
///
/// Op `Sinh`. Output: `y`.
#[track_caller]
pub fn sinh(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Sinh").input(x)
}

/// Points that fill a cube more evenly than random ones.
///
/// Op `SobolSample`. Output: `samples`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn sobol_sample(
    graph: &Graph,
    dim: impl Operand,
    num_results: impl Operand,
    skip: impl Operand,
) -> OpBuilder {
    graph.op("SobolSample").input(dim).input(num_results).input(skip)
}

/// The product of two matrices that hold many zeros.
///
/// Op `SparseMatMul`. Output: `product: float`.
///
/// Attributes with defaults: `transpose_a: bool = false`, `transpose_b: bool = false`,
/// `a_is_sparse: bool = false`, `b_is_sparse: bool = false`.
#[track_caller]
pub fn sparse_mat_mul(graph: &Graph, a: impl Operand, b: impl Operand) -> OpBuilder {
    graph.op("SparseMatMul").input(a).input(b)
}

/// The dilogarithm of `1 - x`.
///
/// Op `Spence`. Output: `y`.
#[track_caller]
pub fn spence(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Spence").input(x)
}

/// The square root of each element.
///
/// Op `Sqrt`. Output: `y`.
#[track_caller]
pub fn sqrt(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Sqrt").input(x)
}

/// The gradient of the square root, given its result `y`.
///
/// Op `SqrtGrad`. Output: `z`.
#[track_caller]
pub fn sqrt_grad(graph: &Graph, y: impl Operand, dy: impl Operand) -> OpBuilder {
    graph.op("SqrtGrad").input(y).input(dy)
}

/// The square of each element.
///
/// Op `Square`. Output: `y`.
#[track_caller]
pub fn square(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Square").input(x)
}

/// The square of the difference of two tensors.
///
/// Op `SquaredDifference`. Output: `z`.
#[track_caller]
pub fn squared_difference(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("SquaredDifference").input(x).input(y)
}

/// The difference of two tensors, element by element, with broadcasting.
///
/// Op `Sub`. Output: `z`.
#[track_caller]
pub fn sub(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Sub").input(x).input(y)
}

/// The sum along some axes.
///
/// Op `Sum`. Output: `output`.
///
/// Attributes with defaults: `keep_dims: bool = false`.
#[track_caller]
pub fn sum(graph: &Graph, input: impl Operand, reduction_indices: impl Operand) -> OpBuilder {
    graph.op("Sum").input(input).input(reduction_indices)
}

/// The tangent of each element.
///
/// Op `Tan`. Output: `y`.
#[track_caller]
pub fn tan(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Tan").input(x)
}

/// The hyperbolic tangent of each element.
///
/// Op `Tanh`. Output: `y`.
#[track_caller]
pub fn tanh(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("Tanh").input(x)
}

/// The gradient of the hyperbolic tangent, given its result `y`.
///
/// Op `TanhGrad`. Output: `z`.
#[track_caller]
pub fn tanh_grad(graph: &Graph, y: impl Operand, dy: impl Operand) -> OpBuilder {
    graph.op("TanhGrad").input(y).input(dy)
}

/// The quotient rounded towards zero.
///
/// Op `TruncateDiv`. Output: `z`.
#[track_caller]
pub fn truncate_div(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("TruncateDiv").input(x).input(y)
}

/// The remainder that has the sign of the dividend.
///
/// Op `TruncateMod`. Output: `z`.
#[track_caller]
pub fn truncate_mod(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("TruncateMod").input(x).input(y)
}

/// `x / y`, and zero where `x` is zero.
///
/// Op `Xdivy`. Output: `z`.
#[track_caller]
pub fn xdivy(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Xdivy").input(x).input(y)
}

/// `x ln(1 + y)`, and zero where `x` is zero.
///
/// Op `Xlog1py`. Output: `z`.
#[track_caller]
pub fn xlog1py(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Xlog1py").input(x).input(y)
}

/// `x ln(y)`, and zero where `x` is zero.
///
/// Op `Xlogy`. Output: `z`.
#[track_caller]
pub fn xlogy(graph: &Graph, x: impl Operand, y: impl Operand) -> OpBuilder {
    graph.op("Xlogy").input(x).input(y)
}

/// The Hurwitz zeta function.
///
/// Op `Zeta`. Output: `z`.
#[track_caller]
pub fn zeta(graph: &Graph, x: impl Operand, q: impl Operand) -> OpBuilder {
    graph.op("Zeta").input(x).input(q)
}
