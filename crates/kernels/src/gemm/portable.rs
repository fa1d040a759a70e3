//! Blocked products in plain Rust, for integers and for machines without an assembly kernel.
//!
//! Both operands are copied into panels that the inner tile walks linearly, short edges padded with
//! zeros; the tile's sums stay in registers.

use super::{Element, Mat, MatMut};

/// Rows and columns of the register tile.
const TILE_ROWS: usize = 4;
const TILE_COLS: usize = 8;
/// Depth and rows of `A`, and columns of `B`, that are packed at a time.
const DEPTH_BLOCK: usize = 256;
const ROW_BLOCK: usize = 64;
const COL_BLOCK: usize = 512;

pub(super) fn gemm<T: Element>(
    alpha: T,
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    beta: T,
    mut c: MatMut<'_, T>,
) {
    let (m, n, depth) = (a.rows(), b.cols(), a.cols());
    super::scale(beta, &mut c);
    let mut a_panels = Vec::new();
    let mut b_panels = Vec::new();
    for left in (0..n).step_by(COL_BLOCK) {
        let cols = left..n.min(left + COL_BLOCK);
        for front in (0..depth).step_by(DEPTH_BLOCK) {
            let slice = front..depth.min(front + DEPTH_BLOCK);
            let b_block = b.row_range(slice.start, slice.end).col_range(cols.start, cols.end);
            pack::<T, TILE_COLS>(b_block.t(), &mut b_panels);
            for top in (0..m).step_by(ROW_BLOCK) {
                let bottom = m.min(top + ROW_BLOCK);
                let a_block = a.row_range(top, bottom).col_range(slice.start, slice.end);
                pack::<T, TILE_ROWS>(a_block, &mut a_panels);
                let panels = a_panels.chunks_exact(slice.len() * TILE_ROWS).enumerate();
                for (band, a_panel) in panels {
                    let first = top + band * TILE_ROWS;
                    for (panel, b_panel) in
                        b_panels.chunks_exact(slice.len() * TILE_COLS).enumerate()
                    {
                        let tile = tile(a_panel, b_panel);
                        for (i, sums) in (first..bottom).zip(&tile) {
                            let start = cols.start + panel * TILE_COLS;
                            let end = cols.end.min(start + TILE_COLS);
                            for (c, &sum) in c.row(i)[start..end].iter_mut().zip(sums) {
                                *c = c.mul_acc(alpha, sum);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Copies a matrix as panels of `WIDTH` rows, column after column; missing rows are zeros.
fn pack<T: Element, const WIDTH: usize>(matrix: Mat<'_, T>, panels: &mut Vec<T>) {
    panels.clear();
    for first in (0..matrix.rows()).step_by(WIDTH) {
        let rows = WIDTH.min(matrix.rows() - first);
        for j in 0..matrix.cols() {
            let start = panels.len();
            if matrix.is_conjugate() {
                panels.extend((first..first + rows).map(|i| matrix.at(i, j).conjugate()));
            } else {
                panels.extend((first..first + rows).map(|i| matrix.at(i, j)));
            }
            panels.resize(start + WIDTH, T::ZERO);
        }
    }
}

#[inline(always)]
fn tile<T: Element>(a_panel: &[T], b_panel: &[T]) -> [[T; TILE_COLS]; TILE_ROWS] {
    let mut sums = [[T::ZERO; TILE_COLS]; TILE_ROWS];
    let (a_columns, _) = a_panel.as_chunks::<TILE_ROWS>();
    let (b_rows, _) = b_panel.as_chunks::<TILE_COLS>();
    for (a, b) in a_columns.iter().zip(b_rows) {
        for i in 0..TILE_ROWS {
            for j in 0..TILE_COLS {
                sums[i][j] = sums[i][j].mul_acc(a[i], b[j]);
            }
        }
    }
    sums
}
