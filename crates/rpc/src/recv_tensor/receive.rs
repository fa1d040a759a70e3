//! The client's side.

use std::pin::{Pin, pin};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Method, Request, Version, header};
use http_body::Body as _;
use prost::Message;
use tensorfleet_framework::Parcel;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{DType, Error, Tensor, internal};
use tensorfleet_transport::{PREFIX, prefix};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::body::Whole;
use super::{PATH, read_response, takes_any_bytes};
use crate::grpc::with_prefix;
use crate::status::to_status;

/// Contents below this are copied once more, as part of a whole message.
const MIN_DIRECT: usize = 16 << 10;

/// Calls the method and waits for the tensor.
pub(crate) async fn receive(
    mut channel: Channel,
    request: pb::RecvTensorRequest,
) -> Result<tonic::Response<Parcel>, Status> {
    let broken = |error: tonic::transport::Error| Status::from_error(Box::new(error));
    std::future::poll_fn(|cx| channel.poll_ready(cx)).await.map_err(broken)?;
    let response = channel.call(http_request(&request)?).await.map_err(broken)?;
    if let Some(status) = Status::from_header_map(response.headers())
        && status.code() != Code::Ok
    {
        return Err(status);
    }
    if response.status() != http::StatusCode::OK {
        let words = format!("RecvTensor was answered with HTTP status {}", response.status());
        return Err(Status::new(Code::Unavailable, words));
    }
    let mut body = pin!(response.into_body());
    let mut incoming = Incoming::default();
    while let Some(frame) =
        std::future::poll_fn(|cx| Pin::as_mut(&mut body).poll_frame(cx)).await.transpose()?
    {
        let frame = match frame.into_data() {
            Ok(data) => {
                incoming.push(&data).map_err(|error| to_status(&error))?;
                continue;
            }
            Err(frame) => frame,
        };
        if let Ok(trailers) = frame.into_trailers()
            && let Some(status) = Status::from_header_map(&trailers)
            && status.code() != Code::Ok
        {
            return Err(status);
        }
    }
    incoming.finish().map(tonic::Response::new).map_err(|error| to_status(&error))
}

fn http_request(request: &pb::RecvTensorRequest) -> Result<Request<Body>, Status> {
    let too_large = || Status::new(Code::InvalidArgument, "the request is too large");
    let message = with_prefix(request).ok_or_else(too_large)?;
    let mut call = Request::new(Body::new(Whole(Some(message))));
    *call.method_mut() = Method::POST;
    *call.version_mut() = Version::HTTP_2;
    *call.uri_mut() = http::Uri::from_static(PATH);
    call.headers_mut().insert(header::TE, HeaderValue::from_static("trailers"));
    let grpc = HeaderValue::from_static("application/grpc");
    call.headers_mut().insert(header::CONTENT_TYPE, grpc);
    Ok(call)
}

/// A response that arrives in pieces.
#[derive(Debug, Default)]
struct Incoming {
    /// What came before the contents, or everything where they are not received directly.
    message: BytesMut,
    /// Whether the head was read and says to keep everything.
    keep_all: bool,
    direct: Option<Direct>,
}

/// Contents that go straight into their tensor.
#[derive(Debug)]
struct Direct {
    tensor: Tensor,
    is_dead: bool,
    filled: usize,
}

/// What the beginning of a response says.
enum Head {
    /// Too little has come.
    Incomplete,
    /// The contents are no large plain block at the end of the message.
    Other,
    /// The contents begin at `start`.
    Direct { start: usize, tensor: Box<Tensor>, is_dead: bool },
}

