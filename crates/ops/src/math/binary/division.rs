//! Quotients and remainders.

use num_complex::Complex;
use num_traits::Float;
use tensorfleet_framework::{Op, cpu, no_gradient};
use tensorfleet_kernels::{Parallel, elementwise as fast};
use tensorfleet_tensor::{DType, Error, Result, Tensor, internal, invalid_argument};

use super::super::dtypes::{FIELDS, NUMBERS, ORDERED};
use super::{gradient, table};

const T_DIV: &str = "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, \
     uint32, uint64, int64, complex64, complex128}";
const T_DIV_NO_NAN: &str = "T: {half, float, bfloat16, double, complex64, complex128}";
const T_FLOOR_MOD: &str = "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, \
     bfloat16, half, float, double}";
const T_TRUNCATE_MOD: &str = "T: {int32, int64, bfloat16, half, float, double}";
// TensorFlow lists `half` twice.
const T_MOD: &str = "T: {int32, int64, half, half, bfloat16, float, double}";
const REMAINDERS: &[DType] = &[DType::Int32, DType::Int64, DType::Float, DType::Double];

/// The quotient of complex numbers. The divisor is scaled to about one first, so that its square
/// neither overflows nor vanishes.
#[inline(always)]
pub(in crate::math) fn quotient<T: Float>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    let largest = b.re.abs().max(b.im.abs());
    let (re, im) = (b.re / largest, b.im / largest);
    let square = re * re + im * im;
    Complex::new(
        (a.re * re + a.im * im) / square / largest,
        (a.im * re - a.re * im) / square / largest,
    )
}

/// A tensor divided by a number.
pub(crate) fn divided(par: Parallel, x: Tensor, by: usize) -> Result<Tensor> {
    let number = super::super::cast::cast(par, &Tensor::scalar(by as i64), x.dtype(), false)?;
    <Div as super::Function>::apply(par, x, number)
}

table! {
    Div("x: T", "y: T"): T_DIV, NUMBERS => {
        real(|a, b| a / b)
        partial(|a, b| (b != 0).then(|| a.wrapping_div(b)), division_by_zero)
        complex(quotient)
    } gradient::div;
    /// Zero where `y` is zero; for complex numbers also where the product with its conjugate is.
    DivNoNan("x: T", "y: T"): T_DIV_NO_NAN, FIELDS => {
        real(|a, b| if b == 0.0 { 0.0 } else { a / b })
        complex(|a, b| {
            let is_zero = b == Complex::ZERO || a * b.conj() == Complex::ZERO;
            if is_zero { Complex::ZERO } else { quotient(a, b) }
        })
    } gradient::div_no_nan;
    FloorDiv("x: T", "y: T"): T_DIV, ORDERED => {
        vector(fast::FloorDiv)
        partial(
            |a, b| (b != 0).then(|| {
                let quotient = a.wrapping_div(b);
                let inexact_below_zero = opposite(a, b) && a.wrapping_rem(b) != 0;
                if inexact_below_zero { quotient.wrapping_sub(1) } else { quotient }
            }),
            division_by_zero
        )
    } no_gradient;
    /// The remainder that has the sign of the divisor.
    FloorMod("x: T", "y: T"): T_FLOOR_MOD, ORDERED => {
        real(|a, b| {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        })
        partial(
            |a, b| (b != 0).then(|| {
                let rest = a.wrapping_rem(b);
                let other_sign = rest != 0 && opposite(rest, b);
                if other_sign { rest.wrapping_add(b) } else { rest }
            }),
            division_by_zero
        )
    } gradient::floor_mod;
    Mod("x: T", "y: T"): T_MOD, REMAINDERS => {
        real(|a, b| a % b)
        partial(|a, b| (b != 0).then(|| a.wrapping_rem(b)), division_by_zero)
    } no_gradient;
    RealDiv("x: T", "y: T"): T_DIV, FIELDS => {
        real(|a, b| a / b) complex(quotient)
    } gradient::div;
    TruncateDiv("x: T", "y: T"): T_DIV, ORDERED => {
        real(|a, b| (a / b).trunc())
        partial(|a, b| (b != 0).then(|| a.wrapping_div(b)), unexpected_error)
    } no_gradient;
    TruncateMod("x: T", "y: T"): T_TRUNCATE_MOD, REMAINDERS => {
        real(|a, b| a % b)
        partial(|a, b| (b != 0).then(|| a.wrapping_rem(b)), unexpected_error)
    } gradient::truncate_mod;
}

/// Whether one number is negative and the other is not.
fn opposite<T: num_traits::PrimInt>(a: T, b: T) -> bool {
    (a < T::zero()) != (b < T::zero())
}

fn division_by_zero() -> Error {
    invalid_argument!("Integer division by zero")
}

/// What TensorFlow says of the truncating ops, whose errors it does not expect.
fn unexpected_error() -> Error {
    internal!("Unexpected error in binary operator (only integer div and mod should have errors)")
}
