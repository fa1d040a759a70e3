//! Computes equal things once.
//!
//! Two nodes are equal when they have the same op, attributes, device, inputs and waits. Attributes
//! that start with an underscore are notes between planners, and do not count.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use tensorfleet_graph::{AttrValue, Node, NodeId, Output};
use tensorfleet_tensor::Tensor;

use super::is_pure;
use crate::Step;
use crate::order::topological_order;
use crate::redirect::Redirects;

/// Lets the first of equal nodes stand for the others.
pub(super) fn dedupe(step: Step) -> Step {
    let graph = &step.graph;
    let mut redirects = Redirects::default();
    let mut seen: FxHashMap<u64, Vec<(NodeId, Wiring)>> = FxHashMap::default();
    for id in topological_order(graph) {
        let node = graph.node(id);
        if node.output_types().is_empty() || !is_pure(node) {
            continue;
        }
        let wiring = Wiring::new(node, &redirects);
        let alike = seen.entry(hash(node, &wiring)).or_default();
        let equal = |(other, other_wiring): &&(NodeId, Wiring)| {
            *other_wiring == wiring && is_equal(graph.node(*other), node)
        };
        match alike.iter().find(equal) {
            None => alike.push((id, wiring)),
            Some(&(first, _)) => {
                for index in 0..node.output_types().len() as u32 {
                    let output = |node| Output { node, index };
                    redirects.output(output(id), output(first));
                }
                redirects.node(id, first);
            }
        }
    }
    redirects.apply(step)
}

/// The edges into a node, after what was replaced so far.
#[derive(PartialEq, Eq, Hash)]
struct Wiring {
    inputs: Vec<Output>,
    controls: Vec<NodeId>,
}

impl Wiring {
    fn new(node: &Node, redirects: &Redirects) -> Wiring {
        let mut inputs: Vec<Output> =
            node.inputs.iter().map(|&input| redirects.current(input)).collect();
        if node.signature.as_ref().is_some_and(|signature| signature.def.is_commutative) {
            inputs.sort_unstable();
        }
        let mut controls: Vec<NodeId> =
            node.control_inputs.iter().map(|&id| redirects.current_node(id)).collect();
        controls.sort_unstable();
        controls.dedup();
        Wiring { inputs, controls }
    }
}

fn hash(node: &Node, wiring: &Wiring) -> u64 {
    let mut hasher = FxHasher::default();
    (&node.op, &node.device, wiring).hash(&mut hasher);
    for (name, value) in attrs(node) {
        name.hash(&mut hasher);
        if let AttrValue::Tensor(tensor) = value {
            hash_tensor(tensor, &mut hasher);
        }
    }
    hasher.finish()
}

/// Hashes enough of a tensor to tell most constants apart.
fn hash_tensor(tensor: &Tensor, hasher: &mut FxHasher) {
    (tensor.dtype(), tensor.dims()).hash(hasher);
    if tensor.dtype().is_plain() {
        let bytes = tensor.raw();
        bytes[..bytes.len().min(256)].hash(hasher);
    }
}

fn is_equal(a: &Node, b: &Node) -> bool {
    a.op == b.op
        && a.device == b.device
        && attrs(a).count() == attrs(b).count()
        && attrs(a)
            .zip(attrs(b))
            .all(|((a_name, a_value), (b_name, b_value))| a_name == b_name && a_value.same(b_value))
}

fn attrs(node: &Node) -> impl Iterator<Item = (&String, &AttrValue)> {
    node.attrs.iter().filter(|(name, _)| !name.starts_with('_'))
}
