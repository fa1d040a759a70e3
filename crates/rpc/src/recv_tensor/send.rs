//! The server's side.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body::Body as _;
use hyper::body::Incoming;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use tensorfleet_framework::{BoxFuture, Parcel};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::worker_service_server::WorkerServiceServer;
use tensorfleet_tensor::wire as tensor_wire;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic::{Code, Status};

use super::body::Parts;
use super::{PATH, PREFIX, prefix};
use crate::status::to_status;
use crate::transport;
use crate::worker::WorkerHandler;

/// Below this, copying a tensor costs less than sending it in parts.
const MIN_SHARED: usize = 4 << 10;

/// Requests are small; whoever sends more is not a worker.
const MAX_REQUEST: usize = 1 << 20;

/// WorkerService, with `RecvTensor` answered by hand.
#[derive(Clone, Debug)]
pub(crate) struct WorkerService {
    generated: WorkerServiceServer<WorkerHandler>,
    handler: WorkerHandler,
}

impl WorkerService {
    pub(crate) fn new(handler: WorkerHandler) -> WorkerService {
        let generated = WorkerServiceServer::new(handler.clone())
            .max_decoding_message_size(transport::MAX_MESSAGE)
            .max_encoding_message_size(usize::MAX);
        WorkerService { generated, handler }
    }
}

impl NamedService for WorkerService {
    const NAME: &'static str = WorkerServiceServer::<WorkerHandler>::NAME;
}

impl Service<Request<Incoming>> for WorkerService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let is_compressed =
            request.headers().get("grpc-encoding").is_some_and(|coding| coding != "identity");
        if request.uri().path() != PATH || is_compressed {
            return self.generated.call(request);
        }
        let handler = self.handler.clone();
        Box::pin(async move {
            Ok(match answer(&handler, request.into_body()).await {
                Ok(response) => response,
                Err(status) => status.into_http(),
            })
        })
    }
}

async fn answer(handler: &WorkerHandler, body: Incoming) -> Result<Response<Body>, Status> {
    let request = read_request(body).await?;
    let parcel = handler.parcel(request).await.map_err(|error| to_status(&error))?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let body = Body::new(Parts::new(encode(&parcel)?, Some(trailers)));
    let mut response = Response::new(body);
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, grpc);
    Ok(response)
}

async fn read_request(body: Incoming) -> Result<pb::RecvTensorRequest, Status> {
    let mut body = pin!(body);
    let mut message = BytesMut::new();
    while let Some(frame) = std::future::poll_fn(|cx| Pin::as_mut(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| Status::from_error(Box::new(error)))?;
        if let Ok(data) = frame.into_data() {
            message.extend_from_slice(&data);
        }
        if message.len() > MAX_REQUEST {
            return Err(Status::new(Code::InvalidArgument, "the request is too large"));
        }
    }
    let broken = |why: String| Status::new(Code::InvalidArgument, why);
    let Some((head, message)) = message.split_at_checked(PREFIX) else {
        return Err(broken("the request is empty".to_owned()));
    };
    if head[0] != 0 || prefix(message.len()).is_none_or(|right| head != right) {
        return Err(broken("the request is not one plain message".to_owned()));
    }
    pb::RecvTensorRequest::decode(message).map_err(|error| broken(error.to_string()))
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
        let len = response.encoded_len();
        let mut message = BytesMut::with_capacity(PREFIX + len);
        message.put_slice(&prefix(len).ok_or_else(too_large)?);
        response.encode_raw(&mut message);
        return Ok(vec![message.freeze()]);
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
