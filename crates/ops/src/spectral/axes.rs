//! Transforms along any of the last axes of an array.

use num_complex::Complex;
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;

use super::plan::{Plan, Real};

/// The direction of a transform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Direction {
    Forward,
    Inverse,
}

/// Rows enough to be worth another thread.
const LEAST_WORK: usize = 4096;

/// Transforms along one axis, `len` long, of which the elements are `stride` apart.
pub(super) fn transform<R: Real>(
    par: Parallel,
    values: &mut [Complex<R>],
    len: usize,
    stride: usize,
    direction: Direction,
) {
    if len <= 1 || values.is_empty() {
        return;
    }
    let plan = Plan::new(len);
    let run = |rows: &mut [Complex<R>]| match direction {
        Direction::Forward => plan.forward(rows),
        Direction::Inverse => plan.inverse(rows),
    };
    let block = len * stride;
    let count = values.len() / block;
    if stride == 1 {
        par.for_each(rows_mut(values, count), 1 + LEAST_WORK / len, |_, rows| run(rows.data));
        return;
    }
    par.for_each(rows_mut(values, count), 1 + LEAST_WORK / block, |_, blocks| {
        // Columns become rows, so that the transform runs on what lies together.
        let mut rows = vec![Complex::new(R::zero(), R::zero()); block];
        for block in blocks.data.chunks_exact_mut(block) {
            for (i, line) in block.chunks_exact(stride).enumerate() {
                line.iter().enumerate().for_each(|(j, value)| rows[j * len + i] = *value);
            }
            run(&mut rows);
            for (i, line) in block.chunks_exact_mut(stride).enumerate() {
                line.iter_mut().enumerate().for_each(|(j, value)| *value = rows[j * len + i]);
            }
        }
    });
}

/// Copies the corner at the origin of the last axes from one array to another; what the target has
/// beyond it stays as it is.
pub(super) fn copy_corner<S: Copy, T>(
    (from, from_dims): (&[S], &[usize]),
    (to, to_dims): (&mut [T], &[usize]),
    convert: &impl Fn(S) -> T,
) {
    let (Some((&from_first, from_rest)), Some((&to_first, to_rest))) =
        (from_dims.split_first(), to_dims.split_first())
    else {
        if let (Some(from), Some(to)) = (from.first(), to.first_mut()) {
            *to = convert(*from);
        }
        return;
    };
    if from.is_empty() || to.is_empty() {
        return;
    }
    let (from_block, to_block) = (from.len() / from_first, to.len() / to_first);
    if from_rest.is_empty() {
        for (to, from) in to.iter_mut().zip(from) {
            *to = convert(*from);
        }
        return;
    }
    for (from, to) in from.chunks_exact(from_block).zip(to.chunks_exact_mut(to_block)) {
        copy_corner((from, from_rest), (to, to_rest), convert);
    }
}
