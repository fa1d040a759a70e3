//! Where the ops touch the encoding itself: the server's own descriptors, and messages that are written anew.

use std::sync::LazyLock;

use bytes::Bytes;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};

/// The messages that are known without a description.
pub(super) static LOCAL: LazyLock<Option<DescriptorPool>> =
    LazyLock::new(|| DescriptorPool::decode(tensorfleet_proto::FILE_DESCRIPTOR_SET).ok());

pub(super) fn encoded(message: &DynamicMessage) -> Bytes {
    message.encode_to_vec().into()
}
