//! Normal values between bounds of the caller's choice, as `ParameterizedTruncatedNormal` draws
//! them.

use std::fmt;

use num_traits::{Float, Zero};

use super::fill::Distribution;
use super::normal::Normal;
use super::philox::Philox;
use super::uniform::Uniform;

/// Draws rejected in a row before sampling fails.
const MAX_ITERATIONS: u64 = 1000;

/// A normal distribution of which only `min..=max` is kept. Infinite bounds are allowed.
#[derive(Clone, Copy, Debug)]
pub struct Truncation<T> {
    pub mean: T,
    pub stddev: T,
    pub min: T,
    pub max: T,
}

/// Why no value could be drawn. The words are TensorFlow's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationError {
    /// The bounds or the deviation make no sense: INVALID_ARGUMENT.
    InvalidParameters,
    /// No value of a thousand was accepted: INTERNAL.
    Exhausted(&'static str),
}

impl fmt::Display for TruncationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidParameters => f.write_str("Invalid parameters"),
            Self::Exhausted(sampler) => {
                write!(f, "TruncatedNormal {sampler} rejection sampler failed to accept a sample.")
            }
        }
    }
}

impl std::error::Error for TruncationError {}

/// The blocks that `ParameterizedTruncatedNormal` reserves.
///
/// Where all batches share their parameters, TensorFlow regroups the values: then `samples` is 100
/// and `batches` as many as that takes.
pub fn truncation_blocks(batches: u64, samples: u64) -> u64 {
    let words = batches.wrapping_mul(2 * MAX_ITERATIONS).wrapping_mul(samples.wrapping_add(3));
    words / 4
}

/// Fills each chunk of `samples` values of `out` with values of the truncation of the same number.
/// The last chunk may be short.
///
/// All chunks read one stream without gaps. TensorFlow does so too within a thread, but its threads
/// start elsewhere, so there large outputs depend on the number of cores.
pub fn truncated_normal_between<T>(
    mut philox: Philox,
    truncations: impl IntoIterator<Item = Truncation<T>>,
    samples: usize,
    out: &mut [T],
) -> Result<(), TruncationError>
where
    T: Float,
    Normal<T>: Distribution<Value = T>,
    Uniform<T>: Distribution<Value = T>,
{
    for (out, truncation) in out.chunks_mut(samples.max(1)).zip(truncations) {
        Standard::new(truncation)?.fill(&mut philox, out)?;
    }
    Ok(())
}

/// A truncation moved and scaled to the standard normal distribution; mirrored where that leaves
/// the lower bound finite or both bounds positive.
struct Standard<T> {
    mean: T,
    stddev: T,
    min: T,
    max: T,
}

impl<T: Float> Standard<T>
where
    Normal<T>: Distribution<Value = T>,
    Uniform<T>: Distribution<Value = T>,
{
    fn new(truncation: Truncation<T>) -> Result<Self, TruncationError> {
        let Truncation { mean, stddev, min, max } = truncation;
        let bounded = min.is_finite() || max.is_finite();
        if !(stddev > T::zero() && min < max && bounded) {
            return Err(TruncationError::InvalidParameters);
        }
        let mirrored = min == T::neg_infinity() || max < mean;
        let (stddev, min, max) = if mirrored { (-stddev, max, min) } else { (stddev, min, max) };
        Ok(Self { mean, stddev, min: (min - mean) / stddev, max: (max - mean) / stddev })
    }

    fn fill(&self, philox: &mut Philox, out: &mut [T]) -> Result<(), TruncationError> {
        let Self { min, max, .. } = *self;
        let (two, four) = (constant::<T>(2.0), constant::<T>(4.0));
        let enough = constant::<T>(1.3);
        let root = (min * min + four).sqrt();
        let cutoff = two * (constant::<T>(0.5) + min * (min - root) / four).exp() / (min + root);
        let sampler = if (min < -enough && max >= T::zero()) || (max > enough && min <= T::zero()) {
            Self::normal
        } else if max - min < cutoff {
            Self::uniform
        } else {
            Self::exponential
        };
        sampler(self, philox, out)
    }

    /// Draws normal values and keeps those within the bounds.
    fn normal(&self, philox: &mut Philox, out: &mut [T]) -> Result<(), TruncationError> {
        let mut accepted = Accepted::new(self, out, "randn");
        while !accepted.done() {
            for value in group(&Normal::new(), philox) {
                accepted.offer(value, value >= self.min && value <= self.max)?;
            }
        }
        Ok(())
    }

    /// Draws uniformly between the bounds and keeps values by their density.
    fn uniform(&self, philox: &mut Philox, out: &mut [T]) -> Result<(), TruncationError> {
        let peak = if self.min < T::zero() { T::zero() } else { self.min * self.min };
        let mut accepted = Accepted::new(self, out, "uniform");
        while !accepted.done() {
            let draws = group(&Uniform::new(), philox);
            let thresholds = group(&Uniform::new(), philox);
            for (draw, threshold) in draws.zip(thresholds) {
                let value = draw * (self.max - self.min) + self.min;
                let density = ((peak - value * value) / constant(2.0)).exp();
                accepted.offer(value, threshold <= density)?;
            }
        }
        Ok(())
    }

    /// Draws from an exponential distribution that starts at the lower bound.
    fn exponential(&self, philox: &mut Philox, out: &mut [T]) -> Result<(), TruncationError> {
        let min = self.min;
        let two = constant::<T>(2.0);
        let alpha = (min + (min * min + constant(4.0)).sqrt()) / two;
        let mut accepted = Accepted::new(self, out, "exponential distribution");
        while !accepted.done() {
            let mut draws = group(&Uniform::new(), philox);
            while let (Some(draw), Some(threshold)) = (draws.next(), draws.next()) {
                let value = -draw.ln() / alpha + min;
                let x = if min < alpha { alpha - value } else { min - alpha };
                let density = (-x * x / two).exp();
                accepted.offer(value, threshold <= density && value < self.max)?;
            }
        }
        Ok(())
    }
}

