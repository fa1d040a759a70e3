//! Tensors as protocol messages in strings.

use bytes::Bytes;
use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

/// Encodes a tensor as a `TensorProto`.
pub(crate) fn encode_tensor(tensor: &Tensor) -> Result<Bytes> {
    Ok(tensor_wire::tensor_proto(tensor)?.encode_to_vec().into())
}

/// Decodes a `TensorProto`.
pub(crate) fn decode_tensor(bytes: &Bytes) -> Result<Tensor> {
    let broken = || invalid_argument!("Cannot parse tensor from proto: {}", bytes.escape_ascii());
    let message = pb::TensorProto::decode(bytes.clone()).map_err(|_| broken())?;
    tensor_wire::tensor(&message).map_err(|_| broken())
}
