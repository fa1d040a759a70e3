//! The master and the worker of a task, free of any wire format.
//!
//! A [`Master`] turns a client's steps into partitions and has them run by workers, its own by
//! function call and others through [`client::WorkerClient`].

mod absence;
pub mod client;
pub mod collective;
pub mod coordination;
mod debugger;
pub mod eager;
mod engine;
mod events;
mod held;
mod kept;
mod local;
mod master;
mod members;
mod owner;
mod partial_run;
mod plans;
mod quota;
mod random;
mod recorder;
mod release;
mod remote_function;
mod session;
mod steps;
mod task;
mod threads;
mod view;
mod worker;
mod world;

pub use absence::{Absence, Absences};
pub use debugger::Watches;
pub use engine::{
    Engine, Functions, Instance, PreparedOp, RemoteFunctions, RunLimits, RunOutcome, Step,
};
pub use events::{Event, EventKind, Events};
pub use local::{LocalMaster, LocalWorker};
pub use master::Master;
pub use owner::{Owner, Separation};
pub use quota::{Ledger, Quotas};
pub use random::random_nonzero;
pub use recorder::{RecordedPart, Recorder};
pub use session::{
    Callable, CostModel, PlannedStep, RunOptions, Session, SessionOptions, SessionSummary,
    StepCall, StepReply,
};
pub use steps::{RunningStep, StepState, Steps, Visit};
pub use task::{LocalDevice, Task};
pub use threads::{Threads, limit};
pub use view::View;
pub use worker::Worker;
pub use world::{RealWorld, World};
