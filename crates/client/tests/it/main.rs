//! The client as a program uses it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod checkpoints;
mod control;
mod generated;
mod keras;
mod layers;
mod losses;
mod metrics;
mod mistakes;
mod training;
