//! Inverse circular and hyperbolic functions, in either precision.
//!
//! Errors, in units in the last place, against double precision over all of single precision:
//! `atan`, `asin` and `acos` 3, `atan2`, `asinh`, `acosh` and `atanh` 4 (`tests`).

use super::Math;
use crate::simd::Isa;

const HALF_PI: f64 = std::f64::consts::FRAC_PI_2;
const PI: f64 = std::f64::consts::PI;
/// Tangents of an eighth of pi, and of three.
const TAN_PI_8: f64 = 0.414_213_562_373_095_03;
const TAN_3_PI_8: f64 = 2.414_213_562_373_095;
/// Where the hyperbolic functions are logarithms of twice their argument.
const LARGE: f64 = 1e9;

/// `base + atan(t)`, for `t` up to [`TAN_PI_8`] in size and `base` so many quarters of pi.
#[inline(always)]
fn atan_from<I: Isa, T: Math>(quarters: T, t: T) -> T {
    let square = t * t;
    let rest = t.fma::<I>(square * T::atan_series::<I>(square), t);
    let low = T::of(0.5) * quarters * T::HALF_PI_LOW;
    quarters * T::of(0.5 * HALF_PI) + (rest + low)
}

#[inline(always)]
pub(crate) fn atan<I: Isa, T: Math>(x: T) -> T {
    let (zero, one) = (T::zero(), T::one());
    let size = x.abs();
    let (middle, steep) = (size > T::of(TAN_PI_8), size > T::of(TAN_3_PI_8));
    let above = if middle { size - one } else { size };
    let above = if steep { -one } else { above };
    let below = if middle { size + one } else { one };
    let below = if steep { size } else { below };
    let quarters = if middle { one } else { zero };
    let quarters = if steep { one + one } else { quarters };
    atan_from::<I, T>(quarters, above / below).copysign(x)
}

/// The angle of the point `(x, y)`, with the signs of zeros as in IEEE 754.
#[inline(always)]
pub(crate) fn atan2<I: Isa, T: Math>(y: T, x: T) -> T {
    let (zero, one) = (T::zero(), T::one());
    let (width, height) = (x.abs(), y.abs());
    let steep = height > width;
    let large = if steep { height } else { width };
    let small = if steep { width } else { height };
    let ratio = small / large;
    let ratio = if (large == zero) & (small == zero) { zero } else { ratio };
    let ratio = if (large == T::infinity()) & (small == T::infinity()) { one } else { ratio };
    let middle = ratio > T::of(TAN_PI_8);
    let reduced = (ratio - one) / (ratio + one);
    let quarters = if middle { one } else { zero };
    let angle = atan_from::<I, T>(quarters, if middle { reduced } else { ratio });
    let low = T::HALF_PI_LOW;
    let angle = if steep { T::of(HALF_PI) - (angle - low) } else { angle };
    let left = x.is_sign_negative();
    let angle = if left { T::of(PI) - (angle - (low + low)) } else { angle };
    angle.copysign(y)
}

/// `asin` of the square root of `square`, which is `root`, for roots up to a half.
#[inline(always)]
fn asin_near<I: Isa, T: Math>(root: T, square: T) -> T {
    root.fma::<I>(square * T::asin_series::<I>(square), root)
}

/// Whether an argument is nearer to one than to zero, and `asin` of it or of half the rest to one.
#[inline(always)]
fn asin_parts<I: Isa, T: Math>(size: T) -> (bool, T) {
    let half = T::of(0.5);
    let far = size > half;
    let square = if far { half * (T::one() - size) } else { size * size };
    let root = if far { square.sqrt() } else { size };
    (far, asin_near::<I, T>(root, square))
}

#[inline(always)]
pub(crate) fn asin<I: Isa, T: Math>(x: T) -> T {
    let (far, part) = asin_parts::<I, T>(x.abs());
    let rest = T::of(HALF_PI) - (part + part - T::HALF_PI_LOW);
    (if far { rest } else { part }).copysign(x)
}

#[inline(always)]
pub(crate) fn acos<I: Isa, T: Math>(x: T) -> T {
    let low = T::HALF_PI_LOW;
    let (far, part) = asin_parts::<I, T>(x.abs());
    let near = T::of(HALF_PI) - (part.copysign(x) - low);
    let twice = part + part;
    let left = T::of(PI) - (twice - (low + low));
    let distant = if x < T::zero() { left } else { twice };
    if far { distant } else { near }
}

#[inline(always)]
pub(crate) fn asinh<I: Isa, T: Math>(x: T) -> T {
    let size = x.abs();
    let square = size * size;
    let near = size + square / (T::one() + (T::one() + square).sqrt());
    let near = near.ln1p_::<I>();
    let far = size.ln_::<I>() + T::of(std::f64::consts::LN_2);
    (if size > T::of(LARGE) { far } else { near }).copysign(x)
}

#[inline(always)]
pub(crate) fn acosh<I: Isa, T: Math>(x: T) -> T {
    let past = x - T::one();
    let near = (past + (past * (past + T::of(2.0))).sqrt()).ln1p_::<I>();
    let far = x.ln_::<I>() + T::of(std::f64::consts::LN_2);
    let value = if x > T::of(LARGE) { far } else { near };
    if x < T::one() { T::nan() } else { value }
}

#[inline(always)]
pub(crate) fn atanh<I: Isa, T: Math>(x: T) -> T {
    let size = x.abs();
    let grown = ((size + size) / (T::one() - size)).ln1p_::<I>();
    (T::of(0.5) * grown).copysign(x)
}
