//! The client as a program uses it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod control;
mod generated;
mod layers;
mod metrics;
mod mistakes;
mod training;
