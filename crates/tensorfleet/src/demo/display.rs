//! What the demo says: live in a terminal, line by line elsewhere.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use tensorfleet_server::{LocalCluster, Server};
use tensorfleet_strategy::{Loss, Mode};
use tensorfleet_tensor::{Result, unavailable};

use super::progress::Now;
use crate::cli::report;

/// Lines of progress where there is no terminal.
const LINES: u64 = 8;
/// Characters of the bar.
const BAR: usize = 30;

/// Shows how training goes on.
#[derive(Debug)]
pub(super) struct Display {
    steps: u64,
    is_terminal: bool,
    /// Lines drawn in a terminal, which the next drawing replaces.
    drawn: usize,
    /// Lines written elsewhere.
    written: u64,
    /// Losses that have been told.
    told: usize,
}

impl Display {
    pub(super) fn new(steps: u64) -> Display {
        let is_terminal = io::stdout().is_terminal();
        Display { steps, is_terminal, drawn: 0, written: 0, told: 0 }
    }

    /// Shows how things stand, if that is news.
    pub(super) fn update(&mut self, now: &Now, losses: &[Loss]) -> Result<()> {
        let mut text = String::new();
        if self.is_terminal {
            if self.drawn > 0 {
                let _ = write!(text, "\x1b[{}A", self.drawn);
            }
            let lines = live(now, losses, self.steps);
            self.drawn = lines.len();
            for line in lines {
                let _ = writeln!(text, "{line}\x1b[K");
            }
        } else {
            for loss in &losses[self.told..] {
                let _ = writeln!(text, "{}", lost(loss));
            }
            self.told = losses.len();
            let due = now.steps * LINES / self.steps.max(1);
            if due > self.written {
                self.written = due;
                let _ = writeln!(text, "{}", plain(now, losses, self.steps));
            }
        }
        if text.is_empty() { Ok(()) } else { say(&text) }
    }
}

/// Writes text for the user.
pub(super) fn say(text: &str) -> Result<()> {
    report::show(text).map_err(|error| unavailable!("standard output cannot be written: {error}"))
}

/// One line for each task.
pub(super) fn tasks(cluster: &LocalCluster, parameters: &[usize]) -> String {
    let line = |server: &Server, rest: String| {
        let task = server.server_def().task();
        format!(
            "  {:<20} {}{rest}\n",
            format!("/job:{}/task:{}", task.job, task.index),
            server.target()
        )
    };
    let counts = parameters.iter().map(|count| format!("   {} parameters", grouped(*count)));
    let ps = cluster.ps.iter().zip(counts).map(|(server, count)| line(server, count));
    ps.chain(cluster.workers.iter().map(|server| line(server, String::new()))).collect()
}

/// How workers go together, in words.
pub(super) fn manner(mode: Mode) -> String {
    match mode {
        Mode::Async => "asynchronously".to_owned(),
        Mode::Sync => "synchronously".to_owned(),
        Mode::Bounded(1) => "at most 1 step ahead of the slowest worker".to_owned(),
        Mode::Bounded(lead) => format!("at most {lead} steps ahead of the slowest worker"),
    }
}

/// A number with commas between thousands.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn live(now: &Now, losses: &[Loss], steps: u64) -> Vec<String> {
    let part = now.steps.min(steps) as f64 / steps.max(1) as f64;
    let full = (part * BAR as f64).round() as usize;
    let mut lines = vec![format!(
        "  {}{}  {} of {} steps   loss {:.4}   accuracy {:.3}",
        "█".repeat(full),
        "░".repeat(BAR - full),
        grouped(now.steps as usize),
        grouped(steps as usize),
        now.loss,
        now.accuracy
    )];
    for (worker, rate) in now.steps_per_second.iter().enumerate() {
        lines.push(match losses.iter().find(|loss| loss.worker == worker) {
            Some(loss) => format!("  {}", lost(loss)),
            None => format!("  worker {worker}: {rate:.0} steps/s"),
        });
    }
    lines
}

fn plain(now: &Now, losses: &[Loss], steps: u64) -> String {
    let mut line = format!(
        "step {} of {steps}: loss {:.4}, accuracy {:.3}",
        now.steps, now.loss, now.accuracy
    );
    for (worker, rate) in now.steps_per_second.iter().enumerate() {
        if !losses.iter().any(|loss| loss.worker == worker) {
            let _ = write!(line, ", worker {worker} {rate:.0} steps/s");
        }
    }
    line
}

fn lost(loss: &Loss) -> String {
    let code = loss.error.code().name();
    format!("worker {} is lost ({code}); the others take its steps", loss.worker)
}

#[cfg(test)]
mod tests {
    use tensorfleet_strategy::Lost;
    use tensorfleet_tensor::unavailable;

    use super::*;

    #[test]
    fn a_lost_worker_has_no_speed() {
        let now = Now { steps: 30, loss: 0.25, accuracy: 0.9, steps_per_second: vec![7.0, 0.0] };
        let losses = [Loss { worker: 1, lost: Lost::Worker, error: unavailable!("gone") }];
        assert_eq!(
            plain(&now, &losses, 60),
            "step 30 of 60: loss 0.2500, accuracy 0.900, worker 0 7 steps/s"
        );
        let lines = live(&now, &losses, 60);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].contains("██░") && lines[0].contains("30 of 60"), "{lines:?}");
        assert!(lines[2].contains("worker 1 is lost (UNAVAILABLE)"), "{lines:?}");
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(7, "7"), (999, "999"), (1438, "1,438"), (1_000_000, "1,000,000")] {
            assert_eq!(grouped(number), text);
        }
    }
}
