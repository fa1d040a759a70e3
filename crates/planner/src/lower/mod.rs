//! Replaces calls of functions by the nodes of their bodies.
//!
//! A plain call becomes the body itself (`call.rs`). `If` and `Case` become bodies between switches
//! and merges (`branch.rs`), `While` a frame that its values enter and leave (`repeat.rs`). Each
//! leaves behind which tensors now stand for its outputs and which node now says that it has run;
//! consumers are connected at the end, in one sweep.
//!
//! Side effects inside a body happen even if nobody uses the results: their nodes become roots.

mod body;
mod branch;
mod call;
mod repeat;

use std::sync::Arc;

use rustc_hash::FxHashSet;
use tensorfleet_framework::Registry;
use tensorfleet_graph::{AttrValue, Graph, Node, NodeId, Output};
use tensorfleet_tensor::Result;

use crate::calls;
use crate::edit::NewNode;
use crate::gradient::SYMBOLIC_GRADIENT;
use crate::redirect::Redirects;
use crate::{Options, Step};

/// Replaces all calls that can be replaced. Says whether there were any calls.
pub(crate) fn lower(step: Step, ops: &Arc<Registry>, options: &Options) -> Result<(Step, bool)> {
    let calls: Vec<NodeId> = step
        .graph
        .iter()
        .filter(|(_, node)| is_call(&step.graph, node))
        .map(|(id, _)| id)
        .collect();
    if calls.is_empty() {
        return Ok((step, false));
    }
    let mut step = step;
    calls::spell_out(&mut step.graph, &**ops)?;
    let mut lowering = Lowering::new(step, ops, options);
    lowering.pending.extend(calls.into_iter().rev().map(|id| Pending { id, within: None }));
    while let Some(pending) = lowering.pending.pop() {
        lowering.expand(&pending)?;
    }
    Ok((lowering.finish(), true))
}

/// Whether the node stands for a function that may be replaced by its body.
pub(crate) fn is_call(graph: &Graph, node: &Node) -> bool {
    matches!(
        &*node.op,
        "Case"
            | "If"
            | "PartitionedCall"
            | "StatefulPartitionedCall"
            | "StatelessCase"
            | "StatelessIf"
            | "StatelessWhile"
            | SYMBOLIC_GRADIENT
            | "While"
    ) || graph.library().find(&node.op).is_some()
}

/// Calls beyond this size of the graph stay calls. Functions that call each other can describe
/// graphs of any size in little text.
const MAX_NODES: usize = 1 << 18;

/// The pass at work.
struct Lowering<'a> {
    graph: Graph,
    roots: Vec<NodeId>,
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
    fn new(step: Step, ops: &'a Arc<Registry>, options: &'a Options) -> Lowering<'a> {
        let awaited = step.graph.nodes().iter().flat_map(|node| &node.control_inputs);
        let awaited = awaited.chain(&step.roots).copied().collect();
        Lowering {
            graph: step.graph,
            roots: step.roots,
            ops,
            options,
            pending: Vec::new(),
            expansions: Vec::new(),
            replaced: FxHashSet::default(),
            redirects: Redirects::default(),
            awaited,
        }
    }

    fn expand(&mut self, pending: &Pending) -> Result<()> {
        if self.graph.len() > MAX_NODES {
            return Ok(());
        }
        let mut node = self.graph.node(pending.id).clone();
        for input in &mut node.inputs {
            *input = self.redirects.current(*input);
        }
        match &*node.op {
            "If" | "StatelessIf" | "Case" | "StatelessCase" if asks_for_lowering(&node) => {
                self.expand_branches(pending, &node)
            }
            "While" | "StatelessWhile" if asks_for_lowering(&node) => {
                self.expand_while(pending, &node)
            }
            "If" | "StatelessIf" | "Case" | "StatelessCase" | "While" | "StatelessWhile" => Ok(()),
            _ if self.options.inline_functions => self.expand_call(pending, &node),
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
        for (index, output) in outputs.into_iter().enumerate() {
            self.redirects.output(Output { node: call, index: index as u32 }, output);
        }
    }

    /// Connects the consumers of replaced calls, and drops the calls.
    fn finish(self) -> Step {
        let Lowering { graph, mut roots, redirects, replaced, .. } = self;
        // A call inside a body was a root for the sake of its own effects, which are roots now.
        roots.retain(|&id| !replaced.contains(&id) || redirects.has_node(id));
        redirects.apply(Step { graph, roots })
    }
}

/// Whether the client wants control flow as switches and merges. Otherwise a kernel runs the node.
fn asks_for_lowering(node: &Node) -> bool {
    matches!(node.attrs.get("_lower_using_switch_merge"), Some(AttrValue::Bool(true)))
}

#[cfg(test)]
mod tests;
