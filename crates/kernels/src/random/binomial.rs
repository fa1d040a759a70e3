//! Binomially distributed values: sums of geometric values for small means, Hörmann's transformed
//! rejection for others.

use num_traits::Float;

use super::each::{BLOCKS_PER_VALUE, Backwards, Number, fill_each};
use super::philox::Philox;
use crate::Parallel;

/// The blocks between two values found by inversion: a mean of at most 10 and ten standard
/// deviations.
const BLOCKS_PER_INVERSION: u64 = 42;

/// Fills `out`, of shape `[samples, counts]`, with the numbers of successes among `counts` trials of
/// the probabilities `probs`. Both slices have the same length: the caller broadcasts them.
pub fn binomial<P: Number + Float, T: Number>(
    parallel: Parallel,
    philox: Philox,
    counts: &[P],
    probs: &[P],
    out: &mut [T],
) {
    let params: Vec<_> =
        counts.iter().zip(probs).map(|(&count, &prob)| Binomial::new(count, prob)).collect();
    fill_each(parallel, &params, out, |binomial, number| {
        T::from_f64(binomial.draw(philox, number))
    });
}

/// How values of one count and probability are found.
#[derive(Debug)]
enum Binomial {
    Always(f64),
    Inversion(Trials),
    Rejection(Trials),
}

/// Trials of which at most half succeed on average.
#[derive(Debug)]
struct Trials {
    count: f64,
    prob: f64,
    /// Whether failures are counted instead.
    mirrored: bool,
}

impl Binomial {
    fn new<P: Number + Float>(count: P, prob: P) -> Self {
        let trials = count.to_f64();
        if trials <= 0.0 || prob <= P::zero() {
            return Self::Always(0.0);
        }
        if prob >= P::one() {
            return Self::Always(trials);
        }
        if trials.is_nan() || prob.is_nan() {
            return Self::Always(f64::NAN);
        }
        let mirrored = Number::to_f64(prob) > 0.5;
        let prob = if mirrored { P::one() - prob } else { prob };
        let ten = P::from_f64(10.0);
        let trials = Trials { count: trials, prob: Number::to_f64(prob), mirrored };
        if count * prob >= ten { Self::Rejection(trials) } else { Self::Inversion(trials) }
    }

    fn draw(&self, philox: Philox, number: u64) -> f64 {
        let at = |blocks: u64| philox.skipped(number.wrapping_mul(blocks));
        let (trials, value) = match self {
            Self::Always(value) => return *value,
            Self::Inversion(trials) => (trials, trials.invert(at(BLOCKS_PER_INVERSION))),
            Self::Rejection(trials) => (trials, trials.reject(at(BLOCKS_PER_VALUE))),
        };
        if trials.mirrored { trials.count - value } else { value }
    }
}

impl Trials {
    /// Counts how many waiting times fit into the trials.
    fn invert(&self, mut philox: Philox) -> f64 {
        let mut uniforms = Backwards::uniforms();
        let log_failure = (-self.prob).ln_1p();
        let mut waited = 0.0;
        let mut successes = 0.0;
        loop {
            waited += (uniforms.next(&mut philox).ln() / log_failure).ceil();
            if waited > self.count {
                return successes;
            }
            successes += 1.0;
        }
    }

    /// Draws from a distribution close to the wanted one until a value is accepted. The letters are
    /// Hörmann's.
    fn reject(&self, mut philox: Philox) -> f64 {
        let Self { count, prob, .. } = *self;
        let stddev = (count * prob * (1.0 - prob)).sqrt();
        let b = 1.15 + 2.53 * stddev;
        let a = -0.0873 + 0.0248 * b + 0.01 * prob;
        let c = count * prob + 0.5;
        let v_r = 0.92 - 4.2 / b;
        let r = prob / (1.0 - prob);
        let alpha = (2.83 + 5.1 / b) * stddev;
        let m = ((count + 1.0) * prob).floor();

        let mut uniforms = Backwards::uniforms();
        loop {
            let u = uniforms.next(&mut philox) - 0.5;
            let v = uniforms.next(&mut philox);
            let us = 0.5 - u.abs();
            let k = ((2.0 * a / us + b) * u + c).floor();
            if us >= 0.07 && v <= v_r {
                return k;
            }
            if k < 0.0 || k > count {
                continue;
            }
            let v = (v * alpha / (a / (us * us) + b)).ln();
            let bound = (m + 0.5) * ((m + 1.0) / (r * (count - m + 1.0))).ln()
                + (count + 1.0) * ((count - m + 1.0) / (count - k + 1.0)).ln()
                + (k + 0.5) * (r * (count - k + 1.0) / (k + 1.0)).ln()
                + stirling_tail(m)
                + stirling_tail(count - m)
                - stirling_tail(k)
                - stirling_tail(count - k);
            if v <= bound {
                return k;
            }
        }
    }
}

/// What Stirling's formula lacks of `ln k!`.
fn stirling_tail(k: f64) -> f64 {
    const SMALL: [f64; 10] = [
        0.0810614667953272,
        0.0413406959554092,
        0.0276779256849983,
        0.02079067210376509,
        0.0166446911898211,
        0.0138761288230707,
        0.0118967099458917,
        0.0104112652619720,
        0.00925546218271273,
        0.00833056343336287,
    ];
    if k <= 9.0 {
        // A count need not be whole, nor then what is left of it.
        return SMALL[k.max(0.0) as usize];
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from `StatelessRandomBinomial` with the seed `[3, 4]`.
    #[test]
    fn golden() {
        let counts = [0f32, 5.0, 40.0, 40.0, 100.0, 1000.0];
        let probs = [0.5f32, 0.3, 0.5, 0.9, 0.01, 0.7];
        let mut out = [0i32; 18];
        binomial(Parallel::SERIAL, Philox::from_stateless_seed([3, 4]), &counts, &probs, &mut out);
        assert_eq!(out, [0, 2, 24, 34, 2, 709, 0, 3, 22, 39, 1, 707, 0, 3, 19, 37, 0, 719]);
    }

    #[test]
    fn parameters_without_a_distribution_end() {
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 1e-320, 0.5, 3.0, 1e300];
        let counts: Vec<f64> = special.iter().flat_map(|&count| [count; 8]).collect();
        let mut out = [0f64; 64];
        binomial(Parallel::SERIAL, Philox::new(1, 2), &counts, &special.repeat(8), &mut out);
        assert!(out[0].is_nan());
        assert_eq!(out[8 * 6 + 6], 3.0);
    }
}
