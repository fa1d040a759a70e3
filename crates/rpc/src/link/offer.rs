//! How a server says that it accepts links, and how one is made.

use std::io;

use socket2::{SockRef, TcpKeepalive};
use tensorfleet_cluster::random_nonzero;
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tonic::metadata::MetadataMap;

use super::MAGIC;
use super::socket::Socket;
use crate::transport;

/// The metadata of a `GetStatus` reply that carries an offer.
const KEY: &str = "tensorfleet-link";

/// Names one life of one server, so that a link never reaches another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token([u8; 16]);

impl Token {
    /// A token that nobody has.
    pub(crate) fn random() -> Token {
        let bits = u128::from(random_nonzero()) << 64 | u128::from(random_nonzero());
        Token(bits.to_le_bytes())
    }

    fn text(self) -> String {
        format!("{:032x}", u128::from_le_bytes(self.0))
    }

    /// Takes the name of the Unix socket for tasks of this machine. It is not a file: it goes away
    /// with its listener, and other network namespaces do not see it.
    pub(super) fn listen(self) -> io::Result<UnixListener> {
        let listener = std::os::unix::net::UnixListener::bind_addr(&self.unix_address()?)?;
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener)
    }

    #[cfg(target_os = "linux")]
    fn unix_address(self) -> io::Result<std::os::unix::net::SocketAddr> {
        use std::os::linux::net::SocketAddrExt;
        std::os::unix::net::SocketAddr::from_abstract_name(format!("tensorfleet-{}", self.text()))
    }

    #[cfg(not(target_os = "linux"))]
    fn unix_address(self) -> io::Result<std::os::unix::net::SocketAddr> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A server's offer as its peers see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer(Token);

impl Offer {
    /// Puts an offer into a reply.
    pub(crate) fn make(token: Token, metadata: &mut MetadataMap) {
        if let Ok(value) = token.text().parse() {
            metadata.insert(KEY, value);
        }
    }

    /// Finds an offer in a reply.
    pub(crate) fn find(metadata: &MetadataMap) -> Option<Offer> {
        let text = metadata.get(KEY)?.to_str().ok()?;
        let bits = u128::from_str_radix(text, 16).ok()?;
        Some(Offer(Token(bits.to_le_bytes())))
    }

    /// Connects: inside this machine if the server is there, else to its port.
    pub(super) async fn connect(self, address: &str) -> io::Result<Socket> {
        let socket = match self.connect_unix() {
            Ok(socket) => Socket::Unix(socket),
            Err(_) => Socket::Tcp(connect_tcp(address).await?),
        };
        let mut hello = [0; MAGIC.len() + size_of::<Token>()];
        hello[..MAGIC.len()].copy_from_slice(&MAGIC);
        hello[MAGIC.len()..].copy_from_slice(&self.0.0);
        socket.write_all(&hello).await?;
        let mut answer = [0; MAGIC.len()];
        socket.read_exact(&mut answer).await?;
        if answer != MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(socket)
    }

    fn connect_unix(self) -> io::Result<UnixStream> {
        let socket = std::os::unix::net::UnixStream::connect_addr(&self.0.unix_address()?)?;
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }
}

/// Answers the greeting of a client that knows the token.
pub(super) async fn greet(socket: &Socket, token: Token) -> io::Result<()> {
    let mut hello = [0; MAGIC.len() + size_of::<Token>()];
    socket.read_exact(&mut hello).await?;
    if hello[..MAGIC.len()] != MAGIC || hello[MAGIC.len()..] != token.0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    socket.write_all(&MAGIC).await
}

async fn connect_tcp(address: &str) -> io::Result<TcpStream> {
    let connect = TcpStream::connect(address);
    let socket = tokio::time::timeout(transport::CONNECT_TIMEOUT, connect).await??;
    socket.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(transport::KEEPALIVE_IDLE)
        .with_interval(transport::KEEPALIVE_INTERVAL)
        .with_retries(transport::KEEPALIVE_RETRIES);
    SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
    Ok(socket)
}
