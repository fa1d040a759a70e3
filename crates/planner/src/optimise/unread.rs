//! Computes nothing in vain.
//!
//! A node whose results nobody reads does nothing but let others wait for its inputs. This is what
//! `group` over gradients leaves behind: the gradient of a network's input, for one, is waited for
//! and never read.

use tensorfleet_graph::{AttrMap, Graph, Node, NodeId, OpLookup, signature};
use tensorfleet_tensor::{DType, Result};

use super::is_control_flow;
use super::uses::Uses;
use crate::Step;
use crate::order::topological_order;
use crate::redirect::Redirects;

/// Lets those who wait for a node that nobody reads wait for its inputs instead.
pub(super) fn drop_unread(mut step: Step, ops: &dyn OpLookup) -> Result<Step> {
    let mut is_root = vec![false; step.graph.len()];
    step.roots.iter().for_each(|root| is_root[root.index()] = true);
    let Uses { consumers, mut awaited } = Uses::new(&step);
    let mut readers: Vec<usize> = consumers.iter().map(Vec::len).collect();
    let mut redirects = Redirects::default();
    // Once a node is gone, nobody may be left to read its inputs.
    for id in topological_order(&step.graph).into_iter().rev() {
        let node = step.graph.node(id);
        let is_unread = readers[id.index()] == 0 && awaited[id.index()] && !is_root[id.index()];
        if !is_unread || !can_go(&step.graph, node) {
            continue;
        }
        node.inputs.iter().for_each(|input| readers[input.node.index()] -= 1);
        let inputs = node.inputs.iter().map(|input| input.node);
        let mut sources: Vec<NodeId> = inputs.chain(node.control_inputs.iter().copied()).collect();
        sources.sort_unstable();
        sources.dedup();
        sources.iter().for_each(|source| awaited[source.index()] = true);
        match sources[..] {
            [only] => redirects.node(id, only),
            _ => wait_only(&mut step.graph, id, sources, ops)?,
        }
    }
    Ok(redirects.apply(step))
}

/// Whether waiting for a node's inputs is as good as waiting for the node. One side of a branch
/// cannot be waited for, nor can what enters a loop; and a check is there to fail.
fn can_go(graph: &Graph, node: &Node) -> bool {
    !node.output_types().is_empty()
        && (has_no_effects(node) || node.nature().reads_variable)
        && !node.nature().is_check
        && !node.inputs.iter().any(|input| is_control_flow(graph.node(input.node)))
}

/// Whether a node changes nothing and cannot be told from others but by its results. Calls of functions
/// without effects are among them, and what makes lists.
fn has_no_effects(node: &Node) -> bool {
    let mut values = node.input_types().iter().chain(node.output_types());
    !node.is_stateful()
        && !is_control_flow(node)
        && !node.nature().reads_outside
        && values.all(|value| !value.is_ref && value.dtype != DType::Resource)
}

/// Turns a node into one that only waits.
fn wait_only(
    graph: &mut Graph,
    id: NodeId,
    sources: Vec<NodeId>,
    ops: &dyn OpLookup,
) -> Result<()> {
    let (attrs, signature) = signature("NoOp", AttrMap::default(), graph.library(), ops)?;
    let node = graph.node_mut(id);
    node.op = "NoOp".into();
    (node.attrs, node.signature) = (attrs, Some(signature));
    (node.inputs, node.control_inputs) = (Vec::new(), sources);
    Ok(())
}
