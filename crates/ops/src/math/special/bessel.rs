//! Bessel functions of orders zero and one.
//!
//! Near zero they are power series or, where those lose digits, recurrences from high orders down
//! to the low ones; far out they are asymptotic series, whose error is `e^(-2x)`.

use std::f64::consts::PI;

/// Where the asymptotic series take over.
const FAR: f64 = 25.0;
const EULER: f64 = 0.577_215_664_901_532_9;

/// The sum of the asymptotic series with coefficients `a_k(order) / x^k`, in which term `k` has the
/// sign `sign^k`; stops before terms grow.
fn hankel(order: f64, x: f64, sign: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..60 {
        let odd = f64::from(2 * k - 1);
        let next: f64 = term * sign * (4.0 * order * order - odd * odd) / (f64::from(8 * k) * x);
        if next.abs() >= term.abs() {
            break;
        }
        term = next;
        sum += term;
        if term.abs() < 1e-18 * sum.abs() {
            break;
        }
    }
    sum
}

/// `e^-|x| I_order(x)` for order zero or one.
fn modified_first(order: u32, x: f64) -> f64 {
    let size = x.abs();
    let value = if size < FAR {
        let quarter = 0.25 * size * size;
        let mut term = if order == 0 { 1.0 } else { 0.5 * size };
        let mut sum = term;
        for k in 1..200 {
            term *= quarter / (f64::from(k) * f64::from(k + order));
            sum += term;
            if term <= sum * 1e-17 {
                break;
            }
        }
        sum * (-size).exp()
    } else if size == f64::INFINITY {
        0.0
    } else {
        hankel(order.into(), size, -1.0) / (2.0 * PI * size).sqrt()
    };
    if order == 1 { value.copysign(x) } else { value }
}

pub(super) fn i0e(x: f64) -> f64 {
    if x.is_nan() { x } else { modified_first(0, x) }
}

pub(super) fn i1e(x: f64) -> f64 {
    if x.is_nan() { x } else { modified_first(1, x) }
}

pub(super) fn i0(x: f64) -> f64 {
    x.abs().exp() * i0e(x)
}

pub(super) fn i1(x: f64) -> f64 {
    x.abs().exp() * i1e(x)
}

/// `e^x K_0(x)` and `e^x K_1(x)`.
fn modified_second(x: f64) -> (f64, f64) {
    if x.is_nan() {
        return (x, x);
    }
    // As TensorFlow has it, also for negative arguments.
    if x <= 0.0 {
        return (f64::INFINITY, f64::INFINITY);
    }
    if x == f64::INFINITY {
        return (0.0, 0.0);
    }
    let (k0, k1) = if x <= 2.0 { second_series(x) } else { return second_fraction(x) };
    (k0 * x.exp(), k1 * x.exp())
}

/// `K_0` and `K_1` by the logarithmic series.
fn second_series(x: f64) -> (f64, f64) {
    let quarter = 0.25 * x * x;
    let log = (0.5 * x).ln() + EULER;
    // Terms of I_0 and I_1 with the harmonic numbers that go with them.
    let (mut term0, mut term1, mut harmonic) = (1.0, 0.5 * x, 0.0);
    let (mut k0, mut k1) = (-log, 1.0 / x + term1 * (log - 0.5));
    for k in 1..40 {
        let k = f64::from(k);
        term0 *= quarter / (k * k);
        term1 *= quarter / (k * (k + 1.0));
        harmonic += 1.0 / k;
        k0 += term0 * (harmonic - log);
        k1 += term1 * (log - harmonic - 0.5 / (k + 1.0));
    }
    (k0, k1)
}

/// `e^x K_0` and `e^x K_1` by Temme's continued fraction.
fn second_fraction(x: f64) -> (f64, f64) {
    let mut b = 2.0 * (1.0 + x);
    let mut d = 1.0 / b;
    let (mut h, mut step) = (d, d);
    let (mut q1, mut q2) = (0.0, 1.0);
    let mut a = -0.25;
    let (mut c, mut q) = (0.25, 0.25);
    let mut s = 1.0 + q * step;
    for i in 2..10_000 {
        let i = f64::from(i);
        a -= 2.0 * (i - 1.0);
        c = -a * c / i;
        let next = (q1 - b * q2) / a;
        (q1, q2) = (q2, next);
        q += c * next;
        b += 2.0;
        d = 1.0 / (b + a * d);
        step *= b * d - 1.0;
        h += step;
        let change = q * step;
        s += change;
        if (change / s).abs() < 1e-17 {
            break;
        }
    }
    let k0 = (PI / (2.0 * x)).sqrt() / s;
    (k0, k0 * (x + 0.5 - 0.25 * h) / x)
}

pub(super) fn k0e(x: f64) -> f64 {
    modified_second(x).0
}

pub(super) fn k1e(x: f64) -> f64 {
    modified_second(x).1
}

pub(super) fn k0(x: f64) -> f64 {
    if x > 0.0 { (-x).exp() * k0e(x) } else { k0e(x) }
}

