//! Convolutions by 3 × 3 and 5 × 5 filters with less than half of the multiplications, after Winograd.
//!
//! A tile of neighbouring outputs, say 2 × 2 of a 3 × 3 filter, reads 16 inputs. Both they and the
//! filter are turned into 16 parts by a few additions (see `scheme` and `transform`); a part of the
//! output is then a plain product of the parts of the input and of the filter, 16 multiplications for
//! what takes 36 otherwise. The gradients go the same ways back.
//!
//! Inputs of a tile are mixed before they are multiplied, so an infinity or a NaN would reach outputs
//! that never saw it. Whoever calls these functions does the work the direct way if they say that it
//! was not done: the convolution is of another kind, or a result is not finite.

mod scheme;
#[cfg(test)]
mod tests;
mod transform;

use std::sync::atomic::{AtomicBool, Ordering};

use super::correlate::{Panels, multiply, split_columns};
use super::geometry::Conv;
use super::tile::{Block, MAX_ROWS, Operands, Run, Tiled, blocks};
use crate::Parallel;
use crate::aligned::Aligned;
use crate::transpose::transpose;
use scheme::{FourOfThree, Scheme, TwoOfFive, TwoOfThree};

/// Multiply-adds in the time that it takes to transform one value of a filter into a part and to read
/// that from memory again.
const FILTER_COST: usize = 40;

/// Multiply-adds in the time that it takes to transform inputs and outputs, for each part and side of
/// the scheme: sums of about as many values as the side is long, and memory in between.
const INPUT_COST: usize = 4;
const OUTPUT_COST: usize = 3;

/// Bytes of a thread's parts that are computed together: most of a second-level cache.
const CHUNK_BYTES: usize = 768 * 1024;

/// The least tiles that are computed together, because all parts of the filter are read for them.
const CHUNK_TILES: usize = 64;

/// Chooses the scheme for a convolution and returns what `$body` makes of it, or false if there is none.
macro_rules! with_scheme {
    ($shape:expr, $scheme:ident => $body:expr) => {
        match Kind::of($shape) {
            Some(Kind::TwoOfThree) => {
                let $scheme = TwoOfThree;
                $body
            }
            Some(Kind::FourOfThree) => {
                let $scheme = FourOfThree;
                $body
            }
            Some(Kind::TwoOfFive) => {
                let $scheme = TwoOfFive;
                $body
            }
            None => false,
        }
    };
}

/// The schemes that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    TwoOfThree,
    FourOfThree,
    TwoOfFive,
}

impl Kind {
    /// The scheme that takes least, if that is clearly less than the direct way does.
    fn of(shape: &Conv) -> Option<Kind> {
        let [depth, height, width] = &shape.axes;
        let is_plain = shape.groups == 1
            && (depth.input, depth.filter, depth.output) == (1, 1, 1)
            && [height, width].iter().all(|axis| (axis.stride, axis.dilation) == (1, 1));
        let taps = height.filter;
        if !is_plain || width.filter != taps {
            return None;
        }
        let cost = |outputs: usize| {
            let tiles = height.output.div_ceil(outputs) * width.output.div_ceil(outputs);
            cost_of(shape, outputs + taps - 1, shape.batch * tiles)
        };
        let (kind, cost) = match taps {
            3 => [(Kind::TwoOfThree, cost(2)), (Kind::FourOfThree, cost(4))]
                .into_iter()
                .min_by_key(|(_, cost)| *cost)?,
            5 => (Kind::TwoOfFive, cost(2)),
            _ => return None,
        };
        let positions = shape.batch * height.output * width.output;
        let direct = positions * taps * taps * shape.in_channels * shape.out_channels;
        (cost.saturating_mul(5) <= direct.saturating_mul(4)).then_some(kind)
    }
}

/// What a scheme of so many parts by so many takes, in multiply-adds.
fn cost_of(shape: &Conv, side: usize, tiles: usize) -> usize {
    // Channels beyond whole vectors are transformed one by one.
    let vectors = |channels: usize| {
        let rest = channels % transform::LANES;
        channels - rest + rest * transform::LANES
    };
    let products = shape.in_channels * shape.out_channels;
    let inputs = INPUT_COST * side * vectors(shape.in_channels);
    let outputs = OUTPUT_COST * side * vectors(shape.out_channels);
    side * side * (tiles * (products + inputs + outputs) + FILTER_COST * products)
}

/// As [`super::conv`]; whether it was done.
pub(super) fn conv<W: Tiled>(
    par: Parallel,
    shape: &Conv,
    input: &[W],
    filter: &[W],
    out: &mut [W],
) -> bool {
    with_scheme!(shape, scheme => conv_by(scheme, par, shape, input, filter, out))
}

