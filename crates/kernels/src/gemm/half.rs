//! Products of half-precision matrices: widened to `f32`, summed there, rounded once at the end.

use super::{Element, Mat, MatMut};
use crate::real::Real;

/// Rows of `A` widened at a time.
const ROW_BLOCK: usize = 128;

pub(super) fn gemm<T: Element + Real<Wide = f32>>(
    alpha: T,
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    beta: T,
    mut c: MatMut<'_, T>,
) {
    let (m, n, k) = (a.rows(), b.cols(), a.cols());
    let wide_b = widen(b);
    let beta = beta.widen();
    let mut product = vec![0.0; m.min(ROW_BLOCK) * n];
    let mut old = vec![0.0; n];
    for top in (0..m).step_by(ROW_BLOCK) {
        let rows = ROW_BLOCK.min(m - top);
        let wide_a = widen(a.row_range(top, top + rows));
        f32::gemm_serial(
            alpha.widen(),
            Mat::new(&wide_a, rows, k),
            Mat::new(&wide_b, k, n),
            0.0,
            MatMut::new(&mut product, rows, n),
        );
        for (i, sums) in product.chunks_exact_mut(n).take(rows).enumerate() {
            let row = c.row(top + i);
            if beta != 0.0 {
                T::widen_slice(row, &mut old);
                sums.iter_mut().zip(&old).for_each(|(sum, old)| *sum += beta * old);
            }
            T::narrow_slice(sums, row);
        }
    }
}

/// A row-major `f32` copy.
fn widen<T: Real<Wide = f32>>(matrix: Mat<'_, T>) -> Vec<f32> {
    let mut wide = vec![0.0; matrix.rows() * matrix.cols()];
    for (i, wide) in wide.chunks_exact_mut(matrix.cols()).enumerate() {
        match matrix.row(i) {
            Some(row) => T::widen_slice(row, wide),
            None => {
                wide.iter_mut().enumerate().for_each(|(j, wide)| *wide = matrix.at(i, j).widen());
            }
        }
    }
    wide
}