pub(super) fn k1(x: f64) -> f64 {
    if x > 0.0 { (-x).exp() * k1e(x) } else { k1e(x) }
}

/// `J_0`, `J_1`, `Y_0` and `Y_1` of a positive number.
struct Cylinder {
    j0: f64,
    j1: f64,
    y0: f64,
    y1: f64,
}

fn cylinder(x: f64) -> Cylinder {
    if x < 1e-5 {
        // The leading terms; the next are a square smaller.
        let log = (0.5 * x).ln() + EULER;
        let (j0, j1) = (1.0 - 0.25 * x * x, 0.5 * x);
        Cylinder { j0, j1, y0: 2.0 / PI * log, y1: 2.0 / PI * ((log - 0.5) * j1 - 1.0 / x) }
    } else if x < FAR {
        near_cylinder(x)
    } else {
        far_cylinder(x)
    }
}

/// Downward recurrence (Miller's), scaled by `1 = J_0 + 2 J_2 + 2 J_4 + ..`; the second kind by
/// Neumann's series of the first.
fn near_cylinder(x: f64) -> Cylinder {
    let top = 2 * ((x as usize + 40) / 2);
    let (mut above, mut this) = (0.0, 1e-280);
    let mut norm = 0.0;
    // Sums for Y_0 (over J_2k / k) and Y_1 (over J_(2k+1)).
    let (mut even, mut odd) = (0.0, 0.0);
    let mut j1 = 0.0;
    for n in (0..top).rev() {
        let below = 2.0 * (n + 1) as f64 / x * this - above;
        (above, this) = (this, below);
        if this.abs() > 1e280 {
            for value in [&mut above, &mut this, &mut norm, &mut even, &mut odd, &mut j1] {
                *value *= 1e-280;
            }
        }
        let half = (n / 2) as f64;
        let sign = if (n / 2) % 2 == 0 { 1.0 } else { -1.0 };
        if n % 2 == 0 {
            norm += if n == 0 { this } else { 2.0 * this };
            if n > 0 {
                even += sign * this / half;
            }
        } else {
            if n == 1 {
                j1 = this;
            } else {
                odd += sign * this * (2.0 * half + 1.0) / (half * (half + 1.0));
            }
        }
    }
    let (j0, j1, even, odd) = (this / norm, j1 / norm, even / norm, odd / norm);
    let log = (0.5 * x).ln() + EULER;
    let y0 = 2.0 / PI * (log * j0 - 2.0 * even);
    // From the derivative of Neumann's series for Y_0.
    let y1 = 2.0 / PI * ((log - 1.0) * j1 - j0 / x - odd);
    Cylinder { j0, j1, y0, y1 }
}

/// Hankel's asymptotic series.
fn far_cylinder(x: f64) -> Cylinder {
    let scale = (1.0 / (PI * x)).sqrt();
    let (sin, cos) = x.sin_cos();
    let (p0, q0) = hankel_parts(0.0, x);
    let (p1, q1) = hankel_parts(1.0, x);
    // Phases x - pi / 4 and x - 3 pi / 4, times the square root of two.
    let (sin0, cos0) = (sin - cos, sin + cos);
    let (sin1, cos1) = (-sin - cos, sin - cos);
    Cylinder {
        j0: scale * (p0 * cos0 - q0 * sin0),
        j1: scale * (p1 * cos1 - q1 * sin1),
        y0: scale * (p0 * sin0 + q0 * cos0),
        y1: scale * (p1 * sin1 + q1 * cos1),
    }
}

/// The even and the odd terms of Hankel's series, with alternating signs.
fn hankel_parts(order: f64, x: f64) -> (f64, f64) {
    let (mut p, mut q, mut term) = (1.0, 0.0, 1.0);
    for k in 1..80 {
        let odd = f64::from(2 * k - 1);
        let next: f64 = term * (4.0 * order * order - odd * odd) / (f64::from(8 * k) * x);
        if next.abs() >= term.abs() && k > 2 {
            break;
        }
        term = next;
        match k % 4 {
            0 => p += term,
            1 => q += term,
            2 => p -= term,
            _ => q -= term,
        }
    }
    (p, q)
}

pub(super) fn j0(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { cylinder_or_nan(x.abs(), |c| c.j0) }
}

pub(super) fn j1(x: f64) -> f64 {
    if x == 0.0 { x } else { cylinder_or_nan(x.abs(), |c| c.j1) * 1f64.copysign(x) }
}

pub(super) fn y0(x: f64) -> f64 {
    if x <= 0.0 { f64::NEG_INFINITY } else { cylinder_or_nan(x, |c| c.y0) }
}

pub(super) fn y1(x: f64) -> f64 {
    if x <= 0.0 { f64::NEG_INFINITY } else { cylinder_or_nan(x, |c| c.y1) }
}

fn cylinder_or_nan(x: f64, pick: fn(&Cylinder) -> f64) -> f64 {
    if x.is_finite() { pick(&cylinder(x)) } else { f64::NAN }
}