/// As [`super::conv_backprop_input`]; whether it was done.
pub(super) fn input_gradient<W: Tiled>(
    par: Parallel,
    shape: &Conv,
    filter: &[W],
    gradient: &[W],
    out: &mut [W],
) -> bool {
    with_scheme!(shape, scheme => input_gradient_by(scheme, par, shape, filter, gradient, out))
}

/// As [`super::conv_backprop_filter`]; whether it was done.
pub(super) fn filter_gradient<W: Tiled>(
    par: Parallel,
    shape: &Conv,
    input: &[W],
    gradient: &[W],
    out: &mut [W],
) -> bool {
    with_scheme!(shape, scheme => filter_gradient_by(scheme, par, shape, input, gradient, out))
}

fn conv_by<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    par: Parallel,
    shape: &Conv,
    input: &[W],
    filter: &[W],
    out: &mut [W],
) -> bool
where
    S: Scheme<N, M, R>,
{
    let [_, height, width] = &shape.axes;
    let images = Images {
        data: input,
        size: [height.input, width.input],
        channels: shape.in_channels,
        before: [height.pad.cast_signed(), width.pad.cast_signed()],
    };
    let panels = pack(scheme, par, filter, [shape.in_channels, shape.out_channels], |tap| tap);
    correlate(scheme, par, &images, &panels, [height.output, width.output], shape.out_channels, out)
}

fn input_gradient_by<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    par: Parallel,
    shape: &Conv,
    filter: &[W],
    gradient: &[W],
    out: &mut [W],
) -> bool
where
    S: Scheme<N, M, R>,
{
    let [_, height, width] = &shape.axes;
    let (inputs, outputs) = (shape.in_channels, shape.out_channels);
    let images = Images {
        data: gradient,
        size: [height.output, width.output],
        channels: outputs,
        before: [height.pad, width.pad].map(|pad| (R - 1).cast_signed() - pad.cast_signed()),
    };
    // The same computation with the filter turned round.
    let mut turned = filter.to_vec();
    transpose(par, filter, &[R * R, inputs, outputs], &[0, 2, 1], &mut turned);
    let panels = pack(scheme, par, &turned, [outputs, inputs], |tap| R * R - 1 - tap);
    correlate(scheme, par, &images, &panels, [height.input, width.input], inputs, out)
}

fn filter_gradient_by<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    par: Parallel,
    shape: &Conv,
    input: &[W],
    gradient: &[W],
    out: &mut [W],
) -> bool
where
    S: Scheme<N, M, R>,
{
    let [_, height, width] = &shape.axes;
    let (inputs, outputs) = (shape.in_channels, shape.out_channels);
    let images = Images {
        data: input,
        size: [height.input, width.input],
        channels: inputs,
        before: [height.pad.cast_signed(), width.pad.cast_signed()],
    };
    let by_output = Images {
        data: gradient,
        size: [height.output, width.output],
        channels: outputs,
        before: [0, 0],
    };
    let grid = Grid::<N, M>::new([height.output, width.output]);
    let bands = shape.batch * grid.rows;
    // One sum for each thread, since sums are larger than the filter.
    let share = bands.div_ceil(par.threads());
    let parts = par.map_ranges(bands, share, |range| {
        let mut sums = Aligned::zeros(N * N * inputs * outputs);
        let mut buffers = (Aligned::default(), Aligned::default());
        let bands: Vec<usize> = range.collect();
        for bands in bands.chunks(grid.bands_at_once::<W>(inputs + outputs)) {
            let tiles: Vec<Place> = bands.iter().flat_map(|band| grid.tiles(*band)).collect();
            add_products(scheme, &images, &by_output, &tiles, &mut buffers, &mut sums);
        }
        sums
    });
    let total = parts.into_iter().reduce(|mut total, part| {
        total.iter_mut().zip(&*part).for_each(|(total, &part)| *total = *total + part);
        total
    });
    let Some(total) = total else {
        out.fill(W::zero());
        return true;
    };
    let len = inputs * outputs;
    let mut taps = out.chunks_exact_mut(len);
    let mut taps = std::array::from_fn(|_| std::array::from_fn(|_| taps.next()));
    transform::to_filter(scheme, &total, len, &mut taps)
}

/// Images that are read with zeros around them.
struct Images<'a, W> {
    data: &'a [W],
    /// Height and width.
    size: [usize; 2],
    channels: usize,
    /// How many pixels a filter reaches out before the first row and column; fewer than none if the
    /// first pixels are not read.
    before: [isize; 2],
}

