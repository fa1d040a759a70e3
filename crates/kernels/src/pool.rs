//! Maximum and average pooling of images and volumes, channels last, and their gradients.
//!
//! Windows are clipped to the input: padding is neither a candidate for the maximum nor counted in
//! the average. Loops run along the channels, which are adjacent.

use num_traits::Zero;

use crate::Parallel;
use crate::conv::Axis;
use crate::parallel::{rows, rows_mut};
use crate::real::{Real, Wide, widened};
use crate::reduce::Ordered;
use crate::simd::dispatch;

/// Values of windows below which another thread is not worth waking.
const MIN_VALUES: usize = 32 * 1024;

/// The shape of a pooling over `batch x depth x height x width x channels`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Images or volumes.
    pub batch: usize,
    /// Depth, height and width; an axis' filter is the window.
    pub axes: [Axis; 3],
    /// Channels, each pooled by itself.
    pub channels: usize,
}

/// Which positions of a window get the gradient of its maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The first that has it, as for images.
    First,
    /// All that have it, as for volumes.
    All,
}

impl Pool {
    /// A pooling of images; `axes` are height and width.
    pub fn images(batch: usize, [height, width]: [Axis; 2], channels: usize) -> Self {
        Self { batch, axes: [Axis::UNIT, height, width], channels }
    }

    /// The number of input values.
    pub fn input_len(&self) -> usize {
        self.batch * self.input_image()
    }

    /// The number of output values.
    pub fn output_len(&self) -> usize {
        self.batch * self.output_image()
    }

    fn input_image(&self) -> usize {
        self.channels * self.axes.iter().map(|axis| axis.input).product::<usize>()
    }

    fn output_image(&self) -> usize {
        self.channels * self.axes.iter().map(|axis| axis.output).product::<usize>()
    }

    fn window(&self) -> usize {
        self.axes.iter().map(|axis| axis.filter).product()
    }

    /// Output rows (of the last axis) below which another thread is not worth waking.
    fn min_rows(&self) -> usize {
        let work = self.axes[2].output * self.channels * self.window();
        MIN_VALUES.div_ceil(work.max(1))
    }

    /// Images below which another thread is not worth waking.
    fn min_images(&self) -> usize {
        MIN_VALUES.div_ceil((self.output_image() * self.window()).max(1))
    }

    /// The position of an output row: image, depth and height.
    fn row_position(&self, row: usize) -> [usize; 3] {
        let [depth, height, _] = &self.axes;
        [
            row / height.output / depth.output,
            row / height.output % depth.output,
            row % height.output,
        ]
    }

    fn check(&self, input: usize, output: usize) {
        assert_eq!((input, output), (self.input_len(), self.output_len()), "lengths of a pooling");
    }
}

/// Where the windows lie: for each axis and output position, how many inputs and the first of them.
///
/// That takes divisions, so it is worked out once for the axis and not for each pixel.
#[derive(Debug)]
struct Windows<'a> {
    shape: &'a Pool,
    taps: [Vec<(usize, usize)>; 3],
}

impl<'a> Windows<'a> {
    fn new(shape: &'a Pool) -> Self {
        let taps = shape.axes.map(|axis| {
            let taps = |at| {
                let (taps, first) = axis.taps(at);
                (taps.len(), first)
            };
            (0..axis.output).map(taps).collect()
        });
        Self { shape, taps }
    }

    /// Calls `f` with the offset in the image of each pixel in the window of an output position.
    #[inline(always)]
    fn for_each_pixel(&self, [z, y, x]: [usize; 3], mut f: impl FnMut(usize)) {
        let [depth, height, width] = &self.shape.axes;
        let [(levels, top), (lines, first), (cols, left)] =
            [self.taps[0][z], self.taps[1][y], self.taps[2][x]];
        for level in 0..levels {
            let plane = (top + level * depth.dilation) * height.input;
            for line in 0..lines {
                let row = (plane + first + line * height.dilation) * width.input;
                for col in 0..cols {
                    f((row + left + col * width.dilation) * self.shape.channels);
                }
            }
        }
    }

    /// One by the number of pixels in a window.
    fn share<W: Wide>(&self, [z, y, x]: [usize; 3]) -> W {
        let count = self.taps[0][z].0 * self.taps[1][y].0 * self.taps[2][x].0;
        W::of(1.0) / W::of(count as f64)
    }
}

