//! A square matrix as the product of two triangular ones, with rows exchanged for large pivots.

use num_traits::{Float, Zero};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::{Mat, MatMut};

use super::matrix::Matrix;
use super::scalar::Scalar;
use super::triangular::{BLOCK, Triangle, solve_in_place};

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
    /// Columns are taken in blocks: those of a block are eliminated one by one, and the rest of the
    /// matrix learns of them in one product.
    pub(super) fn new(par: Parallel, mut a: Matrix<S>) -> Factors<S> {
        let n = a.rows;
        let mut rows: Vec<usize> = (0..n).collect();
        let mut is_odd = false;
        for start in (0..n).step_by(BLOCK) {
            let end = n.min(start + BLOCK);
            for k in start..end {
                if let Some(best) = largest_below(&a, k).filter(|&best| best != k) {
                    a.swap_rows(k, best);
                    rows.swap(k, best);
                    is_odd = !is_odd;
                }
                eliminate_column(&mut a, k, end);
            }
            update_rest(par, &mut a, start, end);
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
    pub(super) fn solve(&self, par: Parallel, b: &Matrix<S>) -> Matrix<S> {
        let mut x = Matrix::zeros(b.rows, b.columns);
        for (i, &row) in self.rows.iter().enumerate() {
            x.row_mut(i).copy_from_slice(b.row(row));
        }
        solve_in_place(par, &self.packed, Triangle::UnitLower, &mut x);
        solve_in_place(par, &self.packed, Triangle::Upper, &mut x);
        x
    }
}

/// The row with the largest element of a column on or below the diagonal; nothing if all are zero.
fn largest_below<S: Scalar>(a: &Matrix<S>, k: usize) -> Option<usize> {
    let mut best = (k, a[(k, k)].modulus());
    for i in k + 1..a.rows {
        let size = a[(i, k)].modulus();
        if size > best.1 {
            best = (i, size);
        }
    }
    (!best.1.is_zero()).then_some(best.0)
}

/// Makes the column below the pivot zero, as far as the columns before `end` are concerned, and keeps
/// the factors there.
fn eliminate_column<S: Scalar>(a: &mut Matrix<S>, k: usize, end: usize) {
    let pivot = a[(k, k)];
    if pivot.modulus().is_zero() {
        return;
    }
    let width = a.columns;
    let (head, tail) = a.values.split_at_mut((k + 1) * width);
    let source = &head[k * width + k + 1..k * width + end];
    for row in tail.chunks_exact_mut(width) {
        let factor = row[k] / pivot;
        row[k] = factor;
        for (target, &source) in row[k + 1..end].iter_mut().zip(source) {
            *target -= factor * source;
        }
    }
}

/// What the columns from `end` on miss of the elimination of those from `start`.
fn update_rest<S: Scalar>(par: Parallel, a: &mut Matrix<S>, start: usize, end: usize) {
    let (n, width) = (a.rows, a.columns);
    if end == n {
        return;
    }
    for i in start + 1..end {
        for k in start..i {
            let factor = -a[(i, k)];
            let (source, target) = a.row_and_mut(k, i);
            S::add_scaled(&mut target[end..], factor, &source[end..]);
        }
    }
    // The factors lie in the rows that change, so they are copied.
    let factors: Vec<S> = (end..n).flat_map(|i| &a.row(i)[start..end]).copied().collect();
    let (head, tail) = a.values.split_at_mut(end * width);
    let left = Mat::new(&factors, n - end, end - start);
    let right = Mat::with_strides(&head[start * width + end..], end - start, n - end, width, 1);
    let rest = MatMut::with_stride(&mut tail[end..], n - end, n - end, width);
    S::add_product(par, -S::one(), left, right, rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_make_the_same_factors() {
        for n in [1, 5, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let mut state = 1u64;
            let mut a = Matrix::<f64>::zeros(n, n);
            for value in &mut a.values {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *value = (state >> 40) as f64 / 1e7 - 0.8;
            }
            let factors = Factors::new(Parallel::new(2), a.clone());
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..=i.min(j))
                        .map(|k| {
                            let left = if k == i { 1.0 } else { factors.packed[(i, k)] };
                            left * factors.packed[(k, j)]
                        })
                        .sum();
                    assert!((product - a[(factors.rows[i], j)]).abs() < 1e-11, "{n}: ({i}, {j})");
                }
            }
            let b = a.product(&Matrix::identity(n, 3.min(n)));
            let x = factors.solve(Parallel::SERIAL, &b);
            for (i, row) in x.values.chunks(x.columns).enumerate() {
                for (j, value) in row.iter().enumerate() {
                    assert!((value - f64::from(u8::from(i == j))).abs() < 1e-8, "{n}: {value}");
                }
            }
        }
    }
}
