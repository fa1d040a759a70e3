//! The transforms around the products, for all channels of a tile at once.
//!
//! Each works on one dimension, then on the other.

use super::scheme::Scheme;
use crate::Wide;
use crate::simd::{Isa, dispatch};

/// Channels that are transformed together: a vector of the widest instruction set.
pub(super) const LANES: usize = 16;

dispatch! {
    /// The parts of a filter.
    pub(super) fn of_filter[
        I, W: Wide, S: Scheme<N, M, R>, const N: usize, const M: usize, const R: usize
    ](_scheme: S, taps: &[[&[W]; R]; R], out: &mut [[&mut [W]; N]; N]) {
        let matrix = const { &S::FILTER };
        for_each_vector::<I>(taps[0][0].len(), IntoParts { matrix, values: taps, out });
    }
}

dispatch! {
    /// The parts of a piece of the input; part `i` goes to `out[i * apart..]`.
    pub(super) fn of_input[
        I, W: Wide, S: Scheme<N, M, R>, const N: usize, const M: usize, const R: usize
    ](_scheme: S, pixels: &[[&[W]; N]; N], out: &mut [W], apart: usize) {
        let matrix = const { &S::INPUT };
        let out = Apart { out, apart };
        for_each_vector::<I>(pixels[0][0].len(), IntoParts { matrix, values: pixels, out });
    }
}

dispatch! {
    /// The parts of a piece of an output's gradient, as [`of_input`].
    pub(super) fn of_gradient[
        I, W: Wide, S: Scheme<N, M, R>, const N: usize, const M: usize, const R: usize
    ](_scheme: S, pixels: &[[&[W]; M]; M], out: &mut [W], apart: usize) {
        let matrix = const { &S::OUTPUT_BACK };
        let out = Apart { out, apart };
        for_each_vector::<I>(pixels[0][0].len(), IntoParts { matrix, values: pixels, out });
    }
}

dispatch! {
    /// Turns parts, `apart` from each other, into a piece of the output; those of its pixels that there
    /// are. Returns whether all are finite.
    pub(super) fn to_output[
        I, W: Wide, S: Scheme<N, M, R>, const N: usize, const M: usize, const R: usize
    ](_scheme: S, parts: &[W], apart: usize, pixels: &mut [[Option<&mut [W]>; M]; M]) -> bool {
        let channels = pixels.iter().flatten().flatten().next().map_or(0, |pixel| pixel.len());
        let matrix = const { &S::OUTPUT };
        let mut spoiled = [W::zero(); LANES];
        let from = FromParts { matrix, parts, apart, values: pixels, spoiled: &mut spoiled };
        for_each_vector::<I>(channels, from);
        spoiled.iter().all(|x| *x == W::zero())
    }
}

dispatch! {
    /// Turns parts of some values of a filter's gradient, `apart` from each other, into its taps. Returns
    /// whether all are finite.
    pub(super) fn to_filter[
        I, W: Wide, S: Scheme<N, M, R>, const N: usize, const M: usize, const R: usize
    ](_scheme: S, parts: &[W], apart: usize, taps: &mut [[Option<&mut [W]>; R]; R]) -> bool {
        let matrix = const { &S::FILTER_BACK };
        let mut spoiled = [W::zero(); LANES];
        let from = FromParts { matrix, parts, apart, values: taps, spoiled: &mut spoiled };
        for_each_vector::<I>(apart, from);
        spoiled.iter().all(|x| *x == W::zero())
    }
}

/// Something that is computed for some channels from `first` on.
trait Vector {
    fn compute<I: Isa, const L: usize>(&mut self, first: usize);
}

/// Goes through channels by whole vectors, then through the rest one by one.
#[inline(always)]
fn for_each_vector<I: Isa>(channels: usize, mut vector: impl Vector) {
    let whole = channels - channels % LANES;
    for first in (0..whole).step_by(LANES) {
        vector.compute::<I, LANES>(first);
    }
    for first in whole..channels {
        vector.compute::<I, 1>(first);
    }
}

/// Where the `N` × `N` parts go.
trait Parts<W, const N: usize> {
    fn part(&mut self, y: usize, x: usize) -> &mut [W];
}

/// Parts at even distances.
struct Apart<'a, W> {
    out: &'a mut [W],
    apart: usize,
}

impl<W, const N: usize> Parts<W, N> for Apart<'_, W> {
    #[inline(always)]
    fn part(&mut self, y: usize, x: usize) -> &mut [W] {
        &mut self.out[(N * y + x) * self.apart..]
    }
}

