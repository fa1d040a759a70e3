//! The gradient of a convolution by an input of few channels.
//!
//! A vector of input channels would be mostly empty. So all of an output position's contributions, one
//! for each tap and channel, are the columns of one product, and are then added to the input where the
//! taps lie.

use std::ops::Range;

use super::{Axis, Conv};
use crate::Parallel;
use crate::gemm::{Element, Mat, matmul};
use crate::parallel::rows_mut;
use crate::real::{Real, Wide, widened};
use crate::simd::dispatch;

/// Contributions that are computed before they are added: a part of the second-level cache.
const BLOCK: usize = 32 * 1024;
/// Input channels up to which this is worth it, of which at least one tap fills a vector.
const MAX_CHANNELS: usize = 8;
const MIN_COLUMNS: usize = 16;

/// Whether the direct computation would leave most of its vectors empty.
pub(super) fn is_better(shape: &Conv) -> bool {
    shape.groups == 1
        && shape.in_channels <= MAX_CHANNELS
        && shape.taps() * shape.in_channels >= MIN_COLUMNS
}

/// Computes the gradient of `out` from the one of the convolution's output.
pub(super) fn scatter<T: Real>(
    par: Parallel,
    shape: &Conv,
    filter: &[T],
    gradient: &[T],
    out: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    let (filter, gradient) = (widened(filter), widened(gradient));
    let reach = shape.axes.map(|axis| Reach::new(&axis));
    let image = gradient.len() / shape.batch;
    // Images are computed by themselves, or a few of them by all threads together.
    let (outer, inner) =
        if shape.batch < par.threads() { (Parallel::SERIAL, par) } else { (par, Parallel::SERIAL) };
    outer.for_each(rows_mut(out, shape.batch), 1, |images, out| {
        let mut sums = Vec::new();
        for (index, out) in images.zip(out.data.chunks_exact_mut(out.width)) {
            let gradient = &gradient[index * image..(index + 1) * image];
            if let Some(out) = T::as_wide_mut(out) {
                scatter_image(inner, shape, &reach, (&filter, gradient), out);
            } else {
                sums.resize(out.len(), T::Wide::default());
                scatter_image(inner, shape, &reach, (&filter, gradient), &mut sums);
                T::narrow_slice(&sums, out);
            }
        }
    });
}

/// For each output position of an axis, the taps that meet the input and where the first of them does.
struct Reach {
    taps: Vec<(Range<usize>, usize)>,
    dilation: usize,
}

impl Reach {
    fn new(axis: &Axis) -> Self {
        Self { taps: (0..axis.output).map(|at| axis.taps(at)).collect(), dilation: axis.dilation }
    }

    /// The taps of an output position, each with its place in the input.
    fn at(&self, position: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let (taps, first) = self.taps[position].clone();
        taps.enumerate().map(move |(index, tap)| (tap, first + index * self.dilation))
    }
}

fn scatter_image<W: Wide + Element>(
    par: Parallel,
    shape: &Conv,
    reach: &[Reach; 3],
    (filter, gradient): (&[W], &[W]),
    out: &mut [W],
) {
    out.fill(W::zero());
    let cols = shape.taps() * shape.in_channels;
    let filter = Mat::new(filter, cols, shape.out_channels).t();
    let positions = gradient.len() / shape.out_channels;
    let block = (BLOCK / cols).clamp(1, positions);
    let mut products = vec![W::zero(); block * cols];
    for first in (0..positions).step_by(block) {
        let count = block.min(positions - first);
        let gradient = &gradient[first * shape.out_channels..][..count * shape.out_channels];
        let gradient = Mat::new(gradient, count, shape.out_channels);
        let products = &mut products[..count * cols];
        matmul(par, gradient, filter, products);
        add_block(shape, reach, first, products, out);
    }
}

dispatch! {
    /// Adds the products of adjacent output positions to the input.
    fn add_block[I, W: Wide](
        shape: &Conv,
        reach: &[Reach; 3],
        first: usize,
        products: &[W],
        out: &mut [W],
    ) {
        let channels = shape.in_channels;
        let [_, height, width] = &shape.axes;
        let cols = shape.taps() * channels;
        for (index, products) in products.chunks_exact(cols).enumerate() {
            let at = first + index;
            let (row, x) = (at / width.output, at % width.output);
            let (z, y) = (row / height.output, row % height.output);
            for (tap_z, z) in reach[0].at(z) {
                for (tap_y, y) in reach[1].at(y) {
                    let row = (z * height.input + y) * width.input;
                    let taps = (tap_z * height.filter + tap_y) * width.filter;
                    let mut add = |tap: usize, x: usize, count: usize| {
                        let from = &products[(taps + tap) * channels..][..count * channels];
                        let to = &mut out[(row + x) * channels..][..count * channels];
                        to.iter_mut().zip(from).for_each(|(to, &from)| *to = *to + from);
                    };
                    if width.dilation == 1 {
                        // The row's taps are side by side on both sides.
                        let (taps, x) = &reach[2].taps[x];
                        add(taps.start, *x, taps.len());
                    } else {
                        reach[2].at(x).for_each(|(tap, x)| add(tap, x, 1));
                    }
                }
            }
        }
    }
}
