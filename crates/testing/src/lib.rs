//! Fixtures for tests: writing graphs, running single ops, replaying values recorded from TensorFlow,
//! and checking gradients.

mod golden;
mod gradient;
mod graph;
mod hostile;
mod local;
mod op;

pub use golden::check_golden;
pub use gradient::{check_gradient, varied};
pub use graph::{block_on, constant, node, retval};
pub use hostile::check_hostile;
pub use local::finish;
pub use op::{OpRun, step_context};
