//! Leaves out branches that no step takes, because what chooses among them is a constant.
//!
//! What only such a branch needs is not computed, and cannot fail. As in TensorFlow, a branch of which
//! something is fetched stays whole, as does one that a loop is entered in. A loop of version 1 whose
//! condition is false for the constants that it begins with is such a branch, too: it ends with what it
//! was given.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_graph::{
    AttrMap, AttrValue, ControlFlow, Graph, Node, NodeId, OpLookup, Output, signature,
};
use tensorfleet_tensor::{Result, Tensor};

use super::{constant, is_pure};
use crate::lower::END;
use crate::redirect::Redirects;
use crate::{Evaluate, Step};

/// Takes out what is behind the outputs of switches that are never chosen; nothing if there is nothing
/// to take out.
pub(super) fn drop_untaken(
    mut step: Step,
    ops: &dyn OpLookup,
    evaluate: &dyn Evaluate,
) -> Result<Option<Step>> {
    let choices = choices(&step.graph, evaluate);
    if choices.is_empty() {
        return Ok(None);
    }
    let mut dead = Dead::new(&step);
    let choices: Vec<Choice> =
        choices.into_iter().filter(|choice| dead.follow(&step.graph, choice)).collect();
    if choices.is_empty() {
        return Ok(None);
    }
    let Some(rewrites) = dead.rewrites(&step.graph, &choices) else { return Ok(None) };
    let mut redirects = Redirects::default();
    let mut endless = Vec::new();
    for (id, input, awaited) in rewrites {
        if step.graph.node(id).closes_loop(step.graph.node(input.node)) {
            endless.push(Arc::clone(&step.graph.node(id).name));
        }
        pass_on(&mut step.graph, id, input, awaited, ops)?;
        redirects.output(Output { node: id, index: 1 }, Output { node: id, index: 0 });
    }
    step.roots.retain(|root| !dead.is_dead[root.index()]);
    let step = redirects.apply(step);
    // A loop that is never entered must not be waited for.
    Ok(endless.iter().all(|name| step.graph.find(name).is_none()).then_some(step))
}

/// A switch whose choice is known.
struct Choice {
    switch: NodeId,
    /// The output that is never chosen.
    dead: u32,
    /// Whether the switch is a loop's, which is left before its first turn.
    leaves_loop: bool,
}

fn choices(graph: &Graph, evaluate: &dyn Evaluate) -> Vec<Choice> {
    let mut loops: FxHashMap<NodeId, bool> = FxHashMap::default();
    let mut choices = Vec::new();
    for (switch, node) in graph.iter() {
        if !node.steers(ControlFlow::Switch) || node.output_types().iter().any(|v| v.is_ref) {
            continue;
        }
        let (data, chooser) = (node.inputs[0].node, node.inputs[1].node);
        if let Some(value) = passed_constant(graph, chooser) {
            if let Ok(chosen) = value.scalar_value::<bool>() {
                choices.push(Choice { switch, dead: u32::from(!chosen), leaves_loop: false });
            }
        } else if graph.node(chooser).steers(ControlFlow::LoopCond)
            && graph.node(data).steers(ControlFlow::Merge)
            && *loops.entry(chooser).or_insert_with(|| never_turns(graph, chooser, evaluate))
        {
            choices.push(Choice { switch, dead: 1, leaves_loop: true });
        }
    }
    choices
}

/// The constant that a node is, or passes on whenever it runs.
fn passed_constant(graph: &Graph, mut id: NodeId) -> Option<&Tensor> {
    while graph.node(id).steers(ControlFlow::Switch) || &*graph.node(id).op == "Identity" {
        id = graph.node(id).inputs[0].node;
    }
    constant(graph.node(id))
}

