//! Numbers that nobody can guess or repeat by accident, from the system.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A random number. The standard library seeds its hashers from the system's randomness.
pub(crate) fn random_u64() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(0);
    hasher.finish()
}

/// A random number that is not zero, for those who have no task.
pub fn random_nonzero() -> u64 {
    random_u64().max(1)
}
