//! The Schur form of a complex matrix, `U T U*` with `T` triangular: reflections leave one diagonal
//! below the main one, then shifted QR steps remove it.
//!
//! Steps and rotations are those of Eigen, because they decide the phases of eigenvectors.

use num_traits::{Float, One, Zero};

use super::householder::eliminate;
use super::matrix::Matrix;
use super::rotation::Rotation;
use super::scalar::{Scalar, norm_sqr, real};

/// QR steps allowed for each row.
const MAX_STEPS: usize = 30;

/// A matrix as `u * t * u*`.
#[derive(Debug)]
pub(super) struct Schur<S> {
    pub(super) t: Matrix<S>,
    pub(super) u: Matrix<S>,
}

/// Reduces a matrix to zeros below the first diagonal under the main one.
pub(super) fn hessenberg<S: Scalar>(mut t: Matrix<S>) -> Schur<S> {
    let n = t.rows;
    let mut reflectors = Vec::new();
    for i in 0..n.saturating_sub(1) {
        let reflector = eliminate(&mut t, i + 1, i);
        reflector.apply_left(&mut t, i + 1, i + 1);
        reflector.adjoint().apply_right(&mut t, 0, i + 1);
        reflectors.push(reflector);
    }
    let mut u = Matrix::identity(n, n);
    for (i, reflector) in reflectors.iter().enumerate().rev() {
        reflector.adjoint().apply_left(&mut u, i + 1, i + 1);
    }
    Schur { t, u }
}

/// The sum of the sizes of the parts, which is cheaper than the absolute value.
fn size<S: Scalar>(value: S) -> S::Real {
    Float::abs(value.re()) + Float::abs(value.im())
}

fn divided<S: Scalar>(value: S, divisor: S::Real) -> S {
    S::from_parts(value.re() / divisor, value.im() / divisor)
}

/// `S` is a complex type.
impl<S: Scalar> Schur<S> {
    /// The Schur form, or nothing if the steps do not come to an end.
    pub(super) fn new(matrix: Matrix<S>) -> Option<Self> {
        if !matrix.is_finite() {
            return None;
        }
        let n = matrix.rows;
        let mut schur = hessenberg(matrix);
        let mut bottom = n.saturating_sub(1);
        let (mut steps, mut total) = (0, 0);
        loop {
            while bottom > 0 && schur.is_negligible(bottom - 1) {
                steps = 0;
                bottom -= 1;
            }
            if bottom == 0 {
                return Some(schur);
            }
            steps += 1;
            total += 1;
            if total > MAX_STEPS * n {
                return None;
            }
            let mut top = bottom - 1;
            while top > 0 && !schur.is_negligible(top - 1) {
                top -= 1;
            }
            let shift = schur.shift(bottom, steps);
            schur.step(top, bottom, shift);
        }
    }

    /// Whether the element below the diagonal in a column is zero in effect; then it becomes so.
    fn is_negligible(&mut self, i: usize) -> bool {
        let diagonal = size(self.t[(i, i)]) + size(self.t[(i + 1, i + 1)]);
        let negligible = size(self.t[(i + 1, i)]) <= diagonal * S::Real::epsilon();
        if negligible {
            self.t[(i + 1, i)] = S::zero();
        }
        negligible
    }

    /// The eigenvalue of the last two rows that is next to the last element.
    fn shift(&self, bottom: usize, steps: usize) -> S {
        let t = &self.t;
        if (steps == 10 || steps == 20) && bottom > 1 {
            let parts = [t[(bottom, bottom - 1)], t[(bottom - 1, bottom - 2)]];
            return S::from_real(Float::abs(parts[0].re()) + Float::abs(parts[1].re()));
        }
        let block = [bottom - 1, bottom].map(|i| [bottom - 1, bottom].map(|j| t[(i, j)]));
        let norm = block.iter().flatten().fold(S::Real::zero(), |sum, v| sum + v.modulus());
        let [[a, b], [c, d]] = block.map(|row| row.map(|value| divided(value, norm)));
        let half = real::<S::Real>(0.5);
        let product = b * c;
        let difference = a - d;
        let root = (difference * difference + product.scale(real(4.0))).root();
        let determinant = a * d - product;
        let trace = a + d;
        let (mut first, mut second) = ((trace + root).scale(half), (trace - root).scale(half));
        // The smaller one from the larger, so that nothing cancels.
        if size(first) > size(second) {
            second = determinant / first;
        } else if !size(second).is_zero() {
            first = determinant / second;
        }
        let is_first = size(first - d) < size(second - d);
        (if is_first { first } else { second }).scale(norm)
    }

