//! The conformance tests: TensorFlow's own Python client against our server.

use std::path::{Path, PathBuf};

use crate::python::Interpreter;
use crate::{Result, step, workspace};

/// Runs only the conformance tests, with further arguments for pytest.
pub(crate) fn run(arguments: &[String]) -> Result {
    let server = build_server()?;
    let python = Interpreter::prepare_in_background().wait()?;
    pytest(&python, &server, arguments)
}

/// Compares random programs, or single ops, with TensorFlow.
pub(crate) fn differential(arguments: &[String]) -> Result {
    let server = build_server()?;
    let python = Interpreter::prepare_in_background().wait()?;
    let mut command = python.command();
    command.args(["-m", "conformance.differential"]).args(arguments);
    step::run(command.env("TENSORFLEET_BIN", server))
}

/// Records golden vectors for the tests of ops; no server takes part.
pub(crate) fn golden(families: &[String]) -> Result {
    let python = Interpreter::prepare_in_background().wait()?;
    let mut command = python.command();
    command.args(["-m", "conformance.differential", "record"]);
    step::run(command.args(families))
}

/// Builds the server in the profile of the Rust tests and returns where it lies.
pub(crate) fn build_server() -> Result<PathBuf> {
    // With the examples, dependencies have the features that they have for tests: all is built once.
    step::run(step::workspace_cargo("build").args(["--bins", "--examples"]))?;
    let binary = workspace::server_binary();
    if binary.is_file() {
        Ok(binary)
    } else {
        Err(format!("cargo built no {}", binary.display()).into())
    }
}

/// Runs pytest on the conformance directory, all tests in one process.
pub(crate) fn pytest(python: &Interpreter, server: &Path, arguments: &[String]) -> Result {
    let mut command = python.command();
    command.args(["-m", "pytest", "conformance"]).args(arguments);
    step::run(command.env("TENSORFLEET_BIN", server))
}
