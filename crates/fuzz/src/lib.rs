//! Every parser that somebody else's bytes can reach, and bytes that nobody would send.
//!
//! A target is a function from bytes to nothing: it may refuse them in any way but a panic, and must
//! end. [`TARGETS`] run for a fixed count in the tests, and for minutes with `cargo xtask fuzz`.

mod mutate;
mod wire;

use std::time::{Duration, Instant};

pub use mutate::Mutator;

/// A parser, and bytes that it takes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: &[Target] = wire::ALL;

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

impl Target {
    /// Runs with its seeds and with so many inputs made of them, always the same. Tells what it was
    /// given when it panics.
    pub fn run_many(&self, count: usize) {
        let seeds = (self.seeds)();
        for seed in &seeds {
            self.run_once(seed);
        }
        let mut mutator = Mutator::new(0);
        for _ in 0..count {
            self.run_once(&mutator.next(&seeds));
        }
    }

    /// Runs for a time with inputs that the number chooses; returns how many there were.
    pub fn run_for(&self, time: Duration, number: u64) -> usize {
        let seeds = (self.seeds)();
        let (begun, mut mutator, mut count) = (Instant::now(), Mutator::new(number), 0);
        while begun.elapsed() < time {
            self.run_once(&mutator.next(&seeds));
            count += 1;
        }
        count
    }

    fn run_once(&self, bytes: &[u8]) {
        let told = Told { name: self.name, bytes };
        (self.run)(bytes);
        std::mem::forget(told);
    }
}

/// Says, when it is dropped by a panic, which bytes there were.
struct Told<'a> {
    name: &'static str,
    bytes: &'a [u8],
}

impl Drop for Told<'_> {
    #[expect(clippy::print_stderr, reason = "whoever fuzzes wants the bytes")]
    fn drop(&mut self) {
        eprintln!("target {} fails with {:?}", self.name, self.bytes.escape_ascii().to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each is run: enough to find what is easily found, in a few seconds.
    const COUNT: usize = 1500;

    fn check(name: &str) {
        target(name).unwrap().run_many(COUNT);
    }

    #[test]
    fn frames() {
        check("frames");
    }

    #[test]
    fn hpack() {
        check("hpack");
    }

    #[test]
    fn links() {
        check("links");
    }

    #[test]
    fn graphs() {
        check("graphs");
    }

    #[test]
    fn tensors() {
        check("tensors");
    }

    #[test]
    fn keys() {
        check("keys");
    }

    #[test]
    fn checkpoints() {
        check("checkpoints");
    }

    #[test]
    fn records() {
        check("records");
    }

    #[test]
    fn images() {
        check("images");
    }

    #[test]
    fn journals() {
        check("journals");
    }

    #[test]
    fn no_target_is_forgotten() {
        let mut names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        names.sort_unstable();
        let tested = "checkpoints frames graphs hpack images journals keys links records tensors";
        assert_eq!(names.join(" "), tested);
    }

    #[test]
    fn the_same_number_makes_the_same_inputs() {
        let seeds = vec![b"abc".to_vec(), b"0123456789".to_vec()];
        let make = |number| {
            let mut mutator = Mutator::new(number);
            (0..100).map(|_| mutator.next(&seeds)).collect::<Vec<_>>()
        };
        assert_eq!(make(7), make(7));
        assert_ne!(make(7), make(8));
    }
}