/// Whether a loop's condition, a function of one variable and one constant, is false at the beginning.
fn never_turns(graph: &Graph, condition: NodeId, evaluate: &dyn Evaluate) -> bool {
    let question = graph.node(graph.node(condition).inputs[0].node);
    let &[left, right] = &question.inputs[..] else { return false };
    let is_variable = |input: Output| {
        let node = graph.node(input.node);
        node.steers(ControlFlow::Merge) && !node.attrs.contains_key(END)
    };
    if !is_pure(question) || is_variable(left) == is_variable(right) {
        return false;
    }
    let values: Option<Vec<Tensor>> =
        [left, right].into_iter().map(|input| first_value(graph, input.node).cloned()).collect();
    let answer = values.and_then(|values| evaluate.evaluate(question, values));
    matches!(answer.as_deref(), Some([answer]) if answer.scalar_value().is_ok_and(|turns: bool| !turns))
}

/// The constant that a node in a loop has in the first turn.
fn first_value(graph: &Graph, id: NodeId) -> Option<&Tensor> {
    let node = graph.node(id);
    let entered = match node.nature().control_flow {
        Some(ControlFlow::Merge) => {
            let mut entries = node.inputs.iter().map(|input| graph.node(input.node));
            entries.find(|entry| entry.steers(ControlFlow::Enter))?
        }
        Some(ControlFlow::Enter) => node,
        _ => return constant(node),
    };
    constant(graph.node(entered.inputs[0].node))
}

/// The nodes that never run, and the inputs of merges that never come.
struct Dead {
    is_dead: Vec<bool>,
    merges: FxHashMap<NodeId, Vec<usize>>,
    /// For each node, whoever takes one of its outputs or waits for it.
    users: Vec<Vec<User>>,
    /// What the step asks for by name.
    asked_for: Vec<bool>,
}

/// Who takes which output, and as which input; neither where somebody only waits.
#[derive(Clone, Copy)]
struct User {
    output: Option<u32>,
    node: NodeId,
    input: Option<usize>,
}

/// What following one switch has marked, to be taken back if it leads to something that stays.
enum Mark {
    Node(NodeId),
    Merge(NodeId),
    /// A merge that is dead altogether, with the inputs that were so before.
    Whole(NodeId, Vec<usize>),
}

impl Dead {
    fn new(step: &Step) -> Dead {
        let graph = &step.graph;
        let mut users = vec![Vec::new(); graph.len()];
        for (id, node) in graph.iter() {
            for (position, input) in node.inputs.iter().enumerate() {
                let user = User { output: Some(input.index), node: id, input: Some(position) };
                users[input.node.index()].push(user);
            }
            for input in &node.control_inputs {
                users[input.index()].push(User { output: None, node: id, input: None });
            }
        }
        // The nodes of replaced calls have no names that a step could ask for.
        let mut asked_for = vec![false; graph.len()];
        for &root in &step.roots {
            let node = graph.node(root);
            if node.steers(ControlFlow::Retval) {
                asked_for[root.index()] = true;
                let fetched = node.inputs[0].node;
                asked_for[fetched.index()] |= !graph.node(fetched).attrs.contains_key(END);
            } else if !node.is_stateful() && !node.attrs.contains_key(END) {
                asked_for[root.index()] = true;
            }
        }
        Dead { is_dead: vec![false; graph.len()], merges: FxHashMap::default(), users, asked_for }
    }

    /// Marks what never runs because of one switch, all of it or nothing.
    fn follow(&mut self, graph: &Graph, choice: &Choice) -> bool {
        if self.asked_for[choice.switch.index()] {
            return false;
        }
        let mut marks = Vec::new();
        let users = self.users[choice.switch.index()].iter();
        let mut pending: Vec<(NodeId, Option<usize>)> = users
            .filter(|user| user.output == Some(choice.dead))
            .map(|user| (user.node, user.input))
            .collect();
        while let Some((id, position)) = pending.pop() {
            if self.is_dead[id.index()] {
                continue;
            }
            if !self.mark(graph, id, position, &mut marks) {
                self.take_back(marks);
                return false;
            }
            if self.is_dead[id.index()] {
                pending.extend(self.users[id.index()].iter().map(|user| (user.node, user.input)));
            }
        }
        true
    }