impl<W> Images<'_, W> {
    /// The pixels of `SIDE` rows and columns from an output's position on; `outside` where there are none.
    fn pixels<'a, const SIDE: usize>(
        &'a self,
        place: Place,
        outside: &'a [W],
    ) -> [[&'a [W]; SIDE]; SIDE] {
        let [height, width] = self.size;
        let at = |first: usize, step: usize, before: isize, len: usize| {
            (first + step).checked_add_signed(-before).filter(|at| *at < len)
        };
        std::array::from_fn(|row| {
            let y = at(place.row, row, self.before[0], height);
            std::array::from_fn(|col| {
                let x = at(place.col, col, self.before[1], width);
                let Some((y, x)) = y.zip(x) else { return outside };
                let at = (place.image * height + y) * width + x;
                &self.data[at * self.channels..][..self.channels]
            })
        })
    }
}

/// The outputs of an image in tiles of `M` rows and columns, in bands of one row of tiles.
struct Grid<const N: usize, const M: usize> {
    rows: usize,
    cols: usize,
}

/// The first pixel of a tile.
#[derive(Clone, Copy)]
struct Place {
    image: usize,
    row: usize,
    col: usize,
}

impl<const N: usize, const M: usize> Grid<N, M> {
    fn new([height, width]: [usize; 2]) -> Self {
        Self { rows: height.div_ceil(M), cols: width.div_ceil(M) }
    }

    fn tiles(&self, band: usize) -> impl Iterator<Item = Place> + use<N, M> {
        let (image, row) = (band / self.rows, band % self.rows * M);
        (0..self.cols).map(move |col| Place { image, row, col: M * col })
    }

    /// How many bands are computed together, with so many channels on both sides.
    fn bands_at_once<W>(&self, channels: usize) -> usize {
        let tiles = CHUNK_BYTES / (N * N * channels * size_of::<W>());
        tiles.max(CHUNK_TILES).div_ceil(self.cols)
    }
}

/// The parts of a filter of `inputs` rows and `outputs` columns, whose taps `order` names.
fn pack<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    par: Parallel,
    filter: &[W],
    [inputs, outputs]: [usize; 2],
    order: impl Fn(usize) -> usize + Sync,
) -> Panels<W>
where
    S: Scheme<N, M, R>,
{
    Panels::pack_parts(par, inputs, outputs, |rows, cols, mut parts, width| {
        for (index, input) in rows.enumerate() {
            let taps = std::array::from_fn(|y| {
                std::array::from_fn(|x| {
                    let start = (order(y * R + x) * inputs + input) * outputs;
                    &filter[start + cols.start..start + cols.end]
                })
            });
            let places = index * width..index * width + cols.len();
            let mut parts =
                parts.each_mut().map(|row| row.each_mut().map(|part| &mut part[places.clone()]));
            transform::of_filter(scheme, &taps, &mut parts);
        }
    })
}

/// Computes `size` outputs of each image; whether all are finite.
fn correlate<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    par: Parallel,
    images: &Images<'_, W>,
    panels: &Panels<W>,
    size: [usize; 2],
    outputs: usize,
    out: &mut [W],
) -> bool
where
    S: Scheme<N, M, R>,
{
    let grid = Grid::<N, M>::new(size);
    let row_len = size[1] * outputs;
    let mut bands: Vec<&mut [W]> =
        out.chunks_mut(size[0] * row_len).flat_map(|image| image.chunks_mut(M * row_len)).collect();
    let at_once = grid.bands_at_once::<W>(images.channels + outputs);
    let is_finite = AtomicBool::new(true);
    let min_bands = at_once.min(bands.len().div_ceil(par.threads()));
    par.for_each(&mut bands[..], min_bands, |range, bands| {
        let mut buffers = (Aligned::default(), Aligned::default());
        for (chunk, bands) in bands.chunks_mut(at_once).enumerate() {
            let first = range.start + chunk * at_once;
            let tiles: Vec<Place> =
                (first..first + bands.len()).flat_map(|band| grid.tiles(band)).collect();
            multiply_parts(scheme, images, panels, &tiles, outputs, &mut buffers);
            let apart = apart(tiles.len(), outputs);
            for (index, band) in bands.iter_mut().enumerate() {
                let parts = &buffers.1[index * grid.cols * outputs..];
                if !write_band(scheme, band, row_len, parts, apart, outputs) {
                    is_finite.store(false, Ordering::Relaxed);
                }
            }
        }
    });
    is_finite.into_inner()
}

/// How far the parts of some tiles are from each other: one line more than they need, because lines a
/// power of two apart would all want the same place in the cache.
fn apart(tiles: usize, channels: usize) -> usize {
    tiles * channels + 16
}

