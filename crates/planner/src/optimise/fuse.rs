//! Joins a matrix product or a convolution with the bias and the activation that follow it.
//!
//! The joined node takes the place and the name of the last one. Nothing else may use what lies
//! between, and a kernel for exactly this combination must exist.

use tensorfleet_framework::Registry;
use tensorfleet_graph::{
    AttrList, AttrMap, AttrValue, Graph, Node, NodeId, OpLookup as _, signature,
};
use tensorfleet_tensor::{DType, Result};

use super::uses::Uses;
use crate::{Step, prune};

/// Joins nodes where possible.
pub(super) fn fuse(step: Step, ops: &Registry) -> Result<Step> {
    let uses = Uses::new(&step);
    let Step { mut graph, roots } = step;
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        let Some(chain) = Chain::starting_at(&graph, id, &uses) else { continue };
        let longest = chain.activation.is_some();
        let mut fused = chain.fused(&graph, ops, longest)?;
        if fused.is_none() && longest {
            fused = chain.fused(&graph, ops, false)?;
        }
        if let Some((last, node)) = fused {
            *graph.node_mut(last) = node;
        }
    }
    Ok(prune::keep_needed(Step { graph, roots }))
}

/// A product, the bias added to it, and perhaps what is done to the sum.
struct Chain {
    product: NodeId,
    bias: NodeId,
    activation: Option<NodeId>,
}

impl Chain {
    fn starting_at(graph: &Graph, product: NodeId, uses: &Uses) -> Option<Chain> {
        let node = graph.node(product);
        if !matches!(&*node.op, "MatMul" | "Conv2D") || type_attr(node) != Some(DType::Float) {
            return None;
        }
        let bias = follower(graph, product, uses)?;
        let bias_node = graph.node(bias);
        let has = |node: &Node, attr: &str, wanted: &[u8]| match node.attrs.get(attr) {
            Some(AttrValue::String(value)) => value == wanted,
            _ => false,
        };
        let is_channel_last = |node| !has(node, "data_format", b"NCHW");
        if &*bias_node.op != "BiasAdd"
            || !is_channel_last(bias_node)
            || !is_channel_last(node)
            || has(node, "padding", b"EXPLICIT")
        {
            return None;
        }
        let activation =
            follower(graph, bias, uses).filter(|&id| is_activation(graph.node(id), node));
        Some(Chain { product, bias, activation })
    }

    /// The joined node and the one whose place it takes, if there is a kernel.
    fn fused(
        &self,
        graph: &Graph,
        ops: &Registry,
        with_activation: bool,
    ) -> Result<Option<(NodeId, Node)>> {
        let (product, bias) = (graph.node(self.product), graph.node(self.bias));
        let last = self.activation.filter(|_| with_activation).unwrap_or(self.bias);
        let mut names = vec!["BiasAdd"];
        let mut attrs = AttrMap::clone(&product.attrs);
        if last != self.bias {
            let activation = graph.node(last);
            names.push(&activation.op);
            if let Some(alpha) = activation.attrs.get("alpha") {
                attrs.insert("leakyrelu_alpha".to_owned(), alpha.clone());
            }
        }
        let names = names.into_iter().map(|name| name.as_bytes().to_vec().into()).collect();
        attrs.insert("fused_ops".to_owned(), AttrValue::List(AttrList::Strings(names)));
        attrs.insert("num_args".to_owned(), AttrValue::Int(1));
        let op = if &*product.op == "MatMul" {
            "_FusedMatMul"
        } else {
            let types = AttrList::Types(vec![DType::Float]);
            attrs.insert("TArgs".to_owned(), AttrValue::List(types));
            "_FusedConv2D"
        };
        let Some(def) = ops.op_def(op).filter(|_| ops.has_kernel(op)) else { return Ok(None) };
        attrs.retain(|name, _| name.starts_with('_') || def.attr(name).is_some());
        let (attrs, signature) = signature(op, attrs, graph.library(), ops)?;
        let fused = Node {
            op: op.into(),
            attrs,
            inputs: product.inputs.iter().chain(&bias.inputs[1..]).copied().collect(),
            control_inputs: product.control_inputs.clone(),
            signature: Some(signature),
            ..graph.node(last).clone()
        };
        Ok(ops.create_kernel(&fused, "CPU").is_ok().then_some((last, fused)))
    }
}

/// The node that alone uses what `id` makes, as its first input, beside it and at once.
fn follower(graph: &Graph, id: NodeId, uses: &Uses) -> Option<NodeId> {
    let only = uses.only_consumer(id)?;
    let node = graph.node(only);
    (node.inputs[0].node == id
        && node.control_inputs.is_empty()
        && node.device == graph.node(id).device)
        .then_some(only)
}

/// Whether TensorFlow has kernels that do this right after `product`.
fn is_activation(node: &Node, product: &Node) -> bool {
    match &*node.op {
        "Relu" | "Relu6" | "Elu" | "LeakyRelu" => true,
        "Tanh" | "Sigmoid" => &*product.op == "MatMul",
        _ => false,
    }
}

fn type_attr(node: &Node) -> Option<DType> {
    match node.attrs.get("T") {
        Some(AttrValue::Type(dtype)) => Some(*dtype),
        _ => None,
    }
}
