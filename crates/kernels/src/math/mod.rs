//! Elementary functions that the compiler can vectorise.
//!
//! Each is straight-line code without calls, tables or branches (only selections), generic over the
//! instruction set, so that a loop around it becomes vector code at every level. Polynomials are
//! minimax fits of relative error on the reduced range. Special values (NaN, infinities, zeros,
//! subnormal and huge numbers) come out as in IEEE 754's recommended functions.

mod derived;
mod double;
mod single;
#[cfg(test)]
mod tests;

use crate::real::Wide;
use crate::simd::Isa;

pub(crate) use derived::*;

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
    /// `self^y` for a positive finite base and a finite exponent.
    fn pow_<I: Isa>(self, y: Self) -> Self;
    /// How far the vectorised sine and cosine reduce their argument.
    const TRIG_LIMIT: Self;
    /// An accurate sine for any argument, one at a time.
    fn sin_any(self) -> Self;
    /// An accurate cosine for any argument, one at a time.
    fn cos_any(self) -> Self;
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
