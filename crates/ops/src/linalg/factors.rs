//! A square matrix as the product of two triangular ones, with rows exchanged for large pivots.

use num_traits::{Float, Zero};

use super::matrix::Matrix;
use super::scalar::{Scalar, add_scaled};
use super::triangular::{Triangle, solve_in_place};

/// `P A = L U`.
#[derive(Debug)]
pub(super) struct Factors<S> {
    /// `U`, and below its diagonal `L` without its diagonal of ones.
    pub(super) packed: Matrix<S>,
    /// The row of the matrix that became each row of the product.
    pub(super) rows: Vec<usize>,
    is_odd: bool,
}

impl<S: Scalar> Factors<S> {
    pub(super) fn new(mut a: Matrix<S>) -> Factors<S> {
        let n = a.rows;
        let mut rows: Vec<usize> = (0..n).collect();
        let mut is_odd = false;
        for k in 0..n {
            let mut best = (k, a[(k, k)].modulus());
            for i in k + 1..n {
                let size = a[(i, k)].modulus();
                if size > best.1 {
                    best = (i, size);
                }
            }
            if best.1.is_zero() {
                continue;
            }
            if best.0 != k {
                a.swap_rows(k, best.0);
                rows.swap(k, best.0);
                is_odd = !is_odd;
            }
            let pivot = a[(k, k)];
            for i in k + 1..n {
                let factor = a[(i, k)] / pivot;
                a[(i, k)] = factor;
                let (source, target) = a.row_and_mut(k, i);
                add_scaled(&mut target[k + 1..], -factor, &source[k + 1..]);
            }
        }
        Factors { packed: a, rows, is_odd }
    }

    fn diagonal(&self) -> impl Iterator<Item = S> + '_ {
        (0..self.packed.rows).map(|i| self.packed[(i, i)])
    }

    /// Whether no pivot vanished. As in TensorFlow, NaN is only seen where it comes first: elsewhere
    /// it spreads to the result instead.
    pub(super) fn is_invertible(&self) -> bool {
        let sizes = self.diagonal().map(Scalar::modulus);
        sizes
            .reduce(|least, size| if size < least { size } else { least })
            .is_none_or(|least| least > S::Real::zero())
    }

    fn sign(&self) -> S {
        if self.is_odd { -S::one() } else { S::one() }
    }

    pub(super) fn determinant(&self) -> S {
        self.diagonal().fold(self.sign(), |product, pivot| product * pivot)
    }

    /// The determinant as its sign and the logarithm of its absolute value.
    pub(super) fn log_determinant(&self) -> (S, S::Real) {
        let start = (self.sign(), <S::Real as Zero>::zero());
        self.diagonal().fold(start, |(sign, sum), pivot| {
            let size = pivot.modulus();
            if size.is_zero() {
                return (S::zero(), S::Real::neg_infinity());
            }
            (sign * pivot.direction(), sum + size.ln())
        })
    }

    /// Solves `A x = b` for each column of `b`.
    pub(super) fn solve(&self, b: &Matrix<S>) -> Matrix<S> {
        let mut x = Matrix::zeros(b.rows, b.columns);
        for (i, &row) in self.rows.iter().enumerate() {
            x.row_mut(i).copy_from_slice(b.row(row));
        }
        solve_in_place(&self.packed, Triangle::UnitLower, &mut x);
        solve_in_place(&self.packed, Triangle::Upper, &mut x);
        x
    }
}
