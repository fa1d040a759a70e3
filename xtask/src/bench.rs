//! `cargo xtask bench`: our servers against TensorFlow's, and against what the machine can do.
//!
//! The measuring is done by the Python package `conformance.bench`, because the client is
//! TensorFlow's. What is built here is built as users build it. `bench kernels` times single ops.

use std::env;

use crate::python::Interpreter;
use crate::{Result, step, workspace};

pub(crate) fn run(arguments: &[String]) -> Result {
    let python = Interpreter::prepare_in_background();
    step::run(&mut step::cargo(["build", "--release", "--package", "tensorfleet"]))?;
    let limits = ["build", "--release", "--package", "tensorfleet-kernels", "--example", "limits"];
    step::run(&mut step::cargo(limits))?;
    let release = workspace::target_dir().join("release");
    let limits = release.join("examples").join(format!("limits{}", env::consts::EXE_SUFFIX));
    let server = release.join(format!("tensorfleet{}", env::consts::EXE_SUFFIX));
    let (module, arguments) = match arguments {
        [first, rest @ ..] if first == "kernels" => ("conformance.bench.kernels", rest),
        all => ("conformance.bench", all),
    };
    let mut command = python.wait()?.command();
    command.args(["-m", module, "--limits"]).arg(limits).args(arguments);
    step::run(command.env("TENSORFLEET_BIN", server).env("TF_CPP_MIN_LOG_LEVEL", "3"))
}
