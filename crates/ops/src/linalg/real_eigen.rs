//! Eigenvalues and eigenvectors of a real matrix from its real Schur form.

use num_traits::{Float, One, Zero};

use super::matrix::Matrix;
use super::real_schur::real_schur;
use super::scalar::{Scalar, real};
use super::schur::{Schur, normalize_columns};

/// The eigenvalues in the order of the Schur form, and unit eigenvectors as columns.
pub(super) fn eigen<C: Scalar>(matrix: Matrix<C::Real>) -> Option<(Vec<C>, Matrix<C>)> {
    let Schur { t, u } = real_schur(matrix)?;
    let values: Vec<C> = eigenvalues(&t);
    let n = t.rows;
    let mut back = Back { t, values: &values };
    back.substitute();
    let product = u.product(&upper(&back.t));
    let mut vectors = Matrix::zeros(n, n);
    let mut column = 0;
    while column < n {
        if values[column].im().is_zero() || column + 1 == n {
            for i in 0..n {
                vectors[(i, column)] = C::from_real(product[(i, column)]);
            }
            column += 1;
            continue;
        }
        // A pair of conjugates: real and imaginary parts stand in two columns.
        for i in 0..n {
            let value = C::from_parts(product[(i, column)], product[(i, column + 1)]);
            vectors[(i, column)] = value;
            vectors[(i, column + 1)] = value.conjugate();
        }
        column += 2;
    }
    normalize_columns(&mut vectors);
    Some((values, vectors))
}

fn eigenvalues<C: Scalar>(t: &Matrix<C::Real>) -> Vec<C> {
    let n = t.rows;
    let mut values = Vec::with_capacity(n);
    while values.len() < n {
        let i = values.len();
        if i + 1 == n || t[(i + 1, i)].is_zero() {
            values.push(C::from_real(t[(i, i)]));
            continue;
        }
        let p = (t[(i, i)] - t[(i + 1, i + 1)]) * real(0.5);
        let (below, above) = (t[(i + 1, i)], t[(i, i + 1)]);
        let most = Float::max(Float::abs(p), Float::max(Float::abs(below), Float::abs(above)));
        let inner = (p / most) * (p / most) + (below / most) * (above / most);
        let z = most * Float::sqrt(Float::abs(inner));
        values.push(C::from_parts(t[(i + 1, i + 1)] + p, z));
        values.push(C::from_parts(t[(i + 1, i + 1)] + p, -z));
    }
    values
}

/// The part of a matrix on and above the diagonal.
fn upper<R: Scalar>(matrix: &Matrix<R>) -> Matrix<R> {
    let mut upper = matrix.clone();
    for i in 0..matrix.rows {
        upper.row_mut(i)[..i].fill(R::zero());
    }
    upper
}

/// Back substitution, which turns the Schur form into its own eigenvectors, column by column from
/// the right.
struct Back<'a, C: Scalar> {
    t: Matrix<C::Real>,
    values: &'a [C],
}

