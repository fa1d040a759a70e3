//! The gradient of a convolution by its filter.
//!
//! Each tap's row of the gradient is a sum over output positions, of the input under the tap times
//! the output's gradient: the tile again, with taps as rows and positions summed over.

use std::ops::Range;

use super::correlate::split_columns;
use super::field::{Source, Unit};
use super::tile::{Block, MAX_ROWS, Operands, Run, blocks};
use crate::Parallel;
use crate::aligned::Aligned;
use crate::real::Real;

/// Sums `source` under each tap times `gradient` into a matrix of taps by columns.
///
/// `gradient` has `pixel` channels at each output position, of which `cols` are used.
pub(super) fn filter_gradient<T: Real>(
    par: Parallel,
    source: &Source<'_, T>,
    gradient: &[T],
    pixel: usize,
    cols: Range<usize>,
) -> Aligned<T::Wide> {
    let taps: usize = source.axes.iter().map(|axis| axis.taps.len()).product();
    let depth = taps * source.channels.len();
    let units = source.units(par);
    // One sum for each thread, since sums are as large as the filter.
    let share = units.len().div_ceil(par.threads());
    let parts = par.map_ranges(units.len(), share, |range| {
        let mut sums = Aligned::zeros(depth * cols.len());
        let mut buffers = (Aligned::default(), Aligned::default());
        for &unit in &units[range] {
            add_unit(source, unit, gradient, pixel, cols.clone(), &mut buffers, &mut sums);
        }
        sums
    });
    let empty = || Aligned::zeros(depth * cols.len());
    parts
        .into_iter()
        .reduce(|mut total, part| {
            total.iter_mut().zip(&*part).for_each(|(total, &part)| *total = *total + part);
            total
        })
        .unwrap_or_else(empty)
}

fn add_unit<T: Real>(
    source: &Source<'_, T>,
    unit: Unit,
    gradient: &[T],
    pixel: usize,
    cols: Range<usize>,
    (input, packed): &mut (Aligned<T::Wide>, Aligned<T::Wide>),
    sums: &mut [T::Wide],
) {
    let [_, height, width] = &source.axes;
    let field = source.field(unit, input);
    let mut from: Vec<usize> =
        source.taps(&field).flat_map(|tap| tap.offset..tap.offset + tap.len).collect();
    let depth = from.len();
    if depth == 0 {
        return;
    }
    let to: Vec<usize> = (0..depth).map(|row| row * cols.len()).collect();
    from.extend([from[depth - 1]; MAX_ROWS]);
    let step = width.step * field.pixel;
    let mut runs = Vec::new();
    for start in &field.starts {
        for row in 0..unit.rows {
            let offset = start + row * height.step * field.row;
            runs.push(Run { offset, len: width.outputs });
        }
    }

    // The gradient of the unit's positions, which are adjacent.
    let row_len = width.outputs * pixel;
    let first = (unit.slice * height.outputs + unit.top) * row_len;
    let gradient = &gradient[first..first + runs.len() * row_len];
    for (tile, range) in split_columns::<T::Wide>(cols.len()) {
        let panel = cols.start + range.start..cols.start + range.end;
        // A panel's columns side by side, in whole vectors, as the tile reads them for every tap.
        let b = match T::as_wide(gradient) {
            Some(wide) if tile.cols == pixel && panel == (0..pixel) => wide,
            _ => {
                packed.reset(runs.len() * width.outputs * tile.cols);
                let rows = packed.chunks_exact_mut(tile.cols).zip(gradient.chunks_exact(pixel));
                for (packed, gradient) in rows {
                    T::widen_slice(&gradient[panel.clone()], &mut packed[..range.len()]);
                }
                &packed[..]
            }
        };
        for Block { begin, runs } in blocks(&runs, step, std::iter::once(tile)) {
            for row in (0..depth).step_by(tile.rows) {
                let operands = Operands {
                    runs: &runs,
                    a: field.data.as_ptr(),
                    a_rows: &from[row..row + tile.rows],
                    a_step: step,
                    b: b[begin * tile.cols..].as_ptr(),
                    c: sums[range.start..].as_mut_ptr(),
                    c_rows: &to[row..depth.min(row + tile.rows)],
                    cols: range.len(),
                    accumulate: true,
                };
                // SAFETY: the field has every tap of every position; the panel has whole vectors at
                // each position; `sums` has a row for each tap.
                unsafe { tile.run(&operands) };
            }
        }
    }
}
