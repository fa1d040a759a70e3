//! The generator that a stateful op owns.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};

use super::Philox;

/// The blocks TensorFlow sets aside for each output value, whatever the distribution needs.
const BLOCKS_PER_OUTPUT: u64 = 256;

/// A Philox stream handed out in parts, each to one run of an op.
///
/// How much a run reserves decides the numbers of the next run, so each op must reserve as
/// TensorFlow's does: most call [`reserve_outputs`](Self::reserve_outputs).
#[derive(Debug)]
pub struct GuardedPhilox(Mutex<Philox>);

impl GuardedPhilox {
    /// The generator of an op with the attributes `seed` and `seed2`. Both zero means: unseeded.
    pub fn new(seed: i64, seed2: i64) -> Self {
        let philox = match (seed, seed2) {
            (0, 0) => Philox::new(entropy(), entropy()),
            (seed, seed2) => Philox::new(seed as u64, seed2 as u64),
        };
        Self(Mutex::new(philox))
    }

    /// Reserves what ops that fill an output of `values` values reserve.
    pub fn reserve_outputs(&self, values: u64) -> Philox {
        self.reserve_blocks(values.wrapping_mul(BLOCKS_PER_OUTPUT))
    }

    /// Reserves `blocks` blocks of four words.
    pub fn reserve_blocks(&self, blocks: u64) -> Philox {
        let mut philox = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reserved = *philox;
        philox.skip(blocks);
        reserved
    }

    /// Reserves `words` words, rounded up to whole blocks.
    pub fn reserve_words(&self, words: u64) -> Philox {
        self.reserve_blocks(words.div_ceil(4))
    }
}

/// 64 bits nobody can foresee: a seed for an op that has none.
pub fn entropy() -> u64 {
    // The standard library keys each `RandomState` anew from the operating system's generator.
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reservation_starts_where_the_last_one_ended() {
        let guarded = GuardedPhilox::new(7, 9);
        let start = Philox::new(7, 9);
        assert_eq!(guarded.reserve_outputs(3), start);
        assert_eq!(guarded.reserve_words(5), start.skipped(768));
        assert_eq!(guarded.reserve_blocks(1), start.skipped(770));
        assert_eq!(guarded.reserve_blocks(1), start.skipped(771));
    }

    #[test]
    fn one_zero_seed_is_a_seed_but_two_are_none() {
        assert_eq!(GuardedPhilox::new(0, 5).reserve_blocks(1), Philox::new(0, 5));
        let unseeded = || GuardedPhilox::new(0, 0).reserve_blocks(1);
        assert_ne!(unseeded(), unseeded());
    }
}
