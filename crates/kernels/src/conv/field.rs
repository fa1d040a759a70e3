//! What a convolution reads: the input around a band of output rows, with its padding.
//!
//! Output rows are computed in [`Unit`]s: a band of rows of a large image, or several whole small
//! images. The input that a unit reads is copied once with zeros around it, or used where it lies if
//! no zeros are needed, after which every position looks alike to the tile.

use std::ops::Range;

use super::tile::Run;
use crate::Parallel;
use crate::aligned::Aligned;
use crate::real::Real;

/// Bytes of padded input that a band of an image may take: some of the second-level cache.
const BAND_BYTES: usize = 256 * 1024;
/// Bytes that several images may take, to have so many positions that fetching the filter pays.
const UNIT_BYTES: usize = 1024 * 1024;
const UNIT_POSITIONS: usize = 512;

/// Where to read along one axis: output `t` reads the input at `t * step + tap` for each tap.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    /// Input positions.
    pub(super) input: usize,
    /// Output positions.
    pub(super) outputs: usize,
    /// Input positions between outputs.
    pub(super) step: usize,
    /// The taps, in ascending order.
    pub(super) taps: Vec<isize>,
}

impl Reach {
    fn low(&self) -> isize {
        self.taps.first().copied().unwrap_or(0)
    }

    /// Input positions from the first to the last tap.
    fn span(&self) -> usize {
        let high = self.taps.last().copied().unwrap_or(0);
        (high - self.low()).unsigned_abs() + 1
    }

    /// Input positions read by `outputs` adjacent outputs.
    fn extent(&self, outputs: usize) -> usize {
        (outputs - 1) * self.step + self.span()
    }

    /// Whether every read is inside the input.
    fn is_inside(&self) -> bool {
        self.low() >= 0 && self.low().unsigned_abs() + self.extent(self.outputs) <= self.input
    }

    /// Where in the input a position of the padded copy is, if it is not padding.
    fn place(&self, position: usize) -> Option<usize> {
        let at = position.cast_signed() + self.low();
        usize::try_from(at).ok().filter(|at| *at < self.input)
    }
}

/// A group of channels of a batch of volumes, and what is read of it.
pub(super) struct Source<'a, T> {
    pub(super) data: &'a [T],
    pub(super) batch: usize,
    /// Depth, height, width.
    pub(super) axes: [Reach; 3],
    /// Channels of a pixel, and those that are read.
    pub(super) pixel: usize,
    pub(super) channels: Range<usize>,
}

/// Output rows that are computed together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// The first of the slices (positions in batch and depth), and how many.
    pub(super) slice: usize,
    pub(super) slices: usize,
    /// The first row of each, and how many.
    pub(super) top: usize,
    pub(super) rows: usize,
}

/// The input of a unit.
pub(super) struct Field<'a, W> {
    pub(super) data: &'a [W],
    /// Where each slice begins.
    pub(super) starts: Vec<usize>,
    /// Distances between neighbours.
    pub(super) depth: usize,
    pub(super) row: usize,
    pub(super) pixel: usize,
}

