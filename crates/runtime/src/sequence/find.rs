//! Which loops have a fixed order, and what it is.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_graph::{Graph, NodeId};

use super::{Gate, Instruction, Invariant, Sequence, Source, Target, Variable};
use crate::executable::{CompiledNode, Kind};

/// Finds the order of a loop whose nodes are `members`. None: the executor has to find its way.
pub(crate) fn find(graph: &Graph, nodes: &[CompiledNode], members: &[u32]) -> Option<Sequence> {
    let finder = Finder { graph, nodes };
    if !members.iter().all(|&node| finder.never_waits(node)) || finder.feeds_itself(members) {
        return None;
    }
    let order = finder.order(members)?;
    let parts = finder.parts(&order)?;
    finder.assemble(&parts)
}

#[derive(Clone, Copy)]
struct Finder<'a> {
    graph: &'a Graph,
    nodes: &'a [CompiledNode],
}

/// What the nodes of a loop are to it.
#[derive(Default)]
struct Parts {
    /// `Merge` nodes that begin an iteration, with their `Enter` and `NextIteration`.
    merges: Vec<(u32, u32, u32)>,
    loop_cond: u32,
    /// `Switch` nodes that it steers.
    gates: Vec<u32>,
    /// All other nodes that compute, and whether they wait for the condition to hold.
    computing: Vec<(u32, bool)>,
}

