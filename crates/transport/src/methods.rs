//! Which methods there are, and what answers them.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::{Answer, BoxFuture, Call, Requests};

/// The methods of a server, by path.
#[derive(Debug, Default)]
pub struct Methods {
    table: FxHashMap<&'static str, Method>,
}

pub(crate) type Unary = dyn Fn(Call, Bytes) -> BoxFuture<Answer> + Send + Sync;
pub(crate) type Streaming = dyn Fn(Call, Requests) -> BoxFuture<Answer> + Send + Sync;

#[derive(Clone)]
pub(crate) enum Method {
    /// Called with a message, once that has come.
    Unary(Arc<Unary>),
    /// Called with the stream of messages, when the first may still be to come.
    Streaming(Arc<Streaming>),
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Unary(_) => "Unary",
            Method::Streaming(_) => "Streaming",
        })
    }
}

impl Methods {
    /// Adds a method that takes one message. What it begins is polled at once, on the thread that
    /// serves the connection, so that a call that need not wait is answered where it stands.
    pub fn unary(
        &mut self,
        path: &'static str,
        method: impl Fn(Call, Bytes) -> BoxFuture<Answer> + Send + Sync + 'static,
    ) {
        self.table.insert(path, Method::Unary(Arc::new(method)));
    }

    /// Adds a method that takes a stream of messages. It may answer with a stream as well, while
    /// more is to come, and is dropped when the client gives the call up.
    pub fn streaming(
        &mut self,
        path: &'static str,
        method: impl Fn(Call, Requests) -> BoxFuture<Answer> + Send + Sync + 'static,
    ) {
        self.table.insert(path, Method::Streaming(Arc::new(method)));
    }

    /// The paths, in no order.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.table.keys().copied()
    }

    pub(crate) fn find(&self, path: &str) -> Option<(&'static str, Method)> {
        self.table.get_key_value(path).map(|(path, method)| (*path, method.clone()))
    }
}
