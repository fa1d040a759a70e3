//! Who uses what a node makes.

use tensorfleet_graph::NodeId;

use crate::Step;

/// The consumers of each node of a graph.
#[derive(Debug)]
pub(super) struct Uses {
    /// The consumers of a node's outputs, one entry an edge.
    pub(super) consumers: Vec<Vec<NodeId>>,
    /// Whether somebody waits for the node by a control edge, or the step asks for it by name.
    pub(super) awaited: Vec<bool>,
}

impl Uses {
    /// Finds the consumers in `step`.
    pub(super) fn new(step: &Step) -> Uses {
        let mut consumers = vec![Vec::new(); step.graph.len()];
        let mut awaited = vec![false; step.graph.len()];
        for (id, node) in step.graph.iter() {
            for input in &node.inputs {
                consumers[input.node.index()].push(id);
            }
            for input in &node.control_inputs {
                awaited[input.index()] = true;
            }
        }
        for root in &step.roots {
            awaited[root.index()] = true;
        }
        Uses { consumers, awaited }
    }

    /// The node that is the only one to use anything of `id`.
    pub(super) fn only_consumer(&self, id: NodeId) -> Option<NodeId> {
        match &self.consumers[id.index()][..] {
            &[only] if !self.awaited[id.index()] => Some(only),
            _ => None,
        }
    }
}
