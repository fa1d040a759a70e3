//! The last lines of a process's log, for operators who have no shell there.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

use serde_json::json;

/// How many lines are kept, and how much of each.
const LINES: usize = 1000;
const LONGEST: usize = 2000;

/// Keeps the last lines of a log. Whoever writes the log writes it here, too.
#[derive(Debug, Default)]
pub struct LogTail(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    /// The number of the line that comes next; the first line of a process has number 0.
    next: u64,
}

impl LogTail {
    /// Keeps text of one or more lines, without the colours that a terminal would show.
    pub fn add(&self, text: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines() {
            if kept.lines.len() == LINES {
                kept.lines.pop_front();
            }
            kept.lines.push_back(without_colours(line));
            kept.next += 1;
        }
    }

    /// The lines from a number on, and the number to go on from, as JSON.
    pub fn since(&self, number: u64) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = kept.next - kept.lines.len() as u64;
        // A number that is yet to come is of an earlier process.
        let skipped = if number > kept.next { 0 } else { number.saturating_sub(first) };
        let lines: Vec<&String> = kept.lines.iter().skip(skipped as usize).collect();
        json!({"first": first + skipped, "next": kept.next, "lines": lines}).to_string()
    }
}

impl io::Write for &LogTail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Leaves out what begins with ESC and `[`, up to its letter, and what is too long.
fn without_colours(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some((before, escape)) = rest.split_once("\x1b[") {
        kept += before;
        let end = escape.find(|letter: char| letter.is_ascii_alphabetic());
        rest = end.map_or("", |end| &escape[end + 1..]);
    }
    kept += rest;
    match kept.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &kept[..end]),
        None => kept,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn since(tail: &LogTail, number: u64) -> Value {
        serde_json::from_str(&tail.since(number)).unwrap()
    }

    #[test]
    fn lines_are_told_once_and_only_the_last_ones() {
        let tail = LogTail::default();
        tail.add("one\ntwo\n");
        assert_eq!(since(&tail, 0), json!({"first": 0, "next": 2, "lines": ["one", "two"]}));
        assert_eq!(since(&tail, 1)["lines"], json!(["two"]));
        assert_eq!(since(&tail, 2)["lines"], json!([]));
        // Somebody asks on who knew an earlier process.
        assert_eq!(since(&tail, 900)["lines"], json!(["one", "two"]));
        (0..LINES).for_each(|_| tail.add("more"));
        assert_eq!(since(&tail, 0)["first"], 2);
        assert_eq!(since(&tail, 0)["lines"].as_array().unwrap().len(), LINES);
    }

    #[test]
    fn colours_are_for_terminals() {
        assert_eq!(
            without_colours("\x1b[2m12:00\x1b[0m \x1b[32m INFO\x1b[0m a [b]"),
            "12:00  INFO a [b]"
        );
        assert_eq!(without_colours("cut \x1b[3"), "cut ");
        assert_eq!(without_colours(&"é".repeat(LONGEST + 9)).chars().count(), LONGEST + 1);
    }
}
