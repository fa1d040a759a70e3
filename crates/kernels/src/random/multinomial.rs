//! Draws of classes by unnormalised log-probabilities.

use num_traits::{Float, NumCast};

use super::fill::Distribution;
use super::philox::Philox;
use super::uniform::Uniform;
use crate::Parallel;
use crate::parallel::{rows, rows_mut};

/// How many classes and samples are worth a task of their own.
const PER_TASK: usize = 1 << 10;

/// The blocks `Multinomial` reserves for a batch of `rows` rows of `samples` samples.
pub fn multinomial_blocks(rows: u64, samples: u64) -> u64 {
    let words = samples.div_ceil(4).wrapping_mul(8);
    rows.wrapping_mul(words).wrapping_mul(256)
}

/// Fills each row of `samples` values of `out` with classes drawn by a row of `classes` `logits`.
///
/// Logits that are not finite have no probability; where none is, the class drawn is `classes`.
/// All rows read one stream without gaps. TensorFlow does so too within a thread, but its threads
/// start elsewhere, so there large batches depend on the number of cores.
pub fn multinomial<L: Float + Sync, T: NumCast + Copy + Send>(
    parallel: Parallel,
    philox: Philox,
    logits: &[L],
    classes: usize,
    samples: usize,
    out: &mut [T],
) {
    if classes == 0 || samples == 0 {
        return;
    }
    let count = out.len() / samples;
    // Few rows of many samples are cut inside.
    if count < parallel.threads() {
        for (row, (logits, out)) in logits.chunks(classes).zip(out.chunks_mut(samples)).enumerate()
        {
            let row_sums = RunningSums::new(logits, samples);
            parallel.for_each(out, PER_TASK, |range, out| {
                draw(philox, row * samples + range.start, &row_sums, out);
            });
        }
        return;
    }
    let work = (rows(logits, count), rows_mut(out, count));
    let min_rows = PER_TASK / (classes + samples) + 1;
    parallel.for_each(work, min_rows, |range, (logits, out)| {
        let rows = logits.data.chunks(classes).zip(out.data.chunks_mut(samples));
        for (row, (logits, out)) in range.zip(rows) {
            draw(philox, row * samples, &RunningSums::new(logits, samples), out);
        }
    });
}

/// Draws from the one with this number on; each takes two words of the stream.
fn draw<T: NumCast>(philox: Philox, first: usize, sums: &RunningSums, out: &mut [T]) {
    /// Numbers drawn at once.
    const CHUNK: usize = 256;
    let mut numbers = [0.0; CHUNK + 1];
    for (chunk, out) in out.chunks_mut(CHUNK).enumerate() {
        let first = first + chunk * CHUNK;
        // Two numbers come of a block, of which the first may belong to whoever drew before.
        let before = first % 2;
        let numbers = &mut numbers[..before + out.len()];
        Uniform::<f64>::new().fill(philox.skipped(first as u64 / 2), numbers);
        for (out, number) in out.iter_mut().zip(&numbers[before..]) {
            *out = T::from(sums.class(*number)).expect("a class number fits the output's type");
        }
    }
}

/// The running sums of the probabilities, up to a common factor, and where to look in them.
struct RunningSums {
    sums: Vec<f64>,
    total: f64,
    /// The classes at equal steps from zero to the total; none where it is not worth making.
    steps: Vec<usize>,
}

impl RunningSums {
    /// Samples that are worth the steps.
    const MANY: usize = 64;

    fn new<L: Float>(logits: &[L], samples: usize) -> RunningSums {
        let sums = cumulate(logits);
        let total = sums.last().copied().unwrap_or(0.0);
        let mut steps = Vec::new();
        if samples >= Self::MANY {
            let count = sums.len().min(samples);
            let mut class = 0;
            steps.extend((0..=count).map(|step| {
                let at = total * (step as f64 / count as f64);
                class += sums[class..].iter().take_while(|&&sum| sum <= at).count();
                class
            }));
        }
        RunningSums { sums, total, steps }
    }

    /// The first class whose sum is above a part of the total.
    fn class(&self, part: f64) -> usize {
        let wanted = part * self.total;
        let Some(last) = self.steps.len().checked_sub(1) else {
            return self.sums.partition_point(|&sum| sum <= wanted);
        };
        // One step more to both sides, because the step is rounded.
        let step = (part * last as f64) as usize;
        let start = self.steps[step.saturating_sub(1).min(last)];
        let end = self.steps[(step + 2).min(last)];
        start + self.sums[start..end].partition_point(|&sum| sum <= wanted)
    }
}

/// The running sums of the probabilities, up to a common factor.
fn cumulate<L: Float>(logits: &[L]) -> Vec<f64> {
    let double = |logit: L| logit.to_f64().unwrap_or(f64::NAN);
    let finite = logits.iter().copied().filter(|logit| logit.is_finite());
    let largest = double(finite.fold(L::min_value(), L::max));
    let mut sum = 0.0;
    logits
        .iter()
        .map(|&logit| {
            if logit.is_finite() {
                sum += (double(logit) - largest).exp();
            }
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from `Multinomial` with the seeds 11 and 22.
    #[test]
    fn golden() {
        const NONE: f32 = f32::NEG_INFINITY;
        let logits =
            [0.0, 1.0, 2.0, NONE, 0.0, f32::NAN, NONE, NONE, NONE, 5.0, 4.0, f32::INFINITY];
        let mut out = [0i64; 20];
        multinomial(Parallel::SERIAL, Philox::new(11, 22), &logits, 3, 5, &mut out);
        assert_eq!(out, [2, 2, 2, 0, 2, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn draws_do_not_depend_on_how_they_are_found() {
        let logits: Vec<f32> = (0..300).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0).collect();
        for (classes, samples) in [(300, 1001), (100, 64), (3, 7), (150, 20_001), (1, 70)] {
            let count = logits.len() / classes;
            let mut want = Vec::new();
            let mut words = Philox::new(3, 4).words();
            for logits in logits.chunks(classes) {
                let sums = cumulate(logits);
                for _ in 0..samples {
                    let wanted = words.next_f64() * sums[classes - 1];
                    want.push(sums.iter().take_while(|&&sum| sum <= wanted).count() as i32);
                }
            }
            for threads in [1, 2, 1000] {
                let mut out = vec![0i32; count * samples];
                let parallel = Parallel::new(threads);
                multinomial(parallel, Philox::new(3, 4), &logits, classes, samples, &mut out);
                assert_eq!(out, want, "{classes} classes, {samples} samples, {threads} threads");
            }
        }
    }

    #[test]
    fn reservation() {
        assert_eq!(multinomial_blocks(3, 5), 3 * 16 * 256);
    }
}
