//! `cargo xtask ci`: what must hold before a change lands.
//!
//! The steps share one profile and one set of features, and clippy and rustdoc share their
//! metadata, so that everything is compiled once and checked once. Cheap steps come first.

use crate::step::{self, Steps};
use crate::{Result, codegen, deny, instructions, test, tidy};

pub(crate) fn run() -> Result {
    let mut steps = Steps::default();
    steps.run("rustfmt", || step::run(&mut step::cargo(["fmt", "--all", "--check"])))?;
    steps.run("tidy", tidy::run)?;
    steps.run("deny", deny::run)?;
    steps.run("codegen", codegen::check)?;
    steps.run("clippy", || {
        let arguments = ["--all-targets", "--", "-D", "warnings"];
        step::run(step::workspace_cargo("clippy").args(arguments))
    })?;
    steps.run("rustdoc", || {
        let mut doc = step::workspace_cargo("doc");
        step::run(doc.arg("--no-deps").env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    test::steps(&mut steps)?;
    steps.run("instructions", instructions::check)?;
    steps.summarise();
    Ok(())
}
