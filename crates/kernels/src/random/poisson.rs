//! Poisson distributed values: Knuth's products for small rates, Hörmann's transformed rejection
//! for others.

use super::each::{BLOCKS_PER_VALUE, Backwards, Number, fill_each};
use super::philox::Philox;
use crate::Parallel;

/// Rejections after which a value is taken as it is. TensorFlow goes on for ever when no value fits
/// the output's type.
const ATTEMPTS: usize = 1000;

/// Fills `out`, of shape `[samples, rates]`, with Poisson values of the given rates.
pub fn poisson<R: Number, T: Number>(
    parallel: Parallel,
    philox: Philox,
    rates: &[R],
    out: &mut [T],
) {
    let params: Vec<_> = rates.iter().map(|rate| Poisson::new(rate.to_f64())).collect();
    fill_each(parallel, &params, out, |poisson, number| {
        let philox = philox.skipped(number.wrapping_mul(BLOCKS_PER_VALUE));
        T::from_f64(poisson.draw(philox, T::HIGHEST))
    });
}

/// What the methods compute once for each rate, in Hörmann's letters.
#[derive(Debug)]
struct Poisson {
    rate: f64,
    exp_neg_rate: f64,
    log_rate: f64,
    a: f64,
    b: f64,
    inv_alpha: f64,
}

impl Poisson {
    fn new(rate: f64) -> Self {
        let b = 0.931 + 2.53 * rate.sqrt();
        Self {
            rate,
            exp_neg_rate: (-rate).exp(),
            log_rate: rate.ln(),
            a: -0.059 + 0.02483 * b,
            b,
            inv_alpha: 1.1239 + 1.1328 / (b - 3.4),
        }
    }

    /// A value of at most `highest`.
    fn draw(&self, philox: Philox, highest: f64) -> f64 {
        if self.rate.is_nan() || self.rate == f64::INFINITY {
            self.rate
        } else if self.rate < 10.0 {
            self.multiply(philox, Backwards::uniforms())
        } else {
            self.reject(philox, Backwards::uniforms(), highest)
        }
    }

    /// Counts the uniform values whose product stays above e^-rate.
    fn multiply(&self, mut philox: Philox, mut uniforms: Backwards) -> f64 {
        let mut product = 1.0;
        let mut count = 0.0;
        loop {
            product *= uniforms.next(&mut philox);
            if product <= self.exp_neg_rate {
                return count;
            }
            count += 1.0;
        }
    }

    /// Draws from a distribution close to the wanted one until a value is accepted.
    fn reject(&self, mut philox: Philox, mut uniforms: Backwards, highest: f64) -> f64 {
        let Self { rate, log_rate, a, b, inv_alpha, .. } = *self;
        let mut last = rate;
        for _ in 0..ATTEMPTS {
            let u = uniforms.next(&mut philox) - 0.5;
            let v = uniforms.next(&mut philox);
            let u_shifted = 0.5 - u.abs();
            let k = ((2.0 * a / u_shifted + b) * u + rate + 0.43).floor();
            if k > highest {
                continue;
            }
            last = k;
            // Most values lie where acceptance is certain.
            if u_shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2.0) {
                return k;
            }
            if k < 0.0 || (u_shifted < 0.013 && v > u_shifted) {
                continue;
            }
            let s = (v * inv_alpha / (a / (u_shifted * u_shifted) + b)).ln();
            let t = -rate + k * log_rate - ln_factorial(k);
            if s <= t {
                return k;
            }
        }
        last
    }
}

/// The logarithm of `k!`, for a whole number `k`.
fn ln_factorial(k: f64) -> f64 {
    if k < 16.0 {
        return (2..=k as u64).map(|factor| factor as f64).product::<f64>().ln();
    }
    // Stirling's series, whose error is now far below the last bit.
    let x = k + 1.0;
    let square = 1.0 / (x * x);
    let tail =
        (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from `RandomPoissonV2` with the seeds 11 and 22.
    #[test]
    fn golden() {
        let mut out = [0i64; 16];
        poisson(Parallel::SERIAL, Philox::new(11, 22), &[0.5, 9.5, 10.0, 1000.0], &mut out);
        assert_eq!(out, [0, 8, 7, 996, 0, 8, 7, 996, 0, 7, 11, 939, 0, 12, 8, 1001]);
    }

    #[test]
    fn factorials() {
        let mut sum = 0.0;
        for k in 1..200 {
            sum += f64::from(k).ln();
            assert!((ln_factorial(k.into()) - sum).abs() < 1e-12 * (1.0 + sum), "{k}");
        }
    }

    #[test]
    fn rates_without_a_distribution_end() {
        let mut out = [0f32; 4];
        poisson(
            Parallel::SERIAL,
            Philox::new(1, 2),
            &[f64::NAN, f64::INFINITY, -1.0, 1e300],
            &mut out,
        );
        assert!(out[0].is_nan());
        assert_eq!(out[1..3], [f32::INFINITY, 0.0]);
        let mut out = [0i32; 1];
        poisson(Parallel::SERIAL, Philox::new(1, 2), &[1e15], &mut out);
        assert_eq!(out, [i32::MAX]);
    }
}
