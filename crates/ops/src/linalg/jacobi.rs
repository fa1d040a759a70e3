//! Singular values by Jacobi's method: rotations from both sides, until nothing is left beside the
//! diagonal. Slow for large matrices, accurate for all; the order of rotations is Eigen's, because
//! it decides the signs of singular vectors.

use num_traits::{Float, One, Zero};

use super::householder::Qr;
use super::matrix::Matrix;
use super::rotation::Rotation;
use super::scalar::{Scalar, real};

/// Sweeps after which no progress is to be expected; ten are many.
const MAX_SWEEPS: usize = 100;

/// A matrix as `U S V*`, singular values in descending order.
#[derive(Debug)]
pub(super) struct Decomposition<S: Scalar> {
    pub(super) values: Vec<S::Real>,
    pub(super) u: Matrix<S>,
    pub(super) v: Matrix<S>,
}

/// Decomposes a finite matrix; `full` asks for square `U` and `V`.
pub(super) fn decompose<S: Scalar>(a: Matrix<S>, full: bool) -> Decomposition<S> {
    let scale = a.values.iter().fold(<S::Real as Zero>::zero(), |m, v| Float::max(m, v.modulus()));
    let scale = if scale.is_zero() { <S::Real as One>::one() } else { scale };
    let mut a = a;
    for value in &mut a.values {
        *value = S::from_parts(value.re() / scale, value.im() / scale);
    }
    let (rows, columns) = (a.rows, a.columns);
    let (work, u, v) = if rows > columns {
        let (qr, order) = Qr::pivoted(a);
        let u = qr.q(if full { rows } else { columns });
        let work = Matrix::from_slice((columns, columns), &qr.r.values[..columns * columns]);
        (work, u, permutation(&order))
    } else if rows < columns {
        let (qr, order) = Qr::pivoted(a.adjoint());
        let v = qr.q(if full { columns } else { rows });
        let work = Matrix::from_slice((rows, rows), &qr.r.values[..rows * rows]);
        (work.adjoint(), permutation(&order), v)
    } else {
        (a, Matrix::identity(rows, rows), Matrix::identity(rows, rows))
    };
    let mut state = State { work, u, v, largest: <S::Real as Zero>::zero() };
    state.diagonalize();
    let mut values = state.singular_values();
    sort(&mut values, &mut state.u, &mut state.v);
    values.iter_mut().for_each(|value| *value *= scale);
    Decomposition { values, u: state.u, v: state.v }
}

/// The matrix that puts column `order[i]` at `i`.
fn permutation<S: Scalar>(order: &[usize]) -> Matrix<S> {
    let mut matrix = Matrix::zeros(order.len(), order.len());
    for (i, &column) in order.iter().enumerate() {
        matrix[(column, i)] = S::one();
    }
    matrix
}

struct State<S: Scalar> {
    work: Matrix<S>,
    u: Matrix<S>,
    v: Matrix<S>,
    /// The largest element on the diagonal so far.
    largest: S::Real,
}

impl<S: Scalar> State<S> {
    fn diagonalize(&mut self) {
        let n = self.work.rows;
        for i in 0..n {
            self.largest = Float::max(self.largest, self.work[(i, i)].modulus());
        }
        for _ in 0..MAX_SWEEPS {
            let mut finished = true;
            for p in 1..n {
                for q in 0..p {
                    if self.is_significant(p, q, real::<S::Real>(2.0) * S::Real::epsilon()) {
                        finished = false;
                        if self.make_real(p, q) {
                            self.rotate(p, q);
                        }
                    }
                }
            }
            if finished {
                break;
            }
        }
    }

    /// Whether there is something beside the diagonal.
    fn is_significant(&self, p: usize, q: usize, precision: S::Real) -> bool {
        let threshold = Float::max(S::Real::min_positive_value(), precision * self.largest);
        self.work[(p, q)].modulus() > threshold || self.work[(q, p)].modulus() > threshold
    }

