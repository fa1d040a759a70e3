//! Convolutions of images and volumes, channels last, and their gradients.
//!
//! No patches are copied out of the input: a register tile (see `tile`) reads each tap where it lies,
//! in the input itself or in a copy of a few rows that has the padding around it. The gradient by the
//! input is the same computation with the filter turned round, one stride phase at a time, or a product
//! that is scattered where there are few channels (see `scatter`); the gradient by the filter the same
//! tile summed over positions. Filters of 3 × 3 and 5 × 5 with many channels take a way with fewer
//! products (see `winograd`).

mod correlate;
mod depthwise;
mod field;
mod filter_grad;
mod geometry;
pub(crate) mod lanes;
mod scatter;
#[cfg(test)]
mod tests;
mod tile;
mod winograd;

use std::ops::Range;

pub use depthwise::{Depthwise, depthwise, depthwise_backprop_filter, depthwise_backprop_input};
pub use geometry::{Axis, Conv};
pub use tile::{TileOf, Tiled};

use correlate::{Panels, Target, correlate};
use field::{Reach, Source};

use crate::Parallel;
use crate::gemm::{Element, Mat, matmul};
use crate::real::Real;

/// `out = input * filter`.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn conv<T: Real + Element>(
    par: Parallel,
    shape: &Conv,
    input: &[T],
    filter: &[T],
    out: &mut [T],
) {
    shape.check(input.len(), filter.len(), out.len());
    if input.is_empty() || filter.is_empty() {
        return out.fill(T::ZERO);
    }
    if shape.is_pointwise() {
        let pixels = out.len() / shape.out_channels;
        let (a, b) = (
            Mat::new(input, pixels, shape.in_channels),
            Mat::new(filter, shape.in_channels, shape.out_channels),
        );
        return matmul(par, a, b, out);
    }
    if let (Some(input), Some(filter), Some(out)) =
        (T::as_wide(input), T::as_wide(filter), T::as_wide_mut(out))
        && winograd::conv(par, shape, input, filter, out)
    {
        return;
    }
    let (inputs, outputs) = (shape.group_inputs(), shape.group_outputs());
    for group in 0..shape.groups {
        let first = group * outputs;
        let depth = shape.taps() * inputs;
        let panels = Panels::pack(par, depth, outputs, |rows, cols, out, width| {
            for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
                let start = row * shape.out_channels + first;
                let cols = start + cols.start..start + cols.end;
                T::widen_slice(&filter[cols.clone()], &mut out[..cols.len()]);
            }
        });
        let target = Target { start: first, strides: strides(shape, false) };
        correlate(par, &forward(shape, input, group), &panels, &target, out);
    }
}

/// The gradient of [`conv`] by its input, from the gradient of its output.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn conv_backprop_input<T: Real + Element>(
    par: Parallel,
    shape: &Conv,
    filter: &[T],
    gradient: &[T],
    out: &mut [T],
) {
    shape.check(out.len(), filter.len(), gradient.len());
    if gradient.is_empty() || filter.is_empty() {
        return out.fill(T::ZERO);
    }
    if shape.is_pointwise() {
        let pixels = out.len() / shape.in_channels;
        let (a, b) = (
            Mat::new(gradient, pixels, shape.out_channels),
            Mat::new(filter, shape.in_channels, shape.out_channels).t(),
        );
        return matmul(par, a, b, out);
    }
    if let (Some(filter), Some(gradient), Some(out)) =
        (T::as_wide(filter), T::as_wide(gradient), T::as_wide_mut(out))
        && winograd::input_gradient(par, shape, filter, gradient, out)
    {
        return;
    }
    if scatter::is_better(shape) {
        return scatter::scatter(par, shape, filter, gradient, out);
    }
    let (inputs, outputs) = (shape.group_inputs(), shape.group_outputs());
    let [_, by_depth, by_row, by_col] = strides(shape, true);
    let [depth, height, width] = shape.axes;
    if shape.axes.iter().any(|axis| phases(axis).len() < axis.stride.min(axis.input)) {
        // Positions that no tap reaches.
        out.fill(T::ZERO);
    }
    for z in phases(&depth) {
        for y in phases(&height) {
            for x in phases(&width) {
                // Filter taps in the order of the positions they read.
                let taps: Vec<usize> = combinations([&z.taps, &y.taps, &x.taps])
                    .map(|[z, y, x]| (z * height.filter + y) * width.filter + x)
                    .collect();
                let origin = z.first * by_depth + y.first * by_row + x.first * by_col;
                for group in 0..shape.groups {
                    let rows = taps.len() * outputs;
                    let panels = Panels::pack(par, rows, inputs, |rows, cols, out, width| {
                        pack_turned(shape, filter, (&taps, group), (rows, cols), out, width);
                    });
                    let source = Source {
                        data: gradient,
                        batch: shape.batch,
                        axes: [z.reach.clone(), y.reach.clone(), x.reach.clone()],
                        pixel: shape.out_channels,
                        channels: group * outputs..(group + 1) * outputs,
                    };
                    let [by_image, ..] = strides(shape, true);
                    let strides = [
                        by_image,
                        by_depth * depth.stride,
                        by_row * height.stride,
                        by_col * width.stride,
                    ];
                    let target = Target { start: origin + group * inputs, strides };
                    correlate(par, &source, &panels, &target, out);
                }
            }
        }
    }
}

