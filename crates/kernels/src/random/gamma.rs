//! Gamma distributed values, by Marsaglia and Tsang's rejection method.

use super::each::{BLOCKS_PER_VALUE, Backwards, Number, fill_each};
use super::philox::Philox;
use crate::Parallel;

/// Fills `out`, of shape `[samples, alphas]`, with gamma values of the shapes `alphas` and rate 1.
pub fn gamma<T: Number>(parallel: Parallel, philox: Philox, alphas: &[T], out: &mut [T]) {
    let params: Vec<Gamma> = alphas.iter().map(|alpha| Gamma::new(alpha.to_f64())).collect();
    fill_each(parallel, &params, out, |gamma, number| {
        T::from_f64(gamma.draw(philox.skipped(number.wrapping_mul(BLOCKS_PER_VALUE))))
    });
}

/// What the method computes once for each alpha, in the paper's letters.
#[derive(Debug)]
struct Gamma {
    alpha: f64,
    d: f64,
    c: f64,
}

impl Gamma {
    fn new(alpha: f64) -> Self {
        // Below 1 the method samples alpha + 1 and corrects the result.
        let d = alpha + if alpha < 1.0 { 2.0 / 3.0 } else { -1.0 / 3.0 };
        Self { alpha, d, c: 1.0 / 3.0 / d.sqrt() }
    }

    fn draw(&self, mut philox: Philox) -> f64 {
        let mut uniforms = Backwards::uniforms();
        if self.alpha == 1.0 {
            return -(-uniforms.next(&mut philox)).ln_1p();
        }
        let mut normals = Backwards::normals();
        loop {
            let x = normals.next(&mut philox);
            let v = 1.0 + self.c * x;
            if v <= 0.0 {
                continue;
            }
            let v = v * v * v;
            let u = uniforms.next(&mut philox);
            // The first test accepts nine in ten without a logarithm.
            if u < 1.0 - 0.0331 * (x * x) * (x * x)
                || u.ln() < 0.5 * x * x + self.d * (1.0 - v + v.ln())
            {
                let value = self.d * v;
                return if self.alpha < 1.0 {
                    value * uniforms.next(&mut philox).powf(1.0 / self.alpha)
                } else {
                    value
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from `RandomGamma` with the seeds 11 and 22.
    #[test]
    fn golden() {
        let mut out = [0f32; 9];
        gamma(Parallel::SERIAL, Philox::new(11, 22), &[0.5, 1.0, 3.0], &mut out);
        let want = [
            0.3472656,
            0.035472773,
            4.619826,
            0.011510959,
            0.6911074,
            1.1730328,
            0.18170172,
            0.12794095,
            2.3836977,
        ];
        for (got, want) in out.iter().zip(want) {
            assert!((got - want).abs() <= want * 1e-6, "{got} is not {want}");
        }
    }

    #[test]
    fn shapes_without_a_distribution_end() {
        let mut out = [0f64; 4];
        gamma(Parallel::SERIAL, Philox::new(1, 2), &[-1.0, 0.0, f64::NAN, f64::INFINITY], &mut out);
        assert!(out[0].is_nan() && out[2].is_nan());
        assert_eq!((out[1], out[3]), (0.0, f64::INFINITY));
    }
}
