//! Replaces calls of functions by the nodes of their bodies.
//!
//! A plain call becomes the body itself (`call.rs`). `If` and `Case` become bodies between switches
//! and merges (`branch.rs`), `While` a frame that its values enter and leave (`repeat.rs`). Each
//! leaves behind which tensors now stand for its outputs and which node now says that it has run;
//! consumers are connected at the end, in one sweep.
//!
//! Side effects inside a function happen even if nobody uses the results: their nodes become roots.
//! Control flow that is written into the graph of a session is another matter: it is replaced before
//! a step is pruned, and what the step does not need is not run, effects or not.

mod body;
mod branch;
mod call;
mod origin;
mod repeat;

use std::sync::Arc;

use rustc_hash::FxHashSet;
use tensorfleet_framework::Registry;
use tensorfleet_graph::{AttrValue, Calls, ControlFlow, Graph, Node, NodeId, Output};
use tensorfleet_tensor::{Result, resource_exhausted};

use crate::calls;
use crate::edit::NewNode;
use crate::redirect::Redirects;
use crate::{Options, Step};
pub(crate) use call::END;
pub use origin::{Origin, origin};

/// Replaces all calls of a function's body that can be replaced. Says whether there were any calls.
pub(crate) fn lower(step: Step, ops: &Arc<Registry>, options: &Options) -> Result<(Step, bool)> {
    replace(step, Effects::Always, Roots::Effects, ops, options)
}

/// Replaces the control flow that is written into the graph of a session's step, as the client asks
/// for. Says whether there was any.
pub(crate) fn lower_control_flow(
    step: Step,
    ops: &Arc<Registry>,
    options: &Options,
) -> Result<(Step, bool)> {
    replace(step, Effects::IfNeeded, Roots::Targets, ops, options)
}

/// Replaces all calls that are left in a session's step and can be replaced. Says whether there were
/// any.
pub(crate) fn lower_calls(
    step: Step,
    ops: &Arc<Registry>,
    options: &Options,
) -> Result<(Step, bool)> {
    replace(step, Effects::Always, Roots::Targets, ops, options)
}

/// When nodes of a body with side effects are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effects {
    /// Whenever the call is.
    Always,
    /// When something that the step needs comes from them. Plain calls are left for later: whether
    /// they are run is not known yet.
    IfNeeded,
}

/// What the roots of a graph are there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Roots {
    /// A function does all that it says.
    Effects,
    /// A session asks for nodes by name, and with them for their results.
    Targets,
}

fn replace(
    step: Step,
    effects: Effects,
    roots: Roots,
    ops: &Arc<Registry>,
    options: &Options,
) -> Result<(Step, bool)> {
    let is_replaced = |node: &Node| match effects {
        Effects::Always => is_call(&step.graph, node),
        Effects::IfNeeded => is_control_flow(node) && asks_for_lowering(node, options),
    };
    let nodes = step.graph.iter().filter(|(_, node)| is_replaced(node));
    let calls: Vec<NodeId> = nodes.map(|(id, _)| id).collect();
    if calls.is_empty() {
        return Ok((step, false));
    }
    let mut step = step;
    calls::spell_out(&mut step.graph, &**ops)?;
    let mut lowering = Lowering::new(step, effects, roots, ops, options);
    lowering.pending.extend(calls.into_iter().rev().map(|id| Pending { id, within: None }));
    while let Some(pending) = lowering.pending.pop() {
        lowering.expand(&pending)?;
    }
    Ok((lowering.finish(), true))
}

/// Whether the node stands for a function that may be replaced by its body.
pub(crate) fn is_call(graph: &Graph, node: &Node) -> bool {
    node.nature().calls.is_some() || graph.library().find(&node.op).is_some()
}

/// Whether the node chooses among functions, or repeats one.
fn is_control_flow(node: &Node) -> bool {
    matches!(node.nature().calls, Some(Calls::OneOf | Calls::Repeatedly))
}

fn is_loop(node: &Node) -> bool {
    matches!(&*node.op, "StatelessWhile" | "While")
}

/// More nodes than this are not added for calls in functions. Functions that call each other can
/// describe graphs of any size in little text.
const MAX_NODES: usize = if cfg!(test) { 1 << 12 } else { 1 << 18 };

/// The graph's own calls stay calls when so many nodes were added.
const MANY_NODES: usize = MAX_NODES / 2;

