//! The Fourier transform of one row: mixed radices, and Bluestein's method for large primes.

use num_complex::Complex;
use num_traits::{Float, NumAssign};
use tensorfleet_tensor::Element;

/// A precision to compute in.
pub(super) trait Real: Float + NumAssign + Element + Send + Sync {
    fn from_f64(value: f64) -> Self;
}

impl Real for f32 {
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }
}

/// Larger prime factors cost too much as radices.
const LARGEST_RADIX: usize = 13;

/// All that depends only on the length.
#[derive(Debug)]
pub(super) struct Plan<R> {
    len: usize,
    method: Method<R>,
}

#[derive(Debug)]
enum Method<R> {
    /// Stockham's passes, one for each radix.
    Passes {
        radices: Vec<usize>,
        /// The powers of the first root of unity.
        roots: Vec<Complex<R>>,
    },
    /// A transform as a convolution, which a longer transform computes.
    Chirp(Box<Chirp<R>>),
}

#[derive(Debug)]
struct Chirp<R> {
    inner: Plan<R>,
    /// `exp(-i pi k^2 / n)`.
    chirp: Vec<Complex<R>>,
    /// The transform of its conjugate, extended to both sides.
    filter: Vec<Complex<R>>,
}

impl<R: Real> Plan<R> {
    /// Prepares transforms of a positive length.
    pub(super) fn new(len: usize) -> Plan<R> {
        let method = match radices(len) {
            Some(radices) => {
                let roots = (0..len).map(|k| root(k, len)).collect();
                Method::Passes { radices, roots }
            }
            None => Method::Chirp(Box::new(Chirp::new(len))),
        };
        Plan { len, method }
    }

    /// Transforms rows of the plan's length in place.
    pub(super) fn forward(&self, rows: &mut [Complex<R>]) {
        let mut scratch = Vec::new();
        for row in rows.chunks_exact_mut(self.len) {
            self.transform(row, &mut scratch);
        }
    }

    /// The inverse of [`Plan::forward`].
    pub(super) fn inverse(&self, rows: &mut [Complex<R>]) {
        let scale = R::from_f64(1.0 / self.len as f64);
        rows.iter_mut().for_each(|value| *value = value.conj());
        self.forward(rows);
        rows.iter_mut().for_each(|value| *value = value.conj().scale(scale));
    }

    fn transform(&self, row: &mut [Complex<R>], scratch: &mut Vec<Complex<R>>) {
        match &self.method {
            Method::Passes { radices, roots } => passes(radices, roots, row, scratch),
            Method::Chirp(chirp) => chirp.transform(row, scratch),
        }
    }
}

/// The radices whose product is a length; fours before twos, because they need fewer products.
fn radices(mut len: usize) -> Option<Vec<usize>> {
    let mut radices = Vec::new();
    for radix in [4, 2, 3, 5, 7, 11, LARGEST_RADIX] {
        while len.is_multiple_of(radix) {
            radices.push(radix);
            len /= radix;
        }
    }
    (len == 1).then_some(radices)
}

