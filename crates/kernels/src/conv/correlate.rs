//! Sums of shifted inputs times a filter: the core of the convolution and of its input's gradient.

use std::ops::Range;

use super::field::Source;
use super::tile::{Block, MAX_ROWS, Operands, Run, Tile, Tiled, blocks};
use crate::Parallel;
use crate::aligned::Aligned;
use crate::parallel::rows_mut;
use crate::real::Real;

/// Values of a filter that one thread packs before another is worth waking.
const PACKED_ALONE: usize = 64 * 1024;

/// A filter in the order that tiles read it: panels of columns, each tap after tap.
pub(super) struct Panels<W> {
    panels: Vec<Panel<W>>,
    cols: usize,
}

struct Panel<W> {
    tile: Tile<W>,
    /// Which columns.
    cols: Range<usize>,
    /// For each summed value the tile's columns, zeros beyond the last.
    data: Aligned<W>,
}

impl<W: Tiled> Panels<W> {
    /// Packs `cols` columns; `fill(rows, cols, out, width)` writes a part of the rows of some summed
    /// values, which begin `width` apart.
    pub(super) fn pack(
        par: Parallel,
        depth: usize,
        cols: usize,
        fill: impl Fn(Range<usize>, Range<usize>, &mut [W], usize) + Sync,
    ) -> Self {
        Self::pack_parts(par, depth, cols, |rows, cols, [[out]], width| {
            fill(rows, cols, out, width)
        })
    }

    /// Packs `N` × `N` parts of `depth` summed values each, one part after the other.
    /// `fill(rows, cols, parts, width)` writes some rows of every part, which begin `width` apart.
    pub(super) fn pack_parts<const N: usize>(
        par: Parallel,
        depth: usize,
        cols: usize,
        fill: impl Fn(Range<usize>, Range<usize>, [[&mut [W]; N]; N], usize) + Sync,
    ) -> Self {
        let panels = split_columns::<W>(cols).into_iter().map(|(tile, cols)| {
            let mut data = Aligned::zeros(N * N * depth * tile.cols);
            let mut parts = data.chunks_exact_mut(depth * tile.cols);
            let parts: [[_; N]; N] = std::array::from_fn(|_| {
                std::array::from_fn(|_| rows_mut(parts.next().expect("one of N * N"), depth))
            });
            let min_rows = PACKED_ALONE.div_ceil(N * N * tile.cols);
            par.for_each(parts, min_rows, |rows, parts| {
                fill(rows, cols.clone(), parts.map(|row| row.map(|part| part.data)), tile.cols);
            });
            Panel { tile, cols, data }
        });
        Self { panels: panels.collect(), cols }
    }

    /// The tiles that the panels are made for.
    pub(super) fn tiles(&self) -> impl Iterator<Item = Tile<W>> {
        self.panels.iter().map(|panel| panel.tile)
    }
}

/// Cuts columns into tiles: wide ones while they are full, then the narrowest that hold the rest.
pub(super) fn split_columns<W: Tiled>(cols: usize) -> Vec<(Tile<W>, Range<usize>)> {
    let tiles = W::tiles();
    let narrowest = tiles[tiles.len() - 1].0;
    let mut split = Vec::new();
    let mut start = 0;
    while start < cols {
        let vectors = (cols - start).next_multiple_of(narrowest.cols);
        let tile =
            tiles.iter().find(|tile| tile.0.cols <= vectors).map_or(narrowest, |tile| tile.0);
        let end = cols.min(start + tile.cols);
        split.push((tile, start..end));
        start = end;
    }
    split
}

/// Where results go: the distance of neighbours in batch, depth, height and width.
pub(super) struct Target {
    /// Where the first position of the first image is.
    pub(super) start: usize,
    pub(super) strides: [usize; 4],
}

/// An output that threads write disjoint positions of.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: `correlate` gives each thread output positions of its own.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

