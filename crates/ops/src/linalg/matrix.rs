//! A matrix in row-major order, with the few operations that decompositions share.

use std::ops::{Index, IndexMut, Range};

use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::{Mat, MatMut};

use super::scalar::Scalar;

#[derive(Clone, Debug)]
pub(super) struct Matrix<S> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<S>,
}

impl<S: Scalar> Matrix<S> {
    pub(super) fn from_slice((rows, columns): (usize, usize), values: &[S]) -> Matrix<S> {
        debug_assert_eq!(values.len(), rows * columns);
        Matrix { rows, columns, values: values.to_vec() }
    }

    pub(super) fn zeros(rows: usize, columns: usize) -> Matrix<S> {
        Matrix { rows, columns, values: vec![S::zero(); rows * columns] }
    }

    /// Ones on the diagonal.
    pub(super) fn identity(rows: usize, columns: usize) -> Matrix<S> {
        let mut identity = Matrix::zeros(rows, columns);
        for i in 0..rows.min(columns) {
            identity[(i, i)] = S::one();
        }
        identity
    }

    pub(super) fn row(&self, row: usize) -> &[S] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [S] {
        &mut self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// Row `source`, and row `target` for writing.
    pub(super) fn row_and_mut(&mut self, source: usize, target: usize) -> (&[S], &mut [S]) {
        let width = self.columns;
        if source < target {
            let (head, tail) = self.values.split_at_mut(target * width);
            (&head[source * width..(source + 1) * width], &mut tail[..width])
        } else {
            let (head, tail) = self.values.split_at_mut(source * width);
            (&tail[..width], &mut head[target * width..(target + 1) * width])
        }
    }

    pub(super) fn swap_rows(&mut self, a: usize, b: usize) {
        if a != b {
            let (low, high) = (a.min(b), a.max(b));
            let (head, tail) = self.values.split_at_mut(high * self.columns);
            let low = &mut head[low * self.columns..(low + 1) * self.columns];
            low.swap_with_slice(&mut tail[..self.columns]);
        }
    }

    pub(super) fn swap_columns(&mut self, a: usize, b: usize) {
        for row in 0..self.rows {
            self.values.swap(row * self.columns + a, row * self.columns + b);
        }
    }

    /// The conjugate transpose.
    pub(super) fn adjoint(&self) -> Matrix<S> {
        let mut adjoint = Matrix::zeros(self.columns, self.rows);
        for i in 0..self.rows {
            for (j, value) in self.row(i).iter().enumerate() {
                adjoint.values[j * self.rows + i] = value.conjugate();
            }
        }
        adjoint
    }

    pub(super) fn product(&self, other: &Matrix<S>) -> Matrix<S> {
        let mut product = Matrix::zeros(self.rows, other.columns);
        let (a, b) =
            (self.view(0..self.rows, 0..self.columns), other.view(0..other.rows, 0..other.columns));
        let c = MatMut::new(&mut product.values, self.rows, other.columns);
        S::add_product(Parallel::SERIAL, S::one(), a, b, c);
        product
    }

    /// A part of the matrix, to be multiplied.
    pub(super) fn view(&self, rows: Range<usize>, columns: Range<usize>) -> Mat<'_, S> {
        let values =
            &self.values[(rows.start * self.columns + columns.start).min(self.values.len())..];
        Mat::with_strides(values, rows.len(), columns.len(), self.columns, 1)
    }

    pub(super) fn is_finite(&self) -> bool {
        use num_traits::Float;
        self.values.iter().all(|value| value.re().is_finite() && value.im().is_finite())
    }
}

impl<S> Index<(usize, usize)> for Matrix<S> {
    type Output = S;

    fn index(&self, (row, column): (usize, usize)) -> &S {
        &self.values[row * self.columns + column]
    }
}

impl<S> IndexMut<(usize, usize)> for Matrix<S> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut S {
        &mut self.values[row * self.columns + column]
    }
}
