//! Fourier transforms: complex rows and columns, and real rows of which half a spectrum tells all.
//!
//! The transform of one row is `rustfft`'s, planned once for each length and kept in [`Plans`]. What
//! lies around it is here: rows shared among threads, columns that become rows and turn back, and
//! real rows, two neighbouring numbers of which make a complex one, so that half the length will do.

mod axes;
mod real;

pub use axes::{Direction, columns, rows, rows_into};
pub use real::{RealPlan, analyze, synthesize};

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use num_complex::Complex;
use num_traits::Float;
use rustfft::{Fft, FftDirection, FftNum};

/// A precision to compute in.
pub trait Real: FftNum + Float {
    /// The nearest number.
    fn nearest(value: f64) -> Self;
}

impl Real for f32 {
    fn nearest(value: f64) -> f32 {
        value as f32
    }
}

impl Real for f64 {
    fn nearest(value: f64) -> f64 {
        value
    }
}

/// All that depends only on the length and the direction of a transform.
#[derive(Clone)]
pub struct Plan<R: Real> {
    transform: Arc<dyn Fft<R>>,
    direction: Direction,
}

impl<R: Real> fmt::Debug for Plan<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("len", &self.len())
            .field("direction", &self.direction)
            .finish()
    }
}

impl<R: Real> Plan<R> {
    /// Prepares transforms of a positive length.
    pub fn new(len: usize, direction: Direction) -> Plan<R> {
        let to = match direction {
            Direction::Forward => FftDirection::Forward,
            Direction::Inverse => FftDirection::Inverse,
        };
        Plan { transform: planned(len, to), direction }
    }

    /// The length of a row.
    #[expect(clippy::len_without_is_empty, reason = "lengths are positive")]
    pub fn len(&self) -> usize {
        self.transform.len()
    }

    /// What the values are multiplied by in the end.
    fn scale(&self) -> Option<R> {
        (self.direction == Direction::Inverse).then(|| R::nearest(1.0 / self.len() as f64))
    }
}

/// The fastest transform for the instructions that may be used.
fn planned<R: Real>(len: usize, direction: FftDirection) -> Arc<dyn Fft<R>> {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::simd::{Level, level};
        if level() > Level::Baseline
            && let Ok(mut planner) = rustfft::FftPlannerAvx::new()
        {
            return planner.plan_fft(len, direction);
        }
        rustfft::FftPlannerScalar::new().plan_fft(len, direction)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        rustfft::FftPlanner::new().plan_fft(len, direction)
    }
}

/// Plans that were lately used, so that a step does not make its own.
#[derive(Debug)]
pub struct Plans<R: Real> {
    complex: Kept<Plan<R>>,
    real: Kept<RealPlan<R>>,
}

impl<R: Real> Default for Plans<R> {
    fn default() -> Self {
        Plans { complex: Kept::default(), real: Kept::default() }
    }
}

impl<R: Real> Plans<R> {
    /// A plan for complex rows of a length.
    pub fn complex(&self, len: usize, direction: Direction) -> Arc<Plan<R>> {
        self.complex.get((len, direction), || Plan::new(len, direction))
    }

    /// A plan for real rows of a length.
    pub fn real(&self, len: usize, direction: Direction) -> Arc<RealPlan<R>> {
        self.real.get((len, direction), || RealPlan::new(len, direction))
    }
}

/// Lengths are few in most programs; where they are many, the oldest plans are forgotten.
const MOST_KEPT: usize = 8;

/// What a plan is for.
type Key = (usize, Direction);

#[derive(Debug)]
struct Kept<P>(Mutex<VecDeque<(Key, Arc<P>)>>);

impl<P> Default for Kept<P> {
    fn default() -> Self {
        Kept(Mutex::default())
    }
}

impl<P> Kept<P> {
    fn get(&self, key: Key, make: impl FnOnce() -> P) -> Arc<P> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, plan)) = kept.iter().find(|(other, _)| *other == key) {
            return Arc::clone(plan);
        }
        let plan = Arc::new(make());
        kept.push_back((key, Arc::clone(&plan)));
        if kept.len() > MOST_KEPT {
            kept.pop_front();
        }
        plan
    }
}

