//! The server's side of HTTP/2, as far as gRPC needs it (RFC 9113).
//!
//! One task serves a connection, so nothing is locked: it reads frames, lets a call run where it
//! stands if it ends at once, and writes answers as the client's windows allow. Requests are one
//! message, which is received where it is to stay; large parts of answers are sent from where they
//! are. A general implementation was three quarters of the work of a small step.
//!
//! What a client may do to a server is bounded: the sizes of headers, frames and messages, and what
//! is kept for it unread. A connection that breaks the rules is ended, with the reason.

mod connection;
mod frame;
mod hpack;
mod huffman;
mod outbox;
mod request;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use connection::Connection;

use std::pin::Pin;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::Stream;
use http::HeaderMap;
use prost::Message;
use tensorfleet_framework::BoxFuture;
use tonic::Status;

/// Answers calls.
pub(crate) trait Service {
    /// Answers a call of a method, `/service/name`, with a message.
    fn call(&self, path: &str, message: Bytes) -> BoxFuture<Answer>;
}

pub(crate) type Answer = Result<Reply, Status>;

/// What comes of a call.
pub(crate) struct Reply {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

/// Messages, each in parts that together are the message with its prefix.
pub(crate) enum Body {
    Message(Vec<Bytes>),
    Messages(Messages),
}

pub(crate) type Messages = Pin<Box<dyn Stream<Item = Result<Vec<Bytes>, Status>> + Send>>;

/// Every message of gRPC is preceded by a byte that says whether it is compressed, and its length.
pub(crate) const PREFIX: usize = 5;

/// The prefix of a message that is not compressed; nothing for one that is too long.
pub(crate) fn prefix(len: usize) -> Option<[u8; PREFIX]> {
    let [a, b, c, d] = u32::try_from(len).ok()?.to_be_bytes();
    Some([0, a, b, c, d])
}

/// A message with its prefix; nothing for one that is too long.
pub(crate) fn with_prefix(message: &impl Message) -> Option<Bytes> {
    let len = message.encoded_len();
    let prefix = prefix(len)?;
    let mut bytes = BytesMut::with_capacity(PREFIX + len);
    bytes.put_slice(&prefix);
    message.encode_raw(&mut bytes);
    Some(bytes.freeze())
}

/// Why a connection is ended.
#[derive(Clone, Copy, Debug)]
struct Failure {
    reason: Reason,
    why: &'static str,
}

/// The numbers of HTTP/2 for what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Reason {
    Nothing = 0,
    Protocol = 1,
    FlowControl = 3,
    FrameSize = 6,
    Refused = 7,
    Compression = 9,
    Calm = 11,
}

fn violation(why: &'static str) -> Failure {
    Failure { reason: Reason::Protocol, why }
}
