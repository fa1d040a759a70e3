//! Computes at planning time what depends on constants only.
//!
//! A node that waits for others, or whose constants do, becomes a constant that waits for the same:
//! it keeps its place in a branch or a loop.

use std::sync::Arc;

use tensorfleet_graph::{AttrMap, AttrValue, Graph, Node, NodeId, OpLookup, Output, signature};
use tensorfleet_tensor::{Result, Tensor};

use super::{constant, is_pure};
use crate::edit::{NewNode, first_output};
use crate::order::topological_order;
use crate::redirect::Redirects;
use crate::{Evaluate, Step};

/// Results above this size are computed in each step: they would swell the graphs that are sent to
/// other tasks. TensorFlow has the same limit. A result that is not larger than what it is computed
/// from is always welcome.
const MAX_RESULT: usize = 10 << 20;

/// Repeated values above this size are not kept: to repeat one is as quick as to read them.
const MAX_REPEATED: i64 = 1 << 20;

/// Inputs above this size are not worth a planner's time.
const MAX_INPUT: usize = 10 << 20;

/// Replaces pure nodes with constant inputs by constants.
pub(super) fn fold(mut step: Step, ops: &dyn OpLookup, evaluate: &dyn Evaluate) -> Result<Step> {
    let mut redirects = Redirects::default();
    for id in topological_order(&step.graph) {
        let node = step.graph.node(id);
        if node.inputs.is_empty() || node.output_types().is_empty() || !is_pure(node) {
            continue;
        }
        // What could have been fed is no constant for TensorFlow either.
        if &*node.op == "PlaceholderWithDefault" {
            continue;
        }
        let inputs: Vec<Output> =
            node.inputs.iter().map(|&input| redirects.current(input)).collect();
        let Some(values) = constants(&step.graph, &inputs) else { continue };
        evaluate.go_on()?;
        let Some(results) = results(node, values, evaluate) else { continue };
        let controls = controls(&step.graph, node, &inputs);
        replace(&mut step.graph, id, results, controls, ops, &mut redirects)?;
    }
    Ok(redirects.apply(step))
}

fn constants(graph: &Graph, inputs: &[Output]) -> Option<Vec<Tensor>> {
    inputs.iter().map(|input| constant(graph.node(input.node)).cloned()).collect()
}

fn results(node: &Node, values: Vec<Tensor>, evaluate: &dyn Evaluate) -> Option<Vec<Tensor>> {
    let input_size: usize = values.iter().map(Tensor::byte_len).sum();
    if input_size > MAX_INPUT || is_expansion(node, &values) {
        return None;
    }
    let results = evaluate.evaluate(node, values)?;
    let result_size: usize = results.iter().map(Tensor::byte_len).sum();
    let types = node.output_types();
    let fits = results.len() == types.len()
        && results.iter().zip(types).all(|(result, wanted)| result.dtype() == wanted.dtype);
    (fits && result_size <= MAX_RESULT.max(input_size)).then_some(results)
}

/// Whether the node makes something large of small inputs. Better known before than after.
fn is_expansion(node: &Node, values: &[Tensor]) -> bool {
    let shape = match (&*node.op, values) {
        ("Fill", [shape, _]) | ("BroadcastTo", [_, shape]) => shape,
        _ => return false,
    };
    let Ok(dims) = shape.to_i64_vec() else { return true };
    let elements = dims.iter().try_fold(1i64, |product, &dim| product.checked_mul(dim));
    elements.is_none_or(|elements| elements > MAX_REPEATED)
}

/// What the constant in place of `node` has to wait for.
fn controls(graph: &Graph, node: &Node, inputs: &[Output]) -> Vec<NodeId> {
    let of_inputs = inputs.iter().flat_map(|input| &graph.node(input.node).control_inputs);
    let mut controls: Vec<NodeId> = node.control_inputs.iter().chain(of_inputs).copied().collect();
    controls.sort_unstable();
    controls.dedup();
    controls
}

fn replace(
    graph: &mut Graph,
    id: NodeId,
    results: Vec<Tensor>,
    controls: Vec<NodeId>,
    ops: &dyn OpLookup,
    redirects: &mut Redirects,
) -> Result<()> {
    let attrs = |tensor: Tensor| {
        [("dtype", AttrValue::Type(tensor.dtype())), ("value", AttrValue::Tensor(tensor))]
    };
    let results = match <[Tensor; 1]>::try_from(results) {
        Err(several) => several,
        Ok([tensor]) => {
            let attrs: AttrMap =
                attrs(tensor).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let (attrs, signature) = signature("Const", attrs, graph.library(), ops)?;
            let node = graph.node_mut(id);
            node.op = "Const".into();
            (node.attrs, node.signature) = (attrs, Some(signature));
            (node.inputs, node.control_inputs) = (Vec::new(), controls);
            return Ok(());
        }
    };
    let (name, device) = {
        let node = graph.node(id);
        (Arc::clone(&node.name), Arc::clone(&node.device))
    };
    for (index, tensor) in results.into_iter().enumerate() {
        let constant = NewNode {
            name: &format!("{name}/folded_{index}"),
            op: "Const",
            device: Arc::clone(&device),
            attrs: attrs(tensor).into(),
            control_inputs: controls.clone(),
            ..NewNode::default()
        }
        .add_to(graph, ops)?;
        redirects.output(Output { node: id, index: index as u32 }, first_output(constant));
        redirects.node(id, constant);
    }
    Ok(())
}
