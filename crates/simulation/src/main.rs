//! Runs simulations: `tensorfleet-simulation --seeds 10000`, or one seed in detail, `--seed 42`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tensorfleet_simulation::{simulate, simulate_twice};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    match (number("--seed"), number("--seeds")) {
        (Some(seed), _) => one(seed),
        (None, Some(count)) => many(number("--from").unwrap_or(0), count),
        (None, None) => {
            print("usage: --seeds COUNT [--from SEED] | --seed SEED");
            ExitCode::from(2)
        }
    }
}

/// Shows everything that happens in one simulation.
fn one(seed: u64) -> ExitCode {
    let report = simulate(seed, true);
    report.log.iter().for_each(|line| print(line));
    report.wrong.iter().for_each(|wrong| print(&format!("seed {seed}: {wrong}")));
    if report.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs simulations until one goes wrong.
fn many(from: u64, count: u64) -> ExitCode {
    let mut outcomes = std::collections::BTreeMap::<String, usize>::new();
    let current = Arc::new(AtomicU64::new(from));
    watch(Arc::clone(&current));
    for seed in from..from + count {
        current.store(seed, Ordering::Relaxed);
        let report = simulate_twice(seed);
        if !report.wrong.is_empty() {
            report.wrong.iter().for_each(|wrong| print(&format!("seed {seed}: {wrong}")));
            print(&format!("replay it with --seed {seed}"));
            return ExitCode::FAILURE;
        }
        for (outcome, times) in report.outcomes {
            *outcomes.entry(outcome).or_default() += times;
        }
    }
    print(&format!("{count} seeds from {from}: nothing is wrong"));
    outcomes.iter().for_each(|(outcome, times)| print(&format!("{times:>8} {outcome}")));
    ExitCode::SUCCESS
}

/// All nodes share one thread: if one blocks it, nothing goes on any more, and only a real clock can
/// tell.
fn watch(current: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        loop {
            let seed = current.load(Ordering::Relaxed);
            std::thread::sleep(BLOCKED);
            if current.load(Ordering::Relaxed) == seed {
                print(&format!("seed {seed}: somebody blocks the thread"));
                std::process::exit(1);
            }
        }
    });
}

/// No simulation takes so long.
const BLOCKED: Duration = Duration::from_secs(300);

#[expect(clippy::print_stdout, reason = "this is a command")]
fn print(text: &str) {
    println!("{text}");
}
