//! Single precision.

use super::{Math, polynomial};
use crate::simd::Isa;

/// Adding it to a small number leaves that number, rounded to an integer, in the low bits.
const ROUND: f32 = 12_582_912.0;
/// The natural logarithm of two in two parts; a few bits fewer make products with the first exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;
/// `(e^r - 1 - r) / r^2` for `|r| <= ln(2) / 2`.
const EXP: [f32; 5] = [4.999_999_4e-1, 1.666_652e-1, 4.166_839_6e-2, 8.368_797e-3, 1.381_443_2e-3];
/// `(ln(1 + f) - f + f^2 / 2) / f^3` for `sqrt(1/2) <= 1 + f < sqrt(2)`.
const LN: [f32; 9] = [
    3.333_331_3e-1,
    -2.500_001e-1,
    2.000_211_9e-1,
    -1.666_799_6e-1,
    1.421_954_6e-1,
    -1.240_557_1e-1,
    1.188_819_6e-1,
    -1.167_578_1e-1,
    6.746_722e-2,
];
/// `(sin(r) - r) / r^3` and `(cos(r) - 1 + r^2 / 2) / r^4` in powers of `r^2`, `|r| <= pi / 4`.
const SIN: [f32; 3] = [-1.666_665_5e-1, 8.332_16e-3, -1.951_520_4e-4];
const COS: [f32; 3] = [4.166_664_6e-2, -1.388_731_5e-3, 2.443_306_8e-5];
/// `erf(x) / x - 1` in powers of `x^2`, `|x| <= 0.94`.
const ERF: [f32; 7] = [
    1.283_791_7e-1,
    -3.761_263_2e-1,
    1.128_367_6e-1,
    -2.685_834_5e-2,
    5.198_463e-3,
    -8.114_049e-4,
    8.251_005e-5,
];
/// `ln(1 - erf(x))` for `0.9 <= x <= 4`.
const LN_ERFC: [f32; 7] = [
    -1.664_492_2e-4,
    -1.127_797_2,
    -6.369_761e-1,
    -1.041_136_7e-1,
    2.231_520_6e-2,
    -3.065_488_5e-3,
    1.982_194_5e-4,
];
/// `(atan(t) / t - 1) / t^2` in powers of `t^2`, `t <= tan(pi / 8)`.
const ATAN: [f32; 4] = [-0.333_329_56, 0.199_779_26, -0.138_798_46, 0.080_602_98];
/// `(asin(t) / t - 1) / t^2` in powers of `t^2`, `t <= 1/2`.
const ASIN: [f32; 6] =
    [0.166_666_6, 0.075_005_11, 0.044_515_72, 0.031_817_608, 0.014_402_615, 0.037_565_187];
/// `(1 + 2 x) e^(x^2) erfc(x)` in powers of `(x - 2) / (x + 2)`, `0.4 <= x <= 10.2`.
const ERFCX: [f32; 10] = [
    1.276_978_4,
    -0.092_763_78,
    -0.166_031_15,
    0.164_049_63,
    -0.054_206_293,
    -0.008_016_136_5,
    0.008_636_121,
    0.001_189_674,
    -0.001_232_696_5,
    -0.000_283_051_08,
];

/// `x = n ln(2) + r` with `|r| <= ln(2) / 2`, for `|x|` up to about two hundred: `(n, r)`.
#[inline(always)]
fn reduce<I: Isa>(x: f32) -> (i32, f32) {
    let shifted = I::fma32(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = I::fma32(n, -LN2_LOW, I::fma32(n, -LN2_HIGH, x));
    (shifted.to_bits().wrapping_sub(ROUND.to_bits()).cast_signed(), r)
}

/// `2^n` for exponents of normal numbers.
#[inline(always)]
fn exp2_int(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23).cast_unsigned())
}

/// `value * 2^n`, also where `2^n` itself is out of range.
#[inline(always)]
fn scale(value: f32, n: i32) -> f32 {
    let half = n >> 1;
    value * exp2_int(half) * exp2_int(n.wrapping_sub(half))
}

/// Limits without losing a NaN.
#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// `ln(x) + extra`, for a small `extra` that is added before the last rounding.
#[inline(always)]
fn ln_plus<I: Isa>(x: f32, extra: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let subnormal = x < f32::MIN_POSITIVE;
    let normal = if subnormal { x * 8_388_608.0 } else { x };
    let offset = normal.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (offset.cast_signed() >> 23) as f32;
    let exponent = if subnormal { exponent - 23.0 } else { exponent };
    let f = f32::from_bits((offset & 0x007f_ffff).wrapping_add(SQRT_HALF)) - 1.0;
    let square = f * f;
    let tail = square * f * polynomial::<I, f32, 9>(f, LN);
    let tail = I::fma32(square, -0.5, tail) + I::fma32(exponent, LN2_LOW, extra);
    let result = I::fma32(exponent, LN2_HIGH, f + tail);
    let result = if x == f32::INFINITY { x } else { result };
    let result = if x == 0.0 { f32::NEG_INFINITY } else { result };
    if x >= 0.0 { result } else { f32::NAN }
}

/// Quadrant and remainder of a division by pi / 2, in double precision because that is exact enough
/// and needs no correction steps.
#[inline(always)]
fn quadrant(x: f32) -> (i32, f32) {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const HALF_PI_HIGH: f64 = 1.570_796_310_901_641_8;
    const HALF_PI_LOW: f64 = 1.589_325_477_352_819_7e-8;
    let x = f64::from(x);
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * HALF_PI_HIGH) - n * HALF_PI_LOW;
    (shifted.to_bits() as i32, r as f32)
}

