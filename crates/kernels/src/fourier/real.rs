//! Transforms of real rows to half a spectrum and back.
//!
//! A row of even length is taken for one of half the length, whose numbers are two neighbours each:
//! the spectra of the even and of the odd places are the parts of its spectrum that mirror and do
//! not, and together they make that of the row. A row of odd length is transformed as a complex one.

use num_complex::Complex;

use super::axes::{Direction, LEAST_WORK, zeros};
use super::{Plan, Real, root};
use crate::Parallel;
use crate::parallel::{rows as shared_rows, rows_mut};

/// What depends only on the length of a real row and the direction.
#[derive(Debug)]
pub struct RealPlan<R: Real> {
    len: usize,
    inner: Plan<R>,
    /// The first quarter of the powers of the first root of unity, for even lengths.
    roots: Vec<Complex<R>>,
}

impl<R: Real> RealPlan<R> {
    /// Prepares transforms of real rows of a positive length.
    pub fn new(len: usize, direction: Direction) -> RealPlan<R> {
        let is_even = len.is_multiple_of(2);
        let roots =
            if is_even { (0..=len / 4).map(|k| root(k, len)).collect() } else { Vec::new() };
        RealPlan { len, inner: Plan::new(if is_even { len / 2 } else { len }, direction), roots }
    }

    /// The length of half a spectrum.
    fn half(&self) -> usize {
        self.len / 2 + 1
    }
}

/// Writes half the spectrum of each row. Rows may be longer than the plan, which looks at their
/// beginning.
///
/// # Panics
/// If the rows are shorter than the plan, or their number is not that of spectra.
pub fn analyze<R: Real>(par: Parallel, plan: &RealPlan<R>, from: &[R], spectra: &mut [Complex<R>]) {
    let half = plan.half();
    let count = spectra.len() / half;
    let work = (shared_rows(from, count), rows_mut(spectra, count));
    par.for_each(work, 1 + LEAST_WORK / plan.len, |_, (from, spectra)| {
        let transform = &plan.inner.transform;
        let mut scratch = zeros(transform.get_inplace_scratch_len());
        let mut row = zeros(plan.inner.len());
        for (from, out) in
            from.data.chunks_exact(from.width).zip(spectra.data.chunks_exact_mut(half))
        {
            let from = &from[..plan.len];
            if plan.roots.is_empty() {
                for (row, &from) in row.iter_mut().zip(from) {
                    *row = Complex::new(from, R::zero());
                }
                transform.process_with_scratch(&mut row, &mut scratch);
                out.copy_from_slice(&row[..half]);
            } else {
                let packed = &mut out[..half - 1];
                for (packed, pair) in packed.iter_mut().zip(from.chunks_exact(2)) {
                    *packed = Complex::new(pair[0], pair[1]);
                }
                transform.process_with_scratch(packed, &mut scratch);
                unfold(&plan.roots, out);
            }
        }
    });
}

/// The spectrum of the row from that of its pairs, which lies in all but the last place.
fn unfold<R: Real>(roots: &[Complex<R>], spectrum: &mut [Complex<R>]) {
    let last = spectrum.len() - 1;
    let first = spectrum[0];
    spectrum[0] = Complex::new(first.re + first.im, R::zero());
    spectrum[last] = Complex::new(first.re - first.im, R::zero());
    let half = R::nearest(0.5);
    let (low, high) = spectrum[1..last].split_at_mut(last / 2);
    for ((low, high), root) in low.iter_mut().zip(high.iter_mut().rev()).zip(&roots[1..]) {
        let (even, odd) = ((*low + high.conj()).scale(half), (*low - high.conj()).scale(half));
        // Minus i times the odd part, turned by the root.
        let turned = Complex::new(odd.im, -odd.re) * root;
        *low = even + turned;
        *high = (even - turned).conj();
    }
    if last.is_multiple_of(2) {
        // The place in the middle is its own mirror.
        spectrum[last / 2] = spectrum[last / 2].conj();
    }
}

/// Writes the real rows of which these are half the spectra.
///
/// # Panics
/// If the numbers of rows and of spectra differ.
pub fn synthesize<R: Real>(
    par: Parallel,
    plan: &RealPlan<R>,
    spectra: &[Complex<R>],
    to: &mut [R],
) {
    let half = plan.half();
    let count = to.len() / plan.len;
    let work = (shared_rows(spectra, count), rows_mut(to, count));
    let scale = R::nearest(1.0 / plan.len as f64);
    par.for_each(work, 1 + LEAST_WORK / plan.len, |_, (spectra, to)| {
        let transform = &plan.inner.transform;
        let mut scratch = zeros(transform.get_inplace_scratch_len());
        let mut row = zeros(plan.len.max(half));
        for (spectrum, to) in
            spectra.data.chunks_exact(half).zip(to.data.chunks_exact_mut(plan.len))
        {
            row[..half].copy_from_slice(spectrum);
            if plan.roots.is_empty() {
                // The other half mirrors the first.
                for (row, mirrored) in row[half..].iter_mut().zip(spectrum[1..].iter().rev()) {
                    *row = mirrored.conj();
                }
                transform.process_with_scratch(&mut row, &mut scratch);
                to.iter_mut().zip(&row).for_each(|(to, value)| *to = value.re * scale);
            } else {
                fold(&plan.roots, &mut row[..half]);
                let packed = &mut row[..half - 1];
                transform.process_with_scratch(packed, &mut scratch);
                for (pair, packed) in to.chunks_exact_mut(2).zip(packed) {
                    pair[0] = packed.re * scale;
                    pair[1] = packed.im * scale;
                }
            }
        }
    });
}

/// Twice what [`unfold`] was given.
fn fold<R: Real>(roots: &[Complex<R>], spectrum: &mut [Complex<R>]) {
    let last = spectrum.len() - 1;
    let (first, final_one) = (spectrum[0].re, spectrum[last].re);
    spectrum[0] = Complex::new(first + final_one, first - final_one);
    let (low, high) = spectrum[1..last].split_at_mut(last / 2);
    for ((low, high), root) in low.iter_mut().zip(high.iter_mut().rev()).zip(&roots[1..]) {
        let (even, odd) = (*low + high.conj(), (*low - high.conj()) * root.conj());
        let turned = Complex::new(-odd.im, odd.re);
        *low = even + turned;
        *high = (even - turned).conj();
    }
    if last.is_multiple_of(2) {
        let middle = spectrum[last / 2].conj();
        spectrum[last / 2] = middle + middle;
    }
}
