//! Convolutions of 32-bit integers, which wrap. They are rare, so the loops are plain.

use std::ops::Range;

use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::conv::{Axis, Conv};
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{Result, Shape, Tensor};

/// `input * filter`, channels last.
pub(super) fn convolve(
    par: Parallel,
    shape: &Conv,
    input: &Tensor,
    filter: &Tensor,
    dims: Shape,
) -> Result<Tensor> {
    let (input, filter) = (input.values::<i32>()?, filter.values::<i32>()?);
    Tensor::build(dims, |out: &mut [i32]| {
        out.fill(0);
        par.for_each(rows_mut(out, shape.batch), 1, |images, out| {
            let (first, width) = (images.start, out.width);
            for_each_tap(shape, images, |image, taps, output, pixel| {
                let out = &mut out.data[(image - first) * width + output..][..shape.out_channels];
                let input = &input[image * (shape.input_len() / shape.batch) + pixel..];
                for_each_weight(shape, taps, |channel, weights, outputs| {
                    for (out, &weight) in out[outputs].iter_mut().zip(&filter[weights]) {
                        *out = out.wrapping_add(input[channel].wrapping_mul(weight));
                    }
                });
            });
        });
    })
}

/// The gradient by the input, channels last.
pub(super) fn backprop_input(
    par: Parallel,
    shape: &Conv,
    filter: &Tensor,
    gradient: &Tensor,
    dims: Shape,
) -> Result<Tensor> {
    let (filter, gradient) = (filter.values::<i32>()?, gradient.values::<i32>()?);
    Tensor::build(dims, |out: &mut [i32]| {
        out.fill(0);
        par.for_each(rows_mut(out, shape.batch), 1, |images, out| {
            let (first, width) = (images.start, out.width);
            for_each_tap(shape, images, |image, taps, output, pixel| {
                let out = &mut out.data[(image - first) * width + pixel..][..shape.in_channels];
                let gradient = &gradient[image * (shape.output_len() / shape.batch) + output..];
                for_each_weight(shape, taps, |channel, weights, outputs| {
                    for (&gradient, &weight) in gradient[outputs].iter().zip(&filter[weights]) {
                        out[channel] = out[channel].wrapping_add(gradient.wrapping_mul(weight));
                    }
                });
            });
        });
    })
}

/// Calls `f` with an image, a tap of the filter, and where in the image its output and its input
/// pixel begin, for all that meet.
fn for_each_tap(shape: &Conv, images: Range<usize>, mut f: impl FnMut(usize, usize, usize, usize)) {
    let [depth, height, width] = shape.axes;
    for image in images {
        for (z, tap_z, in_z) in meetings(depth) {
            for (y, tap_y, in_y) in meetings(height) {
                for (x, tap_x, in_x) in meetings(width) {
                    let tap = (tap_z * height.filter + tap_y) * width.filter + tap_x;
                    let output = (z * height.output + y) * width.output + x;
                    let pixel = (in_z * height.input + in_y) * width.input + in_x;
                    f(image, tap, output * shape.out_channels, pixel * shape.in_channels);
                }
            }
        }
    }
}

/// Calls `f` with an input channel, the place of its weights in the filter, and the output channels
/// that they belong to.
fn for_each_weight(shape: &Conv, tap: usize, mut f: impl FnMut(usize, Range<usize>, Range<usize>)) {
    let (inputs, outputs) = (shape.in_channels / shape.groups, shape.out_channels / shape.groups);
    for channel in 0..shape.in_channels {
        let first = channel / inputs * outputs;
        let start = (tap * inputs + channel % inputs) * shape.out_channels + first;
        f(channel, start..start + outputs, first..first + outputs);
    }
}

/// Output positions, taps and input positions of an axis that meet.
fn meetings(axis: Axis) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..axis.output).flat_map(move |at| {
        (0..axis.filter).filter_map(move |tap| {
            let input = (at * axis.stride + tap * axis.dilation).checked_sub(axis.pad)?;
            (input < axis.input).then_some((at, tap, input))
        })
    })
}
