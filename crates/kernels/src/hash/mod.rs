//! Hashes of strings that TensorFlow promises never to change.
//!
//! Models depend on them: an embedding row is found by a hash, so every bit must be TensorFlow's.
//!
//! | Op | Hash |
//! |---|---|
//! | `StringToHashBucketFast`, `Fingerprint` (method `farmhash64`) | [`fingerprint64`] |
//! | `StringToHashBucketStrong` | [`siphash`] |
//! | `StringToHashBucket` | [`murmur64`] |
//! | `SparseCross` and feature crosses | [`fingerprint_cat64`] of fingerprints |
//!
//! A bucket is the hash modulo the number of buckets, both unsigned: [`bucket`].

mod farm;
mod murmur;
mod sip;

pub use farm::{fingerprint_cat64, fingerprint64};
pub use murmur::murmur64;
pub use sip::siphash;

/// The bucket of `hash` among `buckets`, which must not be zero.
pub fn bucket(hash: u64, buckets: u64) -> u64 {
    hash % buckets
}

/// Reads eight bytes at `at`, which the caller knows to be there.
#[inline(always)]
fn word64(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().expect("a slice of eight bytes"))
}

/// Reads four bytes at `at`, which the caller knows to be there.
#[inline(always)]
fn word32(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().expect("a slice of four bytes"))
}

/// Reads the fewer than eight bytes of `data` as the low bytes of a word.
#[inline(always)]
fn short_word(data: &[u8]) -> u64 {
    data.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod golden;
