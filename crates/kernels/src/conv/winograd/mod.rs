//! Convolutions by 3 × 3 filters with less than half of the multiplications, after Winograd.
//!
//! Four neighbouring outputs, a 2 × 2 tile, read 16 inputs. Both they and the filter are turned into 16
//! parts by a few additions (see `transform`); a part of the output is then a plain product of the
//! parts of the input and of the filter, 16 multiplications for what takes 36 otherwise. The gradients
//! go the same ways back.
//!
//! Inputs of a tile are mixed before they are multiplied, so an infinity or a NaN would reach outputs
//! that never saw it. Whoever calls these functions does the work the direct way if they say that a
//! result is not finite.

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
use transform::PARTS;

/// The least channels, of either side and of both together, for which fewer products make up for the
/// transforms of inputs and outputs.
const MIN_CHANNELS: (usize, usize) = (32, 96);

/// The least tiles of all images that make up for the transform of the filter.
const MIN_TILES: usize = 256;

/// Bytes of a thread's parts that are computed together: most of a second-level cache.
const CHUNK_BYTES: usize = 768 * 1024;

/// The least tiles that are computed together, because all parts of the filter are read for them.
const CHUNK_TILES: usize = 256;

/// Whether a convolution is of the kind that is done here.
pub(super) fn fits(shape: &Conv) -> bool {
    let [depth, height, width] = &shape.axes;
    let (inputs, outputs) = (shape.in_channels, shape.out_channels);
    let grid = Grid::new([height.output, width.output]);
    shape.groups == 1
        && (depth.input, depth.filter, depth.output) == (1, 1, 1)
        && [height, width].iter().all(|axis| (axis.filter, axis.stride, axis.dilation) == (3, 1, 1))
        && inputs.min(outputs) >= MIN_CHANNELS.0
        && inputs + outputs >= MIN_CHANNELS.1
        && shape.batch * grid.rows * grid.cols >= MIN_TILES
}

/// As [`super::conv`]; whether every output is finite.
pub(super) fn conv<W: Tiled>(
    par: Parallel,
    shape: &Conv,
    input: &[W],
    filter: &[W],
    out: &mut [W],
) -> bool {
    let [_, height, width] = &shape.axes;
    let images = Images {
        data: input,
        size: [height.input, width.input],
        channels: shape.in_channels,
        before: [height.pad.cast_signed(), width.pad.cast_signed()],
    };
    let panels = pack(par, filter, [shape.in_channels, shape.out_channels], |tap| tap);
    correlate(par, &images, &panels, [height.output, width.output], shape.out_channels, out)
}

/// As [`super::conv_backprop_input`]; whether every gradient is finite.
pub(super) fn input_gradient<W: Tiled>(
    par: Parallel,
    shape: &Conv,
    filter: &[W],
    gradient: &[W],
    out: &mut [W],
) -> bool {
    let [_, height, width] = &shape.axes;
    let (inputs, outputs) = (shape.in_channels, shape.out_channels);
    let images = Images {
        data: gradient,
        size: [height.output, width.output],
        channels: outputs,
        before: [height.pad, width.pad].map(|pad| 2 - pad.cast_signed()),
    };
    // The same computation with the filter turned round.
    let mut turned = filter.to_vec();
    transpose(par, filter, &[9, inputs, outputs], &[0, 2, 1], &mut turned);
    let panels = pack(par, &turned, [outputs, inputs], |tap| 8 - tap);
    correlate(par, &images, &panels, [height.input, width.input], inputs, out)
}

