//! Making nodes: what every pass that adds to a graph needs.

use std::sync::Arc;

use tensorfleet_graph::{AttrValue, Graph, Node, NodeId, OpLookup, Output, signature};
use tensorfleet_tensor::{Context, Result};

/// A node to be made. Its name may get a number so that it is new in its graph.
#[derive(Debug, Default)]
pub(crate) struct NewNode<'a> {
    pub(crate) name: &'a str,
    pub(crate) op: &'a str,
    pub(crate) device: Arc<str>,
    pub(crate) attrs: Vec<(&'a str, AttrValue)>,
    pub(crate) inputs: Vec<Output>,
    pub(crate) control_inputs: Vec<NodeId>,
}

impl NewNode<'_> {
    /// Adds the node to `graph`, with the defaults of its op's attributes.
    pub(crate) fn add_to(self, graph: &mut Graph, ops: &dyn OpLookup) -> Result<NodeId> {
        let attrs = self.attrs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (attrs, signature) = signature(self.op, attrs, graph.library(), ops)
            .context(|| format!("while making node {}", self.name))?;
        let name = graph.unique_name(self.name).into();
        graph.add(Node {
            name,
            op: self.op.into(),
            device: self.device,
            attrs,
            inputs: self.inputs,
            control_inputs: self.control_inputs,
            signature: Some(signature),
        })
    }
}

/// Output 0 of a node.
pub(crate) fn first_output(node: NodeId) -> Output {
    Output { node, index: 0 }
}

/// A string attribute.
pub(crate) fn string_attr(text: &str) -> AttrValue {
    AttrValue::String(text.as_bytes().to_vec().into())
}