    /// Marks a node of which an input never comes. Fails if it has to stay.
    fn mark(
        &mut self,
        graph: &Graph,
        id: NodeId,
        position: Option<usize>,
        marks: &mut Vec<Mark>,
    ) -> bool {
        let node = graph.node(id);
        if self.asked_for[id.index()] || node.steers(ControlFlow::ControlTrigger) {
            return false;
        }
        if !node.steers(ControlFlow::Merge) {
            self.is_dead[id.index()] = true;
            marks.push(Mark::Node(id));
            return true;
        }
        let is_index_used = self.users[id.index()].iter().any(|user| user.output == Some(1));
        if node.inputs.len() != 2 || is_index_used || node.output_types()[0].is_ref {
            return false;
        }
        let closes_loop =
            |position: usize| node.closes_loop(graph.node(node.inputs[position].node));
        if node.attrs.contains_key(END) && position.is_some_and(closes_loop) {
            // Of a replaced loop TensorFlow takes for a variable what never changes in it.
            return true;
        }
        let inputs = self.merges.entry(id).or_default();
        let is_whole = match position {
            None => true,
            Some(position) if inputs.contains(&position) => return true,
            Some(_) => inputs.len() == 1,
        };
        if is_whole {
            let before = self.merges.remove(&id).unwrap_or_default();
            self.is_dead[id.index()] = true;
            marks.push(Mark::Whole(id, before));
        } else {
            inputs.extend(position);
            marks.push(Mark::Merge(id));
        }
        true
    }

    fn take_back(&mut self, marks: Vec<Mark>) {
        for mark in marks.into_iter().rev() {
            match mark {
                Mark::Node(id) => self.is_dead[id.index()] = false,
                Mark::Merge(id) => {
                    self.merges.remove(&id);
                }
                Mark::Whole(id, before) => {
                    self.is_dead[id.index()] = false;
                    if !before.is_empty() {
                        self.merges.insert(id, before);
                    }
                }
            }
        }
    }

    /// The nodes that only pass on a tensor now, and what else they wait for; nothing if a branch has
    /// to stay.
    fn rewrites(
        &self,
        graph: &Graph,
        choices: &[Choice],
    ) -> Option<Vec<(NodeId, Output, Option<NodeId>)>> {
        let mut rewrites = Vec::new();
        for (&id, inputs) in &self.merges {
            let node = graph.node(id);
            let alive = node.inputs[1 - inputs[0]];
            if !node.control_inputs.is_empty() {
                return None;
            }
            rewrites.push((id, alive, None));
        }
        for choice in choices.iter().filter(|choice| !self.is_dead[choice.switch.index()]) {
            let node = graph.node(choice.switch);
            if !choice.leaves_loop {
                // What chooses may be on one side of another switch, as the data is then.
                let chooser = Some(node.inputs[1].node).filter(|&id| !graph.node(id).is_switch());
                rewrites.push((choice.switch, node.inputs[0], chooser));
                continue;
            }
            let inputs = graph.node(node.inputs[0].node).inputs.iter();
            let mut entries = inputs.map(|input| graph.node(input.node));
            let entered = entries.find(|node| node.steers(ControlFlow::Enter))?;
            for &User { node: user, .. } in &self.users[choice.switch.index()] {
                if self.is_dead[user.index()] {
                    continue;
                }
                if !graph.node(user).steers(ControlFlow::Exit) || !entered.control_inputs.is_empty()
                {
                    return None;
                }
                rewrites.push((user, entered.inputs[0], None));
            }
        }
        rewrites.sort_unstable_by_key(|(id, ..)| *id);
        Some(rewrites)
    }
}

/// Makes a node pass on a tensor.
fn pass_on(
    graph: &mut Graph,
    id: NodeId,
    input: Output,
    awaited: Option<NodeId>,
    ops: &dyn OpLookup,
) -> Result<()> {
    let source: &Node = graph.node(input.node);
    let dtype = source.output_types()[input.index as usize].dtype;
    let attrs: AttrMap = [("T".to_owned(), AttrValue::Type(dtype))].into_iter().collect();
    let (attrs, signature) = signature("Identity", attrs, graph.library(), ops)?;
    let node = graph.node_mut(id);
    node.op = "Identity".into();
    (node.attrs, node.signature) = (attrs, Some(signature));
    node.inputs = vec![input];
    node.control_inputs.extend(awaited);
    Ok(())
}
