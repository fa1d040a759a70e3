//! The incomplete gamma and beta functions.

use super::gamma::{digamma, lgamma, stirling_correction};

/// Terms after which a series or fraction is given up; large parameters need about the root of them.
const MOST_TERMS: usize = 20_000;
/// Stands for zero where the evaluation of a continued fraction would divide by it.
const TINY: f64 = 1e-300;

/// The lower incomplete gamma function, as a share of the whole.
pub(super) fn igamma(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() || x < 0.0 || a < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return 0.0;
    }
    if a == 0.0 {
        return f64::NAN;
    }
    if a == f64::INFINITY {
        return if x == f64::INFINITY { f64::NAN } else { 0.0 };
    }
    if x == f64::INFINITY {
        return 1.0;
    }
    if x > 1.0 && x > a { 1.0 - upper_fraction(a, x).value } else { lower_series(a, x).value }
}

/// The upper incomplete gamma function, as a share of the whole.
pub(super) fn igammac(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() || x < 0.0 || a <= 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return 1.0;
    }
    if a == f64::INFINITY {
        return if x == f64::INFINITY { f64::NAN } else { 1.0 };
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    if x > 1.0 && x > a { upper_fraction(a, x).value } else { 1.0 - lower_series(a, x).value }
}

/// The derivative of [`igamma`] by `a`.
pub(super) fn igamma_grad_a(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() || x < 0.0 || a <= 0.0 {
        return f64::NAN;
    }
    if x == 0.0 || x == f64::INFINITY || a == f64::INFINITY {
        return 0.0;
    }
    if x > 1.0 && x > a { -upper_fraction(a, x).slope } else { lower_series(a, x).slope }
}

/// The derivative by `a` of a gamma value `x` that stays at the same share of the distribution.
pub(super) fn gamma_sample_grad(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() || x < 0.0 || a <= 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return 0.0;
    }
    let density = ((a - 1.0) * x.ln() - x - lgamma(a)).exp();
    -igamma_grad_a(a, x) / density
}

/// A value and its derivative by `a`.
#[derive(Clone, Copy)]
struct Dual {
    value: f64,
    slope: f64,
}

impl Dual {
    fn constant(value: f64) -> Dual {
        Dual { value, slope: 0.0 }
    }

    fn plus(self, other: Dual) -> Dual {
        Dual { value: self.value + other.value, slope: self.slope + other.slope }
    }

    fn times(self, other: Dual) -> Dual {
        Dual {
            value: self.value * other.value,
            slope: self.slope * other.value + self.value * other.slope,
        }
    }

    fn recip(self) -> Dual {
        let value = 1.0 / self.value;
        Dual { value, slope: -self.slope * value * value }
    }

    fn or_tiny(self) -> Dual {
        if self.value == 0.0 { Dual { value: TINY, ..self } } else { self }
    }
}

/// `x^a e^-x / gamma(a + 1)` and its derivative by `a`.
fn prefactor(a: f64, x: f64) -> Dual {
    let log = if a > 20.0 {
        // Of a (ln(x / a) + 1) - x only the small difference is left.
        let offset = (x - a) / a;
        a * log1p_minus(offset)
            - stirling_correction(a)
            - 0.5 * (2.0 * std::f64::consts::PI * a).ln()
    } else {
        a * x.ln() - x - lgamma(a + 1.0)
    };
    let value = log.exp();
    Dual { value, slope: value * (x.ln() - digamma(a + 1.0)) }
}

/// `ln(1 + x) - x`, exact near zero too.
fn log1p_minus(x: f64) -> f64 {
    if x.abs() > 0.1 {
        return x.ln_1p() - x;
    }
    let (mut sum, mut power) = (0.0, -x);
    for k in 2..30 {
        power *= -x;
        sum -= power / f64::from(k);
    }
    sum
}

/// The lower function as the series of `x^n / ((a + 1) .. (a + n))`.
fn lower_series(a: f64, x: f64) -> Dual {
    let mut term = Dual::constant(1.0);
    let mut sum = term;
    for n in 1..MOST_TERMS {
        let denominator = Dual { value: a + n as f64, slope: 1.0 };
        term = term.times(denominator.recip()).times(Dual::constant(x));
        sum = sum.plus(term);
        if term.value <= sum.value * 1e-17 && term.slope.abs() <= sum.slope.abs() * 1e-17 {
            break;
        }
    }
    sum.times(prefactor(a, x))
}

/// The upper function as a continued fraction, by Lentz's method.
fn upper_fraction(a: f64, x: f64) -> Dual {
    let mut b = Dual { value: x + 1.0 - a, slope: -1.0 }.or_tiny();
    let mut c = Dual::constant(1.0 / TINY);
    let mut d = b.recip();
    let mut fraction = d;
    for i in 1..MOST_TERMS {
        let i = i as f64;
        let numerator = Dual { value: -i * (i - a), slope: i };
        b = b.plus(Dual::constant(2.0));
        d = numerator.times(d).plus(b).or_tiny().recip();
        c = b.plus(numerator.times(c.recip())).or_tiny();
        let step = c.times(d);
        fraction = fraction.times(step);
        if (step.value - 1.0).abs() < 1e-16 && step.slope.abs() < 1e-16 {
            break;
        }
    }
    // x^a e^-x / gamma(a), which is `a` times the factor of the series.
    fraction.times(prefactor(a, x)).times(Dual { value: a, slope: 1.0 })
}

/// The incomplete beta function, as a share of the whole.
pub(super) fn betainc(a: f64, b: f64, x: f64) -> f64 {
    let invalid = a.is_nan() || b.is_nan() || a <= 0.0 || b <= 0.0;
    if invalid || !(0.0..=1.0).contains(&x) {
        return f64::NAN;
    }
    if x == 0.0 || x == 1.0 {
        return x;
    }
    // The fraction converges fast on one side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        beta_fraction(a, b, x)
    } else {
        1.0 - beta_fraction(b, a, 1.0 - x)
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let log = a * x.ln() + b * (-x).ln_1p() + lgamma(a + b) - lgamma(a) - lgamma(b);
    let (sum, below, above) = (a + b, a - 1.0, a + 1.0);
    let nonzero = |value: f64| if value == 0.0 { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - sum * x / above);
    let mut fraction = d;
    for m in 1..MOST_TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((below + 2.0 * m) * (a + 2.0 * m));
        let odd = -(a + m) * (sum + m) * x / ((a + 2.0 * m) * (above + 2.0 * m));
        let mut last = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / nonzero(1.0 + coefficient * d);
            c = nonzero(1.0 + coefficient / c);
            last = c * d;
            fraction *= last;
        }
        if (last - 1.0).abs() < 1e-16 {
            break;
        }
    }
    log.exp() * fraction / a
}
