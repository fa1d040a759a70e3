//! Tridiagonal systems that may be singular, as inverse iteration meets them: a pivot that is too
//! small to divide by is moved away from zero, by about what rounding has changed it anyway.
//! The way of LAPACK's `xLAGTF` and `xLAGTS`.

use num_traits::{Float, One, Zero};

use super::matrix::Matrix;
use super::scalar::Scalar;

/// Solves for `x`, which holds the right-hand sides.
pub(super) fn solve_perturbed<S: Scalar>(diagonals: &Matrix<S>, x: &mut Matrix<S>) {
    let n = diagonals.columns;
    let upper = eliminate(diagonals, x);
    // Elements above the last two rows count twice over where TensorFlow looks for the largest.
    let looked_at = upper.iter().enumerate().flat_map(|(i, row)| {
        let count = if i + 2 < n { 3 } else { usize::from(i + 1 == n) };
        row.iter().take(count)
    });
    let first = [diagonals[(1, 0)], if n > 1 { diagonals[(0, 0)] } else { S::zero() }];
    let largest =
        looked_at.chain(&first).map(|value| value.modulus()).fold(S::Real::zero(), Float::max);
    let step = S::Real::epsilon() * largest;
    for i in (0..n).rev() {
        let [mut pivot, above @ ..] = upper[i];
        for (j, factor) in (i + 1..n).zip(above) {
            let (source, target) = x.row_and_mut(j, i);
            for (target, &source) in target.iter_mut().zip(source) {
                *target -= factor * source;
            }
        }
        let row = x.row_mut(i);
        move_from_zero(step, &mut pivot, row);
        let inverse = S::one() / pivot;
        row.iter_mut().for_each(|value| *value *= inverse);
    }
}

/// The upper factor: each row's pivot and the two elements right of it. The right-hand sides are
/// changed along. Pivots compare by their shares of their rows.
fn eliminate<S: Scalar>(diagonals: &Matrix<S>, x: &mut Matrix<S>) -> Vec<[S; 3]> {
    let n = diagonals.columns;
    let above = |i: usize| if i + 1 < n { diagonals[(0, i)] } else { S::zero() };
    let size = |row: &[S; 3]| row.iter().fold(S::Real::zero(), |sum, value| sum + value.modulus());
    let mut upper = Vec::with_capacity(n);
    let mut current = [diagonals[(1, 0)], above(0), S::zero()];
    let mut scale = size(&current);
    for i in 0..n - 1 {
        let next = [diagonals[(2, i + 1)], diagonals[(1, i + 1)], above(i + 1)];
        let next_scale = size(&next);
        if next[0].is_zero() {
            upper.push(current);
            current = [next[1], next[2], S::zero()];
            scale = next_scale;
            continue;
        }
        let share = match current[0].is_zero() {
            true => S::Real::zero(),
            false => current[0].modulus() / scale,
        };
        let (pivot, other) = if next[0].modulus() / next_scale <= share {
            scale = next_scale;
            (current, next)
        } else {
            x.swap_rows(i, i + 1);
            (next, current)
        };
        let factor = other[0] / pivot[0];
        let (source, target) = x.row_and_mut(i, i + 1);
        for (target, &source) in target.iter_mut().zip(source) {
            *target -= factor * source;
        }
        upper.push(pivot);
        current = [other[1] - factor * pivot[1], other[2] - factor * pivot[2], S::zero()];
    }
    upper.push(current);
    upper
}

/// Adds to a pivot until neither its inverse nor the solution overflows, or makes both sides of the
/// equation larger where only the pivot is too small.
fn move_from_zero<S: Scalar>(step: S::Real, pivot: &mut S, row: &mut [S]) {
    let one = S::Real::one();
    let least = S::Real::min_positive_value();
    let most = one / least;
    let mut step = step.max(least).copysign(pivot.re());
    let largest = row.iter().map(|value| value.modulus()).fold(S::Real::zero(), Float::max);
    loop {
        let size = pivot.modulus();
        if size >= one || size.is_nan() {
            return;
        }
        let too_small = size < least && (size.is_zero() || largest * least > size);
        if too_small || (size >= least && largest > size * most) {
            *pivot += S::from_real(step);
            step = step + step;
        } else {
            if size < least {
                *pivot = pivot.scale(most);
                row.iter_mut().for_each(|value| *value = value.scale(most));
            }
            return;
        }
    }
}