impl Finder<'_> {
    fn kind(&self, node: u32) -> &Kind {
        &self.nodes[node as usize].kind
    }

    /// The nodes and outputs that a node takes its inputs from.
    fn inputs(&self, node: u32) -> impl Iterator<Item = (u32, u32)> {
        self.graph.node(NodeId(node)).inputs.iter().map(|input| (input.node.0, input.index))
    }

    fn controls(&self, node: u32) -> impl Iterator<Item = u32> {
        self.graph.node(NodeId(node)).control_inputs.iter().map(|source| source.0)
    }

    /// Who waits for a node, once for each edge.
    fn consumers(&self, node: u32) -> impl Iterator<Item = u32> {
        let node = &self.nodes[node as usize];
        let consumers = node.consumers.iter().map(|edge| edge.node);
        consumers.chain(node.control_consumers.iter().map(|edge| edge.node))
    }

    fn never_waits(&self, node: u32) -> bool {
        match self.kind(node) {
            Kind::Compute { takes_dead, .. } => !takes_dead,
            Kind::Switch
            | Kind::SwitchN
            | Kind::Merge
            | Kind::Exit
            | Kind::NextIteration
            | Kind::LoopCond => true,
            Kind::Async(_)
            | Kind::File(_)
            | Kind::Enter { .. }
            | Kind::ControlTrigger
            | Kind::Arg(_)
            | Kind::Retval(_) => false,
        }
    }

    /// Whether a way leads from a result of the loop back into it: then the loop has to begin before
    /// all that it enters with is there.
    fn feeds_itself(&self, members: &[u32]) -> bool {
        let is_exit = |node: &&u32| matches!(self.kind(**node), Kind::Exit);
        let is_member = |node: u32| members.binary_search(&node).is_ok();
        let mut seen = vec![false; self.nodes.len()];
        let mut rest: Vec<u32> = members.iter().filter(is_exit).copied().collect();
        while let Some(node) = rest.pop() {
            for consumer in self.consumers(node) {
                if is_member(consumer) {
                    return true;
                }
                // The next iteration of an outer loop has a loop of its own.
                let is_new = !std::mem::replace(&mut seen[consumer as usize], true);
                if is_new && !matches!(self.kind(consumer), Kind::NextIteration) {
                    rest.push(consumer);
                }
            }
        }
        false
    }

    /// The nodes of an iteration, each after all that it needs.
    fn order(&self, members: &[u32]) -> Option<Vec<u32>> {
        let index_of: FxHashMap<u32, usize> = members.iter().copied().zip(0..).collect();
        let is_inside = |source: &u32| {
            index_of.contains_key(source) && !matches!(self.kind(*source), Kind::NextIteration)
        };
        let mut missing: Vec<usize> = members
            .iter()
            .map(|&node| {
                let inputs = self.inputs(node).map(|(source, _)| source);
                inputs.chain(self.controls(node)).filter(is_inside).count()
            })
            .collect();
        let mut order: Vec<u32> =
            members.iter().zip(&missing).filter(|(_, n)| **n == 0).map(|(node, _)| *node).collect();
        let mut next = 0;
        while next < order.len() {
            let source = order[next];
            next += 1;
            if !is_inside(&source) {
                continue;
            }
            for consumer in self.consumers(source) {
                // Exits have their consumers outside.
                let Some(&index) = index_of.get(&consumer) else { continue };
                missing[index] -= 1;
                if missing[index] == 0 {
                    order.push(consumer);
                }
            }
        }
        (order.len() == members.len()).then_some(order)
    }

    /// Takes a loop of the usual shape apart.
    fn parts(&self, order: &[u32]) -> Option<Parts> {
        let mut conds = order.iter().filter(|node| matches!(self.kind(**node), Kind::LoopCond));
        let loop_cond = *conds.next().filter(|_| conds.next().is_none())?;
        let mut parts = Parts { loop_cond, ..Parts::default() };
        let mut is_gated: FxHashSet<u32> = FxHashSet::default();
        for &node in order {
            let is_gate = |node: u32| {
                matches!(self.kind(node), Kind::Switch)
                    && self.inputs(node).nth(1) == Some((loop_cond, 0))
            };
            let waits = self.controls(node).any(|source| is_gated.contains(&source))
                || self.inputs(node).any(|(source, output)| {
                    is_gated.contains(&source) || (output == 1 && is_gate(source))
                });
            if waits {
                is_gated.insert(node);
            }
            let merge = self.loop_merge(node);
            if merge.is_none() && self.follows_iteration(node) {
                return None;
            }
            let edges = &self.nodes[node as usize].consumers;
            let fits = match self.kind(node) {
                Kind::Merge if let Some((enter, next)) = merge => {
                    parts.merges.push((node, enter, next));
                    self.controls(node).next().is_none()
                }
                Kind::LoopCond => !waits && edges.iter().all(|edge| is_gate(edge.node)),
                Kind::Switch if is_gate(node) => {
                    parts.gates.push(node);
                    let leaves = |to: u32| matches!(self.kind(to), Kind::Exit);
                    !waits && edges.iter().all(|edge| edge.output == 1 || leaves(edge.node))
                }
                Kind::NextIteration => {
                    let begins = |to| self.loop_merge(to).is_some_and(|(_, next)| next == node);
                    waits && edges.len() == 1 && begins(edges[0].node)
                }
                Kind::Exit => {
                    self.controls(node).next().is_none()
                        && self.inputs(node).all(|(source, output)| output == 0 && is_gate(source))
                }
                _ => {
                    parts.computing.push((node, waits));
                    true
                }
            };
            if !fits {
                return None;
            }
        }
        Some(parts)
    }

    /// The `Enter` and the `NextIteration` of a `Merge` that begins an iteration.
    fn loop_merge(&self, node: u32) -> Option<(u32, u32)> {
        let [a, b] = <[u32; 2]>::try_from(
            self.inputs(node).map(|(source, _)| source).take(3).collect::<Vec<_>>(),
        )
        .ok()?;
        let enters = |node| matches!(self.kind(node), Kind::Enter { is_constant: false, .. });
        let continues = |node| matches!(self.kind(node), Kind::NextIteration);
        let uses_index = self.nodes[node as usize].consumers.iter().any(|edge| edge.output == 1);
        match () {
            () if uses_index || !matches!(self.kind(node), Kind::Merge) => None,
            () if enters(a) && continues(b) => Some((a, b)),
            () if enters(b) && continues(a) => Some((b, a)),
            () => None,
        }
    }

    /// Whether a node takes something that only the first or only later iterations have.
    fn follows_iteration(&self, node: u32) -> bool {
        let mut sources = self.inputs(node).map(|(source, _)| source).chain(self.controls(node));
        sources.any(|source| {
            matches!(
                self.kind(source),
                Kind::NextIteration | Kind::Enter { is_constant: false, .. }
            )
        })
    }

    /// Gives every input a slot, and every output its way.
    fn assemble(&self, parts: &Parts) -> Option<Sequence> {
        let mut first_slot: FxHashMap<u32, u32> = FxHashMap::default();
        let mut slots = 0;
        let single = parts.gates.iter().chain(parts.merges.iter().map(|(_, _, next)| next));
        let single = single.chain([&parts.loop_cond]).map(|&node| (node, 1));
        let computing = parts.computing.iter().map(|&(node, _)| node);
        let computing = computing.map(|node| (node, self.nodes[node as usize].num_inputs));
        for (node, inputs) in single.chain(computing) {
            first_slot.insert(node, slots);
            slots += inputs;
        }
        let targets = |node: u32, output: u32| -> Box<[u32]> {
            let edges = self.nodes[node as usize].consumers.iter();
            let edges = edges.filter(|edge| edge.output == output);
            edges
                .map(|edge| {
                    first_slot[&edge.node] + edge.slot - self.nodes[edge.node as usize].first_slot
                })
                .collect()
        };
        let mut sequence = Sequence {
            variables: parts
                .merges
                .iter()
                .map(|&(merge, enter, next)| Variable {
                    enter,
                    next,
                    next_slot: first_slot[&next],
                    targets: targets(merge, 0),
                })
                .collect(),
            invariants: Vec::new(),
            condition: Vec::new(),
            body: Vec::new(),
            gates: parts
                .gates
                .iter()
                .map(|&node| Gate {
                    node,
                    slot: first_slot[&node],
                    targets: targets(node, 1),
                    exits: self.nodes[node as usize]
                        .consumers
                        .iter()
                        .filter(|edge| edge.output == 0)
                        .map(|edge| edge.node)
                        .collect(),
                })
                .collect(),
            holds: first_slot[&parts.loop_cond],
            is_invariant: vec![false; slots as usize],
        };
        self.add_invariants(&mut sequence, &first_slot, targets);
        self.add_instructions(&mut sequence, parts, &first_slot, targets)?;
        Some(sequence)
    }

    fn add_invariants(
        &self,
        sequence: &mut Sequence,
        first_slot: &FxHashMap<u32, u32>,
        targets: impl Fn(u32, u32) -> Box<[u32]>,
    ) {
        let sources = first_slot.keys().flat_map(|&node| self.inputs(node));
        let enters: BTreeSet<u32> = sources
            .map(|(source, _)| source)
            .filter(|&source| matches!(self.kind(source), Kind::Enter { is_constant: true, .. }))
            .collect();
        for enter in enters {
            sequence.add_invariant(Source::Enter(enter), targets(enter, 0));
        }
    }

    fn add_instructions(
        &self,
        sequence: &mut Sequence,
        parts: &Parts,
        first_slot: &FxHashMap<u32, u32>,
        targets: impl Fn(u32, u32) -> Box<[u32]>,
    ) -> Option<()> {
        // The numbers of those that a branch inside of the loop may leave out.
        let mut may_be_dead: FxHashMap<u32, u32> = FxHashMap::default();
        let mut number = 0;
        for &(node, waits) in &parts.computing {
            let branches = |node: u32| {
                matches!(self.kind(node), Kind::Switch | Kind::SwitchN)
                    && !parts.gates.contains(&node)
            };
            let controls: Box<[u32]> = self
                .controls(node)
                .filter_map(|source| may_be_dead.get(&source).copied())
                .collect();
            let mut inputs = self.inputs(node).map(|(source, _)| source);
            if !controls.is_empty()
                || inputs.any(|source| may_be_dead.contains_key(&source) || branches(source))
            {
                may_be_dead.insert(node, number);
            }
            let CompiledNode { kind, num_inputs, num_outputs, .. } = &self.nodes[node as usize];
            let kernel = if let Kind::Compute { kernel, .. } = kind { Some(kernel) } else { None };
            if let Some(value) = kernel.and_then(|kernel| kernel.constant())
                && !may_be_dead.contains_key(&node)
            {
                sequence.add_invariant(Source::Constant(value.clone()), targets(node, 0));
                continue;
            }
            let passes_on = (*num_inputs, *num_outputs) == (1, 1)
                && kernel.is_some_and(|kernel| kernel.passes_tensors_on());
            let targets = (0..*num_outputs)
                .flat_map(|output| {
                    let slots = targets(node, output);
                    let last = slots.len().wrapping_sub(1);
                    (0..slots.len()).map(move |i| Target {
                        output,
                        slot: slots[i],
                        is_last: i == last,
                    })
                })
                .collect();
            let first_slot = first_slot[&node];
            let part = if waits { &mut sequence.body } else { &mut sequence.condition };
            part.push(Instruction { node, number, first_slot, targets, controls, passes_on });
            number += 1;
        }
        // The steering itself must not depend on a branch inside of the loop.
        let steering = parts.gates.iter().chain(parts.merges.iter().map(|(_, _, next)| next));
        let mut controls = steering.chain([&parts.loop_cond]).flat_map(|&node| self.controls(node));
        (!controls.any(|source| may_be_dead.contains_key(&source))).then_some(())
    }
}

impl Sequence {
    fn add_invariant(&mut self, source: Source, targets: Box<[u32]>) {
        targets.iter().for_each(|&slot| self.is_invariant[slot as usize] = true);
        self.invariants.push(Invariant { source, targets });
    }
}
