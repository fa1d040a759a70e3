//! Complex transforms along any axis of an array.

use num_complex::Complex;

use super::{Plan, Real};
use crate::Parallel;
use crate::parallel::{rows as shared_rows, rows_mut};
use crate::transpose::transpose;

/// The direction of a transform; the inverse one divides by the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From values to frequencies.
    Forward,
    /// From frequencies to values.
    Inverse,
}

/// Elements enough to be worth another thread.
pub(super) const LEAST_WORK: usize = 4096;

pub(super) fn zeros<R: Real>(count: usize) -> Vec<Complex<R>> {
    vec![Complex::new(R::zero(), R::zero()); count]
}

/// Transforms rows of the plan's length in place.
///
/// # Panics
/// If the values are no whole number of rows.
pub fn rows<R: Real>(par: Parallel, plan: &Plan<R>, values: &mut [Complex<R>]) {
    let len = plan.len();
    let count = values.len() / len;
    par.for_each(rows_mut(values, count), 1 + LEAST_WORK / len, |_, rows| {
        let mut scratch = zeros(plan.transform.get_inplace_scratch_len());
        for row in rows.data.chunks_exact_mut(len) {
            plan.transform.process_with_scratch(row, &mut scratch);
            divide(plan, row);
        }
    });
}

/// As [`rows`], from one place to another.
///
/// # Panics
/// If the values are no whole number of rows, or the places differ in size.
pub fn rows_into<R: Real>(
    par: Parallel,
    plan: &Plan<R>,
    from: &[Complex<R>],
    to: &mut [Complex<R>],
) {
    let len = plan.len();
    let count = to.len() / len;
    let work = (shared_rows(from, count), rows_mut(to, count));
    par.for_each(work, 1 + LEAST_WORK / len, |_, (from, to)| {
        let mut scratch = zeros(plan.transform.get_immutable_scratch_len());
        for (from, to) in from.data.chunks_exact(len).zip(to.data.chunks_exact_mut(len)) {
            plan.transform.process_immutable_with_scratch(from, to, &mut scratch);
            divide(plan, to);
        }
    });
}

fn divide<R: Real>(plan: &Plan<R>, row: &mut [Complex<R>]) {
    if let Some(scale) = plan.scale() {
        row.iter_mut().for_each(|value| *value = value.scale(scale));
    }
}

/// Transforms along an axis of the plan's length whose elements lie `stride` apart, in place.
///
/// # Panics
/// If the values are no whole number of blocks of `stride` columns.
pub fn columns<R: Real>(par: Parallel, plan: &Plan<R>, values: &mut [Complex<R>], stride: usize) {
    if stride == 1 {
        return rows(par, plan, values);
    }
    let len = plan.len();
    let block = len * stride;
    let count = values.len() / block;
    // Columns become rows, so that the transform runs on what lies together.
    let turn = |par, values: &mut [Complex<R>], turned: &mut [Complex<R>]| {
        transpose(par, values, &[len, stride], &[1, 0], turned);
        rows(par, plan, turned);
        transpose(par, turned, &[stride, len], &[1, 0], values);
    };
    if count < par.threads() {
        let mut turned = zeros(block);
        values.chunks_exact_mut(block).for_each(|values| turn(par, values, &mut turned));
        return;
    }
    par.for_each(rows_mut(values, count), 1 + LEAST_WORK / block, |_, blocks| {
        let mut turned = zeros(block);
        for values in blocks.data.chunks_exact_mut(block) {
            turn(Parallel::SERIAL, values, &mut turned);
        }
    });
}