impl<W, const N: usize> Parts<W, N> for &mut [[&mut [W]; N]; N] {
    #[inline(always)]
    fn part(&mut self, y: usize, x: usize) -> &mut [W] {
        self[y][x]
    }
}

/// Pixels or taps that become parts.
struct IntoParts<'a, W, P, const N: usize, const SIDE: usize> {
    matrix: &'static [[f64; SIDE]; N],
    values: &'a [[&'a [W]; SIDE]; SIDE],
    out: P,
}

impl<W: Wide, P: Parts<W, N>, const N: usize, const SIDE: usize> Vector
    for IntoParts<'_, W, P, N, SIDE>
{
    #[inline(always)]
    fn compute<I: Isa, const L: usize>(&mut self, first: usize) {
        let mut rows = [[[W::zero(); L]; N]; SIDE];
        for (row, values) in rows.iter_mut().zip(self.values) {
            let mut loaded = [[W::zero(); L]; SIDE];
            for (loaded, value) in loaded.iter_mut().zip(values) {
                *loaded = load(value, first);
            }
            *row = line::<I, W, L, SIDE, N>(self.matrix, &loaded);
        }
        for x in 0..N {
            let parts = line::<I, W, L, SIDE, N>(self.matrix, &across(&rows, x));
            for (y, part) in parts.into_iter().enumerate() {
                store(self.out.part(y, x), first, part);
            }
        }
    }
}

/// Parts that become pixels or taps.
struct FromParts<'a, 'b, W, const N: usize, const SIDE: usize> {
    matrix: &'static [[f64; N]; SIDE],
    parts: &'a [W],
    apart: usize,
    values: &'a mut [[Option<&'b mut [W]>; SIDE]; SIDE],
    spoiled: &'a mut [W; LANES],
}

impl<W: Wide, const N: usize, const SIDE: usize> Vector for FromParts<'_, '_, W, N, SIDE> {
    #[inline(always)]
    fn compute<I: Isa, const L: usize>(&mut self, first: usize) {
        let mut columns = [[[W::zero(); L]; SIDE]; N];
        for (x, column) in columns.iter_mut().enumerate() {
            let mut parts = [[W::zero(); L]; N];
            for (y, part) in parts.iter_mut().enumerate() {
                *part = load(&self.parts[(N * y + x) * self.apart..], first);
            }
            *column = line::<I, W, L, N, SIDE>(self.matrix, &parts);
        }
        for y in 0..SIDE {
            let row = line::<I, W, L, N, SIDE>(self.matrix, &across(&columns, y));
            for (x, value) in row.into_iter().enumerate() {
                spoil(self.spoiled, value);
                if let Some(out) = &mut self.values[y][x] {
                    store(out, first, value);
                }
            }
        }
    }
}

/// The matrix times the values. The matrix is known when this is compiled, so zeros cost nothing.
#[inline(always)]
fn line<I: Isa, W: Wide, const L: usize, const FROM: usize, const TO: usize>(
    matrix: &'static [[f64; FROM]; TO],
    values: &[[W; L]; FROM],
) -> [[W; L]; TO] {
    let mut sums = [[W::zero(); L]; TO];
    for (sum, weights) in sums.iter_mut().zip(matrix) {
        for (weight, value) in weights.iter().zip(values) {
            if *weight == 0.0 {
                continue;
            }
            let weight = W::of(*weight);
            for i in 0..L {
                sum[i] = weight.fma::<I>(value[i], sum[i]);
            }
        }
    }
    sums
}

/// Value `i` of each line.
#[inline(always)]
fn across<V: Copy, const LEN: usize, const LINES: usize>(
    lines: &[[V; LEN]; LINES],
    i: usize,
) -> [V; LINES] {
    std::array::from_fn(|line| lines[line][i])
}

/// Leaves zeros only if every value is finite.
#[inline(always)]
fn spoil<W: Wide, const L: usize>(spoiled: &mut [W; LANES], values: [W; L]) {
    for i in 0..L {
        spoiled[i] = spoiled[i] + values[i] * W::zero();
    }
}

#[inline(always)]
fn load<W: Wide, const L: usize>(from: &[W], first: usize) -> [W; L] {
    from[first..first + L].try_into().expect("a slice of this length")
}

#[inline(always)]
fn store<W: Wide, const L: usize>(to: &mut [W], first: usize, values: [W; L]) {
    to[first..first + L].copy_from_slice(&values);
}