/// The largest value of each window. NaN is passed over; a window without any larger value gives the
/// lowest finite one, as in TensorFlow.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn max_pool<T: Ordered>(par: Parallel, shape: &Pool, x: &[T], out: &mut [T]) {
    shape.check(x.len(), out.len());
    for_each_row(par, shape, x, out, max_row);
}

/// The place of the first largest value of each window, as an index into its image.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn argmax_pool<T: Ordered>(par: Parallel, shape: &Pool, x: &[T], out: &mut [i64]) {
    shape.check(x.len(), out.len());
    for_each_row(par, shape, x, out, argmax_row);
}

/// The average of each window.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn avg_pool<T: Real>(par: Parallel, shape: &Pool, x: &[T], out: &mut [T]) {
    shape.check(x.len(), out.len());
    let x = widened(x);
    for_each_row(par, shape, &x, out, |windows, image, row, out: &mut [T]| {
        if let Some(out) = T::as_wide_mut(out) {
            return avg_row(windows, image, row, out);
        }
        let mut wide = vec![<T::Wide as Zero>::zero(); out.len()];
        avg_row(windows, image, row, &mut wide);
        T::narrow_slice(&wide, out);
    });
}

/// The gradient of [`max_pool`] by its input, from the gradient of its output.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn max_pool_grad<T: Real + Ordered>(
    par: Parallel,
    shape: &Pool,
    ties: Ties,
    x: &[T],
    gradient: &[T],
    out: &mut [T],
) {
    shape.check(x.len(), gradient.len());
    let gradient = widened(gradient);
    for_each_image(par, shape, (x, &gradient), out, |windows, x, gradient, sums| match ties {
        Ties::First => image_grad(windows, ToFirst(x), gradient, sums),
        Ties::All => image_grad(windows, ToAll(x), gradient, sums),
    });
}

/// The gradient of [`avg_pool`] by its input, from the gradient of its output.
///
/// # Panics
/// If a slice has not the length that the shape says.
pub fn avg_pool_grad<T: Real>(par: Parallel, shape: &Pool, gradient: &[T], out: &mut [T]) {
    shape.check(out.len(), gradient.len());
    let gradient = widened(gradient);
    let none: &[T] = &[];
    for_each_image(par, shape, (none, &gradient), out, |windows, _, gradient, sums| {
        image_grad(windows, ToEach, gradient, sums);
    });
}

dispatch! {
    fn max_row[I, T: Ordered](windows: &Windows<'_>, image: &[T], row: [usize; 2], out: &mut [T]) {
        let channels = windows.shape.channels;
        for (x, out) in out.chunks_exact_mut(channels).enumerate() {
            out.fill(T::FINITE_LOWEST);
            windows.for_each_pixel([row[0], row[1], x], |at| {
                for (out, &x) in out.iter_mut().zip(&image[at..at + channels]) {
                    *out = if x > *out { x } else { *out };
                }
            });
        }
    }
}

fn argmax_row<T: Ordered>(windows: &Windows<'_>, image: &[T], row: [usize; 2], out: &mut [i64]) {
    let channels = windows.shape.channels;
    let mut best = vec![T::FINITE_LOWEST; channels];
    for (x, places) in out.chunks_exact_mut(channels).enumerate() {
        best.fill(T::FINITE_LOWEST);
        let mut first = true;
        windows.for_each_pixel([row[0], row[1], x], |at| {
            let pixel = image[at..at + channels].iter().enumerate();
            for ((channel, &x), (best, place)) in pixel.zip(best.iter_mut().zip(&mut *places)) {
                // Where nothing is larger (all NaN, say) the first place stands.
                if first || x > *best {
                    *place = (at + channel).cast_signed() as i64;
                }
                if x > *best {
                    *best = x;
                }
            }
            first = false;
        });
    }
}

