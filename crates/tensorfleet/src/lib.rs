//! TensorFlow clusters in Rust.

// The binary's, and no part of what a Rust user sees.
#[doc(hidden)]
pub mod cli;
