//! gRPC's calls over HTTP/2, from the server's side, on any stream of bytes.
//!
//! A call is a path, metadata, who is at the other end, and a stream of messages each way.
//! [`Methods`] says which paths there are and what answers them; a [`Connection`] serves one client.
//! Messages are bytes here: what they mean is for the crates above.

mod call;
mod deadline;
mod gzip;
mod http2;
mod identity;
mod limits;
mod memory;
mod methods;
mod requests;
mod status;

pub use call::{Answer, Body, BoxFuture, Call, Messages, Peer, Reply};
pub use http2::Connection;
pub use identity::{Guard, Identity, Role};
pub use limits::{CONNECTION_WINDOW, FRAME, Limits, MAX_MESSAGE, STREAM_WINDOW};
pub use memory::Memory;
pub use methods::Methods;
pub use requests::Requests;
pub use status::{Code, Status};

/// Every message of gRPC is preceded by a byte that says whether it is compressed, and its length.
pub const PREFIX: usize = 5;

/// The prefix of a message that is not compressed; nothing for one that is too long.
pub fn prefix(len: usize) -> Option<[u8; PREFIX]> {
    let [a, b, c, d] = u32::try_from(len).ok()?.to_be_bytes();
    Some([0, a, b, c, d])
}
