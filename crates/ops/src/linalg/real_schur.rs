//! The Schur form of a real matrix: triangular but for blocks of two rows, one for each pair of
//! complex eigenvalues. Francis' double steps stay with real numbers.

use num_traits::Float;

use super::householder::Reflector;
use super::matrix::Matrix;
use super::rotation::Rotation;
use super::scalar::{Scalar, real};
use super::schur::{Schur, hessenberg};

/// Double steps allowed for each row.
const MAX_STEPS: usize = 40;

/// The working state: the form so far, and the shift that was taken off the diagonal.
struct State<R> {
    t: Matrix<R>,
    u: Matrix<R>,
    offset: R,
}

/// The real Schur form, or nothing if the steps do not come to an end.
pub(super) fn real_schur<R: Scalar<Real = R> + Float>(mut matrix: Matrix<R>) -> Option<Schur<R>> {
    if !matrix.is_finite() {
        return None;
    }
    let n = matrix.rows;
    let scale = matrix.values.iter().fold(R::zero(), |most, &v| Float::max(most, Float::abs(v)));
    if scale < R::min_positive_value() {
        return Some(Schur { t: Matrix::zeros(n, n), u: Matrix::identity(n, n) });
    }
    matrix.values.iter_mut().for_each(|value| *value /= scale);
    let Schur { t, u } = hessenberg(matrix);
    let norm = t.values.iter().fold(R::zero(), |sum, &value| sum + Float::abs(value));
    let tiny = Float::max(norm * R::epsilon() * R::epsilon(), R::min_positive_value());
    let mut state = State { t, u, offset: R::zero() };
    // One more than the last row of the part that is left.
    let mut end = n;
    let (mut steps, mut total) = (0, 0);
    while end > 0 {
        let bottom = end - 1;
        let top = state.decoupled(bottom, tiny);
        if top == bottom {
            state.t[(bottom, bottom)] += state.offset;
            if bottom > 0 {
                state.t[(bottom, bottom - 1)] = R::zero();
            }
            end -= 1;
            steps = 0;
        } else if top + 1 == bottom {
            state.split(bottom);
            end -= 2;
            steps = 0;
        } else {
            let shift = state.shift(bottom, steps);
            steps += 1;
            total += 1;
            if total > MAX_STEPS * n {
                return None;
            }
            let (start, first) = state.first_reflector(top, bottom, shift);
            state.step(top, start, bottom, first);
        }
    }
    let State { mut t, u, .. } = state;
    t.values.iter_mut().for_each(|value| *value *= scale);
    Some(Schur { t, u })
}

impl<R: Scalar<Real = R> + Float> State<R> {
    /// The first row of the part that ends at `bottom` and is not coupled to rows above.
    fn decoupled(&self, bottom: usize, tiny: R) -> usize {
        let mut row = bottom;
        while row > 0 {
            let near = Float::abs(self.t[(row - 1, row - 1)]) + Float::abs(self.t[(row, row)]);
            if Float::abs(self.t[(row, row - 1)]) <= Float::max(near * R::epsilon(), tiny) {
                break;
            }
            row -= 1;
        }
        row
    }

    /// Makes the last two rows triangular if their eigenvalues are real.
    fn split(&mut self, bottom: usize) {
        let above = bottom - 1;
        let p = (self.t[(above, above)] - self.t[(bottom, bottom)]) * real(0.5);
        let q = p * p + self.t[(bottom, above)] * self.t[(above, bottom)];
        self.t[(bottom, bottom)] += self.offset;
        self.t[(above, above)] += self.offset;
        if q >= R::zero() {
            let z = Float::sqrt(q);
            let first = if p >= R::zero() { p + z } else { p - z };
            let rotation = Rotation::givens(first, self.t[(bottom, above)]);
            let inverse = rotation.inverse();
            for column in above..self.t.columns {
                let (x, y) = inverse.pair(self.t[(above, column)], self.t[(bottom, column)]);
                (self.t[(above, column)], self.t[(bottom, column)]) = (x, y);
            }
            for row in 0..=bottom {
                let (x, y) = inverse.pair(self.t[(row, above)], self.t[(row, bottom)]);
                (self.t[(row, above)], self.t[(row, bottom)]) = (x, y);
            }
            self.t[(bottom, above)] = R::zero();
            inverse.columns(&mut self.u, above, bottom);
        }
        if above > 0 {
            self.t[(above, above - 1)] = R::zero();
        }
    }

