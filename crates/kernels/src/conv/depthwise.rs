//! Depthwise convolutions of images: every channel has its own filters.
//!
//! Channels are adjacent in the input, the filter and the output alike, so that the loops run along
//! them; there is nothing to gain from matrix products.

use num_traits::Zero;

use super::geometry::Axis;
use super::tile::Tiled;
use crate::Parallel;
use crate::parallel::rows_mut;
use crate::real::{Real, widened};
use crate::simd::dispatch;

/// The shape of a depthwise convolution over `batch x height x width x channels`.
///
/// The filter is `height x width x channels x multiplier`, and output channel `c * multiplier + m`
/// is input channel `c` under its filter `m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depthwise {
    /// Images.
    pub batch: usize,
    /// Height and width.
    pub axes: [Axis; 2],
    /// Input channels.
    pub channels: usize,
    /// Output channels for each.
    pub multiplier: usize,
}

impl Depthwise {
    fn out_channels(&self) -> usize {
        self.channels * self.multiplier
    }

    fn check(&self, input: usize, filter: usize, output: usize) {
        let [height, width] = self.axes;
        assert_eq!(
            (input, filter, output),
            (
                self.batch * height.input * width.input * self.channels,
                height.filter * width.filter * self.out_channels(),
                self.batch * height.output * width.output * self.out_channels()
            ),
            "lengths of input, filter and output"
        );
    }

    /// Rows below which another thread is not worth waking.
    fn min_rows(&self) -> usize {
        let [height, width] = self.axes;
        let work = width.output * self.out_channels() * height.filter * width.filter;
        (64 * 1024usize).div_ceil(work.max(1))
    }
}

/// `out = input * filter`, channel by channel.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn depthwise<T: Real>(
    par: Parallel,
    shape: &Depthwise,
    input: &[T],
    filter: &[T],
    out: &mut [T],
) {
    shape.check(input.len(), filter.len(), out.len());
    if out.is_empty() {
        return;
    }
    let [height, width] = shape.axes;
    let (input, filter) = (widened(input), widened(filter));
    let row_len = width.input * shape.channels;
    par.for_each(rows_mut(out, shape.batch * height.output), shape.min_rows(), |range, out| {
        let mut sums = vec![<T::Wide as Zero>::zero(); out.width];
        for (row, out) in range.zip(out.data.chunks_exact_mut(out.width)) {
            let (image, y) = (row / height.output, row % height.output);
            sums.fill(<T::Wide as Zero>::zero());
            let (taps, first) = height.taps(y);
            for (step, tap) in taps.enumerate() {
                let line = image * height.input + first + step * height.dilation;
                let input = &input[line * row_len..][..row_len];
                let taps = width.filter * shape.out_channels();
                let filter = &filter[tap * taps..][..taps];
                forward_row(shape, input, filter, &mut sums);
            }
            T::narrow_slice(&sums, out);
        }
    });
}

/// The gradient of [`depthwise`] by its input, from the gradient of its output.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn depthwise_backprop_input<T: Real>(
    par: Parallel,
    shape: &Depthwise,
    filter: &[T],
    gradient: &[T],
    out: &mut [T],
) {
    shape.check(out.len(), filter.len(), gradient.len());
    if out.is_empty() {
        return;
    }
    let [height, width] = shape.axes;
    let (filter, gradient) = (widened(filter), widened(gradient));
    let row_len = width.output * shape.out_channels();
    par.for_each(rows_mut(out, shape.batch * height.input), shape.min_rows(), |range, out| {
        let mut sums = vec![<T::Wide as Zero>::zero(); out.width];
        for (row, out) in range.zip(out.data.chunks_exact_mut(out.width)) {
            let (image, y) = (row / height.input, row % height.input);
            sums.fill(<T::Wide as Zero>::zero());
            for tap in 0..height.filter {
                let Some(distance) = (y + height.pad).checked_sub(tap * height.dilation) else {
                    continue;
                };
                let above = distance / height.stride;
                if !distance.is_multiple_of(height.stride) || above >= height.output {
                    continue;
                }
                let gradient = &gradient[(image * height.output + above) * row_len..][..row_len];
                let taps = width.filter * shape.out_channels();
                let filter = &filter[tap * taps..][..taps];
                backward_row(shape, gradient, filter, &mut sums);
            }
            T::narrow_slice(&sums, out);
        }
    });
}

