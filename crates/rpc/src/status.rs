//! Errors as gRPC statuses, and back.
//!
//! gRPC's codes are TensorFlow's. What else a distributed step must know (is this a consequence?
//! was the worker restarted?) travels in a payload container in the status details.

use bytes::Bytes;
use prost::{Message, Name};
use tensorfleet_proto::tensorflow::DerivedStatus;
use tensorfleet_proto::tensorflow::distributed_runtime::{
    GrpcPayloadContainer, WorkerPossiblyRestarted,
};
use tensorfleet_tensor::{Code, Error, Result, internal};
use tensorfleet_transport as transport;
use tonic::{Response, Status};

/// Writes an error.
pub(crate) fn to_status(error: &Error) -> Status {
    let code = tonic::Code::from(error.code() as i32);
    let mut payloads = GrpcPayloadContainer::default();
    if error.is_derived() {
        payloads.payloads.insert(DerivedStatus::type_url(), Default::default());
    }
    if error.is_worker_restarted() {
        payloads.payloads.insert(WorkerPossiblyRestarted::type_url(), Default::default());
    }
    let message = shortened(error.message());
    if payloads.payloads.is_empty() {
        return Status::new(code, message);
    }
    Status::with_details(code, message, payloads.encode_to_vec().into())
}

/// What fits into the headers in which gRPC puts a message. TensorFlow cuts there too.
const MAX_MESSAGE: usize = 3072;

fn shortened(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(MAX_MESSAGE);
    format!("{} ... [truncated]", &message[..end])
}

/// Ends a handler: what came of its call, or the error as a status. No client can read an answer
/// above the limit of a message, and the memory for it may not be there.
pub(crate) fn reply<T: Message>(outcome: Result<T>) -> Result<Response<T>, Status> {
    let answer = outcome.and_then(|answer| match answer.encoded_len() {
        0..=transport::MAX_MESSAGE => Ok(answer),
        _ => Err(internal!("Protobuf is too large to be serialized")),
    });
    answer.map(Response::new).map_err(|error| to_status(&error))
}

/// A status as the transport takes it.
pub(crate) fn to_transport(status: Status) -> transport::Status {
    transport::Status {
        code: transport::Code(status.code() as i32),
        message: status.message().to_owned(),
        details: Bytes::copy_from_slice(status.details()),
    }
}

/// Reads an error.
pub(crate) fn from_status(status: &Status) -> Error {
    let mut error = Error::new(Code::from_number(status.code() as i32), status.message());
    // Details that are not a payload container are somebody else's and mean nothing here.
    let payloads = GrpcPayloadContainer::decode(status.details()).unwrap_or_default();
    if payloads.payloads.contains_key(&DerivedStatus::type_url()) {
        error = error.derived();
    }
    if payloads.payloads.contains_key(&WorkerPossiblyRestarted::type_url()) {
        error = error.worker_restarted();
    }
    error
}

#[cfg(test)]
mod tests {
    use tensorfleet_proto::tensorflow as pb;
    use tensorfleet_tensor::aborted;

    use super::*;

    #[test]
    fn messages_fit_into_headers() {
        let status = to_status(&aborted!("{}", "ü".repeat(100_000)));
        assert!(status.message().len() < 4000 && status.message().ends_with("[truncated]"));
    }

    #[test]
    fn answers_that_nobody_can_read_are_errors() {
        let answer = |len: usize| pb::TensorProto {
            // Zeroed memory is not there before somebody looks at it.
            tensor_content: vec![0; len].into(),
            ..Default::default()
        };
        let status = reply(Ok(answer(1 << 31))).unwrap_err();
        assert_eq!(status.code(), tonic::Code::Internal);
        assert_eq!(status.message(), "Protobuf is too large to be serialized");
        assert!(reply(Ok(answer(1 << 20))).is_ok());
    }

    #[test]
    fn errors_survive_the_way() {
        for error in
            [aborted!("a"), aborted!("b").derived(), aborted!("c").worker_restarted().derived()]
        {
            assert_eq!(from_status(&to_status(&error)), error);
        }
    }
}
