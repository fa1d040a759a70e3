//! The master and the worker of a task, free of any wire format.
//!
//! A [`Master`] turns a client's steps into partitions and has them run by workers, its own by
//! function call and others through [`client::WorkerClient`].

pub mod client;
pub mod collective;
pub mod coordination;
mod debugger;
pub mod eager;
mod engine;
mod local;
mod master;
mod members;
mod partial_run;
mod random;
mod release;
mod remote_function;
mod session;
pub mod spec;
mod steps;
mod task;
mod threads;
mod view;
mod worker;
mod world;

pub use debugger::Watches;
pub use engine::{
    Engine, Functions, Instance, PreparedOp, RemoteFunctions, RunLimits, RunOutcome, Step,
};
pub use local::{LocalMaster, LocalWorker};
pub use master::Master;
pub use random::random_nonzero;
pub use session::{
    Callable, CostModel, RunOptions, Session, SessionOptions, SessionSummary, StepCall, StepReply,
};
pub use steps::{StepState, Steps, Visit};
pub use task::{LocalDevice, Task};
pub use threads::{Threads, limit};
pub use view::View;
pub use worker::Worker;
pub use world::{RealWorld, World};
