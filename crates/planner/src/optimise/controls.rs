//! Drops control edges that say nothing.

use tensorfleet_graph::{Graph, NodeId};

use crate::{Step, prune};

/// Drops control edges from nodes that run at once in every step, and those beside a data edge from
/// the same node.
pub(super) fn drop_satisfied(step: Step) -> Step {
    let Step { mut graph, roots } = step;
    let at_once: Vec<bool> = graph.iter().map(|(id, _)| runs_at_once(&graph, id)).collect();
    for index in 0..graph.len() {
        let node = graph.node_mut(NodeId(index as u32));
        let inputs = &node.inputs;
        node.control_inputs
            .retain(|id| !at_once[id.index()] && !inputs.iter().any(|input| input.node == *id));
    }
    prune::keep_needed(Step { graph, roots })
}

fn runs_at_once(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    matches!(&*node.op, "Const" | "NoOp")
        && node.inputs.is_empty()
        && node.control_inputs.is_empty()
}
