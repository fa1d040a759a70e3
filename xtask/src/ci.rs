//! `cargo xtask ci`: what must hold before a change lands.
//!
//! The steps share one profile, and clippy and rustdoc share their metadata, so that dependencies
//! are compiled once and checked once. Cheap steps come first.

use crate::step::{self, Steps};
use crate::{Result, codegen, instructions, test, tidy};

pub(crate) fn run() -> Result {
    let mut steps = Steps::default();
    steps.run("rustfmt", || step::run(&mut step::cargo(["fmt", "--all", "--check"])))?;
    steps.run("tidy", tidy::run)?;
    steps.run("codegen", codegen::check)?;
    steps.run("clippy", || {
        let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        step::run(&mut step::cargo(arguments))
    })?;
    steps.run("rustdoc", || {
        let arguments = ["doc", "--workspace", "--no-deps"];
        step::run(step::cargo(arguments).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    test::steps(&mut steps)?;
    steps.run("instructions", instructions::check)?;
    steps.summarise();
    Ok(())
}
