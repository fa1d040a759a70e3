//! Softmax, its logarithm, and the cross entropy of it, row by row.
//!
//! Rows are worked on in blocks that fit the nearest cache, in the wide type: what needs the row's
//! boundaries (its maximum, its sum) goes row by row, and the exponentials in one sweep over the block,
//! so that rows of ten classes are as fast per value as rows of ten thousand.

use std::ops::Range;

use num_traits::{AsPrimitive, Float, One, Zero};

use crate::Parallel;
use crate::math::Math;
use crate::parallel::{rows, rows_mut};
use crate::real::Real;
use crate::simd::dispatch;

/// Values in a block of rows.
const BLOCK: usize = 4096;
/// Values below which another thread is not worth waking.
const MIN_VALUES: usize = 8 * 1024;

/// `out = e^x / sum(e^x)` for each row of `cols` values.
///
/// # Panics
/// If the slices differ in length or are not whole rows.
pub fn softmax<T: Real>(par: Parallel, x: &[T], cols: usize, out: &mut [T]) {
    let count = row_count(x.len(), cols);
    par.for_each((rows(x, count), rows_mut(out, count)), min_rows(cols), |_, (x, out)| {
        let mut buffers = Buffers::<T>::new(cols, x.count);
        for block in blocks(x.count, cols) {
            let values = &mut buffers.load(x.data, cols, &block).values;
            exp(values);
            normalise(values, cols);
            T::narrow_slice(values, &mut out.data[block.start * cols..block.end * cols]);
        }
    });
}

/// `out = x - ln(sum(e^x))` for each row of `cols` values.
///
/// # Panics
/// If the slices differ in length or are not whole rows.
pub fn log_softmax<T: Real>(par: Parallel, x: &[T], cols: usize, out: &mut [T]) {
    let count = row_count(x.len(), cols);
    par.for_each((rows(x, count), rows_mut(out, count)), min_rows(cols), |_, (x, out)| {
        let mut buffers = Buffers::<T>::new(cols, x.count);
        for block in blocks(x.count, cols) {
            let Buffers { values, exps } = buffers.load(x.data, cols, &block);
            exps.copy_from_slice(values);
            exp(exps);
            for (row, exps) in values.chunks_exact_mut(cols).zip(exps.chunks_exact(cols)) {
                subtract(row, sum(exps).ln());
            }
            T::narrow_slice(values, &mut out.data[block.start * cols..block.end * cols]);
        }
    });
}

/// The cross entropy of each row of logits with a distribution, and its gradient by the logits.
///
/// # Panics
/// If `labels` or `backprop` differ in length from `logits`, or there is not a `loss` for each row.
pub fn cross_entropy<T: Real>(
    par: Parallel,
    logits: &[T],
    labels: &[T],
    cols: usize,
    loss: &mut [T],
    backprop: &mut [T],
) {
    let count = row_count(logits.len(), cols);
    let work = (rows(logits, count), rows(labels, count), &mut *loss, rows_mut(backprop, count));
    par.for_each(work, min_rows(cols), |_, (logits, labels, loss, backprop)| {
        let mut buffers = Buffers::<T>::new(cols, logits.count);
        let mut wide_labels = vec![T::Wide::zero(); buffers.values.len()];
        for block in blocks(logits.count, cols) {
            let span = block.start * cols..block.end * cols;
            let Buffers { values, exps } = buffers.load(logits.data, cols, &block);
            let wide_labels = &mut wide_labels[..values.len()];
            T::widen_slice(&labels.data[span.clone()], wide_labels);
            exps.copy_from_slice(values);
            exp(exps);
            let label_rows = wide_labels.chunks_exact(cols);
            let rows = values.chunks_exact(cols).zip(exps.chunks_exact_mut(cols)).zip(label_rows);
            for (((values, exps), labels), loss) in rows.zip(&mut loss[block]) {
                let total = sum(exps);
                *loss = T::narrow(expected_loss(values, labels, total.ln()));
                scale_and_subtract(exps, T::Wide::one() / total, labels);
            }
            T::narrow_slice(exps, &mut backprop.data[span]);
        }
    });
}