/// `exp(-2 pi i k / n)`, computed in double precision.
fn root<R: Real>(k: usize, n: usize) -> Complex<R> {
    let (sine, cosine) = (std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
    Complex::new(R::nearest(cosine), R::nearest(-sine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parallel;
    use crate::simd::tests::at_every_level;

    fn sample(len: usize) -> Vec<Complex<f64>> {
        (0..len).map(|k| Complex::new((k * k % 7) as f64, (k % 5) as f64 - 1.5)).collect()
    }

    fn definition(row: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let len = row.len();
        (0..len).map(|k| (0..len).map(|j| row[j] * root::<f64>(j * k % len, len)).sum()).collect()
    }

    fn assert_near(want: &[Complex<f64>], have: &[Complex<f64>], what: &str) {
        for (want, have) in want.iter().zip(have) {
            assert!((want - have).norm() < 1e-9, "{what}: {want} {have}");
        }
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        at_every_level(|| {
            for len in (1..100).chain([127, 128, 210, 251]) {
                let row = sample(len);
                let mut have = row.clone();
                rows(Parallel::SERIAL, &Plan::new(len, Direction::Forward), &mut have);
                assert_near(&definition(&row), &have, &format!("length {len}"));
                rows(Parallel::SERIAL, &Plan::new(len, Direction::Inverse), &mut have);
                assert_near(&row, &have, &format!("length {len} and back"));
            }
        });
    }

    #[test]
    fn real_rows_have_half_the_spectrum_and_come_back() {
        at_every_level(|| {
            for len in 1..70 {
                let half = len / 2 + 1;
                // Rows that are longer than what is transformed of them.
                let width = len + 2;
                let input: Vec<f64> = (0..3 * width).map(|k| (k * k % 11) as f64 - 4.0).collect();
                let mut spectrum = vec![Complex::new(0.0, 0.0); 3 * half];
                let plan = RealPlan::new(len, Direction::Forward);
                analyze(Parallel::SERIAL, &plan, &input, &mut spectrum);
                for (row, have) in input.chunks_exact(width).zip(spectrum.chunks_exact(half)) {
                    let row: Vec<_> = row[..len].iter().map(|&x| Complex::new(x, 0.0)).collect();
                    assert_near(&definition(&row), have, &format!("length {len}"));
                }
                let mut back = vec![0.0; 3 * len];
                let plan = RealPlan::new(len, Direction::Inverse);
                // What should be real is taken for it.
                for row in spectrum.chunks_exact_mut(half) {
                    row[0].im = 3.0;
                    if len % 2 == 0 {
                        row[half - 1].im = -5.0;
                    }
                }
                synthesize(Parallel::SERIAL, &plan, &spectrum, &mut back);
                for (want, have) in input.chunks_exact(width).zip(back.chunks_exact(len)) {
                    for (want, have) in want.iter().zip(have) {
                        assert!((want - have).abs() < 1e-12, "length {len}: {want} {have}");
                    }
                }
            }
        });
    }

    #[test]
    fn columns_are_transformed_as_rows_are() {
        for (count, len, stride, threads) in [(5, 6, 7, 2), (1, 40, 300, 3), (3, 8, 1, 1)] {
            let values = sample(count * len * stride);
            let mut have = values.clone();
            let plan = Plan::new(len, Direction::Forward);
            columns(Parallel::new(threads), &plan, &mut have, stride);
            for block in 0..count {
                for column in 0..stride {
                    let at = |i: usize| (block * len + i) * stride + column;
                    let row: Vec<_> = (0..len).map(|i| values[at(i)]).collect();
                    let column: Vec<_> = (0..len).map(|i| have[at(i)]).collect();
                    assert_near(&definition(&row), &column, "column");
                }
            }
        }
    }

    #[test]
    fn rows_elsewhere_are_those_in_place() {
        let values = sample(12 * 10);
        for direction in [Direction::Forward, Direction::Inverse] {
            let plan = Plan::new(12, direction);
            let (mut in_place, mut elsewhere) = (values.clone(), values.clone());
            rows(Parallel::new(2), &plan, &mut in_place);
            rows_into(Parallel::new(2), &plan, &values, &mut elsewhere);
            assert_near(&in_place, &elsewhere, "elsewhere");
        }
    }

    #[test]
    fn plans_are_kept_and_forgotten() {
        let plans = Plans::<f32>::default();
        let first = plans.complex(16, Direction::Forward);
        assert!(Arc::ptr_eq(&first, &plans.complex(16, Direction::Forward)));
        (1..=MOST_KEPT).for_each(|len| drop(plans.complex(len, Direction::Inverse)));
        assert!(!Arc::ptr_eq(&first, &plans.complex(16, Direction::Forward)));
    }
}