/// The pass at work.
struct Lowering<'a> {
    graph: Graph,
    /// The number of nodes before.
    len_before: usize,
    /// Whether nodes may be dead, or run in a frame of their own.
    had_control_flow: bool,
    roots: Vec<NodeId>,
    effects: Effects,
    /// Calls that the step asks for by name, and with them all their outputs.
    asked_for: FxHashSet<NodeId>,
    /// Calls that a session runs by name.
    targets: FxHashSet<NodeId>,
    /// Outputs that have to be computed.
    wanted: Vec<Output>,
    ops: &'a Arc<Registry>,
    options: &'a Options,
    pending: Vec<Pending>,
    /// The functions that are being replaced, each with the one around it.
    expansions: Vec<Expansion>,
    replaced: FxHashSet<NodeId>,
    /// What stands for the outputs of replaced calls, and what has run when such a call has run, if
    /// somebody waits for that.
    redirects: Redirects,
    /// Nodes that somebody waits for by a control edge.
    awaited: FxHashSet<NodeId>,
    /// Results of loops that somebody takes.
    taken: FxHashSet<Output>,
}

/// A call to be replaced, and the expansion that made it.
struct Pending {
    id: NodeId,
    within: Option<usize>,
}

struct Expansion {
    function: String,
    within: Option<usize>,
}

impl<'a> Lowering<'a> {
    fn new(
        step: Step,
        effects: Effects,
        roots: Roots,
        ops: &'a Arc<Registry>,
        options: &'a Options,
    ) -> Lowering<'a> {
        let fetches = step.graph.nodes().iter().filter(|node| node.steers(ControlFlow::Retval));
        let fetched = fetches.flat_map(|node| &node.inputs).map(|input| input.node);
        let asked_for = fetched.chain(step.roots.iter().copied()).collect();
        let targets = match roots {
            Roots::Effects => FxHashSet::default(),
            Roots::Targets => step.roots.iter().copied().collect(),
        };
        let awaited = step.graph.nodes().iter().flat_map(|node| &node.control_inputs);
        let awaited = awaited.chain(&step.roots).copied().collect();
        let inputs = step.graph.nodes().iter().flat_map(|node| &node.inputs).copied();
        let taken = inputs.filter(|input| is_loop(step.graph.node(input.node))).collect();
        Lowering {
            len_before: step.graph.len(),
            had_control_flow: body::has_control_flow(&step.graph),
            graph: step.graph,
            roots: step.roots,
            effects,
            asked_for,
            targets,
            wanted: Vec::new(),
            ops,
            options,
            pending: Vec::new(),
            expansions: Vec::new(),
            replaced: FxHashSet::default(),
            redirects: Redirects::default(),
            awaited,
            taken,
        }
    }

    fn expand(&mut self, pending: &Pending) -> Result<()> {
        let added = self.graph.len() - self.len_before;
        if added > MANY_NODES && pending.within.is_none() {
            return Ok(());
        }
        if added > MAX_NODES {
            let name = &self.graph.node(pending.id).name;
            return Err(resource_exhausted!(
                "The functions of the graph call each other so often that more than {MAX_NODES} \
                 nodes would take the place of their calls, the last of them for {name}"
            ));
        }
        let mut node = self.graph.node(pending.id).clone();
        for input in &mut node.inputs {
            *input = self.redirects.current(*input);
        }
        match node.nature().calls {
            Some(Calls::OneOf | Calls::Repeatedly) if !asks_for_lowering(&node, self.options) => {
                Ok(())
            }
            Some(Calls::OneOf) => self.expand_branches(pending, &node),
            Some(Calls::Repeatedly) => self.expand_while(pending, &node),
            _ if self.options.inline_functions && self.effects == Effects::Always => {
                self.expand_call(pending, &node)
            }
            _ => Ok(()),
        }
    }

    /// Adds a node that a replacement needs beside the bodies.
    fn add(&mut self, node: NewNode<'_>) -> Result<NodeId> {
        self.awaited.extend(&node.control_inputs);
        node.add_to(&mut self.graph, &**self.ops)
    }

    /// Records that `call` is replaced and that `outputs` stand for its outputs.
    fn replace_outputs(&mut self, call: NodeId, outputs: impl IntoIterator<Item = Output>) {
        self.replaced.insert(call);
        let is_asked_for = self.effects == Effects::IfNeeded && self.asked_for.contains(&call);
        for (index, output) in outputs.into_iter().enumerate() {
            if is_asked_for {
                self.wanted.push(output);
            }
            self.redirects.output(Output { node: call, index: index as u32 }, output);
        }
    }

    /// Connects the consumers of replaced calls, and drops the calls.
    fn finish(self) -> Step {
        let Lowering { graph, mut roots, wanted, redirects, replaced, .. } = self;
        // A call inside a body was a root for the sake of its own effects, which are roots now.
        roots.retain(|&id| !replaced.contains(&id) || redirects.has_node(id));
        roots.extend(wanted.into_iter().map(|output| redirects.current(output).node));
        redirects.apply(Step { graph, roots })
    }
}

/// Whether the client wants control flow as switches and merges. Otherwise a kernel runs the node.
fn asks_for_lowering(node: &Node, options: &Options) -> bool {
    options.lower_control_flow
        && matches!(node.attrs.get("_lower_using_switch_merge"), Some(AttrValue::Bool(true)))
}

#[cfg(test)]
mod tests;