/// `exp(-2 pi i k / n)`, computed in double precision.
fn root<R: Real>(k: usize, n: usize) -> Complex<R> {
    let (sine, cosine) = (std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
    Complex::new(R::from_f64(cosine), R::from_f64(-sine))
}

/// Each pass combines values that lie far apart and puts them side by side, so that the result ends
/// up in order without a permutation.
fn passes<R: Real>(
    radices: &[usize],
    roots: &[Complex<R>],
    row: &mut [Complex<R>],
    scratch: &mut Vec<Complex<R>>,
) {
    let total = row.len();
    scratch.clear();
    scratch.resize(total, Complex::new(R::zero(), R::zero()));
    let mut from: &mut [Complex<R>] = row;
    let mut to: &mut [Complex<R>] = &mut scratch[..];
    let mut stride = 1;
    for &radix in radices {
        let groups = total / stride / radix;
        for p in 0..groups {
            let out = &mut to[p * radix * stride..(p + 1) * radix * stride];
            match radix {
                2 => butterfly_2(from, out, (p, groups, stride), roots),
                4 => butterfly_4(from, out, (p, groups, stride), roots),
                _ => butterfly(from, out, (p, groups, stride, radix), roots),
            }
        }
        std::mem::swap(&mut from, &mut to);
        stride *= radix;
    }
    if radices.len() % 2 == 1 {
        // The last pass wrote to the scratch, which is now `from`, and `to` is the row.
        to.copy_from_slice(from);
    }
}

fn butterfly_2<R: Real>(
    from: &[Complex<R>],
    out: &mut [Complex<R>],
    (p, groups, stride): (usize, usize, usize),
    roots: &[Complex<R>],
) {
    let twiddle = roots[p * stride];
    let (first, second) = out.split_at_mut(stride);
    let a = &from[stride * p..][..stride];
    let b = &from[stride * (p + groups)..][..stride];
    for q in 0..stride {
        first[q] = a[q] + b[q];
        second[q] = (a[q] - b[q]) * twiddle;
    }
}

fn butterfly_4<R: Real>(
    from: &[Complex<R>],
    out: &mut [Complex<R>],
    (p, groups, stride): (usize, usize, usize),
    roots: &[Complex<R>],
) {
    let twiddles = [1, 2, 3].map(|k| roots[p * k * stride]);
    let [a, b, c, d] = [0, 1, 2, 3].map(|j| &from[stride * (p + groups * j)..][..stride]);
    for q in 0..stride {
        let (even, odd) = (a[q] + c[q], a[q] - c[q]);
        let (sum, difference) = (b[q] + d[q], b[q] - d[q]);
        // Minus i times the difference.
        let turned = Complex::new(difference.im, -difference.re);
        out[q] = even + sum;
        out[stride + q] = (odd + turned) * twiddles[0];
        out[2 * stride + q] = (even - sum) * twiddles[1];
        out[3 * stride + q] = (odd - turned) * twiddles[2];
    }
}

fn butterfly<R: Real>(
    from: &[Complex<R>],
    out: &mut [Complex<R>],
    (p, groups, stride, radix): (usize, usize, usize, usize),
    roots: &[Complex<R>],
) {
    let total = roots.len();
    let step = total / radix;
    for q in 0..stride {
        let mut values = [Complex::new(R::zero(), R::zero()); LARGEST_RADIX];
        for (j, value) in values[..radix].iter_mut().enumerate() {
            *value = from[q + stride * (p + groups * j)];
        }
        for k in 0..radix {
            let mut sum = values[0];
            for (j, value) in values[..radix].iter().enumerate().skip(1) {
                sum += value * roots[j * k % radix * step];
            }
            out[k * stride + q] = sum * roots[p * k * stride % total];
        }
    }
}

impl<R: Real> Chirp<R> {
    fn new(len: usize) -> Chirp<R> {
        // The square is reduced before it is divided, or large ones would lose their digits.
        let chirp: Vec<Complex<R>> = (0..len)
            .map(|k| root((k as u128 * k as u128 % (2 * len as u128)) as usize, 2 * len))
            .collect();
        let inner = Plan::new((2 * len - 1).next_power_of_two());
        let mut filter = vec![Complex::new(R::zero(), R::zero()); inner.len];
        for (k, value) in chirp.iter().enumerate() {
            filter[k] = value.conj();
            filter[(inner.len - k) % inner.len] = value.conj();
        }
        inner.forward(&mut filter);
        Chirp { inner, chirp, filter }
    }

    fn transform(&self, row: &mut [Complex<R>], scratch: &mut Vec<Complex<R>>) {
        let mut padded = vec![Complex::new(R::zero(), R::zero()); self.inner.len];
        for ((padded, value), chirp) in padded.iter_mut().zip(&*row).zip(&self.chirp) {
            *padded = value * chirp;
        }
        self.inner.transform(&mut padded, scratch);
        for (value, filter) in padded.iter_mut().zip(&self.filter) {
            *value = (*value * filter).conj();
        }
        self.inner.transform(&mut padded, scratch);
        let scale = R::from_f64(1.0 / self.inner.len as f64);
        for ((value, padded), chirp) in row.iter_mut().zip(&padded).zip(&self.chirp) {
            *value = padded.conj().scale(scale) * chirp;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_agrees_with_the_definition() {
        for len in 1..100 {
            let row: Vec<Complex<f64>> =
                (0..len).map(|k| Complex::new((k * k % 7) as f64, (k % 5) as f64 - 1.5)).collect();
            let mut have = row.clone();
            let plan = Plan::new(len);
            plan.forward(&mut have);
            for (k, have) in have.iter().enumerate() {
                let want: Complex<f64> = (0..len).map(|j| row[j] * root(j * k % len, len)).sum();
                assert!((want - have).norm() < 1e-9, "{len}: {want} {have}");
            }
            plan.inverse(&mut have);
            for (want, have) in row.iter().zip(&have) {
                assert!((want - have).norm() < 1e-12, "{len}");
            }
        }
    }
}
