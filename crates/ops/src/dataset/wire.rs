//! Protocol messages: handles of iterators, and options of datasets.

use bytes::Bytes;
use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{ResourceHandle, Result, Tensor, data_loss, wire};

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

/// Whether options let the runtime work ahead of an iterator that does not ask for it.
pub(super) fn allows_prefetching(options: &[u8]) -> bool {
    // Options that cannot be read ask for nothing.
    let options = Options::decode(options).unwrap_or_default();
    let autotune = options.autotune.and_then(|autotune| autotune.enabled).unwrap_or(true);
    let optimization = options.optimization.unwrap_or_default();
    let default = optimization.apply_default.unwrap_or(true);
    autotune && optimization.inject_prefetch.unwrap_or(default)
}

/// The few fields of TensorFlow's `Options` that matter here.
#[derive(Clone, PartialEq, Message)]
struct Options {
    #[prost(message, optional, tag = "3")]
    optimization: Option<OptimizationOptions>,
    #[prost(message, optional, tag = "7")]
    autotune: Option<AutotuneOptions>,
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
