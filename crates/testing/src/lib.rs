//! Fixtures for tests: running single ops, replaying values recorded from TensorFlow, and checking
//! gradients.

mod golden;
mod gradient;
mod hostile;
mod local;
mod op;

pub use golden::check_golden;
pub use gradient::{check_gradient, varied};
pub use hostile::check_hostile;
pub use local::finish;
pub use op::{OpRun, step_context};
