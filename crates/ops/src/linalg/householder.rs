//! Reflections that leave one element of a vector.
//!
//! The signs are LAPACK's and Eigen's: the remaining element is real and opposite in sign to the
//! first one, so that nothing cancels. TensorFlow's `Qr` shows these signs to the user.

use std::ops::Range;

use num_traits::{Float, Zero};

use super::matrix::Matrix;
use super::scalar::{Scalar, norm_sqr};

/// The matrix `1 - tau v v*` with `v = (1, tail)`, unitary.
#[derive(Clone, Debug)]
pub(super) struct Reflector<S: Scalar> {
    pub(super) tail: Vec<S>,
    pub(super) tau: S,
    /// What remains of the vector from which the reflector was made.
    pub(super) beta: S::Real,
}

impl<S: Scalar> Reflector<S> {
    /// The reflector that turns a vector into `(beta, 0, .., 0)`.
    pub(super) fn new(first: S, mut tail: Vec<S>) -> Reflector<S> {
        let tail_norm = norm_sqr(&tail);
        let tiny = S::Real::min_positive_value();
        if tail_norm <= tiny && first.im() * first.im() <= tiny {
            tail.fill(S::zero());
            return Reflector { tail, tau: S::zero(), beta: first.re() };
        }
        let mut beta = (first.norm_sqr() + tail_norm).sqrt();
        if first.re() >= S::Real::zero() {
            beta = -beta;
        }
        let pivot = first - S::from_real(beta);
        for value in &mut tail {
            *value /= pivot;
        }
        let tau = ((S::from_real(beta) - first) / S::from_real(beta)).conjugate();
        Reflector { tail, tau, beta }
    }

    /// Its inverse.
    pub(super) fn adjoint(&self) -> Reflector<S> {
        Reflector { tail: self.tail.clone(), tau: self.tau.conjugate(), beta: self.beta }
    }

    /// Multiplies rows `top..` of the columns `left..` of a matrix from the left.
    pub(super) fn apply_left(&self, matrix: &mut Matrix<S>, top: usize, left: usize) {
        if self.tau.is_zero() {
            return;
        }
        let mut sums = matrix.row(top)[left..].to_vec();
        for (i, v) in self.tail.iter().enumerate() {
            S::add_scaled(&mut sums, v.conjugate(), &matrix.row(top + 1 + i)[left..]);
        }
        S::add_scaled(&mut matrix.row_mut(top)[left..], -self.tau, &sums);
        for (i, &v) in self.tail.iter().enumerate() {
            S::add_scaled(&mut matrix.row_mut(top + 1 + i)[left..], -self.tau * v, &sums);
        }
    }

    /// Multiplies columns `left..` of the rows `top..` of a matrix from the right.
    pub(super) fn apply_right(&self, matrix: &mut Matrix<S>, top: usize, left: usize) {
        self.apply_right_to_rows(matrix, top..matrix.rows, left);
    }

    /// Multiplies columns `left..` of some rows of a matrix from the right.
    pub(super) fn apply_right_to_rows(
        &self,
        matrix: &mut Matrix<S>,
        rows: Range<usize>,
        left: usize,
    ) {
        if self.tau.is_zero() {
            return;
        }
        let conjugated: Vec<S> = self.tail.iter().map(|v| v.conjugate()).collect();
        for row in rows {
            let row = &mut matrix.row_mut(row)[left..left + 1 + self.tail.len()];
            let sum = row[0] + S::dot(&conjugated, &row[1..]);
            let factor = -self.tau * sum;
            row[0] += factor;
            S::add_scaled(&mut row[1..], factor, &conjugated);
        }
    }
}

/// A matrix taken apart as `Q R`.
#[derive(Debug)]
pub(super) struct Qr<S: Scalar> {
    reflectors: Vec<Reflector<S>>,
    /// Upper triangular, as large as the matrix.
    pub(super) r: Matrix<S>,
}

impl<S: Scalar> Qr<S> {
    pub(super) fn new(mut r: Matrix<S>) -> Qr<S> {
        let steps = r.rows.min(r.columns);
        let mut reflectors = Vec::with_capacity(steps);
        for k in 0..steps {
            let reflector = eliminate(&mut r, k, k);
            reflector.apply_left(&mut r, k, k + 1);
            reflectors.push(reflector);
        }
        Qr { reflectors, r }
    }

    /// Takes a matrix apart with the largest remaining column first at each step; also returns
    /// which column of the matrix became each column of `R`.
    pub(super) fn pivoted(mut r: Matrix<S>) -> (Qr<S>, Vec<usize>) {
        let steps = r.rows.min(r.columns);
        let mut order: Vec<usize> = (0..r.columns).collect();
        let mut reflectors = Vec::with_capacity(steps);
        for k in 0..steps {
            let mut norms = vec![S::Real::zero(); r.columns];
            for i in k..r.rows {
                for (norm, value) in norms[k..].iter_mut().zip(&r.row(i)[k..]) {
                    *norm += value.norm_sqr();
                }
            }
            let largest =
                (k + 1..r.columns).fold(k, |best, j| if norms[j] > norms[best] { j } else { best });
            r.swap_columns(k, largest);
            order.swap(k, largest);
            let reflector = eliminate(&mut r, k, k);
            reflector.apply_left(&mut r, k, k + 1);
            reflectors.push(reflector);
        }
        (Qr { reflectors, r }, order)
    }

    /// The first `columns` columns of `Q`.
    pub(super) fn q(&self, columns: usize) -> Matrix<S> {
        let mut q = Matrix::identity(self.r.rows, columns);
        for (k, reflector) in self.reflectors.iter().enumerate().rev() {
            reflector.adjoint().apply_left(&mut q, k, k);
        }
        q
    }

    /// Multiplies by `Q*` from the left.
    pub(super) fn apply_adjoint(&self, matrix: &mut Matrix<S>) {
        for (k, reflector) in self.reflectors.iter().enumerate() {
            reflector.apply_left(matrix, k, 0);
        }
    }
}

/// Makes the reflector for what is at and below `(row, column)`, and puts its effect there.
pub(super) fn eliminate<S: Scalar>(
    matrix: &mut Matrix<S>,
    row: usize,
    column: usize,
) -> Reflector<S> {
    let tail = (row + 1..matrix.rows).map(|i| matrix[(i, column)]).collect();
    let reflector = Reflector::new(matrix[(row, column)], tail);
    matrix[(row, column)] = S::from_real(reflector.beta);
    for i in row + 1..matrix.rows {
        matrix[(i, column)] = S::zero();
    }
    reflector
}
