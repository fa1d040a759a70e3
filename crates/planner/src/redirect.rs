//! Replacing nodes: who consumed the old tensors consumes others, in one sweep at the end.

use rustc_hash::FxHashMap;
use tensorfleet_graph::{NodeId, Output};

use crate::{Step, prune};

/// What stands for tensors and nodes that a pass replaced.
#[derive(Debug, Default)]
pub(crate) struct Redirects {
    outputs: FxHashMap<Output, Output>,
    nodes: FxHashMap<NodeId, NodeId>,
}

impl Redirects {
    /// Consumers of `old` shall take `new`.
    pub(crate) fn output(&mut self, old: Output, new: Output) {
        self.outputs.insert(old, new);
    }

    /// Who waits for `old` shall wait for `new`.
    pub(crate) fn node(&mut self, old: NodeId, new: NodeId) {
        self.nodes.insert(old, new);
    }

    /// What stands for a tensor now.
    pub(crate) fn current(&self, mut output: Output) -> Output {
        while let Some(&next) = self.outputs.get(&output) {
            output = next;
        }
        output
    }

    /// What stands for a node now, for who waits for it.
    pub(crate) fn current_node(&self, mut id: NodeId) -> NodeId {
        while let Some(&next) = self.nodes.get(&id) {
            id = next;
        }
        id
    }

    /// Whether something stands for the node `id`.
    pub(crate) fn has_node(&self, id: NodeId) -> bool {
        self.nodes.contains_key(&id)
    }

    /// Connects all consumers to what stands for their inputs now, and drops what nobody needs.
    pub(crate) fn apply(&self, step: Step) -> Step {
        let Step { mut graph, roots } = step;
        for index in 0..graph.len() {
            let node = graph.node_mut(NodeId(index as u32));
            for input in &mut node.inputs {
                *input = self.current(*input);
            }
            for input in &mut node.control_inputs {
                *input = self.current_node(*input);
            }
            node.control_inputs.sort_unstable();
            node.control_inputs.dedup();
        }
        let roots = roots.into_iter().map(|root| self.current_node(root)).collect();
        prune::keep_needed(Step { graph, roots })
    }
}
