//! The inverse cosine transform in integers, to all 64 pixels of a block or to fewer.
//!
//! Which pixels come out depends on the method. libjpeg's accurate one and its reduced relatives are
//! Loeffler, Ligtenberg and Moschytz's, with 13 bits of fraction, a rounded pass over columns and
//! one over rows. Its fast one, TensorFlow's default, is Arai, Agui and Nakajima's with 8 bits and
//! without rounding.

/// Bits of the fraction of constants.
const FRACTION: u32 = 13;
/// Bits that are kept between the passes.
const KEPT: u32 = 2;

/// Divides by a power of two, rounding.
fn descale(value: i32, bits: u32) -> i32 {
    value.wrapping_add(1 << (bits - 1)) >> bits
}

fn clamp(value: i32) -> u8 {
    (value + 128).clamp(0, 255) as u8
}

fn times(value: i32, constant: i32) -> i32 {
    value.wrapping_mul(constant)
}

/// How a component is transformed: its factors, as the method wants them, and what comes out.
#[derive(Debug)]
pub(super) struct Method {
    factors: [i32; 64],
    fast: bool,
    /// The side of a block of pixels: 1, 2, 4 or 8.
    size: usize,
}

/// By what the fast method divides each frequency of a row or column.
const FAST_SCALES: [f64; 8] = [
    1.0,
    1.387_039_845,
    1.306_562_965,
    1.175_875_602,
    1.0,
    0.785_694_958,
    0.541_196_100,
    0.275_899_379,
];

impl Method {
    pub(super) fn new(factors: &[u16; 64], size: usize, accurate: bool) -> Method {
        let fast = size == 8 && !accurate;
        let factors = std::array::from_fn(|i| {
            let factor = i32::from(factors[i]);
            if !fast {
                return factor;
            }
            let scale = (FAST_SCALES[i / 8] * FAST_SCALES[i % 8] * 16384.0).round() as i32;
            descale(factor.wrapping_mul(scale), 12)
        });
        Method { factors, fast, size }
    }

    /// Transforms a block to pixels, written to rows `stride` apart.
    pub(super) fn inverse(&self, coefficients: &[i16], out: &mut [u8], stride: usize) {
        let mut block = [0i32; 64];
        let values = block.iter_mut().zip(coefficients).zip(&self.factors);
        for ((value, &coefficient), &factor) in values {
            *value = i32::from(coefficient).wrapping_mul(factor);
        }
        match self.size {
            8 if self.fast => fast(&block, out, stride),
            8 => full(&block, out, stride),
            4 => half(&block, out, stride),
            2 => quarter(&block, out, stride),
            _ => out[0] = clamp(descale(block[0], 3)),
        }
    }
}

/// One pass over eight values by the fast method. The products lose their fractions.
fn fast_eight(v: [i32; 8]) -> [i32; 8] {
    let times = |value: i32, constant: i32| value.wrapping_mul(constant) >> 8;
    let (sum, difference) = (v[0].wrapping_add(v[4]), v[0].wrapping_sub(v[4]));
    let t13 = v[2].wrapping_add(v[6]);
    let t12 = times(v[2].wrapping_sub(v[6]), 362).wrapping_sub(t13);
    let even = [
        sum.wrapping_add(t13),
        difference.wrapping_add(t12),
        difference.wrapping_sub(t12),
        sum.wrapping_sub(t13),
    ];
    let (z13, z10) = (v[5].wrapping_add(v[3]), v[5].wrapping_sub(v[3]));
    let (z11, z12) = (v[1].wrapping_add(v[7]), v[1].wrapping_sub(v[7]));
    let z5 = times(z10.wrapping_add(z12), 473);
    let t7 = z11.wrapping_add(z13);
    let t6 = times(z10, -669).wrapping_add(z5).wrapping_sub(t7);
    let t5 = times(z11.wrapping_sub(z13), 362).wrapping_sub(t6);
    let t4 = times(z12, 277).wrapping_sub(z5).wrapping_add(t5);
    [
        even[0].wrapping_add(t7),
        even[1].wrapping_add(t6),
        even[2].wrapping_add(t5),
        even[3].wrapping_sub(t4),
        even[3].wrapping_add(t4),
        even[2].wrapping_sub(t5),
        even[1].wrapping_sub(t6),
        even[0].wrapping_sub(t7),
    ]
}

fn fast(block: &[i32; 64], out: &mut [u8], stride: usize) {
    let mut work = [0i32; 64];
    for column in 0..8 {
        let values = std::array::from_fn(|row| block[row * 8 + column]);
        for (row, value) in fast_eight(values).into_iter().enumerate() {
            work[row * 8 + column] = value;
        }
    }
    for (row, values) in work.chunks_exact(8).enumerate() {
        let values = fast_eight(std::array::from_fn(|i| values[i]));
        let line = &mut out[row * stride..row * stride + 8];
        line.iter_mut().zip(values).for_each(|(out, value)| *out = clamp(value >> (KEPT + 3)));
    }
}

