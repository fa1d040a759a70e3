//! The connection under a link.

use std::io::{self, IoSlice};

use tensorfleet_security::{ClientStream, ServerStream};
use tokio::net::{TcpStream, UnixStream};

use super::tls::TlsSocket;

/// A connected socket of either kind. All calls take it shared: one reads while another writes.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Tls(Box<TlsSocket>),
    Unix(UnixStream),
}

impl Socket {
    /// The socket of an encrypted connection that we have made.
    pub(crate) fn of_client(stream: ClientStream) -> Socket {
        Socket::Tls(Box::new(TlsSocket::of_client(stream)))
    }

    /// The same for one that we have accepted.
    pub(super) fn of_server(stream: ServerStream) -> Socket {
        Socket::Tls(Box::new(TlsSocket::of_server(stream)))
    }

    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.try_read(buffer),
            Socket::Tls(socket) => socket.try_read(buffer),
            Socket::Unix(socket) => socket.try_read(buffer),
        }
    }

    pub(super) fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.try_write_vectored(parts),
            Socket::Tls(socket) => socket.try_write(parts),
            Socket::Unix(socket) => socket.try_write_vectored(parts),
        }
    }

    /// Lets the system have what was written and still waits to leave this process.
    pub(super) fn try_flush(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(_) | Socket::Unix(_) => Ok(()),
            Socket::Tls(socket) => socket.try_flush(),
        }
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.readable().await,
            Socket::Tls(socket) => socket.tcp().readable().await,
            Socket::Unix(socket) => socket.readable().await,
        }
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.writable().await,
            Socket::Tls(socket) => socket.tcp().writable().await,
            Socket::Unix(socket) => socket.writable().await,
        }
    }

    /// Reads what there is, waiting for something to come. Nothing at all is the end.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable().await?,
                outcome => return outcome,
            }
        }
    }

    /// Fills a buffer.
    pub(super) async fn read_exact(&self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read(buffer).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                len => buffer = &mut buffer[len..],
            }
        }
        Ok(())
    }

    /// Writes all of a buffer.
    pub(super) async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.try_write(&[IoSlice::new(bytes)]) {
                Ok(len) => bytes = &bytes[len..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                Err(error) => return Err(error),
            }
        }
        loop {
            match self.try_flush() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                outcome => return outcome,
            }
        }
    }
}
