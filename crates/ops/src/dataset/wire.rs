//! Protocol messages: handles of iterators, and options of datasets.

use std::hash::{Hash, Hasher};

use bytes::Bytes;
use prost::Message;
use tensorfleet_graph::wire as graph_wire;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{ResourceHandle, Result, Tensor, data_loss, invalid_argument, wire};

use super::origin::DatasetGraph;

/// A handle as bytes.
pub(super) fn encode_handle(handle: &ResourceHandle) -> Bytes {
    wire::resource_handle_proto(handle).encode_to_vec().into()
}

/// The handle in bytes.
pub(super) fn decode_handle(bytes: &[u8]) -> Option<ResourceHandle> {
    wire::resource_handle(&pb::ResourceHandleProto::decode(bytes).ok()?).ok()
}

/// A tensor as bytes.
pub(super) fn encode_tensor(tensor: &Tensor) -> Result<Vec<u8>> {
    Ok(wire::tensor_proto(tensor)?.encode_to_vec())
}

/// The tensor in bytes.
pub(super) fn decode_tensor(bytes: Bytes) -> Result<Tensor> {
    let message = pb::TensorProto::decode(bytes)
        .map_err(|_| data_loss!("Unable to parse tensor from stored proto."))?;
    wire::tensor(&message)
}

/// A dataset's graph as bytes.
pub(super) fn encode_graph(graph: &DatasetGraph) -> Result<Vec<u8>> {
    Ok(graph_wire::graph_def_of(&graph.nodes, &graph.library)?.encode_to_vec())
}

/// The graph in bytes.
pub(super) fn decode_graph(bytes: &[u8]) -> Result<DatasetGraph> {
    let message = pb::GraphDef::decode(bytes)
        .map_err(|_| invalid_argument!("Could not parse GraphDef from the given string"))?;
    let library = graph_wire::library(message.library.as_ref())?;
    Ok(DatasetGraph { nodes: graph_wire::node_defs(message)?, library })
}

/// Adds a tensor to a hash, to its last element.
pub(super) fn hash_tensor(tensor: &Tensor, hasher: &mut impl Hasher) {
    match wire::tensor_proto(tensor) {
        Ok(message) => message.encode_to_vec().hash(hasher),
        // What cannot be written is known by its type alone.
        Err(_) => format!("{:?}{}", tensor.dtype(), tensor.shape()).hash(hasher),
    }
}

/// Whether options let the runtime work ahead of an iterator that does not ask for it.
pub(super) fn allows_prefetching(options: &[u8]) -> bool {
    // Options that cannot be read ask for nothing.
    let options = Options::decode(options).unwrap_or_default();
    let autotune = options.autotune.and_then(|autotune| autotune.enabled).unwrap_or(true);
    let optimization = options.optimization.unwrap_or_default();
    let default = optimization.apply_default.unwrap_or(true);
    autotune && optimization.inject_prefetch.unwrap_or(default)
}

/// Whether options ask for checkpoints that say where the sources are instead of what is buffered.
pub(super) fn has_symbolic_checkpoints(options: &[u8]) -> bool {
    Options::decode(options).unwrap_or_default().symbolic_checkpoint.unwrap_or(false)
}

/// The few fields of TensorFlow's `Options` that matter here.
#[derive(Clone, PartialEq, Message)]
struct Options {
    #[prost(message, optional, tag = "3")]
    optimization: Option<OptimizationOptions>,
    #[prost(message, optional, tag = "7")]
    autotune: Option<AutotuneOptions>,
    #[prost(bool, optional, tag = "8")]
    symbolic_checkpoint: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
struct AutotuneOptions {
    #[prost(bool, optional, tag = "1")]
    enabled: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
struct OptimizationOptions {
    #[prost(bool, optional, tag = "1")]
    apply_default: Option<bool>,
    #[prost(bool, optional, tag = "19")]
    inject_prefetch: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_several_datasets_are_read_together() {
        assert!(allows_prefetching(&[]));
        // `autotune.enabled = false`, then `deterministic = true` of another dataset.
        assert!(!allows_prefetching(&[0x3a, 2, 8, 0, 8, 1]));
        assert!(!allows_prefetching(&[0x1a, 3, 0x98, 1, 0]));
        assert!(!allows_prefetching(&[0x1a, 2, 8, 0]));
        assert!(allows_prefetching(&[0x1a, 5, 8, 0, 0x98, 1, 1]));
        assert!(allows_prefetching(b"not a message"));
    }
}
