//! A way to a server for clients that speak neither TLS nor tokens: their bytes are carried as they
//! are, so that calls, deadlines, cancellation and streams mean what they mean without it.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio::net::TcpStream;

use crate::{Credentials, Protocol};

/// What is carried at once.
const BUFFER: usize = 256 << 10;

/// A way to one server.
#[derive(Clone, Debug)]
pub struct Tunnel {
    pub credentials: Arc<Credentials>,
    /// The server's name or address, which its certificate must have, and its port.
    pub host: String,
    pub port: u16,
}

impl Tunnel {
    /// Carries a client's connection to the server until both have said everything. `who` tells the
    /// server whose it is.
    pub async fn carry(
        &self,
        mut client: impl AsyncRead + AsyncWrite + Unpin,
        who: &str,
    ) -> io::Result<()> {
        let Tunnel { credentials, host, port } = self;
        let socket = TcpStream::connect((host.as_str(), *port)).await?;
        socket.set_nodelay(true)?;
        let mut server = credentials.connect(socket, host, Protocol::Tunnel, who).await?;
        carry(&mut client, &mut server).await
    }
}

/// Carries bytes both ways until both ends have said everything.
pub async fn carry(
    one: &mut (impl AsyncRead + AsyncWrite + Unpin),
    other: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> io::Result<()> {
    match copy_bidirectional_with_sizes(one, other, BUFFER, BUFFER).await {
        // Few say goodbye before they hang up.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
        outcome => outcome.map(|_| ()),
    }
}
