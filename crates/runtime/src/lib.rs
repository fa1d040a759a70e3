//! Runs graphs: compiles them, executes their nodes, and keeps the rendezvous of a step.
//!
//! This crate knows no network and no op.

mod executable;
mod files;
mod frames;
mod fuse;
mod inputs;
mod operation;
mod pool;
mod rendezvous;
mod run;
mod sequence;
mod state;
mod task;
mod trace;
mod turn;

pub use executable::{Executable, KernelCache, NewKernels};
pub use files::FileReport;
pub use operation::Operation;
pub use pool::{ComputePool, Job};
pub use rendezvous::{LocalRendezvous, StepLook};
pub use run::Run;
pub use trace::{NodeRecord, Trace};
