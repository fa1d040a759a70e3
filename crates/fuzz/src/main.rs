//! `cargo xtask fuzz [TARGET] [--minutes N]`: parsers against bytes that nobody would send.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tensorfleet_fuzz::{TARGETS, Target, target};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match chosen(&arguments) {
        Ok((targets, minutes)) => {
            let time = Duration::from_secs_f64(60.0 * minutes / targets.len() as f64);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            for target in targets {
                let count = target.run_for(time, now.as_nanos() as u64);
                println!("{}: {count} inputs", target.name);
            }
            ExitCode::SUCCESS
        }
        Err(words) => {
            eprintln!("error: {words}");
            ExitCode::FAILURE
        }
    }
}

/// What to run, and for how many minutes together.
fn chosen(arguments: &[String]) -> Result<(Vec<&'static Target>, f64), String> {
    let (mut targets, mut minutes) = (Vec::new(), 10.0);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--minutes" {
            let number = arguments.next().and_then(|text| text.parse::<f64>().ok());
            let number = number.filter(|number| (0.0..1e6).contains(number));
            minutes = number.ok_or("--minutes wants a number")?;
        } else {
            let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
            let found = target(argument);
            targets.push(found.ok_or_else(|| format!("no target {argument}: {}", names()))?);
        }
    }
    if targets.is_empty() {
        targets.extend(TARGETS);
    }
    Ok((targets, minutes))
}
