//! The inverse of the error function and the quantiles of the normal distribution, for results in
//! single precision: computed in double precision, one unit in the last place, and no branches.

use super::{Math, polynomial};
use crate::simd::Isa;

/// `erfinv(x) / x` in powers of `-ln(1 - x^2)` less [`NEAR_CENTRE`], where that is below [`FAR`].
const NEAR: [f64; 11] = [
    1.331_127_238_921_633_8,
    0.250_315_739_262_766,
    -0.000_989_114_594_554_935_4,
    -0.001_848_146_074_602_997,
    0.000_206_406_857_228_578_26,
    1.318_340_597_183_279_6e-5,
    -5.213_134_904_116_985e-6,
    1.913_291_270_718_434_4e-7,
    9.055_449_979_798_167e-8,
    -9.207_824_537_985_02e-9,
    -1.018_971_931_626_491_8e-9,
];
const NEAR_CENTRE: f64 = 1.815_701_171_108_634_8;
const FAR: f64 = 3.5;
/// The same to four digits, in powers of the root of the logarithm less [`FAR_CENTRE`], beyond it.
const START: [f64; 12] = [
    5.941_401_921_093_712,
    1.009_354_285_142_325_4,
    -0.000_319_188_061_338_863_4,
    0.000_176_638_214_942_014_53,
    -6.303_669_552_205_427e-5,
    -7.512_762_244_414_642e-5,
    1.686_298_980_525_921e-5,
    8.825_875_947_232_674e-6,
    -1.356_348_408_645_385_4e-6,
    -4.621_260_814_418_505_5e-7,
    4.973_795_128_017_340_5e-8,
    5.717_667_648_128_864e-9,
];
const FAR_CENTRE: f64 = 6.080_770_692_290_637_5;

/// `erfinv(1 - rest)`, for rests from zero to one; what they lack of one is told apart, exactly.
#[inline(always)]
fn erfinv_of<I: Isa>(size: f64, rest: f64) -> f64 {
    let log = -(rest * (1.0 + size)).ln_::<I>();
    let near = size * polynomial::<I, f64, 11>(log - NEAR_CENTRE, NEAR);
    let start = size * polynomial::<I, f64, 12>(log.sqrt() - FAR_CENTRE, START);
    // One step of Halley's: the second derivative is `-2 start` times the first.
    let slope = std::f64::consts::FRAC_2_SQRT_PI * (-start * start).exp_::<I>();
    let step = (rest - start.erfc_::<I>()) / slope;
    let far = start - step / (1.0 + start * step);
    let value = if log < FAR { near } else { far };
    if rest == 0.0 { f64::INFINITY } else { value }
}

/// The inverse of the error function.
#[inline(always)]
pub(crate) fn erfinv<I: Isa>(x: f32) -> f32 {
    let size = f64::from(x.abs());
    (erfinv_of::<I>(size, 1.0 - size) as f32).copysign(x)
}

/// The quantile function of the normal distribution.
#[inline(always)]
pub(crate) fn ndtri<I: Isa>(p: f32) -> f32 {
    let p = f64::from(p);
    let tail = if p < 0.5 { p } else { 1.0 - p };
    let rest = tail + tail;
    let value = std::f64::consts::SQRT_2 * erfinv_of::<I>(1.0 - rest, rest);
    (if p < 0.5 { -value } else { value }) as f32
}