dispatch! {
    fn avg_row[I, W: Wide](windows: &Windows<'_>, image: &[W], row: [usize; 2], out: &mut [W]) {
        let channels = windows.shape.channels;
        for (x, sums) in out.chunks_exact_mut(channels).enumerate() {
            sums.fill(W::zero());
            let position = [row[0], row[1], x];
            windows.for_each_pixel(position, |at| {
                for (sum, &x) in sums.iter_mut().zip(&image[at..at + channels]) {
                    *sum = *sum + x;
                }
            });
            let share = windows.share::<W>(position);
            sums.iter_mut().for_each(|sum| *sum = *sum * share);
        }
    }
}

/// How the gradient of a window is spread over its pixels.
trait Spread<W>: Sync {
    /// Adds the gradient of `L` channels, from `first`, to the `pixels` of the window.
    fn add<const L: usize>(&self, pixels: &[usize], first: usize, gradient: &[W], sums: &mut [W]);
}

/// To the first pixel that has the maximum.
struct ToFirst<'a, T>(&'a [T]);

/// To every pixel that has the maximum.
struct ToAll<'a, T>(&'a [T]);

/// To every pixel its share.
struct ToEach;

impl<T: Ordered, W: Wide> Spread<W> for ToFirst<'_, T> {
    #[inline(always)]
    fn add<const L: usize>(&self, pixels: &[usize], first: usize, gradient: &[W], sums: &mut [W]) {
        let mut best = [T::FINITE_LOWEST; L];
        // Where nothing is larger (all NaN, say) the first pixel stands.
        let mut owners = [0_u32; L];
        for (number, &at) in (0_u32..).zip(pixels) {
            let x: &[T; L] = lanes(&self.0[at + first..]);
            for i in 0..L {
                let larger = x[i] > best[i];
                best[i] = if larger { x[i] } else { best[i] };
                owners[i] = if larger { number } else { owners[i] };
            }
        }
        let gradient: &[W; L] = lanes(&gradient[first..]);
        for (number, &at) in (0_u32..).zip(pixels) {
            let sums: &mut [W; L] = lanes_mut(&mut sums[at + first..]);
            for i in 0..L {
                sums[i] = sums[i] + gradient[i].keep_if(owners[i] == number);
            }
        }
    }
}

impl<T: Ordered, W: Wide> Spread<W> for ToAll<'_, T> {
    #[inline(always)]
    fn add<const L: usize>(&self, pixels: &[usize], first: usize, gradient: &[W], sums: &mut [W]) {
        let mut best = [T::FINITE_LOWEST; L];
        for &at in pixels {
            let x: &[T; L] = lanes(&self.0[at + first..]);
            for i in 0..L {
                best[i] = if x[i] > best[i] { x[i] } else { best[i] };
            }
        }
        let gradient: &[W; L] = lanes(&gradient[first..]);
        for &at in pixels {
            let x: &[T; L] = lanes(&self.0[at + first..]);
            let sums: &mut [W; L] = lanes_mut(&mut sums[at + first..]);
            for i in 0..L {
                sums[i] = sums[i] + gradient[i].keep_if(x[i] == best[i]);
            }
        }
    }
}

impl<W: Wide> Spread<W> for ToEach {
    #[inline(always)]
    fn add<const L: usize>(&self, pixels: &[usize], first: usize, gradient: &[W], sums: &mut [W]) {
        let share = W::of(1.0) / W::of(pixels.len() as f64);
        let gradient: &[W; L] = lanes(&gradient[first..]);
        for &at in pixels {
            let sums: &mut [W; L] = lanes_mut(&mut sums[at + first..]);
            for i in 0..L {
                sums[i] = sums[i] + gradient[i] * share;
            }
        }
    }
}

#[inline(always)]
fn lanes<T, const L: usize>(from: &[T]) -> &[T; L] {
    from.first_chunk().expect("as many channels as lanes are left")
}

#[inline(always)]
fn lanes_mut<T, const L: usize>(from: &mut [T]) -> &mut [T; L] {
    from.first_chunk_mut().expect("as many channels as lanes are left")
}

