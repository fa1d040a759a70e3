//! The standard normal distribution, whole and cut off at two standard deviations.

use std::marker::PhantomData;

use half::{bf16, f16};

use super::bits::{normal_pair_f32, normal_pair_f64};
use super::fill::{Distribution, fill_from_blocks, fill_from_words, reserved_blocks};
use super::philox::{Philox, Words};

const PER_TASK: usize = 1 << 13;

/// Standard normal values, for `f16`, `bf16`, `f32` and `f64`.
#[derive(Clone, Copy, Debug)]
pub struct Normal<T>(PhantomData<fn() -> T>);

impl<T> Normal<T> {
    /// The distribution.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Normal<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Standard normal values, of which those two or more from zero are drawn again.
#[derive(Clone, Copy, Debug)]
pub struct TruncatedNormal<T>(PhantomData<fn() -> T>);

impl<T> TruncatedNormal<T> {
    /// The distribution.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for TruncatedNormal<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Declares both distributions of one type: `$group` values a block, made by `$pair` from `$words`
/// words and narrowed by `$narrow`.
macro_rules! normal {
    ($value:ty, $group:literal, $words:literal, $pair:expr, $narrow:expr) => {
        impl Distribution for Normal<$value> {
            type Value = $value;
            const GROUP: usize = $group;
            const BLOCKS_PER_GROUP: u64 = 1;
            const PER_TASK: usize = PER_TASK;

            fn fill(&self, philox: Philox, out: &mut [$value]) {
                fill_from_blocks::<$value, $group, _>(philox, out, |block| {
                    let mut values = [<$value>::default(); $group];
                    let pairs = values.chunks_exact_mut(2);
                    for (pair, words) in pairs.zip(block.as_chunks::<$words>().0) {
                        pair.copy_from_slice(&$pair(*words).map($narrow));
                    }
                    values
                });
            }
        }

        impl Distribution for TruncatedNormal<$value> {
            type Value = $value;
            const GROUP: usize = $group;
            const BLOCKS_PER_GROUP: u64 = reserved_blocks($group);
            const PER_TASK: usize = PER_TASK;

            fn fill(&self, philox: Philox, out: &mut [$value]) {
                fill_from_words::<$value, $group>(philox, out, |words| {
                    accept(words, |words| $pair(std::array::from_fn(|_| words.next_u32())))
                        .map($narrow)
                });
            }
        }
    };
}

normal!(f16, 4, 2, pair_f32, f16::from_f32);
normal!(bf16, 4, 2, pair_f32, bf16::from_f32);
normal!(f32, 4, 2, pair_f32, std::convert::identity);
normal!(f64, 2, 4, normal_pair_f64, std::convert::identity);

fn pair_f32([x0, x1]: [u32; 2]) -> [f32; 2] {
    normal_pair_f32(x0, x1)
}

/// Draws pairs until `GROUP` values lie within two standard deviations.
fn accept<T: num_traits::Float, const GROUP: usize>(
    words: &mut Words,
    pair: impl Fn(&mut Words) -> [T; 2],
) -> [T; GROUP] {
    let two = T::one() + T::one();
    let mut values = [T::zero(); GROUP];
    let mut accepted = 0;
    while accepted < GROUP {
        for value in pair(words) {
            if value.abs() < two && accepted < GROUP {
                values[accepted] = value;
                accepted += 1;
            }
        }
    }
    values
}
