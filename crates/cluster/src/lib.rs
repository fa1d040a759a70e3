//! The master and the worker of a task.

pub mod spec;
