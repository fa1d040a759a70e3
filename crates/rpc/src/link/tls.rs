//! A link's socket under TLS.
//!
//! Readers and writers share one session, each for the time that it takes to open or seal what there
//! is. What is sealed and not taken by the socket waits in the session.

use std::io::{self, IoSlice, Read, Write};
use std::sync::{Mutex, MutexGuard};

use rustls::Connection;
use tensorfleet_security::{Buffered, ClientStream, ServerStream};
use tokio::net::TcpStream;

/// What is sealed at once, and what is read at once.
const BUFFER: usize = 256 << 10;

/// A socket and its session.
#[derive(Debug)]
pub(crate) struct TlsSocket {
    socket: TcpStream,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    session: Connection,
    /// What came from the socket and is not opened yet.
    sealed: Vec<u8>,
    start: usize,
    end: usize,
}

impl TlsSocket {
    pub(super) fn of_server(stream: ServerStream) -> TlsSocket {
        let (socket, session) = stream.into_inner();
        TlsSocket::new(socket, session.into())
    }

    pub(super) fn of_client(stream: ClientStream) -> TlsSocket {
        let (socket, session) = stream.into_inner();
        TlsSocket::new(socket, session.into())
    }

    fn new(socket: Buffered, mut session: Connection) -> TlsSocket {
        session.set_buffer_limit(Some(BUFFER));
        let mut sealed = vec![0; BUFFER];
        let end = socket.unread().len();
        sealed[..end].copy_from_slice(socket.unread());
        let state = State { session, sealed, start: 0, end };
        TlsSocket { socket: socket.into_inner(), state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn tcp(&self) -> &TcpStream {
        &self.socket
    }

    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.lock();
        loop {
            match state.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            state.open(&self.socket)?;
            // What a session answers by itself goes out now or with what is written next.
            match state.flush(&self.socket) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    }

    /// Seals as much as fits. It is taken even if the socket is full: see [`TlsSocket::try_flush`].
    pub(super) fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = self.lock();
        state.flush(&self.socket)?;
        let len = state.session.writer().write_vectored(parts)?;
        match state.flush(&self.socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(len),
        }
    }

    /// Gives the socket all that is sealed.
    pub(super) fn try_flush(&self) -> io::Result<()> {
        self.lock().flush(&self.socket)
    }
}

impl State {
    /// Opens more of what came; an error without more.
    fn open(&mut self, socket: &TcpStream) -> io::Result<()> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            self.end = socket.try_read(&mut self.sealed)?;
            if self.end == 0 {
                // Without a goodbye it may have been cut off.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let mut rest = &self.sealed[self.start..self.end];
        self.start += self.session.read_tls(&mut rest)?;
        self.session.process_new_packets().map_err(io::Error::other)?;
        Ok(())
    }

    fn flush(&mut self, socket: &TcpStream) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut Sink(socket))?;
        }
        Ok(())
    }
}

/// Where sealed bytes go.
struct Sink<'a>(&'a TcpStream);

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
