//! `tensorfleet._native`: servers inside a Python process.
//!
//! Everything that can be said in Python is said there, in the package around this module: what
//! arguments mean, which exception an error becomes. Here is what needs the server itself. The
//! interpreter is let go of around every wait.

mod failure;
mod function;
mod gate;
mod registry;
mod server;

use pyo3::prelude::*;

/// The native part of the package `tensorfleet`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::failure::Failure;
    #[pymodule_export]
    use crate::gate::Gate;
    #[pymodule_export]
    use crate::run_command;
    #[pymodule_export]
    use crate::server::{Host, Server};
}

/// Runs the command line `tensorfleet`, the program's name first, and returns its exit code. `own` is
/// the command that starts this program once more.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<String>, own: Vec<String>) -> u8 {
    py.detach(|| tensorfleet::command::run(arguments, &own))
}