    fn note_diagonal(&mut self, p: usize, q: usize) {
        let here = Float::max(self.work[(p, p)].modulus(), self.work[(q, q)].modulus());
        self.largest = Float::max(self.largest, here);
    }

    fn rotate(&mut self, p: usize, q: usize) {
        let block = [p, q].map(|i| [p, q].map(|j| self.work[(i, j)].re()));
        let [left, right] = Rotation::diagonalize(block);
        left.cast().rows(&mut self.work, p, q);
        left.cast().columns(&mut self.u, p, q);
        right.inverse().cast().columns(&mut self.work, p, q);
        right.inverse().cast().columns(&mut self.v, p, q);
        self.note_diagonal(p, q);
    }

    /// Makes the block of rows and columns `p` and `q` real, and tells whether there is still
    /// something beside its diagonal.
    fn make_real(&mut self, p: usize, q: usize) -> bool {
        if S::from_parts(<S::Real as Zero>::zero(), <S::Real as One>::one()).is_zero() {
            return true;
        }
        let n = Float::sqrt(self.work[(p, p)].norm_sqr() + self.work[(q, p)].norm_sqr());
        if n.is_zero() {
            (self.work[(p, p)], self.work[(q, p)]) = (S::zero(), S::zero());
            self.turn_row(p, self.work[(p, q)]);
        } else {
            let n = S::from_real(n);
            let rotation =
                Rotation { c: self.work[(p, p)].conjugate() / n, s: self.work[(q, p)] / n };
            rotation.rows(&mut self.work, p, q);
            // `U` gets the adjoint from the right: its columns are mixed by the conjugate.
            let conjugate = Rotation { c: rotation.c.conjugate(), s: rotation.s.conjugate() };
            conjugate.columns(&mut self.u, p, q);
            if let Some(phase) = phase_to_remove(self.work[(p, q)]) {
                scale_column(&mut self.work, q, phase);
                scale_column(&mut self.v, q, phase);
            }
        }
        self.turn_row(q, self.work[(q, q)]);
        self.note_diagonal(p, q);
        self.is_significant(p, q, S::Real::epsilon())
    }

    /// Multiplies a row by what makes one of its elements real.
    fn turn_row(&mut self, row: usize, element: S) {
        if let Some(phase) = phase_to_remove(element) {
            self.work.row_mut(row).iter_mut().for_each(|value| *value *= phase);
            scale_column(&mut self.u, row, phase.conjugate());
        }
    }

    /// Reads the diagonal; signs and phases go to `U`.
    fn singular_values(&mut self) -> Vec<S::Real> {
        (0..self.work.rows)
            .map(|i| {
                let value = self.work[(i, i)];
                let size = value.modulus();
                if Float::abs(value.im()) > S::Real::min_positive_value() {
                    scale_column(&mut self.u, i, value / S::from_real(size));
                } else if value.re() < <S::Real as Zero>::zero() {
                    scale_column(&mut self.u, i, -S::one());
                }
                size
            })
            .collect()
    }
}

fn phase_to_remove<S: Scalar>(element: S) -> Option<S> {
    (Float::abs(element.im()) > S::Real::min_positive_value())
        .then(|| S::from_real(element.modulus()) / element)
}

fn scale_column<S: Scalar>(matrix: &mut Matrix<S>, column: usize, factor: S) {
    for row in 0..matrix.rows {
        matrix[(row, column)] *= factor;
    }
}

fn sort<S: Scalar>(values: &mut [S::Real], u: &mut Matrix<S>, v: &mut Matrix<S>) {
    for i in 0..values.len() {
        let largest = (i + 1..values.len())
            .fold(i, |best, j| if values[j] > values[best] { j } else { best });
        if largest != i {
            values.swap(i, largest);
            u.swap_columns(i, largest);
            v.swap_columns(i, largest);
        }
    }
}
