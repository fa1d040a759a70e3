//! Functions made of the elementary ones, in either precision.

use super::Math;
use crate::simd::Isa;

/// The constants that keep activations at zero mean and unit variance.
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;

/// `1 / (1 + e^-x)`, without overflow on either side.
#[inline(always)]
pub(crate) fn sigmoid<I: Isa, T: Math>(x: T) -> T {
    let decay = (-x.abs()).exp_::<I>();
    let numerator = if x < T::zero() { decay } else { T::one() };
    numerator / (T::one() + decay)
}

#[inline(always)]
pub(crate) fn tanh<I: Isa, T: Math>(x: T) -> T {
    // Beyond this the result rounds to one, in double precision too.
    let limit = T::of(20.0);
    let size = if x.abs() > limit { limit } else { x.abs() };
    let grown = (size + size).expm1_::<I>();
    (grown / (grown + T::of(2.0))).copysign(x)
}

/// `ln(1 + e^x)`, without overflow.
#[inline(always)]
pub(crate) fn softplus<I: Isa, T: Math>(x: T) -> T {
    // Unlike `max`, keeps a NaN.
    let positive = if x < T::zero() { T::zero() } else { x };
    positive + (-x.abs()).exp_::<I>().ln1p_::<I>()
}

#[inline(always)]
pub(crate) fn elu<I: Isa, T: Math>(x: T) -> T {
    if x < T::zero() { x.expm1_::<I>() } else { x }
}

#[inline(always)]
pub(crate) fn selu<I: Isa, T: Math>(x: T) -> T {
    let low = T::of(SELU_SCALE * SELU_ALPHA) * x.expm1_::<I>();
    if x < T::zero() { low } else { T::of(SELU_SCALE) * x }
}

#[inline(always)]
pub(crate) fn selu_grad<T: Math>(gradient: T, output: T) -> T {
    let low = gradient * (output + T::of(SELU_SCALE * SELU_ALPHA));
    if output < T::zero() { low } else { gradient * T::of(SELU_SCALE) }
}

#[inline(always)]
pub(crate) fn sinh<I: Isa, T: Math>(x: T) -> T {
    // (e^x - e^-x) / 2 from e^|x| - 1; in two halves because e^|x| overflows before the result.
    let grown = x.abs().expm1_::<I>();
    let small = T::of(0.5) * (grown + grown / (grown + T::one()));
    let half = (T::of(0.5) * x.abs()).exp_::<I>();
    let large = T::of(0.5) * half * half;
    (if x.abs() > T::of(20.0) { large } else { small }).copysign(x)
}

#[inline(always)]
pub(crate) fn cosh<I: Isa, T: Math>(x: T) -> T {
    let half = (T::of(0.5) * x.abs()).exp_::<I>();
    let small = x.abs().exp_::<I>();
    let small = T::of(0.5) * (small + T::one() / small);
    if x.abs() > T::of(20.0) { T::of(0.5) * half * half } else { small }
}

/// `-softplus(-x)`: the logarithm of the sigmoid.
#[inline(always)]
pub(crate) fn log_sigmoid<I: Isa, T: Math>(x: T) -> T {
    -softplus::<I, T>(-x)
}
