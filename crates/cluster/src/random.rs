//! Numbers that nobody can guess or repeat by accident: incarnations, step ids, handles.

use std::hash::{BuildHasher, Hasher, RandomState};

use tensorfleet_framework::StepId;

/// A random number. The standard library seeds its hashers from the system's randomness.
pub(crate) fn random_u64() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(0);
    hasher.finish()
}

/// A random number that is not zero.
pub fn random_nonzero() -> u64 {
    random_u64().max(1)
}

/// A number for a new step. TensorFlow's masters draw 57-bit positive numbers too.
pub(crate) fn random_step_id() -> StepId {
    StepId((random_u64() >> 7).max(1) as i64)
}

/// A random handle of sixteen hexadecimal digits.
pub(crate) fn random_handle() -> String {
    format!("{:016x}", random_u64())
}