impl<C: Scalar> Back<'_, C> {
    fn substitute(&mut self) {
        let size = self.t.rows;
        let mut norm = C::Real::zero();
        for i in 0..size {
            for j in i.saturating_sub(1)..size {
                norm += Float::abs(self.t[(i, j)]);
            }
        }
        if norm.is_zero() {
            return;
        }
        let mut n = size;
        while n > 0 {
            n -= 1;
            let value = self.values[n];
            if value.im().is_zero() {
                self.real_vector(n, value.re(), norm);
            } else if value.im() < C::Real::zero() && n > 0 {
                self.complex_vector(n, value, norm);
                n -= 1;
            }
        }
    }

    /// The product of a part of a row with that of a column.
    fn dot(&self, row: usize, column: usize, first: usize, last: usize) -> C::Real {
        (first..=last).fold(C::Real::zero(), |sum, j| sum + self.t[(row, j)] * self.t[(j, column)])
    }

    fn real_vector(&mut self, n: usize, p: C::Real, norm: C::Real) {
        let (mut last_r, mut last_w) = (C::Real::zero(), C::Real::zero());
        let mut first = n;
        self.t[(n, n)] = C::Real::one();
        for i in (0..n).rev() {
            let w = self.t[(i, i)] - p;
            let r = self.dot(i, n, first, n);
            let value = self.values[i];
            if value.im() < C::Real::zero() {
                (last_w, last_r) = (w, r);
                continue;
            }
            first = i;
            if value.im().is_zero() {
                self.t[(i, n)] =
                    if w.is_zero() { -r / (C::Real::epsilon() * norm) } else { -r / w };
            } else {
                let (x, y) = (self.t[(i, i + 1)], self.t[(i + 1, i)]);
                let denominator = (value.re() - p) * (value.re() - p) + value.im() * value.im();
                let solved = (x * last_r - last_w * r) / denominator;
                self.t[(i, n)] = solved;
                self.t[(i + 1, n)] = if Float::abs(x) > Float::abs(last_w) {
                    (-r - w * solved) / x
                } else {
                    (-last_r - y * solved) / last_w
                };
            }
            self.tame(i, n, n, Float::abs(self.t[(i, n)]));
        }
    }

    /// Divides columns from a row on when they threaten to overflow.
    fn tame(&mut self, row: usize, first: usize, last: usize, size: C::Real) {
        if C::Real::epsilon() * size * size > C::Real::one() {
            for i in row..self.t.rows {
                for j in first..=last {
                    self.t[(i, j)] /= size;
                }
            }
        }
    }

    fn set(&mut self, row: usize, n: usize, value: C) {
        (self.t[(row, n - 1)], self.t[(row, n)]) = (value.re(), value.im());
    }

    fn get(&self, row: usize, n: usize) -> C {
        C::from_parts(self.t[(row, n - 1)], self.t[(row, n)])
    }

    fn complex_vector(&mut self, n: usize, eigenvalue: C, norm: C::Real) {
        let (p, q) = (eigenvalue.re(), eigenvalue.im());
        let zero = C::Real::zero();
        let t = &self.t;
        let start = if Float::abs(t[(n, n - 1)]) > Float::abs(t[(n - 1, n)]) {
            C::from_parts(q / t[(n, n - 1)], -(t[(n, n)] - p) / t[(n, n - 1)])
        } else {
            C::from_parts(zero, -t[(n - 1, n)]) / C::from_parts(t[(n - 1, n - 1)] - p, q)
        };
        self.set(n - 1, n, start);
        self.set(n, n, C::from_parts(zero, C::Real::one()));
        let mut last = C::from_parts(zero, zero);
        let mut last_w = zero;
        let mut first = n - 1;
        for i in (0..n - 1).rev() {
            let sum = C::from_parts(self.dot(i, n - 1, first, n), self.dot(i, n, first, n));
            let w = self.t[(i, i)] - p;
            let value = self.values[i];
            if value.im() < zero {
                (last_w, last) = (w, sum);
                continue;
            }
            first = i;
            if value.im().is_zero() {
                self.set(i, n, -sum / C::from_parts(w, q));
            } else {
                let (x, y) = (self.t[(i, i + 1)], self.t[(i + 1, i)]);
                let gap = value.re() - p;
                let mut divisor: C =
                    C::from_parts(gap * gap + value.im() * value.im() - q * q, gap * real(2.0) * q);
                if divisor.is_zero() {
                    let sizes = [w, q, x, y, last_w];
                    let sum = sizes.iter().fold(zero, |sum, &size| sum + Float::abs(size));
                    divisor = C::from_real(C::Real::epsilon() * norm * sum);
                }
                let turned = C::from_parts(q * sum.im(), -q * sum.re());
                let solved = (last.scale(x) - sum.scale(last_w) + turned) / divisor;
                self.set(i, n, solved);
                let next = if Float::abs(x) > Float::abs(last_w) + Float::abs(q) {
                    let turned = C::from_parts(q * solved.im(), -q * solved.re());
                    (-sum - solved.scale(w) + turned).scale(C::Real::one() / x)
                } else {
                    (-last - solved.scale(y)) / C::from_parts(last_w, q)
                };
                self.set(i + 1, n, next);
            }
            let value = self.get(i, n);
            let size = Float::max(Float::abs(value.re()), Float::abs(value.im()));
            self.tame(i, n - 1, n, size);
        }
    }
}
