//! Double precision.

use super::{Math, polynomial};
use crate::simd::Isa;

/// Adding it to a small number leaves that number, rounded to an integer, in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// The natural logarithm of two in two parts; the zeros at the end of the first make its products
/// with exponents exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// `(e^r - 1 - r) / r^2` for `|r| <= ln(2) / 2`.
const EXP: [f64; 11] = [
    5e-1,
    1.666_666_666_666_668_2e-1,
    4.166_666_666_666_609_5e-2,
    8.333_333_333_317_046e-3,
    1.388_888_888_911_552_5e-3,
    1.984_126_989_635_637_3e-4,
    2.480_158_692_674_72e-5,
    2.755_723_488_979_852_6e-6,
    2.755_758_181_271_863_5e-7,
    2.511_202_696_087_239_7e-8,
    2.082_662_171_267_689e-9,
];
/// `(2 atanh(s) - 2 s) / s^3` in powers of `s^2`, `|s| <= 0.1716`.
const ATANH: [f64; 8] = [
    6.666_666_666_666_666e-1,
    4.000_000_000_000_624e-1,
    2.857_142_856_908_680_4e-1,
    2.222_222_264_672_743_3e-1,
    1.818_177_566_632_705_7e-1,
    1.538_709_090_081_741_3e-1,
    1.325_011_136_570_187_5e-1,
    1.325_141_911_833_050_4e-1,
];
/// `erf(x) / x - 1` in powers of `x^2`, `|x| <= 1`.
const ERF: [f64; 13] = [
    1.283_791_670_955_126e-1,
    -3.761_263_890_318_375e-1,
    1.128_379_167_095_485_7e-1,
    -2.686_617_064_507_289_6e-2,
    5.223_977_624_780_875e-3,
    -8.548_326_978_742_595e-4,
    1.205_533_103_691_108_5e-4,
    -1.492_559_350_710_226_8e-5,
    1.646_097_281_948_149_2e-6,
    -1.635_002_523_959_817_8e-7,
    1.465_787_990_129_601_6e-8,
    -1.136_566_600_086_130_5e-9,
    5.945_261_529_824_205e-11,
];
/// `(1 + 2x) e^(x^2) erfc(x)` in powers of `(x - 4) / (x + 4)`, `0.5 <= x <= 28`.
const ERFCX: [f64; 23] = [
    1.232_995_118_625_552_6,
    -1.396_211_168_405_625e-1,
    1.537_965_210_261_987_5e-2,
    6.809_705_425_468_865e-2,
    -1.010_390_660_363_125_3e-1,
    9.373_283_499_852_657e-2,
    -6.633_036_581_201_708e-2,
    3.716_751_553_393_312_5e-2,
    -1.619_773_406_036_327_5e-2,
    5.031_970_017_209_246e-3,
    -7.577_732_692_387_044e-4,
    -1.992_569_575_683_761_6e-4,
    1.506_215_854_047_369_3e-4,
    -2.439_808_670_616_513_2e-5,
    -1.122_176_624_205_092_4e-5,
    5.706_563_016_239_539_5e-6,
    2.933_379_132_576_859e-7,
    -8.196_058_105_186_796e-7,
    7.513_378_530_243_142e-8,
    1.033_341_995_058_394_7e-7,
    -1.820_542_617_399_615_8e-8,
    -9.678_671_219_301_776e-9,
    1.907_200_101_494_091_5e-9,
];
/// `(atan(t) / t - 1) / t^2` in powers of `t^2`, `t <= tan(pi / 8)`.
const ATAN: [f64; 13] = [
    -0.333_333_333_333_333_3,
    0.199_999_999_999_996_76,
    -0.142_857_142_856_586_88,
    0.111_111_111_067_935_49,
    -0.090_909_088_998_677_49,
    0.076_923_023_396_604_71,
    -0.066_665_659_478_735_23,
    0.058_810_359_995_660_96,
    -0.052_509_768_108_033_71,
    0.046_818_151_762_779_425,
    -0.039_763_837_856_896_83,
    0.028_110_259_177_764_666,
    -0.011_726_938_553_152_383,
];
/// `(asin(t) / t - 1) / t^2` in powers of `t^2`, `t <= 1/2`.
const ASIN: [f64; 13] = [
    0.166_666_666_666_667_63,
    0.074_999_999_999_701_3,
    0.044_642_857_175_246_485,
    0.030_381_942_677_512_06,
    0.022_372_215_834_099_634,
    0.017_351_596_952_464_188,
    0.013_980_999_145_660_249,
    0.011_397_467_864_274_256,
    0.010_788_252_233_554_535,
    0.003_676_550_148_595_279_5,
    0.021_779_255_080_392_808,
    -0.021_099_542_813_867_937,
    0.032_690_782_656_723_86,
];

