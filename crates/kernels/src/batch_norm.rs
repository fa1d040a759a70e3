//! Batch normalisation of channels-last data: moments, normalisation and gradients.
//!
//! Data is a matrix of rows (pixels) by channels. Sums go down the columns, in blocks of rows so that
//! rounding errors stay small; statistics and parameters are in the wide type.

use num_traits::Zero;

use crate::Parallel;
use crate::aligned::Aligned;
use crate::conv::Tiled;
use crate::parallel::{rows, rows_mut};
use crate::real::{Real, Wide};
use crate::simd::dispatch;

/// Rows added up before their sums are added to the total.
const BLOCK_ROWS: usize = 128;
/// Values below which another thread is not worth waking.
const MIN_VALUES: usize = 32 * 1024;

/// Statistics and parameters of each channel.
#[derive(Clone, Copy, Debug)]
pub struct Channels<'a, W> {
    /// The mean.
    pub mean: &'a [W],
    /// The variance.
    pub variance: &'a [W],
    /// What normalised values are multiplied by.
    pub scale: &'a [W],
    /// Added to the variance.
    pub epsilon: W,
}

impl<W: Tiled> Channels<'_, W> {
    fn check(&self, values: usize) -> usize {
        let channels = self.mean.len();
        assert_eq!((self.variance.len(), self.scale.len()), (channels, channels), "channels");
        assert!(channels > 0 && values.is_multiple_of(channels), "whole rows of {channels}");
        channels
    }

    /// `1 / sqrt(variance + epsilon)` of each channel.
    fn inverse_deviation(&self) -> Vec<W> {
        let inverse = |&variance: &W| W::of(1.0) / (variance + self.epsilon).sqrt();
        self.variance.iter().map(inverse).collect()
    }
}

/// The mean and the (biased) variance of each channel; zeros if there are no rows.
///
/// # Panics
/// If `x` is not whole rows of `mean.len()` channels.
pub fn moments<T: Real>(par: Parallel, x: &[T], mean: &mut [T::Wide], variance: &mut [T::Wide]) {
    let channels = mean.len();
    assert_eq!(variance.len(), channels, "channels");
    assert!(channels > 0 && x.len().is_multiple_of(channels), "whole rows of {channels}");
    let count = x.len() / channels;
    let share = T::Wide::of(1.0) / T::Wide::of(count.max(1) as f64);
    let sums = column_sums::<T, 1>(par, [x], channels, |[x], [sum, _]| add_rows(x, sum));
    mean.iter_mut().zip(&sums[0]).for_each(|(mean, &sum)| *mean = sum * share);
    let mean = &*mean;
    let sums = column_sums::<T, 1>(par, [x], channels, |[x], [sum, _]| add_squares(x, mean, sum));
    variance.iter_mut().zip(&sums[0]).for_each(|(variance, &sum)| *variance = sum * share);
}

/// `out = (x - mean) / sqrt(variance + epsilon) * scale + offset`.
///
/// # Panics
/// If a slice has not whole rows of the channels.
pub fn normalize<T: Real>(
    par: Parallel,
    x: &[T],
    stats: Channels<'_, T::Wide>,
    offset: &[T::Wide],
    out: &mut [T],
) {
    let channels = stats.check(x.len());
    assert_eq!(offset.len(), channels, "channels");
    let inverse = stats.inverse_deviation();
    let factor: Vec<_> = inverse.iter().zip(stats.scale).map(|(&i, &s)| i * s).collect();
    let centre = stats.mean.iter().zip(&factor).zip(offset);
    let shift: Vec<_> = centre.map(|((&mean, &factor), &offset)| offset - mean * factor).collect();
    let count = x.len() / channels;
    let work = (rows(x, count), rows_mut(out, count));
    par.for_each(work, MIN_VALUES.div_ceil(channels), |_, (x, out)| {
        let mut buffers = Blocks::<T, 1>::default();
        for_each_block(x.count, channels, |span| {
            let [x] = buffers.load([&x.data[span.clone()]]);
            fill(&mut out.data[span], |out| scale_rows(x, &factor, &shift, out));
        });
    });
}