/// As [`cross_entropy`], where each row belongs to one class. A label outside `0..cols` makes its
/// row NaN; callers that must report it look first.
///
/// # Panics
/// If `backprop` differs in length from `logits`, or there is not a label and a `loss` for each row.
pub fn sparse_cross_entropy<T: Real, L: Copy + Sync + AsPrimitive<i64>>(
    par: Parallel,
    logits: &[T],
    labels: &[L],
    cols: usize,
    loss: &mut [T],
    backprop: &mut [T],
) {
    let count = row_count(logits.len(), cols);
    let work = (rows(logits, count), labels, &mut *loss, rows_mut(backprop, count));
    par.for_each(work, min_rows(cols), |_, (logits, labels, loss, backprop)| {
        let mut buffers = Buffers::<T>::new(cols, logits.count);
        for block in blocks(logits.count, cols) {
            let span = block.start * cols..block.end * cols;
            let Buffers { values, exps } = buffers.load(logits.data, cols, &block);
            exps.copy_from_slice(values);
            exp(exps);
            let rows = values.chunks_exact(cols).zip(exps.chunks_exact_mut(cols));
            let targets = loss[block.clone()].iter_mut().zip(&labels[block]);
            for ((values, exps), (loss, label)) in rows.zip(targets) {
                let total = sum(exps);
                scale(exps, T::Wide::one() / total);
                let label = usize::try_from(label.as_()).unwrap_or(usize::MAX);
                *loss = T::narrow(match (values.get(label), exps.get_mut(label)) {
                    (Some(&value), Some(share)) => {
                        *share = *share - T::Wide::one();
                        total.ln() - value
                    }
                    _ => {
                        exps.fill(T::Wide::nan());
                        T::Wide::nan()
                    }
                });
            }
            T::narrow_slice(exps, &mut backprop.data[span]);
        }
    });
}

/// A block of rows less their maxima, and room for the exponentials.
struct Buffers<T: Real> {
    values: Vec<T::Wide>,
    exps: Vec<T::Wide>,
}

impl<T: Real> Buffers<T> {
    fn new(cols: usize, count: usize) -> Self {
        let len = block_rows(cols).min(count) * cols;
        Self { values: vec![T::Wide::zero(); len], exps: vec![T::Wide::zero(); len] }
    }

    fn load(&mut self, x: &[T], cols: usize, block: &Range<usize>) -> &mut Self {
        // Only the last block is shorter.
        self.values.truncate(block.len() * cols);
        self.exps.truncate(block.len() * cols);
        T::widen_slice(&x[block.start * cols..block.end * cols], &mut self.values);
        centre(&mut self.values, cols);
        self
    }
}

fn row_count(len: usize, cols: usize) -> usize {
    len.checked_div(cols).unwrap_or(0)
}

fn min_rows(cols: usize) -> usize {
    MIN_VALUES.div_ceil(cols.max(1))
}

fn block_rows(cols: usize) -> usize {
    (BLOCK / cols.max(1)).max(1)
}

fn blocks(count: usize, cols: usize) -> impl Iterator<Item = Range<usize>> {
    let step = block_rows(cols);
    (0..count).step_by(step).map(move |start| start..count.min(start + step))
}

dispatch! {
    fn exp[I, T: Math](values: &mut [T]) {
        values.iter_mut().for_each(|value| *value = value.exp_::<I>());
    }
}

dispatch! {
    /// Subtracts each row's maximum.
    fn centre[I, T: Math](values: &mut [T], cols: usize) {
        for row in values.chunks_exact_mut(cols) {
            let largest = max(row);
            row.iter_mut().for_each(|value| *value = *value - largest);
        }
    }
}

dispatch! {
    /// Divides each row by its sum.
    fn normalise[I, T: Math](values: &mut [T], cols: usize) {
        for row in values.chunks_exact_mut(cols) {
            let factor = T::one() / sum(row);
            row.iter_mut().for_each(|value| *value = *value * factor);
        }
    }
}

/// The largest value, passing over NaN, which later spreads through the sum.
#[inline(always)]
fn max<T: Math>(row: &[T]) -> T {
    const LANES: usize = 16;
    let (chunks, tail) = row.as_chunks::<LANES>();
    let larger = |a: T, b: T| if b > a { b } else { a };
    let mut lanes = [T::neg_infinity(); LANES];
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], chunk[i]);
        }
    }
    lanes.iter().chain(tail).fold(T::neg_infinity(), |a, &b| larger(a, b))
}

#[inline(always)]
fn sum<T: Math>(row: &[T]) -> T {
    const LANES: usize = 16;
    let (chunks, tail) = row.as_chunks::<LANES>();
    let mut lanes = [T::zero(); LANES];
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = lanes[i] + chunk[i];
        }
    }
    lanes.iter().chain(tail).fold(T::zero(), |a, &b| a + b)
}

#[inline(always)]
fn subtract<T: Math>(row: &mut [T], amount: T) {
    row.iter_mut().for_each(|value| *value = *value - amount);
}

#[inline(always)]
fn scale<T: Math>(row: &mut [T], factor: T) {
    row.iter_mut().for_each(|value| *value = *value * factor);
}

#[inline(always)]
fn scale_and_subtract<T: Math>(row: &mut [T], factor: T, other: &[T]) {
    row.iter_mut().zip(other).for_each(|(value, &other)| *value = *value * factor - other);
}

