//! Connections to other servers: where they are, and how they are made.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tensorfleet_framework::BoxFuture;
use tensorfleet_security::{Credentials, Files, Protocol};
use tensorfleet_tensor::{Result, invalid_argument};
use tensorfleet_transport::{CONNECTION_WINDOW, FRAME, STREAM_WINDOW};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tonic::codegen::Service;
use tonic::transport::{Channel, Endpoint, Uri};

use crate::link::{LinkSocket, tune};

/// How long a connection may take to come up.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A peer whose machine does not answer for `IDLE + RETRIES * INTERVAL` is gone. The kernel asks:
/// pings of HTTP/2 would do, but TensorFlow's servers hang up on a client that pings this often.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(2);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
const KEEPALIVE_RETRIES: u32 = 2;

/// Where a server is, and what is shown to it: with credentials it is spoken to over TLS alone.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) address: Arc<str>,
    credentials: Option<Arc<Credentials>>,
}

impl Place {
    pub(crate) fn new(address: &str, credentials: Option<Arc<Credentials>>) -> Place {
        Place { address: address.into(), credentials }
    }

    /// The server of a target such as `grpc://localhost:2222`. One that begins with `grpcs://` is spoken
    /// to over TLS, with the credentials that are given or those that the environment names.
    pub(crate) fn of_target(
        target: &str,
        credentials: Option<&Arc<Credentials>>,
        runtime: &Handle,
    ) -> Result<Place> {
        match target.split_once("://") {
            Some(("grpc", address)) => Ok(Place::new(address, None)),
            Some(("grpcs", address)) => {
                let credentials = match credentials {
                    Some(given) => Arc::clone(given),
                    None => Credentials::load(Files::from_environment()?)?,
                };
                credentials.watch(runtime);
                Ok(Place::new(address, Some(credentials)))
            }
            _ => Err(invalid_argument!(
                "the target {target:?} does not have the form grpc://host:port, or grpcs:// for TLS"
            )),
        }
    }

    /// A channel for gRPC, which connects with the first call, on the threads of `runtime`.
    pub(crate) fn channel(&self, runtime: &Handle) -> Result<Channel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address))
            .map_err(|error| invalid_argument!("{} is not an address: {error}", self.address))?
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME);
        // A lazy channel starts its task when it is made.
        let _guard = runtime.enter();
        Ok(endpoint.connect_with_connector_lazy(self.clone()))
    }

    /// The name or address that the server's certificate must have.
    fn host(&self) -> &str {
        let host = self.address.rsplit_once(':').map_or(&*self.address, |(host, _)| host);
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    async fn connect(self) -> io::Result<Connected> {
        let connecting = async {
            let socket = TcpStream::connect(&*self.address).await?;
            socket.set_nodelay(true)?;
            let keepalive = TcpKeepalive::new()
                .with_time(KEEPALIVE_IDLE)
                .with_interval(KEEPALIVE_INTERVAL)
                .with_retries(KEEPALIVE_RETRIES);
            SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
            Ok(match &self.credentials {
                None => Box::pin(socket) as Connected,
                Some(credentials) => {
                    let protocol = credentials.client_protocol();
                    Box::pin(credentials.connect(socket, self.host(), protocol, "").await?)
                }
            })
        };
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it does not answer");
        tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.map_err(late)?
    }

    /// A connection for a link. The caller limits the time.
    pub(crate) async fn link(&self, silence: Duration) -> io::Result<LinkSocket> {
        let socket = TcpStream::connect(&*self.address).await?;
        tune(&socket, silence)?;
        Ok(match &self.credentials {
            None => LinkSocket::Tcp(socket),
            Some(credentials) => {
                let stream = credentials.connect(socket, self.host(), Protocol::Link, "").await?;
                LinkSocket::of_client(stream)
            }
        })
    }
}

/// A connection, encrypted or not.
type Connected = Pin<Box<dyn Stream>>;

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

impl Service<Uri> for Place {
    type Response = TokioIo<Connected>;
    type Error = io::Error;
    type Future = BoxFuture<io::Result<TokioIo<Connected>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connecting = self.clone().connect();
        Box::pin(async move { Ok(TokioIo::new(connecting.await?)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_for_hosts_without_ports() {
        for (address, host) in
            [("a.example:2222", "a.example"), ("10.0.0.1:1", "10.0.0.1"), ("[::1]:80", "::1")]
        {
            assert_eq!(Place::new(address, None).host(), host);
        }
    }
}