/// The gradients of a training step: by the input into `out`, and by scale and offset.
///
/// `stats` are those of the batch itself, through which the input acts as well.
///
/// # Panics
/// If a slice has not whole rows of the channels.
pub fn training_grad<T: Real>(
    par: Parallel,
    x: &[T],
    gradient: &[T],
    stats: Channels<'_, T::Wide>,
    out: &mut [T],
    [scale_grad, offset_grad]: [&mut [T::Wide]; 2],
) {
    let channels = stats.check(x.len());
    let inverse = stats.inverse_deviation();
    sum_gradients(par, x, gradient, stats.mean, &inverse, [scale_grad, offset_grad]);
    let count = x.len() / channels;
    let share = T::Wide::of(1.0) / T::Wide::of(count.max(1) as f64);
    // dx = scale * inverse * (dy - mean(dy) - (x - mean) * inverse * mean(dy * normalised))
    let factor: Vec<_> = inverse.iter().zip(stats.scale).map(|(&i, &s)| i * s).collect();
    let slope: Vec<_> =
        (0..channels).map(|c| -factor[c] * inverse[c] * scale_grad[c] * share).collect();
    let level: Vec<_> = (0..channels)
        .map(|c| -factor[c] * offset_grad[c] * share - slope[c] * stats.mean[c])
        .collect();
    let work = (rows(x, count), rows(gradient, count), rows_mut(out, count));
    par.for_each(work, MIN_VALUES.div_ceil(channels), |_, (x, gradient, out)| {
        let mut buffers = Blocks::<T, 2>::default();
        for_each_block(x.count, channels, |span| {
            let [x, gradient] = buffers.load([&x.data[span.clone()], &gradient.data[span.clone()]]);
            fill(&mut out.data[span], |out| {
                combine_rows([x, gradient], [&slope, &factor, &level], out);
            });
        });
    });
}

/// The gradients where the statistics are given constants: by the input into `out`, and by scale and
/// offset.
///
/// # Panics
/// If a slice has not whole rows of the channels.
pub fn inference_grad<T: Real>(
    par: Parallel,
    x: &[T],
    gradient: &[T],
    stats: Channels<'_, T::Wide>,
    out: &mut [T],
    sums: [&mut [T::Wide]; 2],
) {
    let channels = stats.check(x.len());
    let inverse = stats.inverse_deviation();
    sum_gradients(par, x, gradient, stats.mean, &inverse, sums);
    let zeros = vec![<T::Wide as Zero>::zero(); channels];
    let unit = vec![T::Wide::of(1.0); channels];
    // The gradient's own mean is zero and its deviation `1 / inverse`: only the factor is left.
    let stats = Channels {
        mean: &zeros,
        variance: &unit,
        scale: &inverse.iter().zip(stats.scale).map(|(&i, &s)| i * s).collect::<Vec<_>>(),
        epsilon: <T::Wide as Zero>::zero(),
    };
    normalize(par, gradient, stats, &zeros, out);
}

/// `scale_grad = sum(dy * (x - mean) * inverse)` and `offset_grad = sum(dy)`.
fn sum_gradients<T: Real>(
    par: Parallel,
    x: &[T],
    gradient: &[T],
    mean: &[T::Wide],
    inverse: &[T::Wide],
    [scale_grad, offset_grad]: [&mut [T::Wide]; 2],
) {
    assert_eq!(x.len(), gradient.len(), "input and gradient differ in length");
    let [products, totals] =
        column_sums::<T, 2>(par, [x, gradient], mean.len(), |[x, gradient], sums| {
            add_products(x, gradient, mean, sums);
        });
    for (c, grad) in scale_grad.iter_mut().enumerate() {
        *grad = products[c] * inverse[c];
    }
    offset_grad.copy_from_slice(&totals);
}

/// Two sums of each channel over all rows; `add` adds a block of rows.
fn column_sums<T: Real, const N: usize>(
    par: Parallel,
    data: [&[T]; N],
    channels: usize,
    add: impl Fn([&[T::Wide]; N], [&mut [T::Wide]; 2]) + Sync,
) -> [Vec<T::Wide>; 2] {
    let zeros = || vec![<T::Wide as Zero>::zero(); channels];
    let count = data[0].len() / channels;
    let parts = par.map_ranges(count, MIN_VALUES.div_ceil(channels), |range| {
        let mut totals = [zeros(), zeros()];
        let mut sums = [zeros(), zeros()];
        let mut buffers = Blocks::<T, N>::default();
        for_each_block(range.len(), channels, |span| {
            let start = range.start * channels;
            let block = buffers.load(data.map(|data| &data[start + span.start..start + span.end]));
            sums.iter_mut().for_each(|sum| sum.fill(<T::Wide as Zero>::zero()));
            add(block, sums.each_mut().map(|sum| &mut sum[..]));
            for (total, sum) in totals.iter_mut().flatten().zip(sums.iter().flatten()) {
                *total = *total + *sum;
            }
        });
        totals
    });
    parts.into_iter().fold([zeros(), zeros()], |mut totals, part| {
        for (total, part) in totals.iter_mut().flatten().zip(part.iter().flatten()) {
            *total = *total + *part;
        }
        totals
    })
}

