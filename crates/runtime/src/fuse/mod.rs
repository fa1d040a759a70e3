//! Makes one node of several that compute element by element.
//!
//! A node joins its consumers when nobody else sees its result: then the result need not exist as a
//! tensor, and the executor need not pass it on. Whatever the nodes together wait for, the fused one
//! waits for, so results, errors and dead branches stay as they are.

mod groups;
mod kernel;
mod partial;
mod program;

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::Implementation;
use tensorfleet_graph::{Graph, Node, NodeId, Output, Signature};
use tensorfleet_tensor::Result;

use groups::{Group, Groups};
use kernel::{Fused, Member};

/// Fuses what can be, in a graph and the implementations of its nodes.
pub(crate) fn fuse(
    graph: &Graph,
    implementations: Vec<Implementation>,
) -> Result<(Cow<'_, Graph>, Vec<Implementation>)> {
    let groups = Groups::find(graph, &implementations);
    if groups.by_root.is_empty() {
        return Ok((Cow::Borrowed(graph), implementations));
    }
    let mut fused = Graph::new(Arc::clone(graph.library()));
    let mut kept = Vec::with_capacity(implementations.len());
    let mut new_ids = vec![NodeId(0); graph.len()];
    for ((id, node), implementation) in graph.iter().zip(implementations) {
        if groups.is_absorbed[id.index()] {
            continue;
        }
        let (node, implementation) = match groups.by_root.get(&id) {
            Some(group) => fused_node(graph, node, group),
            None => (node.clone(), implementation),
        };
        new_ids[id.index()] = fused.add(node)?;
        kept.push(implementation);
    }
    for index in 0..fused.len() {
        let node = fused.node_mut(NodeId(index as u32));
        node.inputs.iter_mut().for_each(|input| input.node = new_ids[input.node.index()]);
        node.control_inputs.iter_mut().for_each(|source| *source = new_ids[source.index()]);
    }
    Ok((Cow::Owned(fused), kept))
}

/// The node of a group, with the name of its last member, whose result is the one that others see.
fn fused_node(graph: &Graph, root: &Node, group: &Group) -> (Node, Implementation) {
    let members: FxHashMap<NodeId, usize> =
        group.iter().enumerate().map(|(number, (id, _))| (*id, number)).collect();
    let mut inputs: Vec<Output> = Vec::new();
    let mut numbers: FxHashMap<Output, usize> = FxHashMap::default();
    for input in group.iter().flat_map(|(id, _)| &graph.node(*id).inputs) {
        if !members.contains_key(&input.node) {
            numbers.entry(*input).or_insert_with(|| {
                inputs.push(*input);
                inputs.len() - 1
            });
        }
    }
    // The members' results are numbered after the inputs.
    let number = |input: &Output| match members.get(&input.node) {
        Some(member) => inputs.len() + member,
        None => numbers[input],
    };
    let parts = group.iter().map(|(id, kernel)| Member {
        name: Arc::clone(&graph.node(*id).name),
        kernel: Arc::clone(kernel),
        operands: graph.node(*id).inputs.iter().map(number).collect(),
    });
    let kernel = Fused::new(inputs.len(), parts.collect());
    let signature = root.signature.as_ref().map(|signature| {
        Arc::new(Signature {
            def: Arc::clone(&signature.def),
            inputs: vec![signature.outputs[0]; inputs.len()],
            outputs: signature.outputs.clone(),
        })
    });
    (Node { inputs, signature, ..root.clone() }, Implementation::Compute(Arc::new(kernel)))
}
