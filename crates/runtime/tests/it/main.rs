//! The executor as its users see it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fuse;
mod run;
