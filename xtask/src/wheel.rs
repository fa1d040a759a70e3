//! The Python package: `cargo xtask wheel` builds what users install, `cargo xtask package` tests it as
//! they would get it, in environments of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::python::Interpreter;
use crate::{Result, step, workspace};

/// The version whose wheels were looked at; it comes from PyPI like TensorFlow.
const MATURIN: &str = "maturin==1.16.0";
const PYTEST: &str = "pytest==9.2.0";

/// Builds the wheel that users get and says where it is.
pub(crate) fn build() -> Result {
    let tools = environment("wheel-tools", &[MATURIN])?;
    let wheel = maturin(&tools, "release")?;
    println!("{} ({} MB)", wheel.display(), fs::metadata(&wheel)?.len() >> 20);
    Ok(())
}

/// Installs a wheel into two fresh environments, without TensorFlow and with it, and runs the tests of
/// the package in each. With TensorFlow means with the packages of `python`'s environment.
pub(crate) fn test(python: &Interpreter) -> Result {
    let tools = environment("wheel-tools", &[MATURIN])?;
    let wheel = maturin(&tools, "dev")?;
    let wheel = wheel.to_str().ok_or("the path of the wheel is no text")?;
    let alone = environment("package-alone", &[PYTEST])?;
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

/// Builds a wheel in a profile, anew, and returns where it is.
fn maturin(tools: &Path, profile: &str) -> Result<PathBuf> {
    let out = workspace::target_dir().join("wheels").join(profile);
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let mut command = Command::new(tools.join("bin").join("maturin"));
    command.args(["build", "--quiet", "--locked", "--profile", profile]);
    command.arg("--manifest-path").arg("crates/python/Cargo.toml").arg("--out").arg(&out);
    step::run(command.current_dir(workspace::root()))?;
    let made = fs::read_dir(&out)?.next().ok_or("maturin made no wheel")??;
    Ok(made.path())
}

/// A virtual environment below the target directory with some packages.
fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let directory = workspace::target_dir().join(name);
    if !interpreter(&directory).is_file() {
        crate::python::make_environment(&directory)?;
    }
    if !packages.is_empty() {
        install(&directory, packages)?;
    }
    Ok(directory)
}

fn install(environment: &Path, what: &[&str]) -> Result {
    let mut pip = Command::new(interpreter(environment));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    step::run(pip.args(what))
}

fn interpreter(environment: &Path) -> PathBuf {
    environment.join("bin").join(format!("python{}", env::consts::EXE_SUFFIX))
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
