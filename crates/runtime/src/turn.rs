//! How long whoever works on a step may keep a thread.
//!
//! A run that is awaited inside of another one, as the body of a function is, works on the same
//! thread and in the same turn: what it takes is taken from the turn of the outer one. Otherwise a
//! loop over a function that finishes at once would never let go of its thread, and nobody could
//! cancel it.

use std::cell::Cell;

use crate::pool::may_compute;

/// How long (nanoseconds) a run may keep a thread of the async runtime, by what its nodes are thought
/// to take: no clock decides what a step does next, so that a simulation can repeat it.
const TURN: u64 = 1_000_000;

/// How long a run may keep a thread of the pool before it reads its letters and lets others work: a
/// loop may go on for ever.
const POOL_TURN: u64 = 10_000_000;

thread_local! {
    /// What is left of the turn of the run that works here, while it polls what waits.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// What may be spent here: the rest of the turn under way, or a whole one.
pub(crate) fn allowance() -> u64 {
    LEFT.get().unwrap_or(if may_compute() { POOL_TURN } else { TURN })
}

/// Says how much of the allowance was spent.
pub(crate) fn spend(nanoseconds: u64) {
    LEFT.set(LEFT.get().map(|left| left.saturating_sub(nanoseconds)));
}

/// Does something that may spend so much, and says what it has spent.
pub(crate) fn within<T>(allowance: u64, work: impl FnOnce() -> T) -> (T, u64) {
    let turn = Turn { outer: LEFT.replace(Some(allowance)) };
    let done = work();
    let spent = allowance - LEFT.get().unwrap_or(0).min(allowance);
    drop(turn);
    (done, spent)
}

/// A turn under way. The one around it goes on afterwards, even if the work panicked.
struct Turn {
    outer: Option<u64>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        LEFT.set(self.outer);
    }
}