/// The next group of `distribution`'s values.
fn group<D: Distribution<Value: Float>>(
    distribution: &D,
    philox: &mut Philox,
) -> impl Iterator<Item = D::Value> + use<D> {
    let mut values = [D::Value::zero(); 4];
    distribution.fill(*philox, &mut values[..D::GROUP]);
    philox.skip(D::BLOCKS_PER_GROUP);
    values.into_iter().take(D::GROUP)
}

/// An output being filled.
struct Accepted<'a, T> {
    standard: &'a Standard<T>,
    out: std::slice::IterMut<'a, T>,
    sampler: &'static str,
    rejected: u64,
}

impl<'a, T: Float> Accepted<'a, T> {
    fn new(standard: &'a Standard<T>, out: &'a mut [T], sampler: &'static str) -> Self {
        Self { standard, out: out.iter_mut(), sampler, rejected: 0 }
    }

    fn done(&self) -> bool {
        self.out.len() == 0
    }

    /// Stores `value` if it was accepted and there is room.
    fn offer(&mut self, value: T, accept: bool) -> Result<(), TruncationError> {
        if self.done() {
            return Ok(());
        }
        if !accept {
            self.rejected += 1;
            return if self.rejected < MAX_ITERATIONS {
                Ok(())
            } else {
                Err(TruncationError::Exhausted(self.sampler))
            };
        }
        if let Some(out) = self.out.next() {
            *out = value * self.standard.stddev + self.standard.mean;
        }
        self.rejected = 0;
        Ok(())
    }
}

fn constant<T: Float>(value: f64) -> T {
    T::from(value).expect("every float type holds small constants")
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f32 = f32::INFINITY;

    fn truncation([mean, stddev, min, max]: [f32; 4]) -> Truncation<f32> {
        Truncation { mean, stddev, min, max }
    }

    /// Recorded from `ParameterizedTruncatedNormal` with the seeds 11 and 22: a row for each
    /// sampler.
    #[test]
    fn golden() {
        let rows = [[0.0, 1.0, -2.0, 2.0], [0.0, 1.0, 0.1, 0.3], [5.0, 2.0, -INF, 1.0]];
        let want = [
            -0.08397542,
            0.8496315,
            -0.619_4,
            0.11621643,
            0.112617545,
            0.18202597,
            0.29147735,
            0.21700022,
            -0.6176405,
            -0.03983879,
            0.6232133,
            0.501_656_06,
        ];
        let mut out = [0f32; 12];
        truncated_normal_between(Philox::new(11, 22), rows.map(truncation), 4, &mut out).unwrap();
        for (got, want) in out.iter().zip(want) {
            assert!((got - want).abs() <= 1e-6, "{got} is not {want}");
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        for row in [[0.0, 0.0, -1.0, 1.0], [0.0, 1.0, 1.0, 1.0], [0.0, 1.0, -INF, INF]] {
            let result =
                truncated_normal_between(Philox::new(1, 2), [truncation(row)], 1, &mut [0.0; 1]);
            assert_eq!(result, Err(TruncationError::InvalidParameters));
        }
    }

    #[test]
    fn values_too_far_out_are_given_up() {
        let far = truncation([0.0, 1.0, 1e30, 2e30]);
        let result = truncated_normal_between(Philox::new(1, 2), [far], 1, &mut [0.0; 1]);
        assert_eq!(
            result.unwrap_err().to_string(),
            "TruncatedNormal exponential distribution rejection sampler failed to accept a sample."
        );
    }
}
