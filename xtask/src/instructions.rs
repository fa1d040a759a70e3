//! `cargo xtask instructions`: how many instructions the hot paths of a step take.
//!
//! Times on shared machines lie; counts hardly change from run to run. Callgrind counts a path twice,
//! repeated a few times and many times, and the difference is what the path itself takes. The
//! profile is that of the tests, so that nothing is compiled just for this: a count is not what a
//! user's server executes, but it grows when a path gets more to do, and that is what is watched.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, str};

use crate::{Result, step, workspace};

/// By how many percent a count may exceed its budget; allocators and C libraries differ a little.
const TOLERANCE: f64 = 10.0;
/// How often a path is repeated: the second count less the first is free of all preparation.
const REPEATS: [u64; 2] = [10, 110];

const HEADER: &str = "\
# Instructions of the hot paths, counted by callgrind in the profile of the tests.
# A count more than 10 percent above its budget fails `cargo xtask instructions`;
# `cargo xtask instructions --update` writes this file.
";

/// Compares every path with its budget.
pub(crate) fn check() -> Result {
    let Some(counts) = count_all()? else { return Ok(()) };
    let (compiler, budgets) = read_budgets()?;
    if compiler != rustc_version()? {
        println!("budgets are for {compiler}; with another compiler counts are only shown");
        return Ok(());
    }
    let mut failures = Vec::new();
    for (name, count) in &counts {
        match budgets.get(name) {
            None => failures.push(format!("{name} has no budget")),
            Some(&budget) => {
                let change = 100.0 * (*count as f64 / budget as f64 - 1.0);
                println!("{name:28} {change:+.1} %");
                if change > TOLERANCE {
                    failures.push(format!("{name}: {count} instructions, the budget is {budget}"));
                }
            }
        }
    }
    failures.extend(
        budgets
            .keys()
            .filter(|name| !counts.contains_key(*name))
            .map(|name| format!("{name} has a budget, but there is no such path")),
    );
    if failures.is_empty() {
        return Ok(());
    }
    let advice = "if that is meant, run `cargo xtask instructions --update`";
    Err(format!("{}\n{advice}", failures.join("\n")).into())
}

/// Makes today's counts the budgets.
pub(crate) fn update() -> Result {
    let Some(counts) = count_all()? else {
        return Err("without valgrind there is nothing to write".into());
    };
    let mut text = format!("{HEADER}compiler {}\n", rustc_version()?);
    for (name, count) in counts {
        writeln!(text, "{name} {count}")?;
    }
    Ok(fs::write(budget_file(), text)?)
}

/// Counts every path; nothing where there is no valgrind to count with.
fn count_all() -> Result<Option<BTreeMap<String, u64>>> {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !valgrind.is_ok_and(|status| status.success()) {
        println!("skipped: valgrind is not installed, so no instructions are counted");
        return Ok(None);
    }
    let program = build()?;
    let names = output(Command::new(&program).arg("--names"))?;
    let mut counts = BTreeMap::new();
    for name in names.lines() {
        let [few, many] = REPEATS.map(|times| count(&program, name, times));
        let each = (many? - few?) / (REPEATS[1] - REPEATS[0]);
        println!("{name:28} {each:>12}");
        counts.insert(name.to_owned(), each);
    }
    Ok(Some(counts))
}

/// Builds the program that repeats paths and returns where it lies.
fn build() -> Result<PathBuf> {
    let arguments = ["--bench", "hot_paths"];
    step::run(step::workspace_cargo("build").args(arguments))?;
    // Cargo gives the file a name of its own; asked again, it only says which.
    let mut ask = step::workspace_cargo("build");
    ask.args(arguments).args(["--message-format", "json"]);
    let messages = output(ask.stderr(Stdio::null()))?;
    let path =
        messages.lines().filter(|line| line.contains("\"name\":\"hot_paths\"")).find_map(|line| {
            let (_, rest) = line.split_once("\"executable\":\"")?;
            rest.split_once('"').map(|(path, _)| PathBuf::from(path))
        });
    path.ok_or_else(|| "cargo did not say where hot_paths is".into())
}

/// Counts the instructions of a whole process that repeats a path.
fn count(program: &Path, name: &str, times: u64) -> Result<u64> {
    let file = workspace::target_dir().join("callgrind.out");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", "--compress-strings=no"]);
    command.arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(program).args(["--repeat", name, &times.to_string()]);
    output(&mut command)?;
    let text = fs::read_to_string(&file)?;
    let summary = text.lines().find_map(|line| line.strip_prefix("summary: "));
    let summary = summary.and_then(|count| count.split_whitespace().next());
    summary
        .and_then(|count| count.parse().ok())
        .ok_or_else(|| format!("{} has no summary", file.display()).into())
}

fn output(command: &mut Command) -> Result<String> {
    let shown = step::show(command);
    let output = command.output().map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{shown}` ended with {}\n{said}", output.status).into());
    }
    Ok(str::from_utf8(&output.stdout)?.to_owned())
}

fn rustc_version() -> Result<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(output(Command::new(program).arg("--version"))?.trim().to_owned())
}

fn budget_file() -> PathBuf {
    workspace::root().join("xtask").join("instructions.txt")
}

/// Returns the compiler that the budgets are for, and the budgets.
fn read_budgets() -> Result<(String, BTreeMap<String, u64>)> {
    let path = budget_file();
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut compiler = String::new();
    let mut budgets = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(' ') {
            Some(("compiler", version)) => compiler = version.to_owned(),
            Some((name, count)) => {
                budgets.insert(name.to_owned(), count.parse()?);
            }
            None => return Err(format!("{}: cannot read `{line}`", path.display()).into()),
        }
    }
    Ok((compiler, budgets))
}
