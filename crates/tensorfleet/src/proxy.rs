//! The proxy: for clients and servers that do not speak TLS.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use tensorfleet_security::{Credentials, Role, Tunnel, carry};
use tensorfleet_tensor::{Result, unavailable};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::cli::{Direction, Listen, Proxy};

/// How long the other side has to show who it is.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A proxy that has its port.
#[derive(Debug)]
pub(crate) struct Listening {
    proxy: Proxy,
    credentials: Arc<Credentials>,
    door: Door,
}

#[derive(Debug)]
enum Door {
    Port(TcpListener),
    Socket(UnixListener),
}

impl Listening {
    pub(crate) async fn bind(proxy: Proxy) -> Result<Listening> {
        let credentials = Credentials::load(proxy.files.clone())?;
        credentials.watch(&tokio::runtime::Handle::current());
        let door = match &proxy.listen {
            Listen::Port(address) => {
                let bound = TcpListener::bind((address.host.as_str(), address.port)).await;
                Door::Port(
                    bound.map_err(|error| unavailable!("cannot listen on {address}: {error}"))?,
                )
            }
            Listen::Socket(path) => {
                let failed =
                    |error: io::Error| unavailable!("cannot listen on {}: {error}", path.display());
                // What a proxy before left behind; one that listens keeps its socket.
                if std::os::unix::net::UnixStream::connect(path).is_err() {
                    match std::fs::remove_file(path) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            return Err(failed(error));
                        }
                        _ => {}
                    }
                }
                let listener = UnixListener::bind(path).map_err(failed)?;
                let own = std::fs::Permissions::from_mode(0o600);
                std::fs::set_permissions(path, own).map_err(failed)?;
                Door::Socket(listener)
            }
        };
        Ok(Listening { proxy, credentials, door })
    }

    /// What clients connect to.
    pub(crate) fn target(&self) -> String {
        let scheme = match self.proxy.direction {
            Direction::Out => "grpc",
            Direction::In => "grpcs",
        };
        match (&self.door, &self.proxy.listen) {
            (Door::Port(listener), Listen::Port(address)) => {
                let port = listener.local_addr().map_or(address.port, |bound| bound.port());
                format!("{scheme}://{}:{port}", address.host)
            }
            (_, Listen::Socket(path)) => format!("unix:{}", path.display()),
            (Door::Socket(_), Listen::Port(address)) => format!("{scheme}://{address}"),
        }
    }

    /// Carries connections, without end.
    pub(crate) async fn serve(self) {
        loop {
            let accepted = match &self.door {
                Door::Port(listener) => {
                    listener.accept().await.map(|(socket, _)| Client::Port(socket))
                }
                Door::Socket(listener) => {
                    listener.accept().await.map(|(socket, _)| Client::Socket(socket))
                }
            };
            let client = match accepted {
                Ok(client) => client,
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let (credentials, proxy) = (Arc::clone(&self.credentials), self.proxy.clone());
            tokio::spawn(async move {
                let target = proxy.target.clone();
                if let Err(error) = connect(client, credentials, proxy).await {
                    tracing::warn!("a connection to {target} broke: {error}");
                }
            });
        }
    }
}

enum Client {
    Port(TcpStream),
    Socket(UnixStream),
}

async fn connect(client: Client, credentials: Arc<Credentials>, proxy: Proxy) -> io::Result<()> {
    let Proxy { target, direction, .. } = proxy;
    match (direction, client) {
        (Direction::Out, client) => {
            let tunnel = Tunnel { credentials, host: target.host, port: target.port };
            match client {
                Client::Port(client) => {
                    client.set_nodelay(true)?;
                    tunnel.carry(client, "").await
                }
                Client::Socket(client) => {
                    let peer = client.peer_cred()?;
                    let process = peer.pid().unwrap_or_default();
                    let who = format!("process {process} of user {}", peer.uid());
                    tunnel.carry(client, &who).await
                }
            }
        }
        (Direction::In, Client::Port(client)) => {
            client.set_nodelay(true)?;
            let accepted = tokio::time::timeout(HANDSHAKE, credentials.accept(client)).await??;
            let is_peer = |role| matches!(role, Role::Peer | Role::Admin);
            if !accepted.certificate.is_some_and(|identity| is_peer(identity.role)) {
                return Err(io::Error::other("it is no task of this cluster"));
            }
            let mut server = TcpStream::connect((target.host.as_str(), target.port)).await?;
            server.set_nodelay(true)?;
            let mut client = accepted.stream;
            carry(&mut client, &mut server).await
        }
        (Direction::In, Client::Socket(_)) => Err(io::ErrorKind::Unsupported.into()),
    }
}