/// Calls `f` with the values of consecutive blocks of rows.
fn for_each_block(count: usize, channels: usize, mut f: impl FnMut(std::ops::Range<usize>)) {
    for first in (0..count).step_by(BLOCK_ROWS) {
        f(first * channels..count.min(first + BLOCK_ROWS) * channels);
    }
}

/// Blocks in the wide type: the data itself, or converted copies.
struct Blocks<T: Real, const N: usize>([Aligned<T::Wide>; N]);

impl<T: Real, const N: usize> Default for Blocks<T, N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Aligned::default()))
    }
}

impl<T: Real, const N: usize> Blocks<T, N> {
    fn load<'a>(&'a mut self, data: [&'a [T]; N]) -> [&'a [T::Wide]; N] {
        let mut buffers = self.0.iter_mut();
        data.map(|data| {
            let buffer = buffers.next().expect("a buffer for each operand");
            match T::as_wide(data) {
                Some(wide) => wide,
                None => {
                    buffer.resize(data.len());
                    T::widen_slice(data, buffer);
                    buffer
                }
            }
        })
    }
}

/// Lets `f` write a block in the wide type, and rounds it if need be.
fn fill<T: Real>(out: &mut [T], f: impl FnOnce(&mut [T::Wide])) {
    if let Some(wide) = T::as_wide_mut(out) {
        return f(wide);
    }
    let mut wide = Aligned::default();
    wide.resize(out.len());
    f(&mut wide);
    T::narrow_slice(&wide, out);
}

dispatch! {
    fn add_rows[I, W: Tiled](x: &[W], sums: &mut [W]) {
        for row in x.chunks_exact(sums.len()) {
            sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum = *sum + x);
        }
    }
}

dispatch! {
    fn add_squares[I, W: Tiled](x: &[W], mean: &[W], sums: &mut [W]) {
        for row in x.chunks_exact(sums.len()) {
            for ((sum, &x), &mean) in sums.iter_mut().zip(row).zip(mean) {
                let distance = x - mean;
                *sum = distance.fma::<I>(distance, *sum);
            }
        }
    }
}

dispatch! {
    fn add_products[I, W: Tiled](x: &[W], gradient: &[W], mean: &[W], sums: [&mut [W]; 2]) {
        let [products, totals] = sums;
        let channels = mean.len();
        for (x, gradient) in x.chunks_exact(channels).zip(gradient.chunks_exact(channels)) {
            let operands = x.iter().zip(gradient).zip(mean);
            let sums = products.iter_mut().zip(totals.iter_mut());
            for (((&x, &gradient), &mean), (product, total)) in operands.zip(sums) {
                *product = gradient.fma::<I>(x - mean, *product);
                *total = *total + gradient;
            }
        }
    }
}

dispatch! {
    /// `out = x * factor + shift`.
    fn scale_rows[I, W: Tiled](x: &[W], factor: &[W], shift: &[W], out: &mut [W]) {
        let channels = factor.len();
        for (x, out) in x.chunks_exact(channels).zip(out.chunks_exact_mut(channels)) {
            let parameters = factor.iter().zip(shift);
            for ((out, &x), (&factor, &shift)) in out.iter_mut().zip(x).zip(parameters) {
                *out = x.fma::<I>(factor, shift);
            }
        }
    }
}

