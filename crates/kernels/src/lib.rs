//! Computations on plain slices: what ops call once shapes and types are settled.

pub mod random;
