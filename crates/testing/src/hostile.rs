//! Runs recorded one-op cases with absurd sizes, numbers and shapes in place of good ones.
//!
//! Whatever comes in, a kernel answers with values or with an error; it does not panic and does not
//! ask for memory that is not there. Memory that runs out ends the process, so all cases run in
//! a child with little of it, which starts again behind a case that ended it.

use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use tensorfleet_framework::Registry;

use crate::golden::{Case, run};

/// The part of a child's environment that says what to run.
const CASES: &str = "TENSORFLEET_HOSTILE_CASES";

/// The address space of a child in KiB: little enough to run out, enough for the threads of tests.
const MEMORY: usize = 3 << 20;

/// Runs `rounds` changed copies of every case of the files. Call it from the test named `test`, and
/// only from there: that test is what the child runs. An error lists the cases that went wrong.
pub fn check_hostile(
    registry: &Registry,
    files: &[PathBuf],
    rounds: u64,
    test: &str,
) -> Result<(), String> {
    if let Ok(first) = std::env::var(CASES) {
        let first = first.parse().map_err(|_| format!("{CASES}={first} is no number"))?;
        work(registry, files, rounds, first);
        return Ok(());
    }
    let mut failures = Vec::new();
    let mut first = 0;
    while let Some((number, failure)) = supervise(test, first, &mut failures)? {
        failures.push(failure);
        first = number + 1;
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("{} cases went wrong:\n{}", failures.len(), failures.join("\n")))
}

/// Runs a child from case `first` on. If a case ended it, returns that case.
fn supervise(
    test: &str,
    first: usize,
    failures: &mut Vec<String>,
) -> Result<Option<(usize, String)>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let path = std::env::temp_dir().join(format!("tensorfleet-hostile-{}", std::process::id()));
    let errors = std::fs::File::create(&path).map_err(|error| error.to_string())?;
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")])
        .arg(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CASES, first.to_string())
        .stdout(Stdio::piped())
        .stderr(errors.try_clone().map_err(|error| error.to_string())?)
        .spawn()
        .map_err(|error| error.to_string())?;
    let output = child.stdout.take().expect("it is piped");
    let mut last = None;
    let mut is_complete = false;
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| error.to_string())?;
        if let Some(case) = line.strip_prefix("case ") {
            last = Some(case.to_owned());
        } else if let Some(failure) = line.strip_prefix("failed ") {
            failures.push(failure.to_owned());
        } else if line == "complete" {
            is_complete = true;
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let words = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::remove_file(&path).map_err(|error| error.to_string())?;
    let words = words.lines().last().unwrap_or_default().to_owned();
    match last {
        _ if is_complete => Ok(None),
        Some(case) => {
            let number = case.split(' ').next().and_then(|text| text.parse().ok());
            let number = number.ok_or_else(|| format!("the child wrote {case}"))?;
            Ok(Some((number, format!("{case}: the process ended with {status}: {words}"))))
        }
        None => Err(format!("the child ended with {status} before its first case: {words}")),
    }
}

/// Runs the cases from number `first` on, and says on standard output which one is next.
fn work(registry: &Registry, files: &[PathBuf], rounds: u64, first: usize) {
    let mut out = std::io::stdout();
    // The test runner has begun a line with the name of the test.
    writeln!(out).expect("somebody reads");
    let mut number = 0;
    for file in files {
        for line in cases(file) {
            for round in 0..rounds {
                number += 1;
                if number < first {
                    continue;
                }
                let mut json: Json = serde_json::from_str(&line).expect("the golden file is JSON");
                change(&mut json, &mut Random::new(number as u64, round));
                let text = format!("{number} {}", describe(&json));
                writeln!(out, "case {text}").expect("somebody reads");
                let Ok(case) = serde_json::from_value::<Case>(json) else { continue };
                let outcome = catch_unwind(AssertUnwindSafe(|| run(registry, &case).is_ok()));
                if outcome.is_err() {
                    writeln!(out, "failed {text}: a panic").expect("somebody reads");
                }
            }
        }
    }
    writeln!(out, "complete").expect("somebody reads");
}

fn cases(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("the golden file is there");
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

fn describe(case: &Json) -> String {
    let mut text = format!("{} {} {}", case["op"], case["attrs"], case["inputs"]).replace('"', "");
    if let Some((end, _)) = text.char_indices().nth(600) {
        text.truncate(end);
    }
    text
}

/// Makes one or two changes to a case.
fn change(case: &mut Json, random: &mut Random) {
    for _ in 0..1 + random.below(2) {
        let inputs = case["inputs"].as_array().map_or(0, Vec::len);
        match random.below(4) {
            0 => change_attr(&mut case["attrs"], random),
            1 if inputs > 0 => change_shape(&mut case["inputs"][random.below(inputs)], random),
            _ if inputs > 0 => change_value(&mut case["inputs"][random.below(inputs)], random),
            _ => change_attr(&mut case["attrs"], random),
        }
    }
}

const INTEGERS: &[i64] = &[
    -1,
    0,
    1,
    -2,
    255,
    65_536,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 32,
    1 << 40,
    1 << 62,
    i64::MAX,
    i64::MIN,
];

fn change_attr(attrs: &mut Json, random: &mut Random) {
    let Some(attrs) = attrs.as_object_mut() else { return };
    let mut numbers: Vec<&mut Json> = Vec::new();
    // An attribute is an object with one member, named by its kind.
    let members = attrs.values_mut().filter_map(Json::as_object_mut).flatten();
    for (kind, value) in members {
        match (kind.as_str(), value) {
            ("i" | "f", number) => numbers.push(number),
            ("shape", Json::Array(dims)) => numbers.extend(dims),
            ("list", Json::Array(items)) => {
                let items = items.iter_mut().filter_map(Json::as_object_mut);
                numbers.extend(items.filter_map(|item| item.get_mut("i")));
            }
            _ => {}
        }
    }
    if !numbers.is_empty() {
        let at = random.below(numbers.len());
        *numbers[at] = json!(random.pick(INTEGERS));
    }
}

/// Gives the same elements another shape, or takes them away.
fn change_shape(input: &mut Json, random: &mut Random) {
    let count = input["data"].as_array().map_or(0, Vec::len);
    let shape = match random.below(6) {
        0 => json!([count]),
        1 => json!([1, count]),
        2 => json!([count, 1, 1]),
        3 if count == 1 => json!([]),
        4 => {
            input["data"] = json!([]);
            json!([0])
        }
        _ => {
            input["data"] = json!([]);
            json!([0, 3])
        }
    };
    input["shape"] = shape;
}

fn change_value(input: &mut Json, random: &mut Random) {
    let is_float =
        matches!(input["dtype"].as_str(), Some("float" | "double" | "half" | "bfloat16"));
    let Some(data) = input["data"].as_array_mut().filter(|data| !data.is_empty()) else { return };
    let at = random.below(data.len());
    data[at] = match &data[at] {
        Json::String(text) if !is_float => {
            let cut = random.below(text.len() + 1) / 4 * 4;
            json!(text[..cut])
        }
        _ if is_float => match random.below(4) {
            0 => json!("NaN"),
            1 => json!("inf"),
            2 => json!(-1e30),
            _ => json!(1e30),
        },
        _ => json!(random.pick(INTEGERS)),
    };
}

/// A sequence of numbers that is the same in every run.
struct Random(u64);

impl Random {
    fn new(seed: u64, stream: u64) -> Random {
        Random(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ stream.wrapping_add(0x2545_F491_4F6C_DD1D),
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}