dispatch! {
    /// Adds the gradient of every window of an image to `sums`.
    fn image_grad[I, W: Wide, S: Spread<W>](
        windows: &Windows<'_>,
        spread: S,
        gradient: &[W],
        sums: &mut [W],
    ) {
        const LANES: usize = 16;
        let channels = windows.shape.channels;
        let [_, height, width] = &windows.shape.axes;
        let mut pixels = Vec::new();
        for (row, gradient) in gradient.chunks_exact(width.output * channels).enumerate() {
            let (z, y) = (row / height.output, row % height.output);
            for (x, gradient) in gradient.chunks_exact(channels).enumerate() {
                pixels.clear();
                windows.for_each_pixel([z, y, x], |at| pixels.push(at));
                let mut first = 0;
                while first + LANES <= channels {
                    spread.add::<LANES>(&pixels, first, gradient, sums);
                    first += LANES;
                }
                while first < channels {
                    spread.add::<1>(&pixels, first, gradient, sums);
                    first += 1;
                }
            }
        }
    }
}

/// Calls `f(windows, image, [depth, height], row)` for every row of the output.
fn for_each_row<T: Sync, U: Send>(
    par: Parallel,
    shape: &Pool,
    x: &[T],
    out: &mut [U],
    f: impl Fn(&Windows<'_>, &[T], [usize; 2], &mut [U]) + Sync,
) {
    if out.is_empty() {
        return;
    }
    let [depth, height, _] = &shape.axes;
    let count = shape.batch * depth.output * height.output;
    let image_len = shape.input_image();
    let windows = Windows::new(shape);
    par.for_each(rows_mut(out, count), shape.min_rows(), |range, out| {
        for (row, out) in range.zip(out.data.chunks_exact_mut(out.width)) {
            let [image, z, y] = shape.row_position(row);
            f(&windows, &x[image * image_len..(image + 1) * image_len], [z, y], out);
        }
    });
}

/// Calls `f(windows, x, gradient, sums)` for every image (windows of one may overlap) and rounds its
/// sums.
fn for_each_image<T: Real, X: Sync, G: Sync>(
    par: Parallel,
    shape: &Pool,
    (x, gradient): (&[X], &[G]),
    out: &mut [T],
    f: impl Fn(&Windows<'_>, &[X], &[G], &mut [T::Wide]) + Sync,
) {
    if out.is_empty() {
        return;
    }
    if gradient.is_empty() {
        return out.fill(T::narrow(<T::Wide as Zero>::zero()));
    }
    let batch = shape.batch;
    let windows = Windows::new(shape);
    let work = (rows(x, batch), rows(gradient, batch), rows_mut(out, batch));
    par.for_each(work, shape.min_images(), |images, (x, gradient, out)| {
        let mut sums = Vec::new();
        for index in 0..images.len() {
            let x = &x.data[index * x.width..(index + 1) * x.width];
            let gradient = &gradient.data[index * gradient.width..(index + 1) * gradient.width];
            let out = &mut out.data[index * out.width..(index + 1) * out.width];
            if let Some(out) = T::as_wide_mut(out) {
                out.fill(<T::Wide as Zero>::zero());
                f(&windows, x, gradient, out);
            } else {
                sums.clear();
                sums.resize(out.len(), <T::Wide as Zero>::zero());
                f(&windows, x, gradient, &mut sums);
                T::narrow_slice(&sums, out);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::testing::Rng;

    fn shapes() -> Vec<Pool> {
        vec![
            Pool::images(2, [Axis::same(7, 2, 2, 1), Axis::same(9, 3, 1, 1)], 5),
            Pool::images(3, [Axis::valid(8, 3, 2, 1), Axis::valid(6, 2, 3, 1)], 1),
            Pool::images(1, [Axis::new(5, 4, 2, 1, (3, 2)), Axis::same(5, 2, 1, 1)], 70),
            Pool {
                batch: 2,
                axes: [Axis::same(4, 2, 2, 1), Axis::same(5, 3, 1, 1), Axis::valid(6, 2, 2, 1)],
                channels: 3,
            },
            Pool::images(0, [Axis::same(7, 2, 2, 1), Axis::same(9, 3, 1, 1)], 5),
            Pool::images(2, [Axis::valid(1, 2, 2, 1), Axis::same(9, 3, 1, 1)], 5),
        ]
    }

    /// The input indices of each output's window.
    fn windows(shape: &Pool) -> Vec<Vec<usize>> {
        let [depth, height, width] = shape.axes;
        let inside = |axis: &Axis, at: usize| {
            let axis = *axis;
            (0..axis.filter)
                .filter_map(move |tap| (at * axis.stride + tap).checked_sub(axis.pad))
                .filter(move |x| *x < axis.input)
                .collect::<Vec<_>>()
        };
        let mut windows = Vec::new();
        for flat in 0..shape.output_len() {
            let (channel, rest) = (flat % shape.channels, flat / shape.channels);
            let (x, rest) = (rest % width.output, rest / width.output);
            let (y, rest) = (rest % height.output, rest / height.output);
            let (z, n) = (rest % depth.output, rest / depth.output);
            let mut window = Vec::new();
            for z in inside(&depth, z) {
                for y in inside(&height, y) {
                    for x in inside(&width, x) {
                        let pixel = ((n * depth.input + z) * height.input + y) * width.input + x;
                        window.push(pixel * shape.channels + channel);
                    }
                }
            }
            windows.push(window);
        }
        windows
    }

    #[test]
    fn poolings_match_the_definition() {
        for (shape, threads) in shapes().into_iter().flat_map(|shape| [(shape, 1), (shape, 3)]) {
            let par = Parallel::new(threads);
            let rng = &mut Rng::new(1);
            // Few distinct values, so that there are ties.
            let x: Vec<f32> = (0..shape.input_len()).map(|_| (rng.next() % 4) as f32).collect();
            let gradient: Vec<f32> =
                (0..shape.output_len()).map(|_| (rng.next() % 9) as f32).collect();
            let (mut max, mut avg) = (gradient.clone(), gradient.clone());
            let mut places = vec![-1; gradient.len()];
            let mut grads = [x.clone(), x.clone(), x.clone()];
            max_pool(par, &shape, &x, &mut max);
            argmax_pool(par, &shape, &x, &mut places);
            avg_pool(par, &shape, &x, &mut avg);
            max_pool_grad(par, &shape, Ties::First, &x, &gradient, &mut grads[0]);
            max_pool_grad(par, &shape, Ties::All, &x, &gradient, &mut grads[1]);
            avg_pool_grad(par, &shape, &gradient, &mut grads[2]);
            let mut exact = [vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; x.len()]];
            let image = shape.input_len() / shape.batch.max(1);
            for (at, window) in windows(&shape).iter().enumerate() {
                let top = window.iter().map(|&i| x[i]).fold(f32::MIN, f32::max);
                let first = *window.iter().find(|&&i| x[i] == top).unwrap();
                assert_eq!(max[at], top);
                assert_eq!(places[at] as usize, first % image);
                let mean = window.iter().map(|&i| x[i]).sum::<f32>() / window.len() as f32;
                assert!((avg[at] - mean).abs() < 1e-6);
                exact[0][first] += gradient[at];
                for &i in window {
                    exact[1][i] += if x[i] == top { gradient[at] } else { 0.0 };
                    exact[2][i] += gradient[at] / window.len() as f32;
                }
            }
            for (found, exact) in grads.iter().zip(&exact) {
                assert!(found.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-4), "{shape:?}");
            }
        }
    }

    #[test]
    fn special_values_are_tensorflows() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let x = [1.0, nan, 3.0, 4.0, nan, nan, -inf, -inf];
        let shape = Pool::images(1, [Axis::UNIT, Axis::valid(8, 2, 2, 1)], 1);
        let mut out = [0.0; 4];
        max_pool(Parallel::SERIAL, &shape, &x, &mut out);
        assert_eq!(out, [1.0, 4.0, f32::MIN, f32::MIN]);
        let mut grad = [9.0; 8];
        max_pool_grad(Parallel::SERIAL, &shape, Ties::First, &x, &[1.0; 4], &mut grad);
        assert_eq!(grad, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn other_types_pool_too() {
        let shape = Pool::images(1, [Axis::UNIT, Axis::valid(4, 2, 2, 1)], 1);
        let mut out = [0i32; 2];
        max_pool(Parallel::SERIAL, &shape, &[3, -7, -9, -8], &mut out);
        assert_eq!(out, [3, -8]);
        let x = [1.0, 2.0, 3.0, 5.0].map(f16::from_f32);
        let mut out = [f16::ZERO; 2];
        avg_pool(Parallel::SERIAL, &shape, &x, &mut out);
        assert_eq!(out.map(f16::to_f32), [1.5, 4.0]);
    }
}
