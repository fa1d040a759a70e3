//! The transforms around the products, for all channels of a tile at once.
//!
//! Each works on one dimension with additions only, then on the other. Halves come in with the filter
//! alone, so results of small integers stay exact.

use crate::Wide;
use crate::simd::dispatch;

/// Values of a transformed tile.
pub(super) const PARTS: usize = 16;

/// Channels that are transformed together: a vector of the widest instruction set.
const LANES: usize = 16;

/// What each part of a filter takes of the three taps of one dimension.
const FILTER: [[f64; 3]; 4] = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]];

/// The weights of the nine taps in one part of a filter.
pub(super) fn taps_of<W: Wide>(part: usize) -> [W; 9] {
    let (rows, cols) = (FILTER[part / 4], FILTER[part % 4]);
    std::array::from_fn(|tap| W::of(rows[tap / 3] * cols[tap % 3]))
}

dispatch! {
    /// `out += weight * values`.
    pub(super) fn add[I, W: Wide](weight: W, values: &[W], out: &mut [W]) {
        for (out, value) in out.iter_mut().zip(values) {
            *out = weight.fma::<I>(*value, *out);
        }
    }
}

dispatch! {
    /// The parts of a 4 × 4 piece of the input; part `i` goes to `out[i * apart..]`.
    pub(super) fn of_input[I, W: Wide](pixels: &[&[W]; PARTS], out: &mut [W], apart: usize) {
        for_each_vector(pixels[0].len(), InputParts { pixels, out, apart });
    }
}

dispatch! {
    /// The parts of a 2 × 2 piece of an output's gradient, as [`of_input`].
    pub(super) fn of_gradient[I, W: Wide](pixels: &[&[W]; 4], out: &mut [W], apart: usize) {
        for_each_vector(pixels[0].len(), GradientParts { pixels, out, apart });
    }
}

dispatch! {
    /// Turns parts, `apart` from each other, into a 2 × 2 piece of the output; those of its pixels that
    /// there are. Returns whether all are finite.
    pub(super) fn to_output[I, W: Wide](
        parts: &[W],
        apart: usize,
        pixels: &mut [Option<&mut [W]>; 4],
    ) -> bool {
        let channels = pixels.iter().flatten().next().map_or(0, |pixel| pixel.len());
        let mut spoiled = [W::zero(); LANES];
        for_each_vector(channels, Output { parts, apart, pixels, spoiled: &mut spoiled });
        spoiled.iter().all(|x| *x == W::zero())
    }
}

dispatch! {
    /// Turns the parts of some values of a filter's gradient into its nine taps. Returns whether all are
    /// finite.
    pub(super) fn to_filter[I, W: Wide](parts: &[&[W]; PARTS], taps: &mut [&mut [W]; 9]) -> bool {
        let mut spoiled = [W::zero(); LANES];
        for_each_vector(parts[0].len(), Taps { parts, taps, spoiled: &mut spoiled });
        spoiled.iter().all(|x| *x == W::zero())
    }
}

/// Something that is computed for some channels from `first` on.
trait Vector {
    fn compute<const N: usize>(&mut self, first: usize);
}

/// Goes through channels by whole vectors, then through the rest one by one.
#[inline(always)]
fn for_each_vector(channels: usize, mut vector: impl Vector) {
    let whole = channels - channels % LANES;
    for first in (0..whole).step_by(LANES) {
        vector.compute::<LANES>(first);
    }
    for first in whole..channels {
        vector.compute::<1>(first);
    }
}

struct InputParts<'a, W> {
    pixels: &'a [&'a [W]; PARTS],
    out: &'a mut [W],
    apart: usize,
}

impl<W: Wide> Vector for InputParts<'_, W> {
    #[inline(always)]
    fn compute<const N: usize>(&mut self, first: usize) {
        let line = |[a, b, c, d]: [[W; N]; 4]| [minus(a, c), plus(b, c), minus(c, b), minus(b, d)];
        let mut rows = [[[W::zero(); N]; 4]; 4];
        for (row, pixels) in rows.iter_mut().zip(self.pixels.chunks_exact(4)) {
            let [a, b, c, d] = [pixels[0], pixels[1], pixels[2], pixels[3]];
            *row = line([load(a, first), load(b, first), load(c, first), load(d, first)]);
        }
        for x in 0..4 {
            let parts = line(across(&rows, x));
            for (y, part) in parts.into_iter().enumerate() {
                store(&mut self.out[(4 * y + x) * self.apart..], first, part);
            }
        }
    }
}

