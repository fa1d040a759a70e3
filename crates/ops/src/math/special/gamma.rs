//! The gamma function's logarithm and its derivatives.

use std::f64::consts::PI;

/// `B(2k) / (2k (2k - 1))`: Stirling's series of the logarithm, in powers of `1 / x^2`.
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
];
/// `B(2k) / 2k`: the asymptotic series of the digamma function, in powers of `1 / x^2`.
const DIGAMMA: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 120.0,
    1.0 / 252.0,
    -1.0 / 240.0,
    1.0 / 132.0,
    -691.0 / 32_760.0,
    1.0 / 12.0,
    -3617.0 / 8160.0,
];
/// Where the asymptotic series are exact to the last bit.
const LARGE: f64 = 10.0;
/// `(-1)^k (zeta(k) - 1) / k` for `k` from 2: the Taylor series of `ln gamma` about two, past the
/// first term.
const ABOUT_TWO: [f64; 26] = [
    0.322_467_033_424_113_2,
    -0.067_352_301_053_198_1,
    0.020_580_808_427_784_546,
    -0.007_385_551_028_673_986,
    0.002_890_510_330_741_523_4,
    -0.001_192_753_911_703_261,
    0.000_509_669_524_743_042_5,
    -0.000_223_154_758_453_579_39,
    9.945_751_278_180_853e-5,
    -4.492_623_673_813_314e-5,
    2.050_721_277_567_069e-5,
    -9.439_488_275_268_397e-6,
    4.374_866_789_907_488e-6,
    -2.039_215_753_801_366e-6,
    9.551_412_130_407_42e-7,
    -4.492_469_198_764_566e-7,
    2.120_718_480_555_466_5e-7,
    -1.004_322_482_396_809_9e-7,
    4.769_810_169_363_980_4e-8,
    -2.271_109_460_894_316_4e-8,
    1.083_865_921_489_695_5e-8,
    -5.183_475_041_970_047e-9,
    2.483_674_543_802_478_5e-9,
    -1.192_140_140_586_091_2e-9,
    5.731_367_241_678_862e-10,
    -2.759_522_885_124_233_4e-10,
];
const EULER: f64 = 0.577_215_664_901_532_9;

/// What Stirling's formula `sqrt(2 pi / x) (x / e)^x` lacks of gamma, as a logarithm; for large `x`.
pub(super) fn stirling_correction(x: f64) -> f64 {
    series(&STIRLING, 1.0 / (x * x)) / x
}

fn series(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// `ln |gamma(x)|`.
pub(super) fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x <= 0.0 {
        if x == x.floor() {
            return f64::INFINITY;
        }
        // gamma(x) gamma(1 - x) = pi / sin(pi x)
        return (PI / sin_pi(x).abs()).ln() - lgamma(1.0 - x);
    }
    if x >= LARGE {
        if x > 1e300 {
            return x * (x.ln() - 1.0);
        }
        return (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + stirling_correction(x);
    }
    // The zeros at one and two want their own series; elsewhere factors lead up or down to them.
    let (mut argument, mut factor) = (x, 1.0);
    while argument > 2.5 {
        argument -= 1.0;
        factor *= argument;
    }
    while argument < 0.5 {
        factor /= argument;
        argument += 1.0;
    }
    // gamma(2 + t) = (1 + t) gamma(1 + t)
    let near = if argument < 1.5 {
        about_two(argument - 1.0) - (argument - 1.0).ln_1p()
    } else {
        about_two(argument - 2.0)
    };
    if factor == 1.0 { near } else { near + factor.ln() }
}

/// `ln gamma(2 + t)` for `t` up to a half in size.
fn about_two(t: f64) -> f64 {
    t * ((1.0 - EULER) + t * series(&ABOUT_TWO, t))
}

/// `sin(pi x)`, exact for large `x` too.
pub(super) fn sin_pi(x: f64) -> f64 {
    let rest = x - 2.0 * (0.5 * x).floor();
    (PI * rest).sin()
}

/// `pi / tan(pi x)`.
fn pi_cot_pi(x: f64) -> f64 {
    let rest = x - x.floor();
    if rest == 0.5 { 0.0 } else { PI / (PI * rest).tan() }
}

/// The derivative of `ln gamma`.
pub(super) fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        return digamma(1.0 - x) - pi_cot_pi(x);
    }
    if x == f64::INFINITY {
        return x;
    }
    let (mut argument, mut shift) = (x, 0.0);
    while argument < LARGE {
        shift += 1.0 / argument;
        argument += 1.0;
    }
    let square = 1.0 / (argument * argument);
    argument.ln() - 0.5 / argument - square * series(&DIGAMMA, square) - shift
}

/// `B(2k) / (2k)!`: Euler and Maclaurin's corrections.
const EULER_MACLAURIN: [f64; 10] = [
    0.083_333_333_333_333_33,
    -0.001_388_888_888_888_889,
    3.306_878_306_878_307e-5,
    -8.267_195_767_195_768e-7,
    2.087_675_698_786_81e-8,
    -5.284_190_138_687_493e-10,
    1.338_253_653_068_467_9e-11,
    -3.389_680_296_322_582_7e-13,
    8.586_062_056_277_845e-15,
    -2.174_868_698_558_062e-16,
];

/// Hurwitz's zeta function: the sum of `(q + n)^-x` over all natural `n`.
pub(super) fn zeta(x: f64, q: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    if x.is_nan() || q.is_nan() || x < 1.0 {
        return f64::NAN;
    }
    if q <= 0.0 {
        if q == q.floor() {
            return f64::NAN;
        }
        // Only whole powers of negative numbers are real.
        if x != x.floor() {
            return f64::NAN;
        }
    }
    let mut sum = 0.0;
    let mut base = q;
    while base < LARGE {
        let term = base.powf(-x);
        sum += term;
        base += 1.0;
        if base > 0.0 && term.abs() < f64::EPSILON * sum.abs() {
            return sum;
        }
    }
    sum += base.powf(1.0 - x) / (x - 1.0) + 0.5 * base.powf(-x);
    let (mut rising, mut power) = (x, base.powf(-x - 1.0));
    for (k, coefficient) in EULER_MACLAURIN.iter().enumerate() {
        let term = coefficient * rising * power;
        sum += term;
        if term.abs() < f64::EPSILON * sum.abs() {
            break;
        }
        let next = x + 2.0 * k as f64 + 1.0;
        rising *= next * (next + 1.0);
        power /= base * base;
    }
    sum
}

/// The derivative number `n` of the digamma function.
pub(super) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n < 0.0 || n != n.floor() {
        return f64::NAN;
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    let factorial =
        if n < 160.0 { (1..=n as u32).map(f64::from).product() } else { lgamma(n + 1.0).exp() };
    sign * factorial * zeta(n + 1.0, x)
}
