//! Draws of classes by unnormalised log-probabilities.

use num_traits::{Float, NumCast};

use super::philox::{Philox, Words};
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
    let work = (rows(logits, count), rows_mut(out, count));
    let min_rows = PER_TASK / (classes + samples) + 1;
    parallel.for_each(work, min_rows, |range, (logits, out)| {
        let rows = logits.data.chunks(classes).zip(out.data.chunks_mut(samples));
        for (row, (logits, out)) in range.zip(rows) {
            // Each draw takes two words.
            let words_before = (row * samples) as u64 * 2;
            let mut words = philox.skipped(words_before / 4).words();
            words.skip(words_before % 4);
            draw(&mut words, logits, out);
        }
    });
}

fn draw<L: Float, T: NumCast>(words: &mut Words, logits: &[L], out: &mut [T]) {
    let cumulated = cumulate(logits);
    let total = cumulated.last().copied().unwrap_or(0.0);
    for out in out {
        let wanted = words.next_f64() * total;
        let class = cumulated.partition_point(|&sum| sum <= wanted);
        *out = T::from(class).expect("a class number fits the output's type");
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
    fn reservation() {
        assert_eq!(multinomial_blocks(3, 5), 3 * 16 * 256);
    }
}