/// `x = n ln(2) + r` with `|r| <= ln(2) / 2`, for `|x|` up to about two thousand: `(n, r)`.
#[inline(always)]
fn reduce<I: Isa>(x: f64) -> (u64, f64) {
    let shifted = I::fma64(x, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = I::fma64(n, -LN2_LOW, I::fma64(n, -LN2_HIGH, x));
    (shifted.to_bits().wrapping_sub(ROUND.to_bits()), r)
}

/// `2^n` for exponents of normal numbers; `n` is a two's complement.
#[inline(always)]
fn exp2_int(n: u64) -> f64 {
    f64::from_bits(n.wrapping_add(1023) << 52)
}

/// `value * 2^n`, also where `2^n` itself is out of range.
#[inline(always)]
fn scale(value: f64, n: u64) -> f64 {
    // Older vector units shift 64-bit lanes logically only, hence the detour to positive numbers.
    let half = (n.wrapping_add(4096) >> 1).wrapping_sub(2048);
    value * exp2_int(half) * exp2_int(n.wrapping_sub(half))
}

/// Limits without losing a NaN.
#[inline(always)]
fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// `ln(x) + extra`, for a small `extra` that is added before the last rounding.
#[inline(always)]
fn ln_plus<I: Isa>(x: f64, extra: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const MANTISSA: u64 = (1 << 52) - 1;
    let subnormal = x < f64::MIN_POSITIVE;
    let normal = if subnormal { x * 18_014_398_509_481_984.0 } else { x };
    let offset = normal.to_bits().wrapping_sub(SQRT_HALF);
    // The exponent as a float without an integer conversion, which few vector units have.
    let biased = offset.wrapping_add(1024 << 52) >> 52;
    let exponent = f64::from_bits(biased | 0x4330_0000_0000_0000) - 4_503_599_627_371_520.0;
    let exponent = if subnormal { exponent - 54.0 } else { exponent };
    let f = f64::from_bits((offset & MANTISSA).wrapping_add(SQRT_HALF)) - 1.0;
    // ln(1 + f) = f - f^2/2 + s (f^2/2 + s^2 R(s^2)) with s = f / (2 + f).
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    let tail = s * I::fma64(z, polynomial::<I, f64, 8>(z, ATANH), half_square);
    let tail = tail + I::fma64(exponent, LN2_LOW, extra);
    let result = I::fma64(exponent, LN2_HIGH, f - (half_square - tail));
    let result = if x == f64::INFINITY { x } else { result };
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    if x >= 0.0 { result } else { f64::NAN }
}

/// `erfc(x)` for `x >= 0.5`.
#[inline(always)]
fn erfc_far<I: Isa>(x: f64) -> f64 {
    let x = clamp(x, 0.5, 28.0);
    let t = (x - 4.0) / (x + 4.0);
    let scaled = polynomial::<I, f64, 23>(t, ERFCX) / I::fma64(2.0, x, 1.0);
    // x^2 exactly, as the square of its upper half and the rest.
    let high = f64::from_bits(x.to_bits() & !0x07ff_ffff);
    let rest = (x - high) * (x + high);
    (-high * high).exp_::<I>() * (-rest).exp_::<I>() * scaled
}

#[inline(always)]
fn erf_near<I: Isa>(x: f64) -> f64 {
    I::fma64(x, polynomial::<I, f64, 13>(x * x, ERF), x)
}

impl Math for f64 {
    const TRIG_LIMIT: Self = f64::INFINITY;
    const HALF_PI_LOW: Self = 6.123_233_995_736_766e-17;

    #[inline(always)]
    fn tan_<I: Isa>(self) -> Self {
        self.tan()
    }

    #[inline(always)]
    fn atan_series<I: Isa>(square: Self) -> Self {
        polynomial::<I, f64, 13>(square, ATAN)
    }

    #[inline(always)]
    fn asin_series<I: Isa>(square: Self) -> Self {
        polynomial::<I, f64, 13>(square, ASIN)
    }

    #[inline(always)]
    fn exp_<I: Isa>(self) -> Self {
        let (n, r) = reduce::<I>(clamp(self, -746.0, 710.0));
        let p = I::fma64(r * r, polynomial::<I, f64, 11>(r, EXP), r);
        scale(1.0 + p, n)
    }

    #[inline(always)]
    fn expm1_<I: Isa>(self) -> Self {
        let (n, r) = reduce::<I>(clamp(self, -40.0, 710.0));
        let p = I::fma64(r * r, polynomial::<I, f64, 11>(r, EXP), r);
        // 2^-n only matters while it is not lost beside one.
        let inverse = if self > 600.0 { 0.0 } else { exp2_int(0u64.wrapping_sub(n)) };
        let value = scale(p + (1.0 - inverse), n);
        if self.abs() < 4.0e-17 { self } else { value }
    }

    #[inline(always)]
    fn ln_<I: Isa>(self) -> Self {
        ln_plus::<I>(self, 0.0)
    }

    #[inline(always)]
    fn ln1p_<I: Isa>(self) -> Self {
        let sum = 1.0 + self;
        let lost = if self > 1.0 { 1.0 - (sum - self) } else { self - (sum - 1.0) };
        let lost = if sum > 0.0 && sum < f64::INFINITY { lost / sum } else { 0.0 };
        let result = ln_plus::<I>(sum, lost);
        if self.abs() < 4.0e-17 { self } else { result }
    }

    #[inline(always)]
    fn erf_<I: Isa>(self) -> Self {
        let size = self.abs();
        let far = (1.0 - erfc_far::<I>(size)).copysign(self);
        if size < 1.0 { erf_near::<I>(self) } else { far }
    }

    #[inline(always)]
    fn erfc_<I: Isa>(self) -> Self {
        let size = self.abs();
        let far = erfc_far::<I>(size);
        let far = if self < 0.0 { 2.0 - far } else { far };
        if size < 0.5 { 1.0 - erf_near::<I>(self) } else { far }
    }

    #[inline(always)]
    fn sin_<I: Isa>(self) -> Self {
        self.sin()
    }

    #[inline(always)]
    fn cos_<I: Isa>(self) -> Self {
        self.cos()
    }

    #[inline(always)]
    fn pow_<I: Isa>(self, y: Self) -> Self {
        self.powf(y)
    }

    fn sin_any(self) -> Self {
        self.sin()
    }

    fn cos_any(self) -> Self {
        self.cos()
    }

    fn tan_any(self) -> Self {
        self.tan()
    }
}
