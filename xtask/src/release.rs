//! What releases are built with: for which machines, with which tools, in which profile.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::{Result, python, step, workspace};

/// Small code; see the root's `Cargo.toml`.
pub(crate) const PROFILE: &str = "dist";

/// The oldest C library that a release runs with; `manylinux2014` is its name among wheels.
pub(crate) const GLIBC: &str = "2.17";

/// Versions that were looked at; they come from PyPI like TensorFlow. Zig is the linker and the C
/// compiler that knows old C libraries and other machines.
const TOOLS: &[&str] = &["maturin==1.16.0", "cargo-zigbuild==0.24.0", "ziglang==0.17.0"];

/// A kind of machine that releases are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name in the names of files.
    pub(crate) name: &'static str,
    pub(crate) triple: &'static str,
}

const TARGETS: [Target; 2] = [
    Target { name: "linux-x86_64", triple: "x86_64-unknown-linux-gnu" },
    Target { name: "linux-aarch64", triple: "aarch64-unknown-linux-gnu" },
];

impl Target {
    /// The target that the arguments of a command name; this machine's without a word.
    pub(crate) fn read(arguments: &[String]) -> Result<Target> {
        let wanted = match arguments {
            [] => env::consts::ARCH,
            [one] => one.as_str(),
            [_, second, ..] => return Err(format!("unexpected argument `{second}`").into()),
        };
        let names = |target: &&Target| target.triple.split('-').next() == Some(wanted);
        let target = TARGETS.iter().find(names).copied();
        target.ok_or_else(|| format!("no releases for `{wanted}`: x86_64 or aarch64").into())
    }

    /// Whether this machine can run what is built for it.
    #[cfg(test)]
    fn is_here(self) -> bool {
        self.triple.starts_with(env::consts::ARCH)
    }

    /// Fails with what to do if the standard library of the target is not installed.
    pub(crate) fn check_installed(self) -> Result {
        let directory = output(
            Command::new("rustc").args(["--print", "target-libdir", "--target"]).arg(self.triple),
        )?;
        if Path::new(directory.trim()).is_dir() {
            return Ok(());
        }
        let triple = self.triple;
        Err(format!("Rust's standard library for {triple} is not here: rustup target add {triple}")
            .into())
    }
}

/// The environment with the tools, and a search path that begins with it.
pub(crate) fn tools() -> Result<PathBuf> {
    python::environment("release-tools", TOOLS)
}

/// A command that finds the tools and knows what the build is made of.
pub(crate) fn command(tools: &Path, program: &Path) -> Result<Command> {
    let mut path = vec![tools.join("bin")];
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let mut command = Command::new(program);
    command.current_dir(workspace::root()).env("PATH", env::join_paths(path)?);
    Ok(match commit() {
        Ok(commit) => {
            command.env("TENSORFLEET_COMMIT", commit);
            command
        }
        // Sources without their history.
        Err(_) => command,
    })
}

fn commit() -> Result<String> {
    let mut git = Command::new("git");
    let text = output(git.args(["rev-parse", "HEAD"]).current_dir(workspace::root()))?;
    Ok(text.trim().to_owned())
}

/// What a command writes.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = step::show(command);
    let output = command.output().map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{shown}` ended with {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// An empty directory, whatever was there.
pub(crate) fn fresh(directory: &Path) -> Result {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    Ok(fs::create_dir_all(directory)?)
}

/// Says how large a file is, and whether that is more than it should be.
pub(crate) fn tell_size(file: &Path, aim_in_megabytes: u64) -> Result {
    let size = fs::metadata(file)?.len();
    let verdict = if size > aim_in_megabytes * 1_000_000 {
        format!(", above the aim of {aim_in_megabytes} MB")
    } else {
        String::new()
    };
    println!("{} ({:.1} MB{verdict})", file.display(), size as f64 / 1e6);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_named_by_their_processor() {
        let read = |words: &[&str]| {
            Target::read(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(read(&["aarch64"]).unwrap().name, "linux-aarch64");
        assert!(read(&[]).unwrap().is_here());
        assert!(read(&["vax"]).unwrap_err().to_string().contains("x86_64 or aarch64"));
        assert!(read(&["x86_64", "y"]).is_err());
    }
}