dispatch! {
    /// `out = x * slope + gradient * factor + level`.
    fn combine_rows[I, W: Tiled](data: [&[W]; 2], parameters: [&[W]; 3], out: &mut [W]) {
        let ([x, gradient], [slope, factor, level]) = (data, parameters);
        let channels = slope.len();
        let data = x.chunks_exact(channels).zip(gradient.chunks_exact(channels));
        for ((x, gradient), out) in data.zip(out.chunks_exact_mut(channels)) {
            let data = x.iter().zip(gradient);
            let parameters = slope.iter().zip(factor).zip(level);
            for ((out, (&x, &gradient)), ((&slope, &factor), &level)) in
                out.iter_mut().zip(data).zip(parameters)
            {
                *out = gradient.fma::<I>(factor, x.fma::<I>(slope, level));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;
    use crate::simd::tests::at_every_level;
    use crate::testing::Rng;

    const EPSILON: f64 = 1e-3;

    fn noise(rng: &mut Rng, len: usize) -> Vec<f64> {
        (0..len).map(|_| rng.uniform(-2.0, 3.0)).collect()
    }

    /// The loss `sum(gradient * normalised)` of a training step, from the definition.
    fn loss(x: &[f64], gradient: &[f64], scale: &[f64], offset: &[f64]) -> f64 {
        let channels = scale.len();
        let count = (x.len() / channels) as f64;
        let column = |c: usize| x.iter().skip(c).step_by(channels);
        let mut total = 0.0;
        for c in 0..channels {
            let mean = column(c).sum::<f64>() / count;
            let variance = column(c).map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            for (row, x) in column(c).enumerate() {
                let y = (x - mean) / (variance + EPSILON).sqrt() * scale[c] + offset[c];
                total += y * gradient[row * channels + c];
            }
        }
        total
    }

    #[test]
    fn gradients_are_derivatives() {
        let rng = &mut Rng::new(2);
        let (count, channels) = (9, 3);
        let (x, gradient) = (noise(rng, count * channels), noise(rng, count * channels));
        let (scale, offset) = (noise(rng, channels), noise(rng, channels));
        let (mut mean, mut variance) = (vec![0.0; channels], vec![0.0; channels]);
        moments(Parallel::SERIAL, &x, &mut mean, &mut variance);
        let stats = Channels { mean: &mean, variance: &variance, scale: &scale, epsilon: EPSILON };
        let (mut dx, mut dscale, mut doffset) = (x.clone(), scale.clone(), scale.clone());
        let sums = [&mut dscale[..], &mut doffset[..]];
        training_grad(Parallel::SERIAL, &x, &gradient, stats, &mut dx, sums);
        let slope = |f: &dyn Fn(f64) -> f64| (f(1e-5) - f(-1e-5)) / 2e-5;
        let moved = |values: &[f64], i: usize, step: f64| {
            let mut values = values.to_vec();
            values[i] += step;
            values
        };
        for (i, dx) in dx.iter().enumerate() {
            let exact = slope(&|step| loss(&moved(&x, i, step), &gradient, &scale, &offset));
            assert!((dx - exact).abs() < 1e-6, "x {i}: {dx} for {exact}");
        }
        for c in 0..channels {
            let exact = slope(&|step| loss(&x, &gradient, &moved(&scale, c, step), &offset));
            assert!((dscale[c] - exact).abs() < 1e-6);
            let exact = slope(&|step| loss(&x, &gradient, &scale, &moved(&offset, c, step)));
            assert!((doffset[c] - exact).abs() < 1e-6);
        }
        inference_grad(
            Parallel::SERIAL,
            &x,
            &gradient,
            stats,
            &mut dx,
            [&mut dscale, &mut doffset],
        );
        for i in 0..x.len() {
            let c = i % channels;
            let exact = gradient[i] * scale[c] / (variance[c] + EPSILON).sqrt();
            assert!((dx[i] - exact).abs() < 1e-12);
        }
    }

    #[test]
    fn sizes_types_and_threads_agree() {
        for (count, channels) in [(1, 1), (1000, 3), (333, 70), (20_000, 5)] {
            let rng = &mut Rng::new(count as u64);
            let x = noise(rng, count * channels);
            let (scale, offset) = (noise(rng, channels), noise(rng, channels));
            let exact = forward::<f64>(Parallel::SERIAL, &x, &scale, &offset);
            at_every_level(|| {
                let found = forward::<f32>(Parallel::SERIAL, &x, &scale, &offset);
                assert!(found.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 2e-5));
            });
            let found = forward::<f32>(Parallel::new(3), &x, &scale, &offset);
            assert!(found.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 2e-5));
            let found = forward::<bf16>(Parallel::SERIAL, &x, &scale, &offset);
            assert!(count == 1 || found.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 0.15));
        }
    }

    fn forward<T: Real>(par: Parallel, x: &[f64], scale: &[f64], offset: &[f64]) -> Vec<f64> {
        let wide = |x: &[f64]| x.iter().map(|&x| T::Wide::of(x)).collect::<Vec<_>>();
        let x: Vec<T> = x.iter().map(|&x| T::narrow(T::Wide::of(x))).collect();
        let (scale, offset) = (wide(scale), wide(offset));
        let (mut mean, mut variance) = (scale.clone(), scale.clone());
        moments(par, &x, &mut mean, &mut variance);
        let epsilon = T::Wide::of(EPSILON);
        let stats = Channels { mean: &mean, variance: &variance, scale: &scale, epsilon };
        let mut out = x.clone();
        normalize(par, &x, stats, &offset, &mut out);
        out.iter().map(|x| num_traits::ToPrimitive::to_f64(&x.widen()).unwrap()).collect()
    }
}
