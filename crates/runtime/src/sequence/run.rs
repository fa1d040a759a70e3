//! One run of a loop in its order.

use std::sync::Arc;

use tensorfleet_framework::{FrameIteration, StepContext, Value};
use tensorfleet_tensor::{Result, Tensor, internal};

use super::{Instruction, Sequence, Source};
use crate::executable::{CompiledNode, Kind};
use crate::inputs::{read_references, scalar};
use crate::run::{EXPENSIVE, PER_NODE, compute};

/// A loop on its way. It can be left between any two nodes and taken up again.
#[derive(Debug)]
pub(crate) struct Running {
    iteration: u64,
    slots: Vec<Value>,
    /// What the next iteration begins with.
    variables: Vec<Value>,
    invariants: Vec<Value>,
    /// For each instruction, whether a branch left it out in this iteration.
    is_dead: Vec<bool>,
    outputs: Vec<Value>,
    at: Position,
    /// Whether a node took long: then the executor takes over with the next iteration.
    took_long: bool,
    /// How long this turn has taken, as far as is known.
    spent: u64,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Position {
    Iteration,
    Condition(usize),
    Body(usize),
}

/// Why a thread stopped working on a loop.
#[derive(Debug)]
pub(crate) enum Progress {
    /// Its time is up.
    Paused,
    /// What comes next takes long, and this thread must not wait for it.
    Heavy,
    /// Other threads can help: an iteration begins, with these nodes as the last to have run.
    HandOver { iteration: u64, values: Vec<(u32, Value)> },
    /// The loop has ended; these nodes lead out of it.
    Over(Vec<(u32, Value)>),
}

/// What the nodes of a loop need to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) nodes: &'a [CompiledNode],
    pub(crate) step: &'a Arc<StepContext>,
    /// The number by which all tasks know the loop.
    pub(crate) frame: u64,
    /// Whether this thread may run what takes long.
    pub(crate) may_block: bool,
    /// How long to work on it at most, in nanoseconds by what nodes are thought to take.
    pub(crate) turn: u64,
}

impl Running {
    /// Prepares a loop with what its nodes entered with, all of it live.
    pub(crate) fn new(
        sequence: &Sequence,
        entered: Vec<(u32, Value)>,
        invariants: &[(u32, Value)],
    ) -> Running {
        let find = |values: &[(u32, Value)], enter: u32| {
            let found = values.iter().find(|(node, _)| *node == enter);
            found.map_or(Value::Empty, |(_, value)| value.clone())
        };
        let mut slots = Vec::new();
        slots.resize_with(sequence.is_invariant.len(), Value::default);
        Running {
            iteration: 0,
            slots,
            variables: sequence.variables.iter().map(|v| find(&entered, v.enter)).collect(),
            invariants: sequence
                .invariants
                .iter()
                .map(|invariant| match &invariant.source {
                    Source::Enter(enter) => find(invariants, *enter),
                    Source::Constant(value) => Value::Tensor(value.clone()),
                })
                .collect(),
            is_dead: vec![false; sequence.condition.len() + sequence.body.len()],
            outputs: Vec::new(),
            at: Position::Iteration,
            took_long: false,
            spent: 0,
        }
    }

    /// Works on the loop for a while. An error names its node.
    pub(crate) fn advance(
        &mut self,
        sequence: &Sequence,
        around: Surroundings<'_>,
    ) -> Result<Progress> {
        self.spent = 0;
        loop {
            let (part, next) = match self.at {
                Position::Iteration if self.took_long => {
                    let nodes = sequence.variables.iter().map(|variable| variable.next);
                    let values = nodes.zip(self.variables.drain(..)).collect();
                    return Ok(Progress::HandOver { iteration: self.iteration, values });
                }
                Position::Iteration => {
                    self.begin(sequence);
                    self.at = Position::Condition(0);
                    // A loop may be nothing but steering, so iterations count like nodes.
                    self.spent += PER_NODE;
                    if self.spent > around.turn {
                        return Ok(Progress::Paused);
                    }
                    continue;
                }
                Position::Condition(next) => (&sequence.condition, next),
                Position::Body(next) => (&sequence.body, next),
            };
            for (index, instruction) in part.iter().enumerate().skip(next) {
                let node = &around.nodes[instruction.node as usize];
                let ran = self.run(sequence, instruction, node, around);
                if !ran.map_err(|error| error.at_node(&node.name))? {
                    self.at = self.at.at(index);
                    return Ok(Progress::Heavy);
                }
                self.spent += PER_NODE;
                if self.spent > around.turn {
                    self.at = self.at.at(index + 1);
                    return Ok(Progress::Paused);
                }
            }
            if let Position::Body(_) = self.at {
                self.end(sequence, around.nodes)?;
                self.at = Position::Iteration;
            } else if self.holds(sequence, around.nodes)? {
                self.pass_gates(sequence);
                self.at = Position::Body(0);
            } else {
                return Ok(Progress::Over(self.exits(sequence)));
            }
        }
    }

    /// Gives the condition what it needs.
    fn begin(&mut self, sequence: &Sequence) {
        for (variable, value) in sequence.variables.iter().zip(&mut self.variables) {
            give(&mut self.slots, value.take(), variable.targets.iter().copied());
        }
        for (invariant, value) in sequence.invariants.iter().zip(&self.invariants) {
            for &slot in &invariant.targets {
                let slot = &mut self.slots[slot as usize];
                // A node that only looks leaves the value; of a variable it wants to see each.
                if slot.is_empty() || matches!(value, Value::Ref(_)) {
                    *slot = value.clone();
                }
            }
        }
    }

