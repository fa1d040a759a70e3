//! Inverses of the error function and of the normal distribution.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

use tensorfleet_kernels::elementwise::{Erf, Erfc, Unary};

fn erf(x: f64) -> f64 {
    let mut out = [0.0];
    Erf::double(&[x], &mut out);
    out[0]
}

fn erfc(x: f64) -> f64 {
    let mut out = [0.0];
    Erfc::double(&[x], &mut out);
    out[0]
}

/// The inverse of the error function.
pub(super) fn erfinv(y: f64) -> f64 {
    if y.is_nan() || y.abs() > 1.0 {
        return f64::NAN;
    }
    if y.abs() == 1.0 {
        return y * f64::INFINITY;
    }
    if y.abs() > 0.5 {
        // The complement keeps the digits that 1 - y has.
        return erfcinv(1.0 - y.abs()).copysign(y);
    }
    if y == 0.0 {
        return y;
    }
    let mut x = y / FRAC_2_SQRT_PI * (1.0 + y * y * 0.261_799_387_799_149_4);
    for _ in 0..4 {
        x = halley(x, (erf(x) - y) / (FRAC_2_SQRT_PI * (-x * x).exp()));
    }
    x
}

/// The inverse of the complement of the error function, for arguments from zero to one.
fn erfcinv(y: f64) -> f64 {
    if y == 0.0 {
        return f64::INFINITY;
    }
    // erfc(x) is about e^(-x^2) / (x sqrt(pi)).
    let log = -y.ln();
    let mut x = (log - 0.5 * (std::f64::consts::PI * log.max(0.3)).ln()).max(0.1).sqrt();
    for _ in 0..8 {
        let step = (y - erfc(x)) / (FRAC_2_SQRT_PI * (-x * x).exp());
        let next = halley(x, step);
        let done = (next - x).abs() <= 1e-16 * next.abs();
        x = next;
        if done {
            break;
        }
    }
    x
}

/// Newton's step, corrected by the second derivative: that of both functions is `-2 x` times the
/// first.
fn halley(x: f64, step: f64) -> f64 {
    x - step / (1.0 + x * step)
}

/// The quantile function of the normal distribution.
pub(super) fn ndtri(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if p < 0.25 {
        -SQRT_2 * erfcinv(2.0 * p)
    } else if p > 0.75 {
        SQRT_2 * erfcinv(2.0 * (1.0 - p))
    } else {
        erfinv(2.0 * (p - 0.5)) / FRAC_1_SQRT_2
    }
}