impl<T: Real> Source<'_, T> {
    /// Cuts the output into units that fit the cache and suffice for all threads.
    pub(super) fn units(&self, par: Parallel) -> Vec<Unit> {
        let [depth, height, width] = &self.axes;
        let slices = self.batch * depth.outputs;
        if slices == 0 || height.outputs == 0 || width.outputs == 0 {
            return Vec::new();
        }
        let line = depth.span() * width.extent(width.outputs) * self.channels.len();
        // A step may be as large as an attribute can say.
        let row_bytes = line.saturating_mul(height.step).saturating_mul(size_of::<T::Wide>());
        let threads = if par == Parallel::SERIAL { 1 } else { 2 * par.threads() };
        let fitting = (BAND_BYTES / row_bytes.max(1)).max(1);
        let shared = height.outputs.div_ceil(threads.div_ceil(slices));
        let rows = fitting.min(shared).clamp(1, height.outputs);
        let together = if rows < height.outputs {
            1
        } else {
            let fitting = UNIT_BYTES / rows.saturating_mul(row_bytes).max(1);
            let needed = UNIT_POSITIONS.div_ceil(rows * width.outputs);
            fitting.min(needed).min(slices.div_ceil(threads)).max(1)
        };
        let mut units = Vec::new();
        for slice in (0..slices).step_by(together) {
            for top in (0..height.outputs).step_by(rows) {
                let rows = rows.min(height.outputs - top);
                units.push(Unit { slice, slices: together.min(slices - slice), top, rows });
            }
        }
        units
    }

    /// Makes the input of a unit readable; `buffer` takes a copy if one is needed.
    pub(super) fn field<'b>(
        &'b self,
        unit: Unit,
        buffer: &'b mut Aligned<T::Wide>,
    ) -> Field<'b, T::Wide> {
        let inside = self.axes.iter().all(Reach::is_inside);
        match T::as_wide(self.data) {
            Some(data) if inside => self.field_in_place(unit, data),
            _ => self.field_copied(unit, buffer),
        }
    }

    fn field_in_place<'b>(&self, unit: Unit, data: &'b [T::Wide]) -> Field<'b, T::Wide> {
        let [depth, height, width] = &self.axes;
        let row = width.input * self.pixel;
        let plane = height.input * row;
        let at = |axis: &Reach, position: usize| position * axis.step + axis.low().unsigned_abs();
        let starts = (unit.slice..unit.slice + unit.slices).map(|slice| {
            let (image, z) = (slice / depth.outputs, slice % depth.outputs);
            (image * depth.input + at(depth, z)) * plane
                + at(height, unit.top) * row
                + at(width, 0) * self.pixel
                + self.channels.start
        });
        Field { data, starts: starts.collect(), depth: plane, row, pixel: self.pixel }
    }

    fn field_copied<'b>(&self, unit: Unit, buffer: &'b mut Aligned<T::Wide>) -> Field<'b, T::Wide> {
        let [depth, height, width] = &self.axes;
        let pixel = self.channels.len();
        let row = width.extent(width.outputs) * pixel;
        let plane = height.extent(unit.rows) * row;
        let size = depth.span() * plane;
        buffer.reset(unit.slices * size);
        for (index, volume) in buffer.chunks_exact_mut(size).enumerate() {
            let slice = unit.slice + index;
            let (image, z) = (slice / depth.outputs, slice % depth.outputs);
            for (level, slab) in volume.chunks_exact_mut(plane).enumerate() {
                let Some(z) = depth.place(z * depth.step + level) else { continue };
                for (line, row) in slab.chunks_exact_mut(row).enumerate() {
                    let Some(y) = height.place(unit.top * height.step + line) else { continue };
                    self.copy_row((image * depth.input + z) * height.input + y, row);
                }
            }
        }
        let starts = (0..unit.slices).map(|slice| slice * size).collect();
        Field { data: buffer, starts, depth: plane, row, pixel }
    }

    /// Copies what is inside the input of a padded row.
    fn copy_row(&self, line: usize, row: &mut [T::Wide]) {
        let width = &self.axes[2];
        let channels = self.channels.len();
        let wide = row.len() / channels;
        let left = (-width.low()).max(0).unsigned_abs().min(wide);
        let right = (width.input.cast_signed() - width.low()).max(0).unsigned_abs();
        let right = right.clamp(left, wide);
        if left == right {
            return;
        }
        let first = (left.cast_signed() + width.low()).unsigned_abs();
        let start = (line * width.input + first) * self.pixel;
        let target = &mut row[left * channels..right * channels];
        if channels == self.pixel {
            T::widen_slice(&self.data[start..start + target.len()], target);
        } else {
            let pixels = self.data[start..].chunks_exact(self.pixel);
            for (source, target) in pixels.zip(target.chunks_exact_mut(channels)) {
                T::widen_slice(&source[self.channels.clone()], target);
            }
        }
    }

    /// Every tap as a stretch of channels, relative to a position.
    pub(super) fn taps<W>(&self, field: &Field<'_, W>) -> impl Iterator<Item = Run> {
        let [depth, height, width] = &self.axes;
        let len = self.channels.len();
        let past = |axis: &Reach, tap: isize| (tap - axis.low()).unsigned_abs();
        let (plane, row, pixel) = (field.depth, field.row, field.pixel);
        depth.taps.iter().flat_map(move |&z| {
            height.taps.iter().flat_map(move |&y| {
                width.taps.iter().map(move |&x| Run {
                    offset: past(depth, z) * plane + past(height, y) * row + past(width, x) * pixel,
                    len,
                })
            })
        })
    }
}
