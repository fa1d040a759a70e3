//! Calls of functions: branches and loops whose bodies are functions.
//!
//! The planner turns most of these into plain graphs before a step runs; these kernels run the
//! rest, and functions that call themselves.

mod branch;
mod call;
mod condition;
mod repeat;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[branch::OPS, call::OPS, condition::OPS, repeat::OPS];
