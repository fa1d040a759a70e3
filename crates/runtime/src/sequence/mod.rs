//! Loops that one thread runs from beginning to end.
//!
//! The nodes that steer a loop cost the executor more than a scalar addition does. Where nothing in
//! a loop can wait and its shape is the usual one, the steering is known beforehand: evaluate the
//! condition; if it holds, run the body and begin again. A [`Sequence`] is that loop with its nodes
//! in a fixed order. It computes what the executor would, errors and dead branches included, and
//! gives the loop back to it as soon as a node takes long enough to be worth another thread.

mod find;
mod run;
#[cfg(test)]
mod tests;

use tensorfleet_tensor::Tensor;

pub(crate) use find::find;
pub(crate) use run::{Progress, Running, Surroundings};

/// A loop in a fixed order. Values lie in slots, each the input of one consumer.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// What an iteration gives to the next.
    variables: Vec<Variable>,
    invariants: Vec<Invariant>,
    /// What runs in every iteration, the last one included.
    condition: Vec<Instruction>,
    /// What runs if the condition holds.
    body: Vec<Instruction>,
    gates: Vec<Gate>,
    /// Where the condition's value comes to lie.
    holds: u32,
    /// For each slot, whether an invariant fills it.
    is_invariant: Vec<bool>,
}

#[derive(Debug)]
struct Variable {
    /// The nodes that bring the first value and the later ones.
    enter: u32,
    next: u32,
    /// Where the value of the next iteration comes to lie.
    next_slot: u32,
    /// Who uses the value.
    targets: Box<[u32]>,
}

/// A value that is the same in all iterations.
#[derive(Debug)]
struct Invariant {
    source: Source,
    targets: Box<[u32]>,
}

#[derive(Debug)]
enum Source {
    /// A node that enters the loop.
    Enter(u32),
    Constant(Tensor),
}

/// A `Switch` by the loop's condition: its value goes on into the body, or out of the loop.
#[derive(Debug)]
struct Gate {
    node: u32,
    slot: u32,
    /// Who uses the value in the body.
    targets: Box<[u32]>,
    /// The nodes by which it leaves.
    exits: Box<[u32]>,
}

/// A node in its place.
#[derive(Debug)]
struct Instruction {
    node: u32,
    first_slot: u32,
    targets: Box<[Target]>,
    /// Instructions before it which, if they were dead, leave this one dead.
    controls: Box<[u32]>,
    /// Its number among all of the loop.
    number: u32,
    /// Whether it only passes a tensor on.
    passes_on: bool,
}

/// Where an output goes, in the order of the outputs.
#[derive(Clone, Copy, Debug)]
struct Target {
    output: u32,
    slot: u32,
    /// Whether no other target takes the same output, so that it may be moved.
    is_last: bool,
}