impl Incoming {
    fn push(&mut self, data: &[u8]) -> Result<(), Error> {
        if let Some(direct) = &mut self.direct {
            return direct.push(data);
        }
        self.message.extend_from_slice(data);
        if self.keep_all {
            return Ok(());
        }
        match read_head(&self.message)? {
            Head::Incomplete => {}
            Head::Other => self.keep_all = true,
            Head::Direct { start, tensor, is_dead } => {
                let mut direct = Direct { tensor: *tensor, is_dead, filled: 0 };
                direct.push(&self.message[start..])?;
                self.direct = Some(direct);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Parcel, Error> {
        if let Some(direct) = self.direct {
            if direct.filled != direct.tensor.byte_len() {
                return Err(internal!("the response ended before its tensor"));
            }
            return Ok(Parcel { tensor: direct.tensor, is_dead: direct.is_dead });
        }
        let message: Bytes = self.message.freeze();
        let Some((head, message)) = message.split_at_checked(PREFIX) else {
            return Err(internal!("the response has no message"));
        };
        if prefix(message.len()).is_none_or(|right| head != right) {
            return Err(internal!("the response is not one plain message"));
        }
        read_response(message)
    }
}

impl Direct {
    fn push(&mut self, data: &[u8]) -> Result<(), Error> {
        let at = self.filled;
        if data.len() > self.tensor.byte_len() - at {
            return Err(internal!("the response goes on behind its tensor"));
        }
        self.filled += data.len();
        self.tensor.write_raw(|bytes| {
            bytes[at..at + data.len()].copy_from_slice(data);
            Ok(())
        })
    }
}

/// Takes a number off the front of a message, if all of it is there.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

/// Reads what precedes the contents. TensorFlow and we write them last in the message; anything
/// else is read as a whole.
fn read_head(message: &[u8]) -> Result<Head, Error> {
    const VARINT: u64 = 0;
    const BLOCK: u64 = 2;
    let Some((head, mut rest)) = message.split_at_checked(PREFIX) else {
        return Ok(Head::Incomplete);
    };
    let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    // What is all there, or compressed, needs no second way.
    if head[0] != 0 || rest.len() >= len || len < MIN_DIRECT {
        return Ok(Head::Other);
    }
    let end = PREFIX + len;
    let mut is_dead = false;
    let mut dtype = None;
    let mut shape = None;
    let mut in_tensor = false;
    loop {
        let Some(key) = varint(&mut rest) else { return Ok(Head::Incomplete) };
        let Some(value) = varint(&mut rest) else { return Ok(Head::Incomplete) };
        let position = message.len() - rest.len();
        match (in_tensor, key >> 3, key & 7) {
            // The tensor must be the rest of the message.
            (false, 1, BLOCK) if position as u64 + value == end as u64 => in_tensor = true,
            (false, 2, VARINT) => is_dead = value != 0,
            (false, _, VARINT) => {}
            (true, 1, VARINT) => dtype = i32::try_from(value).ok().and_then(DType::from_number),
            (true, 2, BLOCK) => {
                let Some(block) = usize::try_from(value).ok().and_then(|len| rest.get(..len))
                else {
                    return Ok(Head::Incomplete);
                };
                let Ok(read) = pb::TensorShapeProto::decode(block) else { return Ok(Head::Other) };
                shape = Some(tensor_wire::shape(Some(&read))?);
                rest = &rest[block.len()..];
            }
            (true, 3, VARINT) => {}
            (true, 4, BLOCK) if position as u64 + value == end as u64 => {
                let (Some(dtype), Some(shape)) = (dtype, shape) else { return Ok(Head::Other) };
                let size = shape.num_elements().checked_mul(dtype.size());
                if !takes_any_bytes(dtype) || size.map(|size| size as u64) != Some(value) {
                    return Ok(Head::Other);
                }
                let tensor = Box::new(Tensor::build_raw(dtype, shape, |_| Ok(()))?);
                return Ok(Head::Direct { start: position, tensor, is_dead });
            }
            _ => return Ok(Head::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::{Shape, Tensor};

    use super::*;

    fn response(tensor: &Tensor, is_dead: bool) -> Vec<u8> {
        let message = pb::RecvTensorResponse {
            tensor: Some(tensor_wire::tensor_proto(tensor).unwrap()),
            is_dead,
            send_start_micros: 7,
            ..Default::default()
        }
        .encode_to_vec();
        [&prefix(message.len()).unwrap()[..], &message].concat()
    }

    fn receive_in_pieces(bytes: &[u8], piece: usize) -> Result<(Parcel, bool), Error> {
        let mut incoming = Incoming::default();
        for piece in bytes.chunks(piece) {
            incoming.push(piece)?;
        }
        let is_direct = incoming.direct.is_some();
        Ok((incoming.finish()?, is_direct))
    }

    fn tensor(len: usize) -> Tensor {
        let values: Vec<i32> = (0..len as i32).collect();
        Tensor::from_slice(Shape::vector(len), &values).unwrap()
    }

    #[test]
    fn pieces_of_any_size_make_the_tensor() {
        // `prost` writes fields by number: the tensor is not last unless nothing follows it.
        let sent = tensor(10_000);
        let whole = response(&sent, false);
        let last = pb::RecvTensorResponse {
            tensor: Some(tensor_wire::tensor_proto(&sent).unwrap()),
            ..Default::default()
        }
        .encode_to_vec();
        let last = [&prefix(last.len()).unwrap()[..], &last].concat();
        for (bytes, is_last) in [(&whole, false), (&last, true)] {
            for piece in [1, 7, 1000, 30_000, bytes.len()] {
                let (parcel, is_direct) = receive_in_pieces(bytes, piece).unwrap();
                assert_eq!(parcel.tensor.raw(), sent.raw());
                assert_eq!(is_direct, is_last && piece < bytes.len(), "{piece}");
            }
        }
    }

    #[test]
    fn small_tensors_and_dead_ones_arrive() {
        let (parcel, _) = receive_in_pieces(&response(&tensor(3), false), 2).unwrap();
        assert_eq!(parcel.tensor.values::<i32>().unwrap(), [0, 1, 2]);
        assert!(receive_in_pieces(&response(&tensor(3), true), 2).unwrap().0.is_dead);
    }

    #[test]
    fn broken_responses_are_errors() {
        let good = response(&tensor(10_000), false);
        for len in [0, 3, 5, 40, 20_000, good.len() - 1] {
            assert!(receive_in_pieces(&good[..len], 999).is_err(), "{len}");
        }
        let mut longer = good.clone();
        longer.push(0);
        assert!(receive_in_pieces(&longer, 999).is_err());
    }
}
