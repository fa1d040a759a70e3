//! A task's engine, master and worker without any wire.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod engine;
mod fixture;