/// The sine in quadrant `quadrant` past the remainder `r`.
#[inline(always)]
fn sine<I: Isa>(quadrant: i32, r: f32) -> f32 {
    let square = r * r;
    let sin = I::fma32(square * r, polynomial::<I, f32, 3>(square, SIN), r);
    let cos = polynomial::<I, f32, 3>(square, COS);
    let cos = I::fma32(square * square, cos, I::fma32(square, -0.5, 1.0));
    let value = if quadrant & 1 == 0 { sin } else { cos };
    f32::from_bits(value.to_bits() ^ ((quadrant & 2) << 30).cast_unsigned())
}

/// `erfc(x)` for `x >= 0.4`.
#[inline(always)]
fn erfc_far<I: Isa>(x: f32) -> f32 {
    let x = clamp(x, 0.4, 10.2);
    let scaled = polynomial::<I, f32, 10>((x - 2.0) / (x + 2.0), ERFCX) / I::fma32(2.0, x, 1.0);
    // x^2 in two parts, because an exponential makes much of a small error: the square of the upper
    // half of the digits is exact, and so is what their sum loses.
    let high = f32::from_bits(x.to_bits() & 0xffff_f000);
    let (upper, rest) = (high * high, (x - high) * (x + high));
    let square = upper + rest;
    let lost = rest - (square - upper);
    (-square).exp_::<I>() * (1.0 - lost) * scaled
}

impl Math for f32 {
    const TRIG_LIMIT: Self = 1.0e6;
    const HALF_PI_LOW: Self = -4.371_139e-8;

    #[inline(always)]
    fn tan_<I: Isa>(self) -> Self {
        let (quadrant, r) = quadrant(self);
        let value = sine::<I>(quadrant, r) / sine::<I>(quadrant.wrapping_add(1), r);
        if self == 0.0 { self } else { value }
    }

    #[inline(always)]
    fn atan_series<I: Isa>(square: Self) -> Self {
        polynomial::<I, f32, 4>(square, ATAN)
    }

    #[inline(always)]
    fn asin_series<I: Isa>(square: Self) -> Self {
        polynomial::<I, f32, 6>(square, ASIN)
    }

    #[inline(always)]
    fn exp_<I: Isa>(self) -> Self {
        let (n, r) = reduce::<I>(clamp(self, -104.0, 89.0));
        let p = I::fma32(r * r, polynomial::<I, f32, 5>(r, EXP), r);
        scale(1.0 + p, n)
    }

    #[inline(always)]
    fn expm1_<I: Isa>(self) -> Self {
        let (n, r) = reduce::<I>(clamp(self, -18.0, 89.0));
        let p = I::fma32(r * r, polynomial::<I, f32, 5>(r, EXP), r);
        let value = scale(p + (1.0 - exp2_int(0i32.wrapping_sub(n.min(126)))), n);
        // Where the result is the argument, keep also the sign of zero.
        if self.abs() < 2.0e-8 { self } else { value }
    }

    #[inline(always)]
    fn ln_<I: Isa>(self) -> Self {
        ln_plus::<I>(self, 0.0)
    }

    #[inline(always)]
    fn ln1p_<I: Isa>(self) -> Self {
        // The rounding error of the sum, relative to it, is the first order of what it lacks.
        let sum = 1.0 + self;
        let lost = if self > 1.0 { 1.0 - (sum - self) } else { self - (sum - 1.0) };
        let lost = if sum > 0.0 && sum < f32::INFINITY { lost / sum } else { 0.0 };
        let result = ln_plus::<I>(sum, lost);
        if self.abs() < 2.0e-8 { self } else { result }
    }

    #[inline(always)]
    fn erf_<I: Isa>(self) -> Self {
        let size = self.abs();
        let square = self * self;
        let near = I::fma32(self, polynomial::<I, f32, 7>(square, ERF), self);
        let bounded = clamp(size, 0.0, 4.0);
        let far = 1.0 - polynomial::<I, f32, 7>(bounded, LN_ERFC).exp_::<I>();
        if size < 0.94 { near } else { far.copysign(self) }
    }

    #[inline(always)]
    fn erfc_<I: Isa>(self) -> Self {
        let near = 1.0 - self * (1.0 + polynomial::<I, f32, 7>(self * self, ERF));
        let far = erfc_far::<I>(self.abs());
        let far = if self < 0.0 { 2.0 - far } else { far };
        if self.abs() < 0.5 { near } else { far }
    }

    #[inline(always)]
    fn sin_<I: Isa>(self) -> Self {
        let (quadrant, r) = quadrant(self);
        let value = sine::<I>(quadrant, r);
        // The additions above lose the sign of a zero.
        if self == 0.0 { self } else { value }
    }

    #[inline(always)]
    fn cos_<I: Isa>(self) -> Self {
        let (quadrant, r) = quadrant(self);
        sine::<I>(quadrant.wrapping_add(1), r)
    }

    #[inline(always)]
    fn pow_<I: Isa>(self, y: Self) -> Self {
        (f64::from(y) * f64::from(self).ln_::<I>()).exp_::<I>() as f32
    }

    fn sin_any(self) -> Self {
        f64::from(self).sin() as f32
    }

    fn cos_any(self) -> Self {
        f64::from(self).cos() as f32
    }

    fn tan_any(self) -> Self {
        f64::from(self).tan() as f32
    }
}