/// Packs the part of a filter that a group's gradients are multiplied with: a row for each of some taps
/// and output channels, input channels as columns.
fn pack_turned<T: Real>(
    shape: &Conv,
    filter: &[T],
    (taps, group): (&[usize], usize),
    (rows, cols): (Range<usize>, Range<usize>),
    out: &mut [T::Wide],
    width: usize,
) {
    /// Rows that are written together, because what they hold lies side by side in the filter.
    const ROWS: usize = 16;
    let (inputs, outputs) = (shape.group_inputs(), shape.group_outputs());
    let mut row = rows.start;
    while row < rows.end {
        let (tap, channel) = (taps[row / outputs], row % outputs);
        let count = (outputs - channel).min(rows.end - row).min(ROWS);
        let out = &mut out[(row - rows.start) * width..][..count * width];
        for (place, input) in cols.clone().enumerate() {
            let start = (tap * inputs + input) * shape.out_channels + group * outputs + channel;
            let values = &filter[start..start + count];
            for (out, value) in out.chunks_exact_mut(width).zip(values) {
                out[place] = value.widen();
            }
        }
        row += count;
    }
}

/// The gradient of [`conv`] by its filter, from the gradient of its output.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn conv_backprop_filter<T: Real + Element>(
    par: Parallel,
    shape: &Conv,
    input: &[T],
    gradient: &[T],
    out: &mut [T],
) {
    shape.check(input.len(), out.len(), gradient.len());
    if gradient.is_empty() || input.is_empty() {
        return out.fill(T::ZERO);
    }
    if shape.is_pointwise() {
        let pixels = gradient.len() / shape.out_channels;
        let (a, b) = (
            Mat::new(input, pixels, shape.in_channels).t(),
            Mat::new(gradient, pixels, shape.out_channels),
        );
        return matmul(par, a, b, out);
    }
    if let (Some(input), Some(gradient), Some(out)) =
        (T::as_wide(input), T::as_wide(gradient), T::as_wide_mut(out))
        && winograd::filter_gradient(par, shape, input, gradient, out)
    {
        return;
    }
    let outputs = shape.group_outputs();
    for group in 0..shape.groups {
        let cols = group * outputs..(group + 1) * outputs;
        let source = forward(shape, input, group);
        let sums =
            filter_grad::filter_gradient(par, &source, gradient, shape.out_channels, cols.clone());
        for (sums, out) in sums.chunks_exact(outputs).zip(out.chunks_exact_mut(shape.out_channels))
        {
            T::narrow_slice(sums, &mut out[cols.clone()]);
        }
    }
}

/// What the convolution itself reads.
fn forward<'a, T>(shape: &Conv, input: &'a [T], group: usize) -> Source<'a, T> {
    let inputs = shape.group_inputs();
    let axes = shape.axes.map(|axis| Reach {
        input: axis.input,
        outputs: axis.output,
        step: axis.stride,
        taps: (0..axis.filter)
            .map(|tap| (tap * axis.dilation).cast_signed() - axis.pad.cast_signed())
            .collect(),
    });
    Source {
        data: input,
        batch: shape.batch,
        axes,
        pixel: shape.in_channels,
        channels: group * inputs..(group + 1) * inputs,
    }
}

/// Distances of neighbours in batch, depth, height and width, of the input or the output.
fn strides(shape: &Conv, input: bool) -> [usize; 4] {
    let [depth, height, width] =
        shape.axes.map(|axis| if input { axis.input } else { axis.output });
    let pixel = if input { shape.in_channels } else { shape.out_channels };
    let (row, plane) = (width * pixel, height * width * pixel);
    [depth * plane, plane, row, pixel]
}

/// Input positions of an axis with the same remainder by the stride: the same taps reach them.
struct Phase {
    /// The first of the positions.
    first: usize,
    /// What they read of the gradient.
    reach: Reach,
    /// The filter's taps, in the order of the reach's.
    taps: Vec<usize>,
}

fn phases(axis: &Axis) -> Vec<Phase> {
    let mut phases = Vec::new();
    for first in 0..axis.stride.min(axis.input) {
        // Output position * stride = input position + pad - tap * dilation.
        let mut taps: Vec<(isize, usize)> = (0..axis.filter)
            .map(|tap| {
                ((first + axis.pad).cast_signed() - (tap * axis.dilation).cast_signed(), tap)
            })
            .filter(|(distance, _)| distance % axis.stride.cast_signed() == 0)
            .map(|(distance, tap)| (distance / axis.stride.cast_signed(), tap))
            .collect();
        taps.sort_unstable();
        if taps.is_empty() {
            continue;
        }
        let reach = Reach {
            input: axis.output,
            outputs: (axis.input - first).div_ceil(axis.stride),
            step: 1,
            taps: taps.iter().map(|(distance, _)| *distance).collect(),
        };
        phases.push(Phase { first, reach, taps: taps.into_iter().map(|(_, tap)| tap).collect() });
    }
    phases
}

fn combinations([z, y, x]: [&[usize]; 3]) -> impl Iterator<Item = [usize; 3]> {
    z.iter().flat_map(move |&z| y.iter().flat_map(move |&y| x.iter().map(move |&x| [z, y, x])))
}