/// As [`super::conv_backprop_filter`]; whether every gradient is finite.
pub(super) fn filter_gradient<W: Tiled>(
    par: Parallel,
    shape: &Conv,
    input: &[W],
    gradient: &[W],
    out: &mut [W],
) -> bool {
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
    let grid = Grid::new([height.output, width.output]);
    let bands = shape.batch * grid.rows;
    // One sum for each thread, since sums are larger than the filter.
    let share = bands.div_ceil(par.threads());
    let parts = par.map_ranges(bands, share, |range| {
        let mut sums = Aligned::zeros(PARTS * inputs * outputs);
        let mut buffers = (Aligned::default(), Aligned::default());
        let bands: Vec<usize> = range.collect();
        for bands in bands.chunks(grid.bands_at_once::<W>(inputs + outputs)) {
            let tiles: Vec<Place> = bands.iter().flat_map(|band| grid.tiles(*band)).collect();
            add_products(&images, &by_output, &tiles, &mut buffers, &mut sums);
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
    let parts = std::array::from_fn(|part| &total[part * len..][..len]);
    let mut taps = out.chunks_exact_mut(len);
    let mut taps = std::array::from_fn(|_| taps.next().expect("nine taps"));
    transform::to_filter(&parts, &mut taps)
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
    fn pixels<'a, const SIDE: usize, const PIXELS: usize>(
        &'a self,
        place: Place,
        outside: &'a [W],
    ) -> [&'a [W]; PIXELS] {
        let [height, width] = self.size;
        let at = |first: usize, step: usize, before: isize, len: usize| {
            (first + step).checked_add_signed(-before).filter(|at| *at < len)
        };
        let mut pixels = [outside; PIXELS];
        for (i, pixel) in pixels.iter_mut().enumerate() {
            let y = at(place.row, i / SIDE, self.before[0], height);
            let x = at(place.col, i % SIDE, self.before[1], width);
            if let (Some(y), Some(x)) = (y, x) {
                let at = (place.image * height + y) * width + x;
                *pixel = &self.data[at * self.channels..][..self.channels];
            }
        }
        pixels
    }
}

/// The outputs of an image in tiles of 2 × 2, in bands of one row of tiles.
struct Grid {
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

impl Grid {
    fn new([height, width]: [usize; 2]) -> Self {
        Self { rows: height.div_ceil(2), cols: width.div_ceil(2) }
    }

    fn tiles(&self, band: usize) -> impl Iterator<Item = Place> + use<> {
        let (image, row) = (band / self.rows, band % self.rows * 2);
        (0..self.cols).map(move |col| Place { image, row, col: 2 * col })
    }

    /// How many bands are computed together, with so many channels on both sides.
    fn bands_at_once<W>(&self, channels: usize) -> usize {
        let tiles = CHUNK_BYTES / (PARTS * channels * size_of::<W>());
        tiles.max(CHUNK_TILES).div_ceil(self.cols)
    }
}

/// The parts of a filter of `inputs` rows and `outputs` columns, whose taps `order` names.
fn pack<W: Tiled>(
    par: Parallel,
    filter: &[W],
    [inputs, outputs]: [usize; 2],
    order: impl Fn(usize) -> usize + Sync,
) -> Panels<W> {
    Panels::pack(par, PARTS * inputs, outputs, |rows, cols, out, width| {
        for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
            let (part, input) = (row / inputs, row % inputs);
            for (tap, weight) in transform::taps_of::<W>(part).into_iter().enumerate() {
                if weight == W::zero() {
                    continue;
                }
                let start = (order(tap) * inputs + input) * outputs;
                transform::add(weight, &filter[start + cols.start..start + cols.end], out);
            }
        }
    })
}

/// Computes `size` outputs of each image; whether all are finite.
fn correlate<W: Tiled>(
    par: Parallel,
    images: &Images<'_, W>,
    panels: &Panels<W>,
    size: [usize; 2],
    outputs: usize,
    out: &mut [W],
) -> bool {
    let grid = Grid::new(size);
    let row_len = size[1] * outputs;
    let mut bands: Vec<&mut [W]> =
        out.chunks_mut(size[0] * row_len).flat_map(|image| image.chunks_mut(2 * row_len)).collect();
    let at_once = grid.bands_at_once::<W>(images.channels + outputs);
    let is_finite = AtomicBool::new(true);
    let min_bands = at_once.min(bands.len().div_ceil(par.threads()));
    par.for_each(&mut bands[..], min_bands, |range, bands| {
        let mut buffers = (Aligned::default(), Aligned::default());
        for (chunk, bands) in bands.chunks_mut(at_once).enumerate() {
            let first = range.start + chunk * at_once;
            let tiles: Vec<Place> =
                (first..first + bands.len()).flat_map(|band| grid.tiles(band)).collect();
            multiply_parts(images, panels, &tiles, outputs, &mut buffers);
            let apart = apart(tiles.len(), outputs);
            for (index, band) in bands.iter_mut().enumerate() {
                let parts = &buffers.1[index * grid.cols * outputs..];
                if !write_band(band, row_len, parts, apart, outputs) {
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
fn split_input<W: Tiled>(images: &Images<'_, W>, tiles: &[Place], parts: &mut Aligned<W>) {
    let channels = images.channels;
    let apart = apart(tiles.len(), channels);
    parts.resize(PARTS * apart);
    let outside = vec![W::zero(); channels];
    for (index, place) in tiles.iter().enumerate() {
        let pixels = images.pixels::<4, PARTS>(*place, &outside);
        transform::of_input(&pixels, &mut parts[index * channels..], apart);
    }
}

/// The parts of some tiles of the output, as [`split_input`], into the second buffer.
fn multiply_parts<W: Tiled>(
    images: &Images<'_, W>,
    panels: &Panels<W>,
    tiles: &[Place],
    outputs: usize,
    (input, output): &mut (Aligned<W>, Aligned<W>),
) {
    let inputs = images.channels;
    split_input(images, tiles, input);
    let (in_apart, out_apart) = (apart(tiles.len(), inputs), apart(tiles.len(), outputs));
    output.resize(PARTS * out_apart);
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

/// Writes one or two rows of the output; whether all of it is finite.
fn write_band<W: Tiled>(
    band: &mut [W],
    row_len: usize,
    parts: &[W],
    apart: usize,
    outputs: usize,
) -> bool {
    let (top, bottom) = band.split_at_mut(row_len);
    let mut rows = [top.chunks_exact_mut(outputs), bottom.chunks_exact_mut(outputs)];
    let mut is_finite = true;
    for tile in (0..row_len.div_ceil(2 * outputs)).map(|tile| &parts[tile * outputs..]) {
        let [top, bottom] = &mut rows;
        let mut pixels = [top.next(), top.next(), bottom.next(), bottom.next()];
        is_finite &= transform::to_output(tile, apart, &mut pixels);
    }
    is_finite
}

/// Adds what some tiles contribute to the parts of the filter's gradient.
fn add_products<W: Tiled>(
    images: &Images<'_, W>,
    by_output: &Images<'_, W>,
    tiles: &[Place],
    (input, gradient): &mut (Aligned<W>, Aligned<W>),
    sums: &mut [W],
) {
    let (inputs, outputs) = (images.channels, by_output.channels);
    split_input(images, tiles, input);
    let outside = vec![W::zero(); outputs];
    let mut from: Vec<usize> = (0..inputs).collect();
    from.extend([inputs - 1; MAX_ROWS]);
    let to: Vec<usize> = (0..inputs).map(|channel| channel * outputs).collect();
    for (tile, cols) in split_columns::<W>(outputs) {
        let (in_apart, apart) = (apart(tiles.len(), inputs), apart(tiles.len(), tile.cols));
        gradient.resize(PARTS * apart);
        for (index, place) in tiles.iter().enumerate() {
            let pixels =
                by_output.pixels::<2, 4>(*place, &outside).map(|pixel| &pixel[cols.clone()]);
            transform::of_gradient(&pixels, &mut gradient[index * tile.cols..], apart);
        }
        let run = Run { offset: 0, len: tiles.len() };
        for Block { begin, runs } in blocks(&[run], inputs, std::iter::once(tile)) {
            for part in 0..PARTS {
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