/// Computes, for every output position and column of the panels, the sum over taps and channels.
///
/// # Panics
/// If a position lies outside `out`.
pub(super) fn correlate<T: Real>(
    par: Parallel,
    source: &Source<'_, T>,
    panels: &Panels<T::Wide>,
    target: &Target,
    out: &mut [T],
) {
    let units = source.units(par);
    if units.is_empty() || panels.cols == 0 {
        return;
    }
    let [depth, height, width] = &source.axes;
    let counts = [source.batch, depth.outputs, height.outputs, width.outputs];
    let last: usize =
        counts.iter().zip(target.strides).map(|(count, step)| (count - 1) * step).sum();
    assert!(target.start + last + panels.cols <= out.len(), "positions outside the output");

    let out = Shared(out.as_mut_ptr());
    par.for_each_range(units.len(), 1, |range| {
        // The whole wrapper is captured, not the pointer in it.
        let Shared(out) = { out };
        let mut buffers = Buffers::<T>::default();
        for &unit in &units[range] {
            let field = source.field(unit, &mut buffers.input);
            let taps: Vec<Run> = source.taps(&field).collect();
            let blocks = blocks(&taps, 1, panels.tiles());
            // Where each position is in the input and in the output.
            buffers.from.clear();
            buffers.to.clear();
            for (index, start) in field.starts.iter().enumerate() {
                let (image, z) =
                    ((unit.slice + index) / depth.outputs, (unit.slice + index) % depth.outputs);
                let [by_image, by_depth, by_row, by_col] = target.strides;
                let origin = target.start + image * by_image + z * by_depth + unit.top * by_row;
                for row in 0..unit.rows {
                    let from = start + row * height.step * field.row;
                    let to = origin + row * by_row;
                    for col in 0..width.outputs {
                        buffers.from.push(from + col * width.step * field.pixel);
                        buffers.to.push(to + col * by_col);
                    }
                }
            }
            let positions = buffers.to.len();
            // The last tile may have fewer positions than rows; repeating one keeps its reads valid.
            let last = buffers.from[positions - 1];
            buffers.from.extend([last; MAX_ROWS]);
            if T::IS_WIDE {
                // SAFETY: `T` is `T::Wide`; this thread alone writes these positions, which were
                // found to be inside `out`.
                unsafe {
                    multiply(
                        &blocks,
                        panels,
                        0,
                        field.data,
                        &buffers.from,
                        out.cast(),
                        &buffers.to,
                    );
                }
                continue;
            }
            buffers.output.resize(positions * panels.cols);
            let rows: Vec<usize> = (0..positions).map(|position| position * panels.cols).collect();
            // SAFETY: the buffer has a row for each position.
            unsafe {
                multiply(
                    &blocks,
                    panels,
                    0,
                    field.data,
                    &buffers.from,
                    buffers.output.as_mut_ptr(),
                    &rows,
                );
            }
            for (sums, &to) in buffers.output.chunks_exact(panels.cols).zip(&buffers.to) {
                // SAFETY: this thread alone writes these positions, which were found to be inside.
                let row = unsafe { std::slice::from_raw_parts_mut(out.add(to), panels.cols) };
                T::narrow_slice(sums, row);
            }
        }
    });
}

/// Runs every tile of a unit, with the values of the panels from `first` on.
///
/// # Safety
/// `a` must have the blocks' runs from each of `from`, which has `MAX_ROWS` places more than `to`, and
/// the panels a row for each value of the runs. `c` must be valid for the panels' columns from each of
/// `to`, and not be accessed meanwhile.
pub(super) unsafe fn multiply<W: Tiled>(
    blocks: &[Block],
    panels: &Panels<W>,
    first: usize,
    a: &[W],
    from: &[usize],
    c: *mut W,
    to: &[usize],
) {
    for panel in &panels.panels {
        let tile = panel.tile;
        for Block { begin, runs } in blocks {
            for row in (0..to.len()).step_by(tile.rows) {
                let operands = Operands {
                    runs,
                    a: a.as_ptr(),
                    a_rows: &from[row..row + tile.rows],
                    a_step: 1,
                    b: panel.data[(first + begin) * tile.cols..].as_ptr(),
                    c: c.wrapping_add(panel.cols.start),
                    c_rows: &to[row..to.len().min(row + tile.rows)],
                    cols: panel.cols.len(),
                    accumulate: *begin > 0,
                };
                // SAFETY: the caller vouches for `a`, `c` and the panel's rows, each of the tile's columns.
                unsafe { tile.run(&operands) };
            }
        }
    }
}

/// Buffers of a thread, kept from unit to unit.
struct Buffers<T: Real> {
    input: Aligned<T::Wide>,
    output: Aligned<T::Wide>,
    from: Vec<usize>,
    to: Vec<usize>,
}

impl<T: Real> Default for Buffers<T> {
    fn default() -> Self {
        Self {
            input: Aligned::default(),
            output: Aligned::default(),
            from: Vec::new(),
            to: Vec::new(),
        }
    }
}
