//! Nodes as clients write them, and as a graph holds them.

use std::sync::Arc;

use crate::{AttrMap, ControlFlow, Nature, OpDef, ValueType};

/// A node as it stands in a `GraphDef` or in a function's body: inputs are text.
#[derive(Clone, Debug, Default)]
pub struct NodeDef {
    pub name: String,
    pub op: String,
    pub device: String,
    pub inputs: Vec<String>,
    pub attrs: AttrMap,
}

/// The index of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The index for use with slices.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Output {
    pub node: NodeId,
    pub index: u32,
}

/// A node of a graph: inputs are resolved and attributes complete.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: Arc<str>,
    pub op: Arc<str>,
    /// The device that the client asked for, or the one that placement chose.
    pub device: Arc<str>,
    pub attrs: Arc<AttrMap>,
    pub inputs: Vec<Output>,
    pub control_inputs: Vec<NodeId>,
    /// The signature; absent for an op that this server does not know.
    pub signature: Option<Arc<Signature>>,
}

/// A definition applied to the attributes of a node.
#[derive(Debug)]
pub struct Signature {
    pub def: Arc<OpDef>,
    pub inputs: Vec<ValueType>,
    pub outputs: Vec<ValueType>,
}

impl Node {
    /// The types of the outputs; none for an unknown op.
    pub fn output_types(&self) -> &[ValueType] {
        self.signature.as_ref().map_or(&[], |signature| &signature.outputs)
    }

    /// The types that the inputs must have; none for an unknown op.
    pub fn input_types(&self) -> &[ValueType] {
        self.signature.as_ref().map_or(&[], |signature| &signature.inputs)
    }

    /// Whether the node's definition says that it has state or side effects.
    pub fn is_stateful(&self) -> bool {
        self.signature.as_ref().is_none_or(|signature| signature.def.is_stateful)
    }

    /// What the node's op is beyond its signature; nothing special for an unknown op.
    pub fn nature(&self) -> Nature {
        self.signature.as_ref().map_or(Nature::PLAIN, |signature| signature.def.nature)
    }

    /// Whether the executor itself does `what` with the node.
    pub fn steers(&self, what: ControlFlow) -> bool {
        self.nature().control_flow == Some(what)
    }

    /// Whether all outputs but one are dead.
    pub fn is_switch(&self) -> bool {
        self.nature().control_flow.is_some_and(ControlFlow::is_switch)
    }

    /// Whether the node is where values come into its graph or leave it.
    pub fn is_end(&self) -> bool {
        self.nature().control_flow.is_some_and(ControlFlow::is_end)
    }

    /// Whether an edge from `source` to this node is the one that closes a loop.
    pub fn closes_loop(&self, source: &Node) -> bool {
        self.steers(ControlFlow::Merge) && source.steers(ControlFlow::NextIteration)
    }
}

/// Splits `name:3` or `name` into a node's name and an output's index.
pub fn parse_tensor_name(text: &str) -> (&str, u32) {
    match text.rsplit_once(':') {
        Some((name, index)) => match index.parse() {
            Ok(index) => (name, index),
            Err(_) => (text, 0),
        },
        None => (text, 0),
    }
}
