//! Functions defined by integrals: Dawson's, the exponential, Fresnel's, and Spence's.

use std::f64::consts::{FRAC_PI_2, PI};

use num_complex::Complex;

const EULER: f64 = 0.577_215_664_901_532_9;

/// Dawson's integral `e^(-x^2) int_0^x e^(t^2) dt`.
pub(super) fn dawsn(x: f64) -> f64 {
    let size = x.abs();
    if size < 0.2 {
        let square = x * x;
        // Terms (-2)^k x^(2k+1) / (1 3 5 .. (2k + 1)).
        let (mut sum, mut term) = (x, x);
        for k in 1..20 {
            term *= -2.0 * square / f64::from(2 * k + 1);
            sum += term;
        }
        return sum;
    }
    if size > 12.0 {
        // The asymptotic series; its terms grow again long after they stop to matter.
        let inverse = 0.5 / (x * x);
        let (mut sum, mut term) = (1.0, 1.0);
        for k in 0..20 {
            term *= f64::from(2 * k + 1) * inverse;
            sum += term;
        }
        return if x.is_infinite() { 0.0 } else { 0.5 / x * sum };
    }
    // Rybicki's sum of Gaussians, of error e^-(pi / 2h)^2.
    const H: f64 = 0.2;
    let nearest = 2.0 * (0.5 * size / H).round();
    let mut sum = 0.0;
    for i in -24..=24 {
        let n = f64::from(2 * i + 1);
        let at = size - (nearest + n) * H;
        sum += (-at * at).exp() / (nearest + n);
    }
    (sum / PI.sqrt()).copysign(x)
}

/// The exponential integral `int_-inf^x e^t / t dt` of a positive number.
pub(super) fn expint(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    // TensorFlow has no number for infinity.
    if x.is_nan() || x < 0.0 || x == f64::INFINITY {
        return f64::NAN;
    }
    if x <= 40.0 {
        let (mut sum, mut power) = (0.0, 1.0);
        for k in 1..400 {
            power *= x / f64::from(k);
            let term = power / f64::from(k);
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        return EULER + x.ln() + sum;
    }
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..200 {
        let next = term * f64::from(k) / x;
        if next >= term || next < 1e-17 {
            break;
        }
        term = next;
        sum += term;
    }
    // In two halves, because the exponential overflows before the quotient.
    let half = (0.5 * x).exp();
    half / x * sum * half
}

/// Fresnel's integrals of `cos` and `sin` of `pi t^2 / 2`.
fn fresnel(x: f64) -> (f64, f64) {
    let size = x.abs();
    let (c, s) = if size < 1.6 {
        fresnel_series(size)
    } else if size > 1e8 {
        (0.5, 0.5)
    } else {
        fresnel_fraction(size)
    };
    (c.copysign(x), s.copysign(x))
}

fn fresnel_series(x: f64) -> (f64, f64) {
    let phase = FRAC_PI_2 * x * x;
    let (mut c, mut s) = (0.0, 0.0);
    // phase^k / k!, integrated: over 2k + 1.
    let mut term = x;
    for k in 0..60 {
        let value = term / f64::from(2 * k + 1);
        match k % 4 {
            0 => c += value,
            1 => s += value,
            2 => c -= value,
            _ => s -= value,
        }
        term *= phase / f64::from(k + 1);
    }
    (c, s)
}

/// Through the continued fraction of the complementary error function of a complex number.
fn fresnel_fraction(x: f64) -> (f64, f64) {
    let square = PI * x * x;
    let one = Complex::new(1.0, 0.0);
    let mut b = Complex::new(1.0, -square);
    let mut c = Complex::new(1e300, 0.0);
    let mut d = one / b;
    let mut h = d;
    let mut n = -1.0;
    for _ in 0..400 {
        n += 2.0;
        let a = -n * (n + 1.0);
        b += 4.0;
        d = one / (d * a + b);
        c = b + one * a / c;
        let step = c * d;
        h *= step;
        if (step - 1.0).norm() < 1e-17 {
            break;
        }
    }
    h *= Complex::new(x, -x);
    let (sin, cos) = (0.5 * square).sin_cos();
    let result = Complex::new(0.5, 0.5) * (one - Complex::new(cos, sin) * h);
    (result.re, result.im)
}

pub(super) fn fresnel_cos(x: f64) -> f64 {
    if x.is_nan() { x } else { fresnel(x).0 }
}

pub(super) fn fresnel_sin(x: f64) -> f64 {
    if x.is_nan() { x } else { fresnel(x).1 }
}

/// `B(2k) / (2k + 1)!`.
const DILOGARITHM: [f64; 10] = [
    0.027_777_777_777_777_776,
    -0.000_277_777_777_777_777_8,
    4.724_111_866_969_01e-6,
    -9.185_773_074_661_964e-8,
    1.897_886_998_897_1e-9,
    -4.064_761_645_144_225_6e-11,
    8.921_691_020_456_452e-13,
    -1.993_929_586_072_107_4e-14,
    4.518_980_029_619_918e-16,
    -1.035_651_761_218_124_7e-17,
];

/// Spence's function `-int_1^x ln t / (t - 1) dt`.
pub(super) fn spence(x: f64) -> f64 {
    // TensorFlow has no number for infinity.
    if x.is_nan() || x < 0.0 || x == f64::INFINITY {
        return f64::NAN;
    }
    const ZETA_2: f64 = PI * PI / 6.0;
    if x == 0.0 {
        return ZETA_2;
    }
    // Reflections bring the argument to where the series is short.
    if x > 2.0 {
        let log = x.ln();
        return -0.5 * log * log - spence(1.0 / x);
    }
    if x < 0.5 {
        return ZETA_2 - x.ln() * (-x).ln_1p() - dilogarithm_of_one_minus(1.0 - x);
    }
    dilogarithm_of_one_minus(x)
}

/// `Li_2(1 - x)` for `x` from a half to two, in powers of `-ln x`.
fn dilogarithm_of_one_minus(x: f64) -> f64 {
    let u = 0.0 - x.ln();
    let square = u * u;
    let series = DILOGARITHM.iter().rev().fold(0.0, |sum, c| sum * square + c);
    u - 0.25 * square + u * square * series
}
