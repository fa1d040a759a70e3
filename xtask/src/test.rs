//! `cargo xtask test`: every test, on a machine that has only Rust and Python.

use crate::python::Interpreter;
use crate::step::{self, Steps};
use crate::{Result, conformance, wheel};

pub(crate) fn run() -> Result {
    let mut steps = Steps::default();
    self::steps(&mut steps)?;
    steps.summarise();
    Ok(())
}

/// Runs the test steps as part of a longer command.
pub(crate) fn steps(steps: &mut Steps) -> Result {
    // Installing TensorFlow waits for the network while compiling waits for the processor.
    let python = Interpreter::prepare_in_background();
    steps.run("cargo test", || step::run(&mut step::workspace_cargo("test")))?;
    steps.run("cargo test, object storage", || {
        let crates = ["-p", "tensorfleet-files", "-p", "tensorfleet-checkpoint"];
        let feature = ["--features", "tensorfleet-checkpoint/object_store"];
        step::run(step::cargo(["test", "--lib"]).args(crates).args(feature))
    })?;
    let server = steps.run("build server", conformance::build_server)?;
    let python = steps.run("python environment", || python.wait())?;
    steps.run("conformance", || conformance::pytest(&python, &server, &[]))?;
    steps.run("python package", || wheel::test(&python))
}
