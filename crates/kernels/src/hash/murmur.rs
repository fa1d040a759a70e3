//! The 64-bit MurmurHash2, TensorFlow's general purpose hash.

use super::{short_word, word64};

const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const SEED: u64 = 0xDE_CAFC_AFFE;
const SHIFT: u32 = 47;

/// The hash of `data` with TensorFlow's standard seed.
pub fn murmur64(data: &[u8]) -> u64 {
    let (words, rest) = data.as_chunks::<8>();
    let mut hash = SEED ^ (data.len() as u64).wrapping_mul(MULTIPLIER);
    for word in words {
        let word = mix(word64(word, 0).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        hash = (hash ^ short_word(rest)).wrapping_mul(MULTIPLIER);
    }
    mix(mix(hash).wrapping_mul(MULTIPLIER))
}

fn mix(value: u64) -> u64 {
    value ^ value >> SHIFT
}
