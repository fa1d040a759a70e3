//! Random words turned into floats, bit by bit as TensorFlow does it.

use half::{bf16, f16};

/// The number of [0, 1) whose 23 fraction bits are the low bits of `word`.
///
/// The bits are the fraction of a number of [1, 2), from which 1 is taken; the difference is exact.
#[inline]
pub(super) fn unit_f32(word: u32) -> f32 {
    f32::from_bits(127 << 23 | word & 0x7f_ffff) - 1.0
}

/// The number of [0, 1) with the low 20 bits of `high` and all of `low` as its fraction.
#[inline]
pub(super) fn unit_f64(high: u32, low: u32) -> f64 {
    let fraction = u64::from(high & 0xf_ffff) << 32 | u64::from(low);
    f64::from_bits(1023 << 52 | fraction) - 1.0
}

/// The number of [0, 1) with the low 10 bits of `word` as its fraction.
#[inline]
pub(super) fn unit_f16(word: u32) -> f16 {
    f16::from_bits(15 << 10 | word as u16 & 0x3ff) - f16::ONE
}

/// The number of [0, 1) with the low 7 bits of `word` as its fraction.
#[inline]
pub(super) fn unit_bf16(word: u32) -> bf16 {
    bf16::from_bits(127 << 7 | word as u16 & 0x7f) - bf16::ONE
}

/// Two independent standard normal values from two words (Box and Muller's transform).
///
/// The angle is computed in double precision and then rounded, which is what C++ makes of
/// `2.0f * M_PI * x`.
#[inline]
pub(super) fn normal_pair_f32(x0: u32, x1: u32) -> [f32; 2] {
    const SMALLEST: f32 = 1.0e-7;
    let angle = (std::f64::consts::TAU * f64::from(unit_f32(x1))) as f32;
    let radius = (-2.0 * unit_f32(x0).max(SMALLEST).ln()).sqrt();
    let (sine, cosine) = angle.sin_cos();
    [sine * radius, cosine * radius]
}

/// Two independent standard normal values from a block.
#[inline]
pub(super) fn normal_pair_f64(x: [u32; 4]) -> [f64; 2] {
    const SMALLEST: f64 = 1.0e-7;
    let angle = std::f64::consts::TAU * unit_f64(x[2], x[3]);
    let radius = (-2.0 * unit_f64(x[0], x[1]).max(SMALLEST).ln()).sqrt();
    let (sine, cosine) = angle.sin_cos();
    [sine * radius, cosine * radius]
}
