//! Puts constants on every device that uses them, instead of sending them in every step.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_graph::{ControlFlow, Node, NodeId};
use tensorfleet_tensor::Result;

use super::constant;
use crate::{Step, prune};

/// A larger constant is cheaper to send now and then than to keep twice.
const MAX_SIZE: usize = 1 << 20;

/// Copies constants to the devices of their consumers.
pub(super) fn replicate(step: Step) -> Result<Step> {
    let Step { mut graph, roots } = step;
    let mut copies: FxHashMap<(NodeId, Arc<str>), NodeId> = FxHashMap::default();
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        // Who fetches a constant wants to see it made where it was placed.
        if graph.node(id).steers(ControlFlow::Retval) {
            continue;
        }
        for position in 0..graph.node(id).inputs.len() {
            let (node, source) = (graph.node(id), graph.node(id).inputs[position].node);
            let original = graph.node(source);
            if original.device == node.device || !is_small_constant(original) {
                continue;
            }
            let key = (source, Arc::clone(&node.device));
            let copy = match copies.get(&key) {
                Some(&copy) => copy,
                None => {
                    let copy = Node {
                        name: graph.unique_name(&format!("{}/copy", original.name)).into(),
                        device: Arc::clone(&node.device),
                        ..original.clone()
                    };
                    let copy = graph.add(copy)?;
                    copies.insert(key, copy);
                    copy
                }
            };
            graph.node_mut(id).inputs[position].node = copy;
        }
    }
    Ok(prune::keep_needed(Step { graph, roots }))
}

fn is_small_constant(node: &Node) -> bool {
    node.control_inputs.is_empty()
        && constant(node).is_some_and(|tensor| tensor.byte_len() <= MAX_SIZE)
}
