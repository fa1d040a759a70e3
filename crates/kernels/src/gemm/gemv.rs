//! Products with a vector, which are bound by reading the matrix once.

use super::{Element, Mat, MatMut};
use crate::real::Wide;
use crate::simd::{Isa, dispatch};

/// Rows of a matrix that are multiplied with the vector in one pass.
pub(super) const ROWS_AT_ONCE: usize = 4;

/// `c = alpha * a * b + beta * c` where `c` has one row or one column.
pub(super) fn gemv<T: Element>(
    alpha: T,
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    beta: T,
    mut c: MatMut<'_, T>,
) {
    // Seen as `y = M x`.
    let (matrix, x) = if c.rows() == 1 { (b.t(), a.t()) } else { (a, b) };
    // conj(M) x = conj(M conj(x)), so that only the vectors are ever conjugated.
    let flip = matrix.is_conjugate();
    let x: Vec<T> = (0..x.rows())
        .map(|i| if x.is_conjugate() != flip { x.at(i, 0).conjugate() } else { x.at(i, 0) })
        .collect();
    let mut store = |i: usize, sum: T| {
        let sum = if flip { sum.conjugate() } else { sum };
        let slot = if c.rows() == 1 { &mut c.row(0)[i] } else { &mut c.row(i)[0] };
        let old = if beta == T::ZERO { T::ZERO } else { T::ZERO.mul_acc(beta, *slot) };
        *slot = old.mul_acc(alpha, sum);
    };
    if matrix.col_stride() == 1 {
        let row = |i: usize| matrix.row(i).expect("the stride was checked");
        let mut i = 0;
        // Several rows at once, so that more than one of them is on its way from memory.
        while i + ROWS_AT_ONCE <= matrix.rows() {
            let sums = T::dots(std::array::from_fn(|r| row(i + r)), &x);
            sums.into_iter().enumerate().for_each(|(r, sum)| store(i + r, sum));
            i += ROWS_AT_ONCE;
        }
        (i..matrix.rows()).for_each(|i| store(i, T::dot(row(i), &x)));
    } else if matrix.row_stride() == 1 {
        let mut y = vec![T::ZERO; matrix.rows()];
        T::add_weighted_rows(&x, matrix.t(), &mut y);
        y.into_iter().enumerate().for_each(|(i, sum)| store(i, sum));
    } else {
        for i in 0..matrix.rows() {
            let terms = x.iter().enumerate();
            store(i, terms.fold(T::ZERO, |sum, (j, &x)| sum.mul_acc(matrix.at(i, j), x)));
        }
    }
}

/// Sums that one product is made of, whichever way it is computed.
const LANES: usize = 16;

dispatch! {
    /// The sum of `a[i] * b[i]`.
    pub fn dot[I, T: Wide](a: &[T], b: &[T]) -> T {
        let [sum] = lanes::<I, T, 1>([a], b);
        sum
    }
}

dispatch! {
    /// The products of several rows with a vector.
    pub(super) fn dots[I, T: Wide](rows: [&[T]; ROWS_AT_ONCE], x: &[T]) -> [T; ROWS_AT_ONCE] {
        lanes::<I, T, ROWS_AT_ONCE>(rows, x)
    }
}

#[inline(always)]
fn lanes<I: Isa, T: Wide, const ROWS: usize>(rows: [&[T]; ROWS], x: &[T]) -> [T; ROWS] {
    let (x_chunks, x_tail) = x.as_chunks::<LANES>();
    let rows = rows.map(|row| row[..x.len()].as_chunks::<LANES>());
    let mut sums = [[T::zero(); LANES]; ROWS];
    for (i, x) in x_chunks.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            for lane in 0..LANES {
                sums[lane] = row.0[i][lane].fma::<I>(x[lane], sums[lane]);
            }
        }
    }
    let mut rows = rows.iter();
    sums.map(|mut sums| {
        let tail = rows.next().map_or(&[][..], |row| row.1).iter().zip(x_tail);
        let tail = tail.fold(T::zero(), |sum, (&a, &b)| a.fma::<I>(b, sum));
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                sums[lane] = sums[lane] + sums[lane + width];
            }
        }
        sums[0] + tail
    })
}

dispatch! {
    pub(super) fn add_weighted_rows[I, T: Wide](weights: &[T], matrix: Mat<'_, T>, y: &mut [T]) {
        // Eight rows a pass, so that `y` is loaded and stored once for eight multiplications.
        const ROWS: usize = 8;
        let row = |i: usize| matrix.row(i).expect("rows are adjacent by contract");
        let (blocks, tail) = weights.as_chunks::<ROWS>();
        for (block, w) in blocks.iter().enumerate() {
            let r: [&[T]; ROWS] = std::array::from_fn(|i| &row(block * ROWS + i)[..y.len()]);
            for (j, y) in y.iter_mut().enumerate() {
                let mut even = w[0].fma::<I>(r[0][j], *y);
                let mut odd = w[1] * r[1][j];
                even = w[2].fma::<I>(r[2][j], even);
                odd = w[3].fma::<I>(r[3][j], odd);
                even = w[4].fma::<I>(r[4][j], even);
                odd = w[5].fma::<I>(r[5][j], odd);
                even = w[6].fma::<I>(r[6][j], even);
                odd = w[7].fma::<I>(r[7][j], odd);
                *y = even + odd;
            }
        }
        for (i, &w) in tail.iter().enumerate() {
            for (y, &b) in y.iter_mut().zip(row(blocks.len() * ROWS + i)) {
                *y = w.fma::<I>(b, *y);
            }
        }
    }
}
