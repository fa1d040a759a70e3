//! Uniform distributions over the unit interval and over integers.

use std::marker::PhantomData;

use half::{bf16, f16};

use super::bits::{unit_bf16, unit_f16, unit_f32, unit_f64};
use super::fill::{Distribution, fill_from_blocks};
use super::philox::Philox;

const PER_TASK: usize = 1 << 15;

/// Floats of [0, 1), for `f16`, `bf16`, `f32` and `f64`.
#[derive(Clone, Copy, Debug)]
pub struct Uniform<T>(PhantomData<fn() -> T>);

impl<T> Uniform<T> {
    /// The distribution.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Uniform<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Integers of `low..high`, for `i32` and `i64`.
///
/// A word's remainder is taken, so the distribution has TensorFlow's slight bias.
#[derive(Clone, Copy, Debug)]
pub struct UniformInt<T> {
    low: T,
    /// `high - low`, as an unsigned number in the bits of `T`.
    range: T,
}

impl UniformInt<i32> {
    /// The distribution, or `None` unless `low < high`.
    pub fn new(low: i32, high: i32) -> Option<Self> {
        (low < high).then(|| Self { low, range: high.wrapping_sub(low) })
    }
}

impl UniformInt<i64> {
    /// The distribution, or `None` unless `low < high`.
    pub fn new(low: i64, high: i64) -> Option<Self> {
        (low < high).then(|| Self { low, range: high.wrapping_sub(low) })
    }
}

/// All integers, for `i32`, `u32`, `i64` and `u64`.
#[derive(Clone, Copy, Debug)]
pub struct FullInt<T>(PhantomData<fn() -> T>);

impl<T> FullInt<T> {
    /// The distribution.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for FullInt<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Declares a distribution that makes a group of each block.
macro_rules! from_blocks {
    ($distribution:ty, $value:ty, $group:literal, |$self:ident, $block:ident| $values:expr) => {
        impl Distribution for $distribution {
            type Value = $value;
            const GROUP: usize = $group;
            const BLOCKS_PER_GROUP: u64 = 1;
            const PER_TASK: usize = PER_TASK;

            fn fill(&$self, philox: Philox, out: &mut [$value]) {
                fill_from_blocks::<$value, $group, _>(philox, out, |$block| $values);
            }
        }
    };
}

from_blocks!(Uniform<f16>, f16, 4, |self, block| block.map(unit_f16));
from_blocks!(Uniform<bf16>, bf16, 4, |self, block| block.map(unit_bf16));
from_blocks!(Uniform<f32>, f32, 4, |self, block| block.map(unit_f32));
from_blocks!(Uniform<f64>, f64, 2, |self, block| {
    [unit_f64(block[0], block[1]), unit_f64(block[2], block[3])]
});

from_blocks!(UniformInt<i32>, i32, 4, |self, block| {
    block.map(|word| self.low.wrapping_add((word % self.range as u32) as i32))
});
from_blocks!(UniformInt<i64>, i64, 2, |self, block| {
    pairs(block).map(|bits| self.low.wrapping_add((bits % self.range as u64) as i64))
});

from_blocks!(FullInt<i32>, i32, 4, |self, block| block.map(|word| word as i32));
from_blocks!(FullInt<u32>, u32, 4, |self, block| block);
from_blocks!(FullInt<i64>, i64, 2, |self, block| pairs(block).map(|bits| bits as i64));
from_blocks!(FullInt<u64>, u64, 2, |self, block| pairs(block));

/// A block as two numbers, low words first.
fn pairs(block: [u32; 4]) -> [u64; 2] {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    [pair(block[0], block[1]), pair(block[2], block[3])]
}
