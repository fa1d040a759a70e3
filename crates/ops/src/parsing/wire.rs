//! Tensors as protocol messages in strings.

use bytes::Bytes;
use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::fields::put_varint;
use crate::string::base64::encode_for_mail;

/// Encodes a tensor as a `TensorProto`.
pub(crate) fn encode_tensor(tensor: &Tensor) -> Result<Bytes> {
    Ok(tensor_wire::tensor_proto(tensor)?.encode_to_vec().into())
}

/// As [`encode_tensor`], but strings are content too: all their lengths, then all their bytes.
pub(crate) fn encode_content(tensor: &Tensor) -> Result<Bytes> {
    let mut message = tensor_wire::tensor_proto(tensor)?;
    if tensor.dtype() == DType::String {
        let mut content = Vec::new();
        for text in tensor.strings()? {
            put_varint(&mut content, text.len() as u64);
        }
        for text in tensor.strings()? {
            content.extend_from_slice(text);
        }
        message.string_val.clear();
        message.tensor_content = content.into();
    }
    Ok(message.encode_to_vec().into())
}

/// Decodes a `TensorProto`.
pub(crate) fn decode_tensor(bytes: &Bytes) -> Result<Tensor> {
    let message = pb::TensorProto::decode(bytes.clone()).map_err(|_| {
        invalid_argument!(
            "Could not parse `serialized` as TensorProto, base64: {}",
            encode_for_mail(bytes)
        )
    })?;
    tensor_wire::tensor(&message)
        .map_err(|_| invalid_argument!("Cannot parse tensor from proto: {}", bytes.escape_ascii()))
}