    /// A QR step on the rows from `top` to `bottom`.
    fn step(&mut self, top: usize, bottom: usize, shift: S) {
        let (rotation, _) = complex_givens(self.t[(top, top)] - shift, self.t[(top + 1, top)]);
        self.rotate(rotation, top, bottom);
        for i in top + 1..bottom {
            let (rotation, length) = complex_givens(self.t[(i, i - 1)], self.t[(i + 1, i - 1)]);
            self.t[(i, i - 1)] = length;
            self.t[(i + 1, i - 1)] = S::zero();
            self.rotate(rotation, i, bottom);
        }
    }

    /// Rotates rows and columns `i` and the next.
    fn rotate(&mut self, rotation: Rotation<S>, i: usize, bottom: usize) {
        let adjoint = Rotation { c: rotation.c.conjugate(), s: -rotation.s };
        let transposed = Rotation { c: rotation.c, s: -rotation.s.conjugate() };
        for column in i..self.t.columns {
            let (x, y) = adjoint.pair(self.t[(i, column)], self.t[(i + 1, column)]);
            (self.t[(i, column)], self.t[(i + 1, column)]) = (x, y);
        }
        for row in 0..=(i + 2).min(bottom) {
            let (x, y) = transposed.pair(self.t[(row, i)], self.t[(row, i + 1)]);
            (self.t[(row, i)], self.t[(row, i + 1)]) = (x, y);
        }
        transposed.columns(&mut self.u, i, i + 1);
    }
}

/// The rotation whose adjoint turns `(p, q)` into `(r, 0)`, and `r`.
fn complex_givens<S: Scalar>(p: S, q: S) -> (Rotation<S>, S) {
    let one = S::Real::one();
    let sign = if p.re() < S::Real::zero() { -one } else { one };
    if q.is_zero() {
        return (Rotation { c: S::from_real(sign), s: S::zero() }, p.scale(sign));
    }
    if p.is_zero() {
        let length = q.modulus();
        return (Rotation { c: S::zero(), s: -divided(q, length) }, S::from_real(length));
    }
    let (p1, q1) = (size(p), size(q));
    if p1 >= q1 {
        let (ps, qs) = (divided(p, p1), divided(q, p1));
        let p2 = ps.norm_sqr();
        let u = Float::sqrt(one + qs.norm_sqr() / p2) * sign;
        let c = one / u;
        let s = -(qs * ps.conjugate()).scale(c / p2);
        (Rotation { c: S::from_real(c), s }, p.scale(u))
    } else {
        let (ps, qs) = (divided(p, q1), divided(q, q1));
        let u = q1 * Float::sqrt(ps.norm_sqr() + qs.norm_sqr()) * sign;
        let length = p.modulus();
        let ps = divided(p, length);
        let s = -ps.conjugate() * divided(q, u);
        (Rotation { c: S::from_real(length / u), s }, ps.scale(u))
    }
}

/// The eigenvalues of a complex matrix by increasing size, and unit eigenvectors as columns.
pub(super) fn eigen<S: Scalar>(matrix: Matrix<S>) -> Option<(Vec<S>, Matrix<S>)> {
    let schur = Schur::new(matrix)?;
    let (t, n) = (&schur.t, schur.t.rows);
    let norm = Float::max(Float::sqrt(norm_sqr(&t.values)), S::Real::min_positive_value());
    let mut x = Matrix::zeros(n, n);
    for k in (0..n).rev() {
        x[(k, k)] = S::one();
        for i in (0..k).rev() {
            let mut sum = -t[(i, k)];
            for j in i + 1..k {
                sum -= t[(i, j)] * x[(j, k)];
            }
            let mut difference = t[(i, i)] - t[(k, k)];
            if difference.is_zero() {
                difference = S::from_real(S::Real::epsilon() * norm);
            }
            x[(i, k)] = sum / difference;
        }
    }
    let mut values: Vec<S> = (0..n).map(|i| t[(i, i)]).collect();
    let mut vectors = schur.u.product(&x);
    normalize_columns(&mut vectors);
    for i in 0..n {
        let least = (i + 1..n)
            .fold(i, |best, j| if values[j].modulus() < values[best].modulus() { j } else { best });
        values.swap(i, least);
        vectors.swap_columns(i, least);
    }
    Some((values, vectors))
}

/// Makes every column a unit vector.
pub(super) fn normalize_columns<S: Scalar>(matrix: &mut Matrix<S>) {
    for column in 0..matrix.columns {
        let squares =
            (0..matrix.rows).fold(S::Real::zero(), |sum, i| sum + matrix[(i, column)].norm_sqr());
        for row in 0..matrix.rows {
            matrix[(row, column)] = divided(matrix[(row, column)], Float::sqrt(squares));
        }
    }
}
