//! The Python package: `cargo xtask wheel` builds what users install, `cargo xtask package` tests it as
//! they would get it, in environments of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{Interpreter, environment, install, interpreter};
use crate::release::{self, Target};
use crate::{Result, step, workspace};

const PYTEST: &[&str] = &["pytest==9.2.0", "pytest-xdist==3.8.0"];

/// What the wheel should be at most.
const MEGABYTES: u64 = 20;

/// Builds the wheel that users get and says where it is.
pub(crate) fn build(arguments: &[String]) -> Result {
    let target = Target::read(arguments)?;
    target.check_installed()?;
    let wheel = maturin("release", |command| {
        command.args(["--profile", release::PROFILE, "--strip", "--target", target.triple]);
        // maturin refuses a wheel that needs more of the system than the tag says.
        command.args(["--zig", "--compatibility", "manylinux2014"]);
    })?;
    release::tell_size(&wheel, MEGABYTES)
}

/// Installs a wheel into two fresh environments, without TensorFlow and with it, and runs the tests of
/// the package in each. With TensorFlow means with the packages of `python`'s environment.
pub(crate) fn test(python: &Interpreter) -> Result {
    let wheel = maturin("dev", |command| {
        command.args(["--profile", "dev"]);
    })?;
    let wheel = wheel.to_str().ok_or("the path of the wheel is no text")?;
    let alone = environment("package-alone", PYTEST)?;
    install(&alone, &["--force-reinstall", "--no-deps", wheel])?;
    pytest(&alone, &["crates/python/tests"])?;
    let beside = environment("package-beside", &[])?;
    borrow(&beside, python)?;
    install(&beside, &["--force-reinstall", "--no-deps", wheel])?;
    pytest(&beside, &["crates/python/tests", "crates/python/tests_with_tensorflow"])
}

fn pytest(environment: &Path, arguments: &[&str]) -> Result {
    let mut command = Command::new(interpreter(environment));
    command.args(["-m", "pytest", "-q"]).args(arguments).current_dir(workspace::root());
    // Tests of the package must not find it in the source tree.
    step::run(command.env_remove("PYTHONPATH"))
}

/// Builds a wheel anew and returns where it is.
fn maturin(directory: &str, options: impl FnOnce(&mut Command)) -> Result<PathBuf> {
    let out = workspace::target_dir().join("wheels").join(directory);
    release::fresh(&out)?;
    let tools = release::tools()?;
    let mut command = release::command(&tools, &tools.join("bin").join("maturin"))?;
    command.args(["build", "--quiet", "--locked"]);
    command.arg("--manifest-path").arg("crates/python/Cargo.toml").arg("--out").arg(&out);
    options(&mut command);
    step::run(&mut command)?;
    let made = fs::read_dir(&out)?.next().ok_or("maturin made no wheel")??;
    Ok(made.path())
}

/// Lets an environment see the packages of another interpreter: TensorFlow is large, and once is enough.
fn borrow(environment: &Path, lender: &Interpreter) -> Result {
    let ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let output = lender.command().args(["-c", ask]).output()?;
    let packages = String::from_utf8(output.stdout)?;
    let own = Command::new(interpreter(environment)).args(["-c", ask]).output()?;
    let own = String::from_utf8(own.stdout)?;
    Ok(fs::write(Path::new(own.trim()).join("borrowed.pth"), packages)?)
}
