//! `cargo xtask simulate`: clusters with faults, on virtual time.

use crate::{Result, step};

/// Runs the simulation with optimised code: ten thousand seeds are many.
pub(crate) fn run(arguments: &[String]) -> Result {
    let simulation = ["run", "--release", "--package", "tensorfleet-simulation", "--"];
    step::run(step::cargo(simulation).args(arguments))
}