    fn subtract(&mut self, shift: R, bottom: usize) {
        self.offset += shift;
        for i in 0..=bottom {
            self.t[(i, i)] -= shift;
        }
    }

    /// What the last two rows say about a pair of eigenvalues.
    fn shift(&mut self, bottom: usize, steps: usize) -> [R; 3] {
        let t = &self.t;
        let shift = [
            t[(bottom, bottom)],
            t[(bottom - 1, bottom - 1)],
            t[(bottom, bottom - 1)] * t[(bottom - 1, bottom)],
        ];
        if steps == 10 {
            // Something else, should the usual one lead in circles.
            let s = Float::abs(t[(bottom, bottom - 1)]) + Float::abs(t[(bottom - 1, bottom - 2)]);
            self.subtract(shift[0], bottom);
            return [s * real(0.75), s * real(0.75), s * s * real(-0.4375)];
        }
        if steps == 30 {
            let half = (shift[1] - shift[0]) * real(0.5);
            let square = half * half + shift[2];
            if square > R::zero() {
                let root = Float::sqrt(square);
                let s = if shift[1] < shift[0] { -root } else { root } + half;
                let s = shift[0] - shift[2] / s;
                self.subtract(s, bottom);
                return [real(0.964); 3];
            }
        }
        shift
    }

    /// Where a double step may begin, and the vector of its first reflection.
    fn first_reflector(&self, top: usize, bottom: usize, shift: [R; 3]) -> (usize, [R; 3]) {
        let t = &self.t;
        let mut row = bottom - 2;
        loop {
            let here = t[(row, row)];
            let (r, s) = (shift[0] - here, shift[1] - here);
            let v = [
                (r * s - shift[2]) / t[(row + 1, row)] + t[(row, row + 1)],
                t[(row + 1, row + 1)] - here - r - s,
                t[(row + 2, row + 1)],
            ];
            if row == top {
                return (row, v);
            }
            let left = t[(row, row - 1)] * (Float::abs(v[1]) + Float::abs(v[2]));
            let near = Float::abs(t[(row - 1, row - 1)])
                + Float::abs(here)
                + Float::abs(t[(row + 1, row + 1)]);
            if Float::abs(left) < R::epsilon() * v[0] * near {
                return (row, v);
            }
            row -= 1;
        }
    }

    fn step(&mut self, top: usize, start: usize, bottom: usize, first: [R; 3]) {
        for k in start..bottom - 1 {
            let v = if k == start {
                first
            } else {
                [self.t[(k, k - 1)], self.t[(k + 1, k - 1)], self.t[(k + 2, k - 1)]]
            };
            let reflector = Reflector::new(v[0], v[1..].to_vec());
            if reflector.beta.is_zero() {
                continue;
            }
            if k == start && k > top {
                self.t[(k, k - 1)] = -self.t[(k, k - 1)];
            } else if k != start {
                self.t[(k, k - 1)] = reflector.beta;
            }
            self.reflect(&reflector, k, bottom.min(k + 3));
        }
        let k = bottom - 1;
        let reflector = Reflector::new(self.t[(k, k - 1)], vec![self.t[(bottom, k - 1)]]);
        if !reflector.beta.is_zero() {
            self.t[(k, k - 1)] = reflector.beta;
            self.reflect(&reflector, k, bottom);
        }
        for i in start + 2..=bottom {
            self.t[(i, i - 2)] = R::zero();
            if i > start + 2 {
                self.t[(i, i - 3)] = R::zero();
            }
        }
    }

    /// Applies a reflection of the rows from `k` from both sides.
    fn reflect(&mut self, reflector: &Reflector<R>, k: usize, last_row: usize) {
        reflector.apply_left(&mut self.t, k, k);
        reflector.apply_right_to_rows(&mut self.t, 0..last_row + 1, k);
        reflector.apply_right(&mut self.u, 0, k);
    }
}
