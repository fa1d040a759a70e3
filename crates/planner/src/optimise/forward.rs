//! Takes out nodes that only pass on an input.
//!
//! Such a node stays where taking it out would be noticed: if it waits for something itself, if its
//! input is a reference that it reads, or if it keeps a copy of another device's tensor for several
//! consumers elsewhere.

use tensorfleet_graph::{AttrValue, Graph, Node, NodeId, Output};
use tensorfleet_tensor::{DType, Tensor, dispatch};

use super::constant;
use super::uses::Uses;
use crate::Step;
use crate::order::topological_order;
use crate::redirect::Redirects;

/// Connects the consumers of nodes that pass on an input to the input itself.
pub(super) fn forward(step: Step) -> Step {
    let uses = Uses::new(&step);
    let mut redirects = Redirects::default();
    for id in topological_order(&step.graph) {
        let node = step.graph.node(id);
        let Some(passed) = passed_input(&step.graph, node) else { continue };
        let source = redirects.current(node.inputs[passed]);
        if can_go(&step.graph, id, source, &uses) {
            redirects.output(Output { node: id, index: 0 }, source);
            redirects.node(id, redirects.current_node(source.node));
        }
    }
    redirects.apply(step)
}

fn can_go(graph: &Graph, id: NodeId, source: Output, uses: &Uses) -> bool {
    let (node, passed) = (graph.node(id), graph.node(source.node));
    // Who waits for one side of a switch has nothing else to wait for.
    if uses.awaited[id.index()] && passed.is_switch() {
        return false;
    }
    let is_reference = passed.output_types()[source.index as usize].is_ref;
    let is_near = passed.device == node.device;
    let consumers_are_near =
        || uses.consumers[id.index()].iter().all(|&user| graph.node(user).device == node.device);
    node.control_inputs.is_empty()
        && !is_reference
        && (is_near || (!uses.awaited[id.index()] && consumers_are_near()))
}

/// The input that a node's only output equals.
fn passed_input(graph: &Graph, node: &Node) -> Option<usize> {
    let is_scalar = |input: usize, number: i8| {
        let source = node.inputs.get(input).map(|input| graph.node(input.node));
        source.and_then(constant).is_some_and(|tensor| is_scalar(tensor, number))
    };
    let passed = match &*node.op {
        "Identity" | "PlaceholderWithDefault" | "PreventGradient" | "Snapshot" | "StopGradient" => {
            0
        }
        // With more inputs it waits for all of them.
        "IdentityN" if node.inputs.len() == 1 => 0,
        "AddN" if node.inputs.len() == 1 => 0,
        "Cast" if types_agree(node, "SrcT", "DstT") => 0,
        "Div" | "RealDiv" if is_scalar(1, 1) => 0,
        "Mul" if is_scalar(1, 1) => 0,
        "Mul" if is_scalar(0, 1) => 1,
        "Sub" if is_scalar(1, 0) => 0,
        // A sum with zero turns -0 into 0, so only integers pass.
        "Add" | "AddV2" if is_integer(node) && is_scalar(1, 0) => 0,
        "Add" | "AddV2" if is_integer(node) && is_scalar(0, 0) => 1,
        _ => return None,
    };
    Some(passed)
}

fn types_agree(node: &Node, first: &str, second: &str) -> bool {
    match (node.attrs.get(first), node.attrs.get(second)) {
        (Some(AttrValue::Type(first)), Some(AttrValue::Type(second))) => first == second,
        _ => false,
    }
}

fn is_integer(node: &Node) -> bool {
    node.output_types().iter().all(|value| value.dtype.is_integer())
}

/// Whether the tensor is the scalar `number`, which broadcasting does not change the other shape of.
fn is_scalar(tensor: &Tensor, number: i8) -> bool {
    tensor.shape().is_scalar()
        && dispatch!(
            tensor.dtype(),
            [f32, f64, i8, i16, i32, i64],
            T => tensor.scalar_value::<T>().is_ok_and(|value| value == T::from(number)),
            else => tensor.dtype() == DType::UInt8
                && tensor.scalar_value::<u8>().is_ok_and(|value| i16::from(value) == i16::from(number))
        )
}
