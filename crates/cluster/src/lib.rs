//! The master and the worker of a task, free of any wire format.
//!
//! A [`Master`] turns a client's steps into partitions and has them run by workers, its own by
//! function call and others through [`client::WorkerClient`].

pub mod client;
mod evaluate;
mod functions;
mod master;
mod members;
mod partial_run;
mod random;
mod remote_function;
mod session;
pub mod spec;
mod steps;
mod task;
mod threads;
mod worker;
mod worker_session;

pub use master::Master;
pub use random::random_nonzero;
pub use session::{Callable, RunOptions, Session, SessionOptions, StepCall, StepReply};
pub use steps::{StepState, Steps, Visit};
pub use task::{LocalDevice, Task};
pub use threads::{Threads, limit};
pub use worker::{LocalWorker, Worker};
pub use worker_session::WorkerSession;