struct GradientParts<'a, W> {
    pixels: &'a [&'a [W]; 4],
    out: &'a mut [W],
    apart: usize,
}

impl<W: Wide> Vector for GradientParts<'_, W> {
    #[inline(always)]
    fn compute<const N: usize>(&mut self, first: usize) {
        let line = |[a, b]: [[W; N]; 2]| [a, plus(a, b), minus(a, b), minus([W::zero(); N], b)];
        let [a, b, c, d] = *self.pixels;
        let top = line([load(a, first), load(b, first)]);
        let bottom = line([load(c, first), load(d, first)]);
        for x in 0..4 {
            for (y, part) in line([top[x], bottom[x]]).into_iter().enumerate() {
                store(&mut self.out[(4 * y + x) * self.apart..], first, part);
            }
        }
    }
}

struct Output<'a, 'b, W> {
    parts: &'a [W],
    apart: usize,
    pixels: &'a mut [Option<&'b mut [W]>; 4],
    spoiled: &'a mut [W; LANES],
}

impl<W: Wide> Vector for Output<'_, '_, W> {
    #[inline(always)]
    fn compute<const N: usize>(&mut self, first: usize) {
        let line = |[a, b, c, d]: [[W; N]; 4]| [plus(plus(a, b), c), minus(minus(b, c), d)];
        let mut columns = [[[W::zero(); N]; 2]; 4];
        for (x, column) in columns.iter_mut().enumerate() {
            let part = |y: usize| load(&self.parts[(4 * y + x) * self.apart..], first);
            *column = line([part(0), part(1), part(2), part(3)]);
        }
        for y in 0..2 {
            let row = line(across(&columns, y));
            for (x, pixel) in row.into_iter().enumerate() {
                spoil(self.spoiled, pixel);
                if let Some(out) = &mut self.pixels[2 * y + x] {
                    store(out, first, pixel);
                }
            }
        }
    }
}

struct Taps<'a, 'b, W> {
    parts: &'a [&'a [W]; PARTS],
    taps: &'a mut [&'b mut [W]; 9],
    spoiled: &'a mut [W; LANES],
}

impl<W: Wide> Vector for Taps<'_, '_, W> {
    #[inline(always)]
    fn compute<const N: usize>(&mut self, first: usize) {
        let half = |x: [W; N]| x.map(|x| x * W::of(0.5));
        let line = |[a, b, c, d]: [[W; N]; 4]| {
            let [even, odd] = [half(plus(b, c)), half(minus(b, c))];
            [plus(a, even), odd, plus(even, d)]
        };
        let mut columns = [[[W::zero(); N]; 3]; 4];
        for (x, column) in columns.iter_mut().enumerate() {
            let part = |y: usize| load(self.parts[4 * y + x], first);
            *column = line([part(0), part(1), part(2), part(3)]);
        }
        for y in 0..3 {
            let row = line(across(&columns, y));
            for (x, tap) in row.into_iter().enumerate() {
                spoil(self.spoiled, tap);
                store(self.taps[3 * y + x], first, tap);
            }
        }
    }
}

/// Value `i` of each of four lines.
#[inline(always)]
fn across<V: Copy, const LEN: usize>(lines: &[[V; LEN]; 4], i: usize) -> [V; 4] {
    [lines[0][i], lines[1][i], lines[2][i], lines[3][i]]
}

/// Leaves zeros only if every value is finite.
#[inline(always)]
fn spoil<W: Wide, const N: usize>(spoiled: &mut [W; LANES], values: [W; N]) {
    for i in 0..N {
        spoiled[i] = spoiled[i] + values[i] * W::zero();
    }
}

#[inline(always)]
fn load<W: Wide, const N: usize>(from: &[W], first: usize) -> [W; N] {
    from[first..first + N].try_into().expect("a slice of this length")
}

#[inline(always)]
fn store<W: Wide, const N: usize>(to: &mut [W], first: usize, values: [W; N]) {
    to[first..first + N].copy_from_slice(&values);
}

#[inline(always)]
fn plus<W: Wide, const N: usize>(mut a: [W; N], b: [W; N]) -> [W; N] {
    for i in 0..N {
        a[i] = a[i] + b[i];
    }
    a
}

#[inline(always)]
fn minus<W: Wide, const N: usize>(mut a: [W; N], b: [W; N]) -> [W; N] {
    for i in 0..N {
        a[i] = a[i] - b[i];
    }
    a
}
