//! Frames: a header, a message, and for a piece of a tensor its bytes.

use tensorfleet_tensor::{Code, Error};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Run a partition: a `RunGraphRequest`.
    RunGraph = 1,
    /// Send a tensor when there is one: a `RecvTensorRequest`.
    RecvTensor = 2,
    /// Forget a step: its id. Nothing answers.
    Cleanup = 3,
    /// Nobody waits for the answer of this call any more.
    Cancel = 4,
    /// The answer: a `RunGraphResponse`, a `RecvTensorResponse` or a `RunComponentFunctionResponse`.
    Reply = 5,
    /// The answer is a tensor whose bytes follow in pieces: a `RecvTensorResponse` without them.
    Tensor = 6,
    /// The next bytes of a tensor.
    Piece = 7,
    /// The call failed.
    Failure = 8,
    /// The answer is a tensor to be read from the sender's memory: where it lies, and a
    /// `RecvTensorResponse` without the bytes.
    Lent = 9,
    /// The lent tensor of this call was read, or is not wanted any more.
    Returned = 10,
    /// The lent tensor of this call cannot be read, so its bytes have to be sent.
    Unreadable = 11,
    /// Run this task's part of a function: a `RunComponentFunctionRequest`.
    RunComponent = 12,
    /// Is anybody there?
    Ping = 13,
    /// Yes.
    Pong = 14,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        const ALL: [Kind; 14] = [
            Kind::RunGraph,
            Kind::RecvTensor,
            Kind::Cleanup,
            Kind::Cancel,
            Kind::Reply,
            Kind::Tensor,
            Kind::Piece,
            Kind::Failure,
            Kind::Lent,
            Kind::Returned,
            Kind::Unreadable,
            Kind::RunComponent,
            Kind::Ping,
            Kind::Pong,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The bytes of a header.
pub(super) const HEADER: usize = 16;

/// Messages are small, because contents of tensors travel in pieces; strings may be longer.
pub(super) const MAX_MESSAGE: usize = 1 << 30;

/// What precedes every message. The call is a number that its client chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) len: u32,
    pub(super) call: u64,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.len.to_le_bytes());
        bytes[8..].copy_from_slice(&self.call.to_le_bytes());
        bytes
    }

    /// Reads a header; none is one that we never write.
    pub(super) fn from_bytes(bytes: &[u8; HEADER]) -> Option<Header> {
        let [kind, 0, 0, 0, a, b, c, d, call @ ..] = *bytes else { return None };
        let len = u32::from_le_bytes([a, b, c, d]);
        if len as usize > MAX_MESSAGE {
            return None;
        }
        Some(Header { kind: Kind::from_byte(kind)?, len, call: u64::from_le_bytes(call) })
    }
}

const DERIVED: u8 = 1;
const RESTARTED: u8 = 2;

/// Writes an error: its code, its marks, its words.
pub(super) fn encode_failure(error: &Error) -> Vec<u8> {
    let marks = if error.is_derived() { DERIVED } else { 0 }
        | if error.is_worker_restarted() { RESTARTED } else { 0 };
    let mut message = vec![error.code() as u8, marks];
    message.extend_from_slice(error.message().as_bytes());
    message
}

/// Reads an error.
pub(super) fn decode_failure(message: &[u8]) -> Error {
    let [code, marks, words @ ..] = message else {
        return Error::new(Code::Internal, "an error without a code".to_owned());
    };
    let mut error = Error::new(
        Code::from_number(i32::from(*code)),
        String::from_utf8_lossy(words).into_owned(),
    );
    if marks & DERIVED != 0 {
        error = error.derived();
    }
    if marks & RESTARTED != 0 {
        error = error.worker_restarted();
    }
    error
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::aborted;

    use super::*;

    #[test]
    fn headers_survive_the_way_and_nonsense_does_not() {
        let header = Header { kind: Kind::Tensor, len: 77, call: u64::MAX - 3 };
        assert_eq!(Header::from_bytes(&header.to_bytes()), Some(header));
        assert_eq!(Header::from_bytes(b"PRI * HTTP/2.0\r\n"), None);
        assert_eq!(Header::from_bytes(&[0; HEADER]), None);
        let endless = Header { len: u32::MAX, ..header };
        assert_eq!(Header::from_bytes(&endless.to_bytes()), None);
    }

    #[test]
    fn errors_survive_the_way() {
        for error in [aborted!("a"), aborted!("é").derived(), aborted!("").worker_restarted()] {
            assert_eq!(decode_failure(&encode_failure(&error)), error);
        }
        assert_eq!(decode_failure(&[]).code(), Code::Internal);
    }
}
