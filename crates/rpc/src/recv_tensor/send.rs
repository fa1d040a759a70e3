//! The server's side.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use tensorfleet_cluster::Owner;
use tensorfleet_framework::Parcel;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_transport::{PREFIX, prefix};
use tonic::{Code, Status};

use crate::grpc::with_prefix;
use crate::status::to_status;
use crate::worker::WorkerHandler;

/// Below this, copying a tensor costs less than sending it in parts.
const MIN_SHARED: usize = 4 << 10;

/// Answers with the tensor that a request is for.
pub(crate) async fn answer(
    handler: &WorkerHandler,
    caller: &Owner,
    request: pb::RecvTensorRequest,
) -> Result<Vec<Bytes>, Status> {
    let parcel = handler.parcel_for(caller, request).await.map_err(|error| to_status(&error))?;
    encode(&parcel)
}

/// The response in parts: one for a small tensor, else the tensor's own bytes behind a head.
fn encode(parcel: &Parcel) -> Result<Vec<Bytes>, Status> {
    let too_large = || Status::new(Code::Unimplemented, "a tensor above 4 GiB cannot be sent");
    let tensor = &parcel.tensor;
    if !tensor.dtype().is_plain() || tensor.byte_len() < MIN_SHARED {
        let response = pb::RecvTensorResponse {
            tensor: Some(tensor_wire::tensor_proto(tensor).map_err(|error| to_status(&error))?),
            is_dead: parcel.is_dead,
            ..Default::default()
        };
        return Ok(vec![with_prefix(&response).ok_or_else(too_large)?]);
    }
    let content = tensor.shared_bytes();
    // The fields of `TensorProto`, its contents last, so that they end the message.
    let mut fields = pb::TensorProto {
        dtype: tensor.dtype() as i32,
        tensor_shape: Some(tensor_wire::shape_proto(tensor.shape())),
        ..Default::default()
    }
    .encode_to_vec();
    encode_key(4, WireType::LengthDelimited, &mut fields);
    encode_varint(content.len() as u64, &mut fields);
    let tensor_len = fields.len() + content.len();
    let mut head = BytesMut::with_capacity(PREFIX + fields.len() + 16);
    let dead_len = if parcel.is_dead { 2 } else { 0 };
    let len = dead_len + 1 + encoded_len_varint(tensor_len as u64) + tensor_len;
    head.put_slice(&prefix(len).ok_or_else(too_large)?);
    if parcel.is_dead {
        encode_key(2, WireType::Varint, &mut head);
        encode_varint(1, &mut head);
    }
    encode_key(1, WireType::LengthDelimited, &mut head);
    encode_varint(tensor_len as u64, &mut head);
    head.put_slice(&fields);
    Ok(vec![head.freeze(), content])
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::{Shape, Tensor};

    use super::*;

    #[test]
    fn parts_together_are_the_message() {
        for (len, is_dead) in [(3, false), (5000, false), (5000, true)] {
            let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let tensor = Tensor::from_slice(Shape::vector(len), &values).unwrap();
            let parts = encode(&Parcel { tensor: tensor.clone(), is_dead }).unwrap();
            assert_eq!(parts.len(), if len > 1000 { 2 } else { 1 });
            let all = parts.concat();
            assert_eq!(all[..PREFIX], prefix(all.len() - PREFIX).unwrap());
            let response = pb::RecvTensorResponse::decode(&all[PREFIX..]).unwrap();
            assert_eq!(response.is_dead, is_dead);
            let decoded = tensor_wire::tensor(&response.tensor.unwrap()).unwrap();
            assert_eq!(decoded.raw(), tensor.raw());
        }
    }
}