/// The gradient of [`depthwise`] by its filter, from the gradient of its output.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn depthwise_backprop_filter<T: Real>(
    par: Parallel,
    shape: &Depthwise,
    input: &[T],
    gradient: &[T],
    out: &mut [T],
) {
    shape.check(input.len(), out.len(), gradient.len());
    if out.is_empty() {
        return;
    }
    let [height, width] = shape.axes;
    let (input, gradient) = (widened(input), widened(gradient));
    let (in_row, out_row) = (width.input * shape.channels, width.output * shape.out_channels());
    let taps = width.filter * shape.out_channels();
    let count = shape.batch * height.output;
    let share = shape.min_rows().max(count.div_ceil(par.threads()));
    let parts = par.map_ranges(count, share, |range| {
        let mut sums = vec![<T::Wide as Zero>::zero(); out.len()];
        for row in range {
            let (image, y) = (row / height.output, row % height.output);
            let (rows, first) = height.taps(y);
            for (step, tap) in rows.enumerate() {
                let line = image * height.input + first + step * height.dilation;
                let input = &input[line * in_row..][..in_row];
                let gradient = &gradient[row * out_row..][..out_row];
                filter_row(shape, input, gradient, &mut sums[tap * taps..][..taps]);
            }
        }
        sums
    });
    let total = parts.into_iter().reduce(|mut total, part| {
        total.iter_mut().zip(part).for_each(|(total, part)| *total = *total + part);
        total
    });
    match total {
        Some(total) => T::narrow_slice(&total, out),
        None => out.fill(T::narrow(<T::Wide as Zero>::zero())),
    }
}

dispatch! {
    /// Adds an input row under one row of the filter to an output row.
    fn forward_row[I, W: Tiled](shape: &Depthwise, input: &[W], filter: &[W], out: &mut [W]) {
        let width = shape.axes[1];
        let channels = shape.out_channels();
        for (x, out) in out.chunks_exact_mut(channels).enumerate() {
            let (taps, first) = width.taps(x);
            for (step, tap) in taps.enumerate() {
                let at = (first + step * width.dilation) * shape.channels;
                let input = &input[at..at + shape.channels];
                let filter = &filter[tap * channels..(tap + 1) * channels];
                if shape.multiplier == 1 {
                    for ((out, &x), &f) in out.iter_mut().zip(input).zip(filter) {
                        *out = x.fma::<I>(f, *out);
                    }
                } else {
                    let filters = filter.chunks_exact(shape.multiplier);
                    let outs = out.chunks_exact_mut(shape.multiplier);
                    for ((out, &x), filter) in outs.zip(input).zip(filters) {
                        for (out, &f) in out.iter_mut().zip(filter) {
                            *out = x.fma::<I>(f, *out);
                        }
                    }
                }
            }
        }
    }
}

dispatch! {
    /// Adds a row of the output's gradient under one row of the filter to a row of the input's.
    fn backward_row[I, W: Tiled](shape: &Depthwise, gradient: &[W], filter: &[W], out: &mut [W]) {
        let width = shape.axes[1];
        let channels = shape.out_channels();
        for (x, gradient) in gradient.chunks_exact(channels).enumerate() {
            let (taps, first) = width.taps(x);
            for (step, tap) in taps.enumerate() {
                let at = (first + step * width.dilation) * shape.channels;
                let out = &mut out[at..at + shape.channels];
                let filter = &filter[tap * channels..(tap + 1) * channels];
                if shape.multiplier == 1 {
                    for ((out, &g), &f) in out.iter_mut().zip(gradient).zip(filter) {
                        *out = g.fma::<I>(f, *out);
                    }
                } else {
                    let filters = filter.chunks_exact(shape.multiplier);
                    let gradients = gradient.chunks_exact(shape.multiplier);
                    for ((out, gradient), filter) in out.iter_mut().zip(gradients).zip(filters) {
                        for (&g, &f) in gradient.iter().zip(filter) {
                            *out = g.fma::<I>(f, *out);
                        }
                    }
                }
            }
        }
    }
}

dispatch! {
    /// Adds an input row times a row of the output's gradient to one row of the filter's.
    fn filter_row[I, W: Tiled](shape: &Depthwise, input: &[W], gradient: &[W], out: &mut [W]) {
        let width = shape.axes[1];
        let channels = shape.out_channels();
        for (x, gradient) in gradient.chunks_exact(channels).enumerate() {
            let (taps, first) = width.taps(x);
            for (step, tap) in taps.enumerate() {
                let at = (first + step * width.dilation) * shape.channels;
                let input = &input[at..at + shape.channels];
                let out = &mut out[tap * channels..(tap + 1) * channels];
                if shape.multiplier == 1 {
                    for ((out, &g), &x) in out.iter_mut().zip(gradient).zip(input) {
                        *out = g.fma::<I>(x, *out);
                    }
                } else {
                    let outs = out.chunks_exact_mut(shape.multiplier);
                    let gradients = gradient.chunks_exact(shape.multiplier);
                    for ((out, gradient), &x) in outs.zip(gradients).zip(input) {
                        for (out, &g) in out.iter_mut().zip(gradient) {
                            *out = g.fma::<I>(x, *out);
                        }
                    }
                }
            }
        }
    }
}
