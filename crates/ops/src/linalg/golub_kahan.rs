//! Singular values by Golub and Kahan's method: reflections from both sides leave two diagonals,
//! and shifted QR steps leave one. For large matrices much faster than Jacobi's method.

use num_traits::{Float, One, Zero};

use super::householder::{Reflector, eliminate};
use super::jacobi::Decomposition;
use super::matrix::Matrix;
use super::rotation::Rotation;
use super::scalar::{Scalar, real};

/// QR steps allowed for each singular value.
const MAX_STEPS: usize = 60;

/// Decomposes a finite matrix; `full` asks for square `U` and `V`. Nothing if the steps do not come
/// to an end.
pub(super) fn decompose<S: Scalar>(a: &Matrix<S>, full: bool) -> Option<Decomposition<S>> {
    if a.rows < a.columns {
        let Decomposition { values, u, v } = decompose(&a.adjoint(), full)?;
        return Some(Decomposition { values, u: v, v: u });
    }
    let scale = a.values.iter().fold(S::Real::zero(), |most, v| Float::max(most, v.modulus()));
    let scale = if scale.is_zero() { S::Real::one() } else { scale };
    let mut scaled = a.clone();
    for value in &mut scaled.values {
        *value = S::from_parts(value.re() / scale, value.im() / scale);
    }
    let mut state = State::new(scaled, full);
    state.iterate()?;
    state.sort();
    let values = state.diagonal.iter().map(|&value| value * scale).collect();
    Some(Decomposition { values, u: transposed(&state.u), v: transposed(&state.v) })
}

fn transposed<S: Scalar>(matrix: &Matrix<S>) -> Matrix<S> {
    let mut transposed = Matrix::zeros(matrix.columns, matrix.rows);
    for i in 0..matrix.rows {
        for (j, &value) in matrix.row(i).iter().enumerate() {
            transposed.values[j * matrix.rows + i] = value;
        }
    }
    transposed
}

/// A matrix with a diagonal and one above it, real both. Singular vectors are rows, because rows
/// lie together.
struct State<S: Scalar> {
    diagonal: Vec<S::Real>,
    above: Vec<S::Real>,
    u: Matrix<S>,
    v: Matrix<S>,
}

impl<S: Scalar> State<S> {
    fn new(mut a: Matrix<S>, full: bool) -> State<S> {
        let (rows, columns) = (a.rows, a.columns);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for k in 0..columns {
            let reflector = eliminate(&mut a, k, k);
            reflector.apply_left(&mut a, k, k + 1);
            left.push(reflector);
            if k + 1 < columns {
                let row: Vec<S> = a.row(k)[k + 1..].iter().map(|value| value.conjugate()).collect();
                let reflector = Reflector::new(row[0], row[1..].to_vec());
                reflector.adjoint().apply_right(&mut a, k + 1, k + 1);
                let rest = &mut a.row_mut(k)[k + 1..];
                rest.fill(S::zero());
                rest[0] = S::from_real(reflector.beta);
                right.push(reflector);
            }
        }
        let mut u = Matrix::identity(rows, if full { rows } else { columns });
        for (k, reflector) in left.iter().enumerate().rev() {
            reflector.adjoint().apply_left(&mut u, k, k);
        }
        let mut v = Matrix::identity(columns, columns);
        for (k, reflector) in right.iter().enumerate().rev() {
            reflector.adjoint().apply_left(&mut v, k + 1, k + 1);
        }
        State {
            diagonal: (0..columns).map(|i| a[(i, i)].re()).collect(),
            above: (1..columns).map(|i| a[(i - 1, i)].re()).collect(),
            u: transposed(&u),
            v: transposed(&v),
        }
    }

    fn iterate(&mut self) -> Option<()> {
        let n = self.diagonal.len();
        let sizes = self.diagonal.iter().chain(&self.above);
        let most = sizes.fold(S::Real::zero(), |most, &value| Float::max(most, Float::abs(value)));
        let tiny = most * S::Real::epsilon();
        let mut last = n.saturating_sub(1);
        let mut steps = 0;
        while last > 0 {
            let first = self.block(last, tiny);
            if first == last {
                last -= 1;
                continue;
            }
            steps += 1;
            if steps > MAX_STEPS * n {
                return None;
            }
            // A zero on the diagonal cuts the matrix in two.
            let zero = (first..=last).rev().find(|&i| Float::abs(self.diagonal[i]) <= tiny);
            match zero {
                Some(i) if i == last => self.clear_column(first, last),
                Some(i) => self.clear_row(i, last),
                None => self.step(first, last),
            }
        }
        Some(())
    }

    /// The first row of the block that ends at `last`; negligible couplings become zero.
    fn block(&mut self, last: usize, tiny: S::Real) -> usize {
        let mut first = last;
        while first > 0 {
            let near = Float::abs(self.diagonal[first - 1]) + Float::abs(self.diagonal[first]);
            let limit = Float::max(near * S::Real::epsilon(), tiny * S::Real::epsilon());
            if Float::abs(self.above[first - 1]) <= limit {
                self.above[first - 1] = S::Real::zero();
                break;
            }
            first -= 1;
        }
        first
    }

    /// The rotation that turns `(y, z)` into `(r, 0)`, and `r`.
    fn rotation(y: S::Real, z: S::Real) -> (Rotation<S::Real>, S::Real) {
        let r = Float::hypot(y, z);
        if r.is_zero() {
            return (Rotation { c: S::Real::one(), s: S::Real::zero() }, r);
        }
        (Rotation { c: y / r, s: z / r }, r)
    }

