//! Plane rotations: they mix two rows, or two columns, of a matrix.

use num_traits::{Float, One, Zero};

use super::matrix::Matrix;
use super::scalar::{Scalar, real};

/// The rotation `(c, conj(s); -s, conj(c))`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation<S> {
    pub(super) c: S,
    pub(super) s: S,
}

impl<R: Scalar<Real = R> + Float> Rotation<R> {
    /// The rotation that turns `(p, q)` into `(r, 0)`, as [`Rotation::inverse`] of a pair.
    pub(super) fn givens(p: R, q: R) -> Rotation<R> {
        let (zero, one) = (<R as Zero>::zero(), <R as One>::one());
        if q == zero {
            return Rotation { c: if p < zero { -one } else { one }, s: zero };
        }
        if p == zero {
            return Rotation { c: zero, s: if q < zero { one } else { -one } };
        }
        if Float::abs(p) > Float::abs(q) {
            let t = q / p;
            let mut u = Float::sqrt(one + t * t);
            if p < zero {
                u = -u;
            }
            let c = one / u;
            Rotation { c, s: -t * c }
        } else {
            let t = p / q;
            let mut u = Float::sqrt(one + t * t);
            if q < zero {
                u = -u;
            }
            let s = -(one / u);
            Rotation { c: -t * s, s }
        }
    }

    /// The rotation that makes the symmetric matrix `(x, y; y, z)` diagonal from both sides.
    pub(super) fn jacobi(x: R, y: R, z: R) -> Rotation<R> {
        let (zero, one) = (<R as Zero>::zero(), <R as One>::one());
        let twice = real::<R>(2.0) * Float::abs(y);
        if twice < R::min_positive_value() {
            return Rotation { c: one, s: zero };
        }
        let tau = (x - z) / twice;
        let w = Float::sqrt(tau * tau + one);
        let t = if tau > zero { one / (tau + w) } else { one / (tau - w) };
        let sign = if t > zero { one } else { -one };
        let n = one / Float::sqrt(t * t + one);
        Rotation { c: n, s: -sign * (y / Float::abs(y)) * Float::abs(t) * n }
    }

    /// The rotations that make a matrix of two rows diagonal from the left and from the right.
    pub(super) fn diagonalize([[a, b], [c, d]]: [[R; 2]; 2]) -> [Rotation<R>; 2] {
        let (zero, one) = (<R as Zero>::zero(), <R as One>::one());
        // First make it symmetric.
        let (sum, difference) = (a + d, c - b);
        let first = if Float::abs(difference) < R::min_positive_value() {
            Rotation { c: one, s: zero }
        } else {
            let u = sum / difference;
            let length = Float::sqrt(one + u * u);
            Rotation { c: u / length, s: one / length }
        };
        let mix = |x: R, y: R| (first.c * x + first.s * y, first.c * y - first.s * x);
        let ((x, _), (y, z)) = (mix(a, c), mix(b, d));
        let right = Rotation::jacobi(x, y, z);
        let left = first.then(right.inverse());
        [left, right]
    }

    fn then(self, other: Rotation<R>) -> Rotation<R> {
        Rotation { c: self.c * other.c - self.s * other.s, s: self.c * other.s + self.s * other.c }
    }

    pub(super) fn inverse(self) -> Rotation<R> {
        Rotation { c: self.c, s: -self.s }
    }

    /// The same rotation of complex vectors.
    pub(super) fn cast<S: Scalar<Real = R>>(self) -> Rotation<S> {
        Rotation { c: S::from_real(self.c), s: S::from_real(self.s) }
    }
}

impl<S: Scalar> Rotation<S> {
    /// Rotates a pair.
    pub(super) fn pair(self, x: S, y: S) -> (S, S) {
        (self.c * x + self.s.conjugate() * y, self.c.conjugate() * y - self.s * x)
    }

    /// Rotates rows `p` and `q` of a matrix.
    pub(super) fn rows(self, matrix: &mut Matrix<S>, p: usize, q: usize) {
        let width = matrix.columns;
        let (low, high) = (p.min(q), p.max(q));
        let (head, tail) = matrix.values.split_at_mut(high * width);
        let (low, high) = (&mut head[low * width..(low + 1) * width], &mut tail[..width]);
        let (x, y) = if p < q { (low, high) } else { (high, low) };
        S::rotate(x, y, self.c, self.s);
    }

    /// Rotates columns `p` and `q` of a matrix.
    pub(super) fn columns(self, matrix: &mut Matrix<S>, p: usize, q: usize) {
        let width = matrix.columns;
        for row in matrix.values.chunks_exact_mut(width.max(1)) {
            (row[p], row[q]) = self.pair(row[p], row[q]);
        }
    }
}
