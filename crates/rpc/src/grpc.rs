//! How the methods of services are added to a server's: messages are decoded before a call and
//! encoded behind it.
//!
//! A service is a handler with a function for each method and an `add_methods` that names them. One that
//! takes a stream says so with [`Services::streaming`]; nothing else knows which services there are.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use prost::Message;
use tensorfleet_cluster::Owner;
use tensorfleet_security::audit::Audit;
use tensorfleet_transport::{Body, Call, Methods, PREFIX, Reply, Role, prefix};
use tonic::{Response, Status};

use crate::audit::Audited;
use crate::status::to_transport;

/// The methods of a task's services.
#[derive(Debug, Default)]
pub(crate) struct Services {
    pub(crate) methods: Methods,
    /// Where it is written down who does what, if it is.
    pub(crate) audit: Option<Arc<Audit>>,
}

/// The messages of a client as they come; an error is the last.
pub(crate) type Requests<Q> = BoxStream<'static, Result<Q, Status>>;

impl Services {
    /// Adds a method that takes a message and gives one.
    pub(crate) fn unary<Q, R, F>(
        &mut self,
        path: &'static str,
        method: impl Fn(Call, Q) -> F + Clone + Send + Sync + 'static,
    ) where
        Q: Message + Default + 'static,
        R: Message + 'static,
        F: Future<Output = Result<Response<R>, Status>> + Send + 'static,
    {
        let answer = move |call: Call, message: Bytes| {
            let method = method.clone();
            async move {
                let request = decode_aside(message).await.map_err(to_transport)?;
                let response = method(call, request).await;
                let (metadata, message, _) = response.map_err(to_transport)?.into_parts();
                let parts = encode_aside(message).await.map_err(to_transport)?;
                Ok(Reply { headers: metadata.into_headers(), body: Body::Message(parts) })
            }
        };
        match self.audit.clone() {
            None => self.methods.unary(path, move |call, message| Box::pin(answer(call, message))),
            Some(audit) => self.methods.unary(path, move |call, message| {
                let audited = Audited::new(&audit, &call, message.len());
                let answer = answer(call, message);
                Box::pin(async move {
                    let answer = answer.await;
                    audited.ended(&answer);
                    answer
                })
            }),
        }
    }

    /// Adds a method that takes a message and gives one in parts, which are sent from where they
    /// are.
    pub(crate) fn parts<Q, F>(
        &mut self,
        path: &'static str,
        method: impl Fn(Call, Q) -> F + Clone + Send + Sync + 'static,
    ) where
        Q: Message + Default + 'static,
        F: Future<Output = Result<Vec<Bytes>, Status>> + Send + 'static,
    {
        self.methods.unary(path, move |call, message| {
            let method = method.clone();
            Box::pin(async move {
                let parts = method(call, decode(message).map_err(to_transport)?).await;
                parts.map(Reply::message).map_err(to_transport)
            })
        });
    }

    /// Adds a method that takes a stream of messages and gives one. Answers go out as they are made,
    /// while requests keep coming; an error ends the call with its status. When the client gives the
    /// call up, both streams are dropped.
    pub(crate) fn streaming<Q, R, S>(
        &mut self,
        path: &'static str,
        method: impl Fn(Call, Requests<Q>) -> S + Send + Sync + 'static,
    ) where
        Q: Message + Default + 'static,
        R: Message,
        S: Stream<Item = Result<R, Status>> + Send + 'static,
    {
        self.methods.streaming(path, move |call, requests| {
            let requests = requests.map(|message| match message {
                Ok(message) => decode(message),
                Err(status) => Err(Status::new(status.code.0.into(), status.message)),
            });
            let answers = method(call, requests.boxed());
            let answers = answers
                .map(|answer| answer.and_then(|answer| encode(&answer)).map_err(to_transport));
            Box::pin(std::future::ready(Ok(Reply::messages(answers))))
        });
    }
}

/// Adds methods of a handler, by the names that gRPC and Rust have for them.
macro_rules! unary {
    ($services:expr, $handler:expr, $service:literal {
        $($name:ident => $method:ident),* $(,)?
    }) => {
        $({
            let handler = $handler.clone();
            let path = concat!("/", $service, "/", stringify!($name));
            $services.unary(path, move |_, request| {
                let handler = handler.clone();
                async move { handler.$method(request).await }
            });
        })*
    };
}
pub(crate) use unary;

/// The same for methods that are told on whose behalf they are called.
macro_rules! unary_for {
    ($services:expr, $handler:expr, $service:literal {
        $($name:ident => $method:ident),* $(,)?
    }) => {
        $({
            let handler = $handler.clone();
            let path = concat!("/", $service, "/", stringify!($name));
            $services.unary(path, move |call, request| {
                let (handler, caller) = (handler.clone(), $crate::grpc::owner(&call));
                async move { handler.$method(&caller, request).await }
            });
        })*
    };
}
pub(crate) use unary_for;

/// On whose behalf a call is made. Other tasks speak for clients of theirs, and may reach all.
pub(crate) fn owner(call: &Call) -> Owner {
    let reaches_all = matches!(call.identity.role, Role::Admin | Role::Peer);
    Owner { name: Arc::clone(&call.identity.name), reaches_all }
}

/// A message of this size takes long enough to read or to write that others must not wait for it.
const LARGE: usize = 1 << 20;

async fn decode_aside<T: Message + Default + 'static>(message: Bytes) -> Result<T, Status> {
    if message.len() < LARGE {
        return decode(message);
    }
    let decoded = tokio::task::spawn_blocking(|| decode(message)).await;
    decoded.map_err(|error| Status::internal(error.to_string()))?
}

fn decode<T: Message + Default>(message: Bytes) -> Result<T, Status> {
    T::decode(message).map_err(|error| Status::internal(error.to_string()))
}

async fn encode_aside<T: Message + 'static>(message: T) -> Result<Vec<Bytes>, Status> {
    if message.encoded_len() < LARGE {
        return encode(&message);
    }
    let encoded = tokio::task::spawn_blocking(move || encode(&message)).await;
    encoded.map_err(|error| Status::internal(error.to_string()))?
}

/// A message with its prefix.
fn encode<T: Message>(message: &T) -> Result<Vec<Bytes>, Status> {
    let message = with_prefix(message);
    Ok(vec![message.ok_or_else(|| Status::resource_exhausted("a message above 4 GiB"))?])
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