    /// Whether the loop goes on. One whose condition a branch left out ends without results.
    fn holds(&mut self, sequence: &Sequence, nodes: &[CompiledNode]) -> Result<bool> {
        let value = self.take(sequence, sequence.holds);
        if value.is_empty() {
            sequence.gates.iter().for_each(|gate| self.slots[gate.slot as usize] = Value::Empty);
            return Ok(false);
        }
        scalar::<bool>(Some(&value), "pred").map_err(|error| match sequence.gates.first() {
            Some(gate) => error.at_node(&nodes[gate.node as usize].name),
            None => error,
        })
    }

    fn pass_gates(&mut self, sequence: &Sequence) {
        for gate in &sequence.gates {
            let value = self.take(sequence, gate.slot);
            give(&mut self.slots, value, gate.targets.iter().copied());
        }
    }

    fn exits(&mut self, sequence: &Sequence) -> Vec<(u32, Value)> {
        let mut exits = Vec::new();
        for gate in &sequence.gates {
            let value = &self.slots[gate.slot as usize];
            exits.extend(gate.exits.iter().map(|&exit| (exit, value.clone())));
        }
        exits
    }

    fn end(&mut self, sequence: &Sequence, nodes: &[CompiledNode]) -> Result<()> {
        for (index, variable) in sequence.variables.iter().enumerate() {
            let value = self.take(sequence, variable.next_slot);
            if value.is_empty() {
                let error = internal!("a loop goes on without all of its variables");
                return Err(error.at_node(&nodes[variable.next as usize].name));
            }
            self.variables[index] = value;
        }
        self.iteration += 1;
        Ok(())
    }

    fn take(&mut self, sequence: &Sequence, slot: u32) -> Value {
        let value = &mut self.slots[slot as usize];
        if sequence.is_invariant[slot as usize] { value.clone() } else { value.take() }
    }

    /// Runs one node. False: this thread must not.
    fn run(
        &mut self,
        sequence: &Sequence,
        instruction: &Instruction,
        node: &CompiledNode,
        around: Surroundings<'_>,
    ) -> Result<bool> {
        let first = instruction.first_slot as usize;
        if instruction.passes_on
            && instruction.controls.is_empty()
            && matches!(self.slots[first], Value::Tensor(_))
        {
            let value = self.take(sequence, instruction.first_slot);
            self.is_dead[instruction.number as usize] = false;
            give(&mut self.slots, value, instruction.targets.iter().map(|target| target.slot));
            return Ok(true);
        }
        let slots = first..first + node.num_inputs as usize;
        let inputs = &mut self.slots[slots.clone()];
        self.outputs.clear();
        self.outputs.resize_with(node.num_outputs as usize, Value::default);
        let outputs = &mut self.outputs;
        let left_out = instruction.controls.iter().any(|&c| self.is_dead[c as usize]);
        let is_dead = match node.kind {
            Kind::Merge => inputs.iter().all(Value::is_empty),
            _ => left_out || inputs.iter().any(Value::is_empty),
        };
        self.is_dead[instruction.number as usize] = is_dead;
        match &node.kind {
            _ if is_dead => {}
            Kind::Compute { kernel, .. } => {
                let cost = kernel.cost(inputs);
                self.spent += cost;
                if cost > EXPENSIVE {
                    if !around.may_block {
                        return Ok(false);
                    }
                    self.took_long = true;
                }
                read_references(inputs, &node.name, &node.takes_ref)?;
                let place = FrameIteration { frame: around.frame, iteration: self.iteration };
                compute(&**kernel, &node.name, around.step, place, inputs, outputs)?;
            }
            Kind::Merge => {
                let Some(index) = inputs.iter().position(|input| !input.is_empty()) else {
                    return Err(internal!("Merge has no live input"));
                };
                outputs[0] = inputs[index].take();
                outputs[1] = Value::Tensor(Tensor::scalar(index as i32));
            }
            Kind::Switch => {
                let taken = scalar::<bool>(inputs.get(1), "pred")?;
                outputs[usize::from(taken)] = inputs[0].take();
            }
            Kind::SwitchN => {
                let chosen = scalar::<i32>(inputs.get(1), "output_index")?;
                let last = outputs.len() - 1;
                let chosen = usize::try_from(chosen).map_or(last, |chosen| chosen.min(last));
                outputs[chosen] = inputs[0].take();
            }
            _ => return Err(internal!("{} has no place in a loop", node.op)),
        }
        for (input, is_invariant) in inputs.iter_mut().zip(&sequence.is_invariant[slots]) {
            if !is_invariant {
                *input = Value::Empty;
            }
        }
        for target in &instruction.targets {
            let output = &mut self.outputs[target.output as usize];
            let value = if target.is_last { output.take() } else { output.clone() };
            self.slots[target.slot as usize] = value;
        }
        Ok(true)
    }
}

impl Position {
    /// The same part, at another instruction.
    fn at(self, index: usize) -> Position {
        match self {
            Position::Iteration => Position::Iteration,
            Position::Condition(_) => Position::Condition(index),
            Position::Body(_) => Position::Body(index),
        }
    }
}

/// Gives a value to slots, the last of which gets the value itself.
fn give(slots: &mut [Value], value: Value, targets: impl IntoIterator<Item = u32>) {
    let mut targets = targets.into_iter();
    let Some(mut last) = targets.next() else { return };
    for next in targets {
        slots[last as usize] = value.clone();
        last = next;
    }
    slots[last as usize] = value;
}
