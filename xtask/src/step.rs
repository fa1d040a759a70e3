//! Named, timed steps, so that a reader of a CI log sees what ran, what failed and what was slow.

use std::ffi::OsStr;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Result, workspace};

/// The steps of one command and the time each took.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration)>,
}

impl Steps {
    /// Runs one step; a failure names the step.
    pub(crate) fn run<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n=== {name}");
        let start = Instant::now();
        let outcome = step().map_err(|error| format!("step `{name}` failed: {error}"))?;
        let taken = start.elapsed();
        println!("=== {name}: ok in {}", seconds(taken));
        self.done.push((name.to_owned(), taken));
        Ok(outcome)
    }

    /// Prints what each step took.
    pub(crate) fn summarise(&self) {
        println!("\nAll steps passed:");
        for (name, taken) in &self.done {
            println!("  {:>8}  {name}", seconds(*taken));
        }
        let total = self.done.iter().map(|(_, taken)| *taken).sum();
        println!("  {:>8}  in all", seconds(total));
    }
}

/// Returns cargo, set up to run in the workspace root.
pub(crate) fn cargo<I: IntoIterator<Item: AsRef<OsStr>>>(arguments: I) -> Command {
    // Cargo tells its children which cargo to use; outside of it the one on the path will do.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(workspace::root()).args(arguments);
    command
}

/// Returns cargo for all crates. Commands that name the same crates and features share what they
/// compile; a second set of features would compile the op library once more.
pub(crate) fn workspace_cargo(command: &str) -> Command {
    cargo([command, "--workspace", "--features", "tensorfleet/ndarray"])
}

/// Runs a command with its output shown; anything but success is an error that names it.
pub(crate) fn run(command: &mut Command) -> Result {
    let shown = show(command);
    let status = command.status().map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` ended with {status}").into()) }
}

/// Returns a command as one would type it.
pub(crate) fn show(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str()).to_string_lossy()];
    words.extend(command.get_args().map(OsStr::to_string_lossy));
    words.join(" ")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
