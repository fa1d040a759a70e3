//! The master and the worker of a task, free of any wire format.
//!
//! A [`Master`] turns a client's steps into partitions and has them run by workers, its own by
//! function call and others through [`client::WorkerClient`].

pub mod client;
mod evaluate;
mod functions;
mod master;
mod partial_run;
mod random;
mod session;
pub mod spec;
mod task;
mod worker;
mod worker_session;

pub use master::Master;
pub use random::random_nonzero;
pub use session::{Callable, RunOptions, Session, SessionOptions, StepCall, StepReply};
pub use task::{LocalDevice, StepState, Steps, Task};
pub use worker::{LocalWorker, Worker};
pub use worker_session::WorkerSession;
