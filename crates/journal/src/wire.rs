//! Ops as messages.

use std::sync::Arc;

use prost::Message;
use tensorfleet_graph::{FunctionLibrary, Node, OpLookup, signature, wire};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{Result, data_loss};

/// Writes a node without its inputs.
pub(crate) fn encode_node(node: &Node) -> Result<Vec<u8>> {
    let message = pb::NodeDef {
        name: node.name.to_string(),
        op: node.op.to_string(),
        device: node.device.to_string(),
        attr: wire::attr_map_proto(&node.attrs)?,
        ..pb::NodeDef::default()
    };
    Ok(message.encode_to_vec())
}

/// Reads a node.
pub(crate) fn decode_node(bytes: &[u8], ops: &dyn OpLookup) -> Result<Node> {
    let message = pb::NodeDef::decode(bytes).map_err(|error| data_loss!("a broken op: {error}"))?;
    let def = wire::node_def(message)?;
    let (attrs, signature) = signature(&def.op, def.attrs, &FunctionLibrary::default(), ops)?;
    Ok(Node {
        name: Arc::from(def.name),
        op: Arc::from(def.op),
        device: Arc::from(def.device),
        attrs,
        inputs: Vec::new(),
        control_inputs: Vec::new(),
        signature: Some(signature),
    })
}
