//! The logarithm of the gamma function, for results in single precision.
//!
//! Computed in double precision, where the differences near its zeros at one and two have digits to
//! spare: two units in the last place, and no branches.

use super::{Math, polynomial};
use crate::simd::Isa;

/// Stirling's series in powers of `1 / x^2`, good to the last digit from this argument on.
const STIRLING: [f64; 7] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
];
const LARGE: f64 = 8.0;
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_7;
const LN_PI: f64 = 1.144_729_885_849_400_2;
/// `sin(pi r) / r` in powers of `r^2`, `|r| <= 1/2`.
const SIN_PI: [f64; 9] = [
    std::f64::consts::PI,
    -5.167_712_780_049_969,
    2.550_164_039_877_303,
    -0.599_264_529_319_067_9,
    0.082_145_886_575_570_65,
    -0.007_370_430_529_934_793,
    0.000_466_299_937_947_914_9,
    -2.190_380_615_040_459_3e-5,
    7.700_929_635_550_5e-7,
];

/// `ln |gamma(x)|`; infinite at the poles and for infinities.
#[inline(always)]
pub(crate) fn lgamma<I: Isa>(x: f32) -> f32 {
    let x = f64::from(x);
    // gamma(x) gamma(1 - x) = pi / sin(pi x)
    let reflected = x < 0.5;
    let argument = if reflected { 1.0 - x } else { x };
    let value = of_positive::<I>(argument);
    let rest = x - x.round_ties_even();
    let sine = (rest * polynomial::<I, f64, 9>(rest * rest, SIN_PI)).abs();
    let mirrored = LN_PI - sine.ln_::<I>() - value;
    let value = if reflected { mirrored } else { value };
    (if x.abs() == f64::INFINITY { f64::INFINITY } else { value }) as f32
}

/// For arguments from one half: gamma(x) = gamma(x + 8) / (x (x + 1) ... (x + 7)).
#[inline(always)]
fn of_positive<I: Isa>(x: f64) -> f64 {
    let small = x < LARGE;
    let mut product = x;
    for step in 1..8 {
        product *= x + f64::from(step);
    }
    let product = if small { product } else { 1.0 };
    let large = if small { x + LARGE } else { x };
    let inverse = 1.0 / large;
    let series = inverse * polynomial::<I, f64, 7>(inverse * inverse, STIRLING);
    (large - 0.5) * large.ln_::<I>() - large + HALF_LN_TWO_PI + series - product.ln_::<I>()
}
