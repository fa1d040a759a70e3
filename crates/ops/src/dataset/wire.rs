//! Handles of iterators as protocol messages.

use bytes::Bytes;
use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{ResourceHandle, wire};

/// A handle as bytes.
pub(super) fn encode_handle(handle: &ResourceHandle) -> Bytes {
    wire::resource_handle_proto(handle).encode_to_vec().into()
}

/// The handle in bytes.
pub(super) fn decode_handle(bytes: &[u8]) -> Option<ResourceHandle> {
    wire::resource_handle(&pb::ResourceHandleProto::decode(bytes).ok()?).ok()
}