/// The parts of some tiles, for each part tile after tile, into the first buffer.
fn split_input<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    images: &Images<'_, W>,
    tiles: &[Place],
    parts: &mut Aligned<W>,
) where
    S: Scheme<N, M, R>,
{
    let channels = images.channels;
    let apart = apart(tiles.len(), channels);
    parts.resize(N * N * apart);
    let outside = vec![W::zero(); channels];
    for (index, place) in tiles.iter().enumerate() {
        let pixels = images.pixels::<N>(*place, &outside);
        transform::of_input(scheme, &pixels, &mut parts[index * channels..], apart);
    }
}

/// The parts of some tiles of the output, as [`split_input`], into the second buffer.
fn multiply_parts<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    images: &Images<'_, W>,
    panels: &Panels<W>,
    tiles: &[Place],
    outputs: usize,
    (input, output): &mut (Aligned<W>, Aligned<W>),
) where
    S: Scheme<N, M, R>,
{
    let inputs = images.channels;
    split_input(scheme, images, tiles, input);
    let (in_apart, out_apart) = (apart(tiles.len(), inputs), apart(tiles.len(), outputs));
    output.resize(N * N * out_apart);
    let blocks = blocks(&[Run { offset: 0, len: inputs }], 1, panels.tiles());
    let mut from: Vec<usize> = (0..tiles.len()).map(|tile| tile * inputs).collect();
    from.extend([(tiles.len() - 1) * inputs; MAX_ROWS]);
    let to: Vec<usize> = (0..tiles.len()).map(|tile| tile * outputs).collect();
    let parts = input.chunks_exact(in_apart).zip(output.chunks_exact_mut(out_apart));
    for (part, (a, c)) in parts.enumerate() {
        // SAFETY: each part has a row of inputs and of outputs for each tile.
        unsafe { multiply(&blocks, panels, part * inputs, a, &from, c.as_mut_ptr(), &to) };
    }
}

/// Writes the rows of a band of the output; whether all of it is finite.
fn write_band<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    band: &mut [W],
    row_len: usize,
    parts: &[W],
    apart: usize,
    outputs: usize,
) -> bool
where
    S: Scheme<N, M, R>,
{
    let mut rows = band.chunks_mut(row_len);
    let mut rows: [_; M] =
        std::array::from_fn(|_| rows.next().unwrap_or_default().chunks_exact_mut(outputs));
    let mut is_finite = true;
    for tile in (0..row_len.div_ceil(M * outputs)).map(|tile| &parts[tile * outputs..]) {
        let mut pixels = rows.each_mut().map(|row| std::array::from_fn(|_| row.next()));
        is_finite &= transform::to_output(scheme, tile, apart, &mut pixels);
    }
    is_finite
}

/// Adds what some tiles contribute to the parts of the filter's gradient.
fn add_products<W: Tiled, S, const N: usize, const M: usize, const R: usize>(
    scheme: S,
    images: &Images<'_, W>,
    by_output: &Images<'_, W>,
    tiles: &[Place],
    (input, gradient): &mut (Aligned<W>, Aligned<W>),
    sums: &mut [W],
) where
    S: Scheme<N, M, R>,
{
    let (inputs, outputs) = (images.channels, by_output.channels);
    split_input(scheme, images, tiles, input);
    let outside = vec![W::zero(); outputs];
    let mut from: Vec<usize> = (0..inputs).collect();
    from.extend([inputs - 1; MAX_ROWS]);
    let to: Vec<usize> = (0..inputs).map(|channel| channel * outputs).collect();
    for (tile, cols) in split_columns::<W>(outputs) {
        let (in_apart, apart) = (apart(tiles.len(), inputs), apart(tiles.len(), tile.cols));
        gradient.resize(N * N * apart);
        for (index, place) in tiles.iter().enumerate() {
            let pixels = by_output
                .pixels::<M>(*place, &outside)
                .map(|row| row.map(|pixel| &pixel[cols.clone()]));
            transform::of_gradient(scheme, &pixels, &mut gradient[index * tile.cols..], apart);
        }
        let run = Run { offset: 0, len: tiles.len() };
        for Block { begin, runs } in blocks(&[run], inputs, std::iter::once(tile)) {
            for part in 0..N * N {
                let a = &input[part * in_apart..];
                let b = &gradient[part * apart + begin * tile.cols..];
                let c = &mut sums[part * inputs * outputs + cols.start..];
                for row in (0..inputs).step_by(tile.rows) {
                    let operands = Operands {
                        runs: &runs,
                        a: a.as_ptr(),
                        a_rows: &from[row..row + tile.rows],
                        a_step: inputs,
                        b: b.as_ptr(),
                        c: c.as_mut_ptr(),
                        c_rows: &to[row..inputs.min(row + tile.rows)],
                        cols: cols.len(),
                        accumulate: true,
                    };
                    // SAFETY: each part has a row of inputs and of whole vectors of outputs for each
                    // tile, and a sum for each input and output.
                    unsafe { tile.run(&operands) };
                }
            }
        }
    }
}
