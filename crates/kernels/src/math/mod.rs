//! Elementary functions that the compiler can vectorise.
//!
//! Each is straight-line code without calls, tables or branches (only selections), generic over the
//! instruction set, so that a loop around it becomes vector code at every level. Polynomials are
//! minimax fits of relative error on the reduced range. Special values (NaN, infinities, zeros,
//! subnormal and huge numbers) come out as in IEEE 754's recommended functions.

mod arcs;
mod derived;
mod double;
mod gamma;
mod normal;
mod single;
#[cfg(test)]
mod tests;

use crate::real::Wide;
use crate::simd::Isa;

pub(crate) use arcs::*;
pub(crate) use derived::*;
pub(crate) use gamma::lgamma;
pub(crate) use normal::{erfinv, ndtri};

/// The functions that have an own approximation in each precision.
///
/// The plain names without an instruction set (`sqrt`, `abs`, ...) come from `num_traits::Float`.
pub trait Math: Wide {
    /// `e^self`.
    fn exp_<I: Isa>(self) -> Self;
    /// `e^self - 1`, exact near zero too.
    fn expm1_<I: Isa>(self) -> Self;
    /// The natural logarithm.
    fn ln_<I: Isa>(self) -> Self;
    /// `ln(1 + self)`, exact near zero too.
    fn ln1p_<I: Isa>(self) -> Self;
    /// The error function.
    fn erf_<I: Isa>(self) -> Self;
    /// `1 - erf(self)`, exact for large arguments too.
    fn erfc_<I: Isa>(self) -> Self;
    /// The sine, if `self` is at most [`Math::TRIG_LIMIT`] in size.
    fn sin_<I: Isa>(self) -> Self;
    /// The cosine, if `self` is at most [`Math::TRIG_LIMIT`] in size.
    fn cos_<I: Isa>(self) -> Self;
    /// The tangent, if `self` is at most [`Math::TRIG_LIMIT`] in size.
    fn tan_<I: Isa>(self) -> Self;
    /// `(atan(t) / t - 1) / t^2` from `t^2`, for `t` up to `tan(pi / 8)`.
    fn atan_series<I: Isa>(square: Self) -> Self;
    /// `(asin(t) / t - 1) / t^2` from `t^2`, for `t` up to one half.
    fn asin_series<I: Isa>(square: Self) -> Self;
    /// What this precision's half of pi lacks of the true one.
    const HALF_PI_LOW: Self;
    /// `self^y` for a positive finite base and a finite exponent.
    fn pow_<I: Isa>(self, y: Self) -> Self;
    /// How far the vectorised sine and cosine reduce their argument.
    const TRIG_LIMIT: Self;
    /// An accurate sine for any argument, one at a time.
    fn sin_any(self) -> Self;
    /// An accurate cosine for any argument, one at a time.
    fn cos_any(self) -> Self;
    /// An accurate tangent for any argument, one at a time.
    fn tan_any(self) -> Self;
}

/// Evaluates a polynomial; coefficients from the constant upward.
#[inline(always)]
fn polynomial<I: Isa, T: Wide, const N: usize>(x: T, coefficients: [T; N]) -> T {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.fma::<I>(x, coefficients[i]);
    }
    sum
}
