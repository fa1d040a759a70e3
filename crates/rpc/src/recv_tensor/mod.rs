//! `RecvTensor` without needless copies.
//!
//! A generated gRPC method copies a tensor into one message on the way out and out of it on the way
//! in. Here the response is sent as its head, the tensor's own bytes and the trailers, and received
//! straight into the storage of the new tensor. The bytes on the wire are the same, so either side
//! may be TensorFlow's.

mod body;
mod receive;
mod send;

pub(crate) use receive::receive;
pub(crate) use send::answer;

use prost::Message;
use tensorfleet_framework::Parcel;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{DType, Result, internal};

/// Reads a response that came whole.
pub(crate) fn read_response(message: &[u8]) -> Result<Parcel> {
    let response = pb::RecvTensorResponse::decode(message)
        .map_err(|error| internal!("the response cannot be read: {error}"))?;
    if response.is_dead {
        return Ok(Parcel::dead());
    }
    let tensor = tensor_wire::tensor(&response.tensor.unwrap_or_default())?;
    Ok(Parcel { tensor, is_dead: false })
}

/// Whether any bytes are a tensor of the type, so that they may arrive where they are to stay.
pub(crate) fn takes_any_bytes(dtype: DType) -> bool {
    dtype.is_plain() && dtype != DType::Bool
}

/// The path of the method.
pub(crate) const PATH: &str = "/tensorflow.WorkerService/RecvTensor";
