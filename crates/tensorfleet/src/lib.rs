//! TensorFlow clusters in Rust.