/// One pass over eight values.
fn eight(v: [i32; 8], bits: u32) -> [i32; 8] {
    let z1 = times(v[2].wrapping_add(v[6]), 4433);
    let even2 = z1.wrapping_add(times(v[6], -15137));
    let even3 = z1.wrapping_add(times(v[2], 6270));
    let sum = v[0].wrapping_add(v[4]) << FRACTION;
    let difference = v[0].wrapping_sub(v[4]) << FRACTION;
    let even = [
        sum.wrapping_add(even3),
        difference.wrapping_add(even2),
        difference.wrapping_sub(even2),
        sum.wrapping_sub(even3),
    ];
    let [t0, t1, t2, t3] = [v[7], v[5], v[3], v[1]];
    let (z1, z2) = (t0.wrapping_add(t3), t1.wrapping_add(t2));
    let (z3, z4) = (t0.wrapping_add(t2), t1.wrapping_add(t3));
    let z5 = times(z3.wrapping_add(z4), 9633);
    let (z1, z2) = (times(z1, -7373), times(z2, -20995));
    let z3 = times(z3, -16069).wrapping_add(z5);
    let z4 = times(z4, -3196).wrapping_add(z5);
    let odd = [
        times(t3, 12299).wrapping_add(z1).wrapping_add(z4),
        times(t2, 25172).wrapping_add(z2).wrapping_add(z3),
        times(t1, 16819).wrapping_add(z2).wrapping_add(z4),
        times(t0, 2446).wrapping_add(z1).wrapping_add(z3),
    ];
    let mut out = [0; 8];
    for i in 0..4 {
        out[i] = descale(even[i].wrapping_add(odd[i]), bits);
        out[7 - i] = descale(even[i].wrapping_sub(odd[i]), bits);
    }
    out
}

fn full(block: &[i32; 64], out: &mut [u8], stride: usize) {
    let mut work = [0i32; 64];
    for column in 0..8 {
        let values = std::array::from_fn(|row| block[row * 8 + column]);
        for (row, value) in eight(values, FRACTION - KEPT).into_iter().enumerate() {
            work[row * 8 + column] = value;
        }
    }
    for (row, values) in work.chunks_exact(8).enumerate() {
        let values = eight(std::array::from_fn(|i| values[i]), FRACTION + KEPT + 3);
        let line = &mut out[row * stride..row * stride + 8];
        line.iter_mut().zip(values).for_each(|(out, value)| *out = clamp(value));
    }
}

/// One pass from eight values, without the fifth, to four.
fn four(v: [i32; 8], bits: u32) -> [i32; 4] {
    let base = v[0] << (FRACTION + 1);
    let even = times(v[2], 15137).wrapping_add(times(v[6], -6270));
    let (outer, inner) = (base.wrapping_add(even), base.wrapping_sub(even));
    let odd_inner = times(v[7], -1730)
        .wrapping_add(times(v[5], 11893))
        .wrapping_add(times(v[3], -17799))
        .wrapping_add(times(v[1], 8697));
    let odd_outer = times(v[7], -4176)
        .wrapping_add(times(v[5], -4926))
        .wrapping_add(times(v[3], 7373))
        .wrapping_add(times(v[1], 20995));
    [
        outer.wrapping_add(odd_outer),
        inner.wrapping_add(odd_inner),
        inner.wrapping_sub(odd_inner),
        outer.wrapping_sub(odd_outer),
    ]
    .map(|value| descale(value, bits))
}

fn half(block: &[i32; 64], out: &mut [u8], stride: usize) {
    let mut work = [0i32; 32];
    for column in (0..8).filter(|&column| column != 4) {
        let values = std::array::from_fn(|row| block[row * 8 + column]);
        for (row, value) in four(values, FRACTION - KEPT + 1).into_iter().enumerate() {
            work[row * 8 + column] = value;
        }
    }
    for (row, values) in work.chunks_exact(8).enumerate() {
        let values = four(std::array::from_fn(|i| values[i]), FRACTION + KEPT + 3 + 1);
        let line = &mut out[row * stride..row * stride + 4];
        line.iter_mut().zip(values).for_each(|(out, value)| *out = clamp(value));
    }
}

/// One pass from the first and the odd of eight values to two.
fn two(v: [i32; 8], bits: u32) -> [i32; 2] {
    let base = v[0] << (FRACTION + 2);
    let odd = times(v[7], -5906)
        .wrapping_add(times(v[5], 6967))
        .wrapping_add(times(v[3], -10426))
        .wrapping_add(times(v[1], 29692));
    [base.wrapping_add(odd), base.wrapping_sub(odd)].map(|value| descale(value, bits))
}

fn quarter(block: &[i32; 64], out: &mut [u8], stride: usize) {
    let mut work = [0i32; 16];
    for column in [0, 1, 3, 5, 7] {
        let values = std::array::from_fn(|row| block[row * 8 + column]);
        for (row, value) in two(values, FRACTION - KEPT + 2).into_iter().enumerate() {
            work[row * 8 + column] = value;
        }
    }
    for (row, values) in work.chunks_exact(8).enumerate() {
        let values = two(std::array::from_fn(|i| values[i]), FRACTION + KEPT + 3 + 2);
        let line = &mut out[row * stride..row * stride + 2];
        line.iter_mut().zip(values).for_each(|(out, value)| *out = clamp(value));
    }
}
