//! Fixtures for tests: running single ops, and replaying values recorded from TensorFlow.

mod golden;
mod local;
mod op;

pub use golden::check_golden;
pub use local::finish;
pub use op::{OpRun, step_context};
