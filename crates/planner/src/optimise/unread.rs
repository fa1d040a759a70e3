//! Drops computations whose results nobody reads.
//!
//! A node that is only waited for has no effect but that of its inputs: who waited for it waits for
//! them. This is what `group` over gradients or losses leaves behind.

use tensorfleet_graph::NodeId;

use super::is_pure;
use super::uses::Uses;
use crate::{Step, prune};

/// Lets those who wait for a pure node that nobody reads wait for its inputs instead.
pub(super) fn drop_unread(step: Step) -> Step {
    let mut step = step;
    loop {
        let uses = Uses::new(&step);
        let is_root = |id| step.roots.contains(&id);
        let unread: Vec<bool> = step
            .graph
            .iter()
            .map(|(id, node)| {
                uses.consumers[id.index()].is_empty()
                    && uses.awaited[id.index()]
                    && !node.output_types().is_empty()
                    && !is_root(id)
                    && is_pure(node)
            })
            .collect();
        if !unread.contains(&true) {
            return step;
        }
        let sources: Vec<Vec<NodeId>> = (step.graph.iter().zip(&unread))
            .map(|((_, node), &unread)| {
                let inputs = node.inputs.iter().map(|input| input.node);
                let all = inputs.chain(node.control_inputs.iter().copied());
                if unread { all.collect() } else { Vec::new() }
            })
            .collect();
        for index in 0..step.graph.len() {
            let node = step.graph.node_mut(NodeId(index as u32));
            if !node.control_inputs.iter().any(|id| unread[id.index()]) {
                continue;
            }
            let mut waits_for: Vec<NodeId> = Vec::with_capacity(node.control_inputs.len());
            for &id in &node.control_inputs {
                let replaced = if unread[id.index()] { &sources[id.index()][..] } else { &[id] };
                waits_for.extend(replaced);
            }
            waits_for.sort_unstable();
            waits_for.dedup();
            node.control_inputs = waits_for;
        }
        step = prune::keep_needed(step);
    }
}