/// `sum(labels * (ln_total - values))`.
#[inline(always)]
fn expected_loss<T: Math>(values: &[T], labels: &[T], ln_total: T) -> T {
    let terms = values.iter().zip(labels).map(|(&value, &label)| label * (ln_total - value));
    terms.fold(T::zero(), |a, b| a + b)
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::simd::tests::at_every_level;
    use crate::testing::Rng;

    fn logits(count: usize, cols: usize) -> Vec<f32> {
        let rng = &mut Rng::new(cols as u64);
        (0..count * cols).map(|_| rng.uniform(-9.0, 9.0) as f32).collect()
    }

    fn exact_softmax(row: &[f32]) -> Vec<f64> {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let exps: Vec<f64> = row.iter().map(|&x| f64::from(x - max).exp()).collect();
        let total: f64 = exps.iter().sum();
        exps.into_iter().map(|exp| exp / total).collect()
    }

    fn close(found: f32, exact: f64) -> bool {
        (f64::from(found) - exact).abs() <= 2e-6 * exact.abs().max(0.5)
    }

    #[test]
    fn rows_match_the_definition() {
        at_every_level(|| {
            for (count, cols) in [(0, 3), (1, 1), (5, 3), (700, 10), (3, 5000), (1200, 17)] {
                let x = logits(count, cols);
                let labels: Vec<f32> = logits(count, cols).iter().map(|x| x.abs() / 10.0).collect();
                let classes: Vec<i32> = (0..count).map(|row| (row * 7 % cols) as i32).collect();
                let mut soft = vec![0.0; x.len()];
                let mut log = vec![0.0; x.len()];
                let (mut loss, mut back) = (vec![0.0; count], vec![0.0; x.len()]);
                let (mut sparse_loss, mut sparse_back) = (loss.clone(), back.clone());
                let par = Parallel::SERIAL;
                softmax(par, &x, cols, &mut soft);
                log_softmax(par, &x, cols, &mut log);
                cross_entropy(par, &x, &labels, cols, &mut loss, &mut back);
                sparse_cross_entropy(par, &x, &classes, cols, &mut sparse_loss, &mut sparse_back);
                for row in 0..count {
                    let span = row * cols..(row + 1) * cols;
                    let exact = exact_softmax(&x[span.clone()]);
                    let labels = &labels[span.clone()];
                    let terms = labels.iter().zip(&exact).map(|(&l, p)| -f64::from(l) * p.ln());
                    let exact_loss: f64 = terms.sum();
                    assert!(
                        (f64::from(loss[row]) - exact_loss).abs() <= 1e-5 * exact_loss.max(1.0)
                    );
                    let class = classes[row] as usize;
                    assert!(close(sparse_loss[row], -exact[class].ln()));
                    for (col, at) in span.enumerate() {
                        assert!(close(soft[at], exact[col]));
                        assert!(close(log[at], exact[col].ln()));
                        assert!(close(back[at], exact[col] - f64::from(labels[col])));
                        let hit = f64::from(u8::from(col == class));
                        assert!(close(sparse_back[at], exact[col] - hit));
                    }
                }
            }
        });
    }

    #[test]
    fn threads_and_types_agree() {
        let (count, cols) = (3000, 11);
        let x = logits(count, cols);
        let (mut serial, mut shared) = (x.clone(), x.clone());
        softmax(Parallel::SERIAL, &x, cols, &mut serial);
        softmax(Parallel::new(3), &x, cols, &mut shared);
        assert_eq!(serial, shared);
        let halves: Vec<f16> = x.iter().map(|&x| f16::from_f32(x)).collect();
        let mut out = halves.clone();
        softmax(Parallel::SERIAL, &halves, cols, &mut out);
        assert!(out.iter().zip(&serial).all(|(a, b)| (a.to_f32() - b).abs() < 8e-3));
    }

    #[test]
    fn extreme_logits() {
        let inf = f32::INFINITY;
        let mut out = [9.0; 6];
        softmax(Parallel::SERIAL, &[-inf, 0.0, 1e30, 1e30, -1e30, 1e30], 2, &mut out);
        assert_eq!(out, [0.0, 1.0, 0.5, 0.5, 0.0, 1.0]);
        log_softmax(Parallel::SERIAL, &[-inf, 0.0], 2, &mut out[..2]);
        assert_eq!(out[..2], [-inf, 0.0]);
        softmax(Parallel::SERIAL, &[f32::NAN, 0.0], 2, &mut out[..2]);
        assert!(out[0].is_nan() && out[1].is_nan());
        let (mut loss, mut back) = ([0.0; 2], [0.0; 4]);
        let labels = [-1i64, 1];
        sparse_cross_entropy(Parallel::SERIAL, &[0.0f32; 4], &labels, 2, &mut loss, &mut back);
        assert!(loss[0].is_nan() && back[0].is_nan() && close(loss[1], std::f64::consts::LN_2));
    }
}
