//! Sums, products, extremes and powers.

use bytes::{Bytes, BytesMut};
use num_complex::{Complex, ComplexFloat};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::{Parallel, elementwise as fast};
use tensorfleet_tensor::{DType, Error, Result, Tensor, invalid_argument, try_vec};

use super::super::dtypes::{FIELDS, NUMBERS, ORDERED, REALS, SIGNED, T_FIELD, T_REAL};
use super::division::quotient;
use super::{gradient, table};
use crate::broadcast::Alignment;

const T_ADD: &str = "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, \
     complex64, complex128, string}";
const T_ADD_V2: &str = "T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, \
     int16, int32, int64, complex64, complex128}";
const T_SUB: &str = "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, \
     complex64, complex128, uint32, uint64}";
const T_MUL: &str = "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, \
     uint32, uint64, int64, complex64, complex128}";
const T_EXTREME: &str = "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, \
     uint32, int64, uint64}";
const T_POW: &str = "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, \
     complex128}";
const T_DIFFERENCE: &str =
    "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}";
const T_FIELD_HALF_FIRST: &str = "T: {half, bfloat16, float, double, complex64, complex128}";

/// What the old `Add` takes besides strings.
const ADDED: &[DType] = &[
    DType::BFloat16,
    DType::Half,
    DType::Float,
    DType::Double,
    DType::UInt8,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::Complex64,
    DType::Complex128,
];
const DIFFERENCES: &[DType] = &[
    DType::BFloat16,
    DType::Half,
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::Int64,
    DType::Complex64,
    DType::Complex128,
];

/// The older op of the name `Add` also joins strings.
pub(in crate::math) const ADD: &[Op] = &[Op {
    name: "Add",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &[T_ADD],
    kernels: &[
        cpu::<super::Elementwise<AddV2>>().types("T", ADDED),
        cpu::<Join>().types("T", &[DType::String]),
    ],
    shape: Some(crate::shapes::broadcasts),
    gradient: Some(gradient::add),
    ..Op::DEFAULT
}];

/// What an op of two values makes of tensors of one shape.
pub(crate) fn merged(op: &str, par: Parallel, x: Tensor, y: Tensor) -> Result<Tensor> {
    use super::Function;
    match op {
        "AddV2" => AddV2::apply(par, x, y),
        "Maximum" => Maximum::apply(par, x, y),
        "Minimum" => Minimum::apply(par, x, y),
        "Mul" => Mul::apply(par, x, y),
        other => Err(invalid_argument!("{other} does not merge two tensors into one")),
    }
}

table! {
    AddV2("x: T", "y: T") commutative aggregate: T_ADD_V2, NUMBERS => {
        real(|a, b| a + b) integer(|a, b| a.wrapping_add(b)) complex(|a, b| a + b)
    } gradient::add;
    Atan2("y: T", "x: T"): T_REAL, REALS => { vector(fast::Atan2) } gradient::atan2;
    /// The first of equal operands, and NaN if either is one.
    Maximum("x: T", "y: T"): T_EXTREME, ORDERED => {
        real(|a, b| if b > a || b.is_nan() { b } else { a }) integer(|a, b| a.max(b))
    } gradient::maximum;
    /// The first of equal operands, and NaN if either is one.
    Minimum("x: T", "y: T"): T_EXTREME, ORDERED => {
        real(|a, b| if b < a || b.is_nan() { b } else { a }) integer(|a, b| a.min(b))
    } gradient::minimum;
    Mul("x: T", "y: T") commutative: T_MUL, NUMBERS => {
        real(|a, b| a * b) integer(|a, b| a.wrapping_mul(b)) complex(|a, b| a * b)
    } gradient::mul;
    /// Zero where `y` is zero, whatever `x`.
    MulNoNan("x: T", "y: T"): T_FIELD, FIELDS => {
        real(|a, b| if b == 0.0 { 0.0 } else { a * b })
        complex(|a, b| if b == Complex::ZERO { Complex::ZERO } else { a * b })
    } gradient::mul_no_nan;
    Pow("x: T", "y: T"): T_POW, SIGNED => {
        vector(fast::Pow) partial(|a, b| power(b, a, 1, |a, b| a.wrapping_mul(b)), negative_power)
        complex(complex_power)
    } gradient::pow;
    SquaredDifference("x: T", "y: T") commutative: T_DIFFERENCE, DIFFERENCES => {
        real(|a, b| (a - b) * (a - b))
        integer(|a, b| a.wrapping_sub(b).wrapping_mul(a.wrapping_sub(b)))
        complex(|a, b| Complex::from((a - b).norm_sqr()))
    } gradient::squared_difference;
    Sub("x: T", "y: T"): T_SUB, NUMBERS => {
        real(|a, b| a - b) integer(|a, b| a.wrapping_sub(b)) complex(|a, b| a - b)
    } gradient::sub;
    /// Zero where `x` is zero, whatever `y`.
    Xdivy("x: T", "y: T"): T_FIELD_HALF_FIRST, FIELDS => {
        vector(fast::Xdivy) complex(|a, b| if a == Complex::ZERO { a } else { quotient(a, b) })
    } gradient::xdivy;
    /// Zero where `x` is zero, whatever `y`.
    Xlog1py("x: T", "y: T"): T_FIELD_HALF_FIRST, FIELDS => {
        vector(fast::Xlog1py)
        complex(|a, b| if a == Complex::ZERO { a } else { a * (b + 1.0).ln() })
    } gradient::xlog1py;
    /// Zero where `x` is zero, whatever `y`.
    Xlogy("x: T", "y: T"): T_FIELD_HALF_FIRST, FIELDS => {
        vector(fast::Xlogy) complex(|a, b| if a == Complex::ZERO { a } else { a * b.ln() })
    } gradient::xlogy;
}

/// A power of integers by squaring, unless the exponent is negative.
fn power<T: Copy>(exponent: impl TryInto<u64>, base: T, one: T, mul: fn(T, T) -> T) -> Option<T> {
    let mut exponent: u64 = exponent.try_into().ok()?;
    let (mut square, mut product) = (base, one);
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = mul(product, square);
        }
        square = mul(square, square);
        exponent >>= 1;
    }
    Some(product)
}

fn negative_power() -> Error {
    invalid_argument!("Integers to negative integer powers are not allowed")
}

/// As C's `cpow`: through the logarithm, also where that is infinite.
fn complex_power<T: num_traits::Float>(z: Complex<T>, w: Complex<T>) -> Complex<T>
where
    Complex<T>: ComplexFloat,
{
    (z.ln() * w).exp()
}

/// Joins strings.
#[derive(Debug)]
struct Join;

impl Kernel for Join {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.input(1)?);
        let alignment = Alignment::new(x.shape(), y.shape())?;
        let (x, y) = (x.strings()?, y.strings()?);
        let mut joined = try_vec(alignment.shape().num_elements())?;
        alignment.positions(|i, j| joined.push(join(&x[i], &y[j])));
        let joined = Tensor::from_strings(alignment.shape().clone(), joined)?;
        ctx.set_output(0, joined);
        Ok(())
    }
}

fn join(a: &Bytes, b: &Bytes) -> Bytes {
    let mut both = BytesMut::with_capacity(a.len() + b.len());
    both.extend_from_slice(a);
    both.extend_from_slice(b);
    both.freeze()
}
