//! Eigenvalues of self-adjoint matrices: reflections leave three diagonals, then shifted QR steps
//! leave one.
//!
//! The order of operations decides the signs of eigenvectors, which users see; it is Eigen's.

use num_traits::{Float, One, Zero};

use super::householder::eliminate;
use super::matrix::Matrix;
use super::rotation::Rotation;
use super::scalar::{Scalar, real};

/// QR steps allowed for each eigenvalue.
const MAX_STEPS: usize = 30;

/// The eigenvalues in ascending order, and the eigenvectors as the rows of a matrix, conjugated;
/// nothing if they are not found. Reads the lower triangle.
pub(super) fn eigen<S: Scalar>(
    a: &Matrix<S>,
    with_vectors: bool,
) -> Option<(Vec<S::Real>, Matrix<S>)> {
    let n = a.rows;
    let mut scale = <S::Real as Zero>::zero();
    for i in 0..n {
        for value in &a.row(i)[..=i] {
            let size = value.modulus();
            if !size.is_finite() {
                return None;
            }
            scale = Float::max(scale, size);
        }
    }
    if scale.is_zero() {
        scale = <S::Real as One>::one();
    }
    let mut full = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..i {
            let value = a[(i, j)].scale(<S::Real as One>::one() / scale);
            full[(i, j)] = value;
            full[(j, i)] = value.conjugate();
        }
        full[(i, i)] = S::from_real(a[(i, i)].re() / scale);
    }
    let (mut diagonal, mut below, mut vectors) = tridiagonal(full, with_vectors);
    iterate(&mut diagonal, &mut below, with_vectors.then_some(&mut vectors))?;
    sort(&mut diagonal, with_vectors.then_some(&mut vectors));
    diagonal.iter_mut().for_each(|value| *value *= scale);
    Some((diagonal, vectors))
}

/// The diagonal and the one below of a similar matrix, and the adjoint of the unitary matrix whose
/// columns the new basis is.
fn tridiagonal<S: Scalar>(
    mut a: Matrix<S>,
    with_vectors: bool,
) -> (Vec<S::Real>, Vec<S::Real>, Matrix<S>) {
    let n = a.rows;
    let mut reflectors = Vec::new();
    for i in 0..n.saturating_sub(1) {
        let reflector = eliminate(&mut a, i + 1, i);
        reflector.apply_left(&mut a, i + 1, i + 1);
        reflector.adjoint().apply_right(&mut a, i + 1, i + 1);
        reflectors.push(reflector);
    }
    let mut q = Matrix::identity(n, n);
    if with_vectors {
        for (i, reflector) in reflectors.iter().enumerate().rev() {
            reflector.adjoint().apply_left(&mut q, i + 1, i + 1);
        }
        q = q.adjoint();
    }
    let diagonal = (0..n).map(|i| a[(i, i)].re()).collect();
    let below = (1..n).map(|i| a[(i, i - 1)].re()).collect();
    (diagonal, below, q)
}

fn iterate<S: Scalar>(
    diagonal: &mut [S::Real],
    below: &mut [S::Real],
    mut vectors: Option<&mut Matrix<S>>,
) -> Option<()> {
    let n = diagonal.len();
    let (mut start, mut end) = (0, n.saturating_sub(1));
    let mut steps = 0;
    while end > 0 {
        for i in start..end {
            let tiny = Float::abs(below[i]) < S::Real::min_positive_value();
            let scaled = below[i] / S::Real::epsilon();
            if tiny || scaled * scaled <= Float::abs(diagonal[i]) + Float::abs(diagonal[i + 1]) {
                below[i] = <S::Real as Zero>::zero();
            }
        }
        while end > 0 && below[end - 1].is_zero() {
            end -= 1;
        }
        if end == 0 {
            break;
        }
        steps += 1;
        if steps > MAX_STEPS * n {
            return None;
        }
        start = end - 1;
        while start > 0 && !below[start - 1].is_zero() {
            start -= 1;
        }
        step(diagonal, below, start, end, vectors.as_deref_mut());
    }
    Some(())
}

/// One QR step on the rows from `start` to `end` with Wilkinson's shift, done implicitly: a
/// rotation that makes a bulge, and more that chase it out.
fn step<S: Scalar>(
    diagonal: &mut [S::Real],
    below: &mut [S::Real],
    start: usize,
    end: usize,
    mut vectors: Option<&mut Matrix<S>>,
) {
    let zero = <S::Real as Zero>::zero();
    let half_gap = (diagonal[end - 1] - diagonal[end]) * real(0.5);
    let e = below[end - 1];
    let mut shift = diagonal[end];
    if half_gap.is_zero() {
        shift -= Float::abs(e);
    } else if !e.is_zero() {
        let h = Float::hypot(half_gap, e);
        let sum = half_gap + if half_gap > zero { h } else { -h };
        let square = e * e;
        shift -= if square.is_zero() { e / (sum / e) } else { square / sum };
    }
    let mut x = diagonal[start] - shift;
    let mut z = below[start];
    for k in start..end {
        if z.is_zero() {
            break;
        }
        let rotation = Rotation::givens(x, z);
        let Rotation { c, s } = rotation;
        let (d, b, next) = (diagonal[k], below[k], diagonal[k + 1]);
        let (lower, lower_next) = (s * d + c * b, s * b + c * next);
        diagonal[k] = c * (c * d - s * b) - s * (c * b - s * next);
        diagonal[k + 1] = s * lower + c * lower_next;
        below[k] = c * lower - s * lower_next;
        if k > start {
            below[k - 1] = c * below[k - 1] - s * z;
        }
        x = below[k];
        if k + 1 < end {
            z = -s * below[k + 1];
            below[k + 1] *= c;
        }
        if let Some(vectors) = vectors.as_deref_mut() {
            rotation.inverse().cast().rows(vectors, k, k + 1);
        }
    }
}

/// Sorts by selection, which exchanges as few vectors as possible.
fn sort<S: Scalar>(values: &mut [S::Real], mut vectors: Option<&mut Matrix<S>>) {
    for i in 0..values.len() {
        let least = (i + 1..values.len())
            .fold(i, |best, j| if values[j] < values[best] { j } else { best });
        if least != i {
            values.swap(i, least);
            if let Some(vectors) = vectors.as_deref_mut() {
                vectors.swap_rows(i, least);
            }
        }
    }
}