    /// Moves what is right of a zero on the diagonal out of its row.
    fn clear_row(&mut self, row: usize, last: usize) {
        self.diagonal[row] = S::Real::zero();
        let mut bulge = std::mem::replace(&mut self.above[row], S::Real::zero());
        for j in row + 1..=last {
            let (rotation, r) = Self::rotation(self.diagonal[j], bulge);
            self.diagonal[j] = r;
            if j < last {
                bulge = -rotation.s * self.above[j];
                self.above[j] *= rotation.c;
            }
            rotation.cast().rows(&mut self.u, j, row);
        }
    }

    /// Moves what is above a zero at the end of the diagonal out of its column.
    fn clear_column(&mut self, first: usize, last: usize) {
        self.diagonal[last] = S::Real::zero();
        let mut bulge = std::mem::replace(&mut self.above[last - 1], S::Real::zero());
        for j in (first..last).rev() {
            let (rotation, r) = Self::rotation(self.diagonal[j], bulge);
            self.diagonal[j] = r;
            if j > first {
                bulge = -rotation.s * self.above[j - 1];
                self.above[j - 1] *= rotation.c;
            }
            rotation.cast().rows(&mut self.v, j, last);
        }
    }

    /// The eigenvalue of the last two rows of `B* B` that is next to the last element.
    fn shift(&self, first: usize, last: usize) -> S::Real {
        let (d, e) = (self.diagonal[last - 1], self.diagonal[last]);
        let inner = if last >= first + 2 { self.above[last - 2] } else { S::Real::zero() };
        let outer = self.above[last - 1];
        let (t11, t12, t22) = (d * d + inner * inner, d * outer, e * e + outer * outer);
        let half = (t11 - t22) * real(0.5);
        let root = Float::hypot(half, t12);
        let divisor = half + if half >= S::Real::zero() { root } else { -root };
        if divisor.is_zero() { t22 } else { t22 - t12 * t12 / divisor }
    }

    /// One QR step, implicit: rotations from both sides chase a bulge down.
    fn step(&mut self, first: usize, last: usize) {
        let shift = self.shift(first, last);
        let (d, e) = (&mut self.diagonal, &mut self.above);
        let mut y = d[first] * d[first] - shift;
        let mut z = d[first] * e[first];
        for k in first..last {
            let (right, r) = Self::rotation(y, z);
            if k > first {
                e[k - 1] = r;
            }
            y = right.c * d[k] + right.s * e[k];
            e[k] = right.c * e[k] - right.s * d[k];
            z = right.s * d[k + 1];
            d[k + 1] *= right.c;
            right.cast().rows(&mut self.v, k, k + 1);
            let (left, r) = Self::rotation(y, z);
            d[k] = r;
            (e[k], d[k + 1]) =
                (left.c * e[k] + left.s * d[k + 1], left.c * d[k + 1] - left.s * e[k]);
            y = e[k];
            if k + 1 < last {
                z = left.s * e[k + 1];
                e[k + 1] *= left.c;
            }
            left.cast().rows(&mut self.u, k, k + 1);
        }
    }

    /// Makes all values positive and puts the largest first.
    fn sort(&mut self) {
        let n = self.diagonal.len();
        for i in 0..n {
            if self.diagonal[i] < S::Real::zero() {
                self.diagonal[i] = -self.diagonal[i];
                self.v.row_mut(i).iter_mut().for_each(|value| *value = -*value);
            }
        }
        for i in 0..n {
            let largest = (i + 1..n)
                .fold(i, |best, j| if self.diagonal[j] > self.diagonal[best] { j } else { best });
            self.diagonal.swap(i, largest);
            self.u.swap_rows(i, largest);
            self.v.swap_rows(i, largest);
        }
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;

    fn check(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> Complex<f64>) {
        let mut a = Matrix::zeros(rows, columns);
        for i in 0..rows {
            for j in 0..columns {
                a[(i, j)] = entry(i, j);
            }
        }
        let parts = decompose(&a, false).unwrap();
        assert!(parts.values.is_sorted_by(|a, b| a >= b));
        let mut scaled = parts.u.clone();
        for row in 0..rows {
            for (value, &factor) in scaled.row_mut(row).iter_mut().zip(&parts.values) {
                *value *= factor;
            }
        }
        let product = scaled.product(&parts.v.adjoint());
        for (have, want) in product.values.iter().zip(&a.values) {
            assert!((have - want).norm() < 1e-12, "{rows}x{columns}: {have} is not {want}");
        }
        for unitary in [&parts.u, &parts.v] {
            let square = unitary.adjoint().product(unitary);
            for i in 0..square.rows {
                for j in 0..square.columns {
                    let want = if i == j { 1.0 } else { 0.0 };
                    assert!((square[(i, j)] - want).norm() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn the_factors_multiply_back() {
        let wave = |i: usize, j: usize| {
            let at = (i * 7 + j * 3) as f64;
            Complex::new(at.sin(), (at * 1.3 + i as f64).cos())
        };
        for (rows, columns) in [(1, 1), (5, 5), (20, 17), (17, 20), (30, 1)] {
            check(rows, columns, wave);
        }
    }

    #[test]
    fn zeros_on_the_diagonal_are_no_obstacle() {
        check(6, 6, |_, _| Complex::new(0.0, 0.0));
        check(8, 6, |_, _| Complex::new(1.0, 0.0));
        check(9, 9, |i, j| Complex::new(f64::from(j == i + 1), 0.0));
        check(9, 9, |i, j| {
            Complex::new(f64::from(j == i + 1 || (j == i && !i.is_multiple_of(3))), 0.0)
        });
    }
}
