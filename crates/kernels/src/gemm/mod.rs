//! Matrix products: `C = alpha * op(A) * op(B) + beta * C`.
//!
//! `op` (transpose, conjugate) is a property of the [`Mat`] view. One thread's share goes to
//! [`Element::gemm_serial`]; this module cuts `C` into such shares. On x86-64 with AVX2 the real and
//! complex floats run on hand-scheduled assembly kernels; integers, and floats on other machines, on
//! the blocked loops of `portable`; half-precision types are widened to `f32` block by block.

mod element;
mod gemv;
mod half;
mod portable;
#[cfg(test)]
mod tests;
mod view;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use element::Element;
pub use gemv::dot;
pub use view::{Mat, MatMut};

use crate::Parallel;
use crate::transpose::transpose;

/// Multiply-adds below which another thread is not worth waking: around ten microseconds of work.
const MIN_WORK: usize = 1 << 19;

/// The least inner dimension and number of columns for which a transposed `A` is copied row by row
/// first: kernels walk along its rows, and steps as long as a row of the original keep falling on the
/// same lines of the cache.
const TURNED_DEPTH: usize = 256;
const TURNED_COLS: usize = 128;

/// Computes `c = alpha * a * b + beta * c`. With `beta` zero the old `c` is not read.
///
/// # Panics
/// If the shapes do not agree.
pub fn gemm<T: Element>(
    par: Parallel,
    alpha: T,
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    beta: T,
    c: MatMut<'_, T>,
) {
    assert_eq!((a.rows(), b.cols()), (c.rows(), c.cols()), "shapes of A, B and C");
    assert_eq!(a.cols(), b.rows(), "inner dimensions of A and B");
    let (m, n, k) = (a.rows(), b.cols(), a.cols());
    if k >= TURNED_DEPTH
        && n >= TURNED_COLS
        && let Some(columns) = a.columns()
    {
        let mut rows = columns.to_vec();
        transpose(par, columns, &[k, m], &[1, 0], &mut rows);
        let turned = Mat::new(&rows, m, k);
        let turned = if a.is_conjugate() { turned.conj() } else { turned };
        return gemm(par, alpha, turned, b, beta, c);
    }
    let shares = (m.saturating_mul(n).saturating_mul(k) / MIN_WORK).min(par.threads());
    if shares < 2 {
        return serial(alpha, a, b, beta, c);
    }
    let (row_block, col_block) = share_shape(m, n, shares);
    let mut blocks = Vec::new();
    let mut rest = c;
    for top in (0..m).step_by(row_block) {
        let bottom = m.min(top + row_block);
        let (mut band, below) = rest.split_rows(bottom - top);
        rest = below;
        for left in (0..n).step_by(col_block) {
            let right = n.min(left + col_block);
            let (block, after) = band.split_cols(right - left);
            band = after;
            blocks.push((a.row_range(top, bottom), b.col_range(left, right), block));
        }
    }
    par.for_each_item(blocks, |(a, b, c)| serial(alpha, a, b, beta, c));
}

/// `C = A * B` for row-major operands.
pub fn matmul<T: Element>(par: Parallel, a: Mat<'_, T>, b: Mat<'_, T>, c: &mut [T]) {
    let c = MatMut::new(c, a.rows(), b.cols());
    gemm(par, T::ONE, a, b, T::ZERO, c);
}

/// Computes `c[i] = a[i] * b[i]` for each of a batch of products of one shape.
///
/// `operands` returns the pair that belongs to an index, so that broadcast batches share data.
///
/// # Panics
/// If the shapes do not agree or `c` is not a whole number of products.
pub fn batch_matmul<'a, T: Element>(
    par: Parallel,
    operands: impl Fn(usize) -> (Mat<'a, T>, Mat<'a, T>) + Sync,
    batch: usize,
    c: &mut [T],
) {
    if batch == 0 || c.is_empty() {
        return;
    }
    let (a, b) = operands(0);
    let work = a.rows().saturating_mul(b.cols()).saturating_mul(a.cols().max(1));
    let products = crate::parallel::rows_mut(c, batch);
    let width = products.width;
    // Few large products are cut inside, many small ones by index.
    if batch < par.threads() && work >= 2 * MIN_WORK {
        for (index, c) in products.data.chunks_exact_mut(width).enumerate() {
            let (a, b) = operands(index);
            matmul(par, a, b, c);
        }
        return;
    }
    par.for_each(products, MIN_WORK.div_ceil(work.max(1)), |indices, products| {
        for (index, c) in indices.zip(products.data.chunks_exact_mut(width)) {
            let (a, b) = operands(index);
            matmul(Parallel::SERIAL, a, b, c);
        }
    });
}

/// One thread's share, after the cases without a product.
fn serial<T: Element>(alpha: T, a: Mat<'_, T>, b: Mat<'_, T>, beta: T, mut c: MatMut<'_, T>) {
    if c.rows() == 0 || c.cols() == 0 {
        return;
    }
    if a.cols() == 0 {
        return scale(beta, &mut c);
    }
    if c.rows() == 1 || c.cols() == 1 {
        return gemv::gemv(alpha, a, b, beta, c);
    }
    T::gemm_serial(alpha, a, b, beta, c);
}

fn scale<T: Element>(beta: T, c: &mut MatMut<'_, T>) {
    if beta == T::ONE {
        return;
    }
    for i in 0..c.rows() {
        let row = c.row(i);
        if beta == T::ZERO {
            row.fill(T::ZERO);
        } else {
            row.iter_mut().for_each(|value| *value = T::ZERO.mul_acc(beta, *value));
        }
    }
}

/// The block of `C` that each of `shares` threads computes: as square as whole kernel tiles allow,
/// because a block reads its rows of `A` and its columns of `B`.
fn share_shape(m: usize, n: usize, shares: usize) -> (usize, usize) {
    const ROW_TILE: usize = 8;
    const COL_TILE: usize = 96;
    let block = |len: usize, parts: usize, tile: usize| len.div_ceil(parts).next_multiple_of(tile);
    (1..=shares)
        .filter(|cols| shares.is_multiple_of(*cols))
        .map(|cols| (block(m, shares / cols, ROW_TILE), block(n, cols, COL_TILE)))
        .min_by_key(|&(rows, cols)| {
            let blocks = m.div_ceil(rows) * n.div_ceil(cols);
            // The longest share first, then the least data read.
            (blocks.div_ceil(shares) * rows.min(m) * cols.min(n), rows.min(m) + cols.min(n))
        })
        .unwrap_or((m, n))
}
