//! The server's side of HTTP/2, as far as gRPC needs it (RFC 9113).
//!
//! One task serves a connection, so nothing is locked: it reads frames, lets a call run where it
//! stands if it ends at once, and writes answers as the client's windows allow. Messages are
//! received where they are to stay; large parts of answers are sent from where they are. A general
//! implementation was three quarters of the work of a small step.
//!
//! What a client may do to a server is bounded: the sizes of headers, frames and messages, and what
//! is kept for it unread. A connection that breaks the rules is ended, with the reason.

mod backlog;
mod connection;
mod event;
mod frame;
mod heart;
mod hpack;
mod huffman;
mod intake;
mod message;
mod outbox;
mod pace;
mod queue;
mod request;
mod stream;
#[cfg(test)]
mod tests;

pub use connection::Connection;
pub(crate) use event::{Event, Events};
pub(crate) use hpack::encode as encode_header;

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
    StreamClosed = 5,
    FrameSize = 6,
    Refused = 7,
    Compression = 9,
    Calm = 11,
}

fn violation(why: &'static str) -> Failure {
    Failure { reason: Reason::Protocol, why }
}
