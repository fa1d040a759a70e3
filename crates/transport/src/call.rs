//! What a call is, and what comes of it.

use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::HeaderMap;

use crate::{Identity, Status};

/// Work that ends with an answer; dropping it gives it up.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a client says of a call before its messages.
#[derive(Clone, Debug)]
pub struct Call {
    /// `/service/method`, as it was registered.
    pub path: &'static str,
    /// What the client adds to it, without the headers that are gRPC's own.
    pub metadata: HeaderMap,
    pub peer: Peer,
    /// Who calls, as the connection's guard says.
    pub identity: Identity,
    /// How long the client will wait. The call is dropped after that.
    pub timeout: Option<Duration>,
}

/// Who is at the other end of a connection, as far as the system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Somebody at an address.
    Address(SocketAddr),
    /// A process of this machine, and whose it is.
    Process { id: Option<i32>, user: u32 },
    /// Another part of this process.
    Inside,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Address(address) => write!(f, "{address}"),
            Peer::Process { id: Some(id), user } => write!(f, "process {id} of user {user}"),
            Peer::Process { id: None, user } => write!(f, "a process of user {user}"),
            Peer::Inside => f.write_str("this process"),
        }
    }
}

/// What comes of a call: an answer, or why there is none.
pub type Answer = Result<Reply, Status>;

/// An answer.
pub struct Reply {
    pub headers: HeaderMap,
    pub body: Body,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("headers", &self.headers).finish_non_exhaustive()
    }
}

impl Reply {
    /// One message, in parts that together are the message with its prefix.
    pub fn message(parts: Vec<Bytes>) -> Reply {
        Reply { headers: HeaderMap::new(), body: Body::Message(parts) }
    }

    /// Messages, each in parts, until the stream ends; an error ends the call with its status.
    pub fn messages(
        messages: impl Stream<Item = Result<Vec<Bytes>, Status>> + Send + 'static,
    ) -> Reply {
        Reply { headers: HeaderMap::new(), body: Body::Messages(Box::pin(messages)) }
    }
}

/// The messages of an answer, each in parts that together are the message with its prefix.
pub enum Body {
    Message(Vec<Bytes>),
    Messages(Messages),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Message(parts) => f.debug_tuple("Message").field(&parts.len()).finish(),
            Body::Messages(_) => f.write_str("Messages"),
        }
    }
}

/// Messages as they come.
pub type Messages = Pin<Box<dyn Stream<Item = Result<Vec<Bytes>, Status>> + Send>>;
