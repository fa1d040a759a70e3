//! Frames on their way in.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::frame::{HEADER, Header, Kind};
use super::pulse::Heard;
use super::socket::Socket;

/// Room for what is read at once.
const ROOM: usize = 64 << 10;

/// The reading side of a connection.
#[derive(Debug)]
pub(super) struct Inbox {
    socket: Arc<Socket>,
    buffer: Vec<u8>,
    /// Where in the buffer that begins which nobody has taken, and where it ends.
    start: usize,
    end: usize,
    heard: Heard,
    /// Bytes that came.
    received: Arc<AtomicU64>,
}

/// What came.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    Frame(Header, &'a [u8]),
    /// A piece of a tensor: its bytes are to be read from the inbox next.
    Piece(Header),
}

impl Inbox {
    pub(super) fn new(socket: Arc<Socket>) -> Inbox {
        let (buffer, heard) = (vec![0; ROOM], Heard::default());
        Inbox { socket, buffer, start: 0, end: 0, heard, received: Arc::default() }
    }

    /// Adds the bytes that come to a count.
    pub(super) fn counting(self, received: Arc<AtomicU64>) -> Inbox {
        Inbox { received, ..self }
    }

    /// Notes that so many bytes came.
    fn mark(&self, len: usize) {
        self.heard.mark();
        self.received.fetch_add(len as u64, Ordering::Relaxed);
    }

    /// What is marked when something comes.
    pub(super) fn heard(&self) -> Heard {
        self.heard.clone()
    }

    /// Takes the next frame that is all there.
    pub(super) fn next(&mut self) -> io::Result<Option<Incoming<'_>>> {
        let Some(header) = self.buffer[self.start..self.end].first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let header = Header::from_bytes(header)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a broken frame"))?;
        let begin = self.start + HEADER;
        if header.kind == Kind::Piece {
            self.start = begin;
            return Ok(Some(Incoming::Piece(header)));
        }
        let end = begin + header.len as usize;
        if end > self.end {
            return Ok(None);
        }
        self.start = end;
        Ok(Some(Incoming::Frame(header, &self.buffer[begin..end])))
    }

    /// Reads more, waiting for it to come. False is the end of the connection.
    pub(super) async fn fill(&mut self) -> io::Result<bool> {
        self.make_room();
        let len = self.socket.read(&mut self.buffer[self.end..]).await?;
        self.mark(len);
        self.end += len;
        Ok(len > 0)
    }

    /// Reads what has come already. False is the end of the connection.
    pub(super) fn fill_now(&mut self) -> io::Result<bool> {
        self.make_room();
        match self.socket.try_read(&mut self.buffer[self.end..]) {
            Ok(len) => {
                self.mark(len);
                self.end += len;
                Ok(len > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        // A long message makes room as it comes, whatever length it claims.
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        } else if self.end < ROOM && self.buffer.len() > ROOM {
            self.buffer.truncate(ROOM);
            self.buffer.shrink_to_fit();
        }
    }

    /// Reads bytes of a piece into their place: first those that were read already. Fewer come than
    /// fit; none means that the socket has no more at the moment.
    pub(super) fn read_piece(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let buffered = &self.buffer[self.start..self.end];
        if !buffered.is_empty() {
            let len = buffered.len().min(place.len());
            place[..len].copy_from_slice(&buffered[..len]);
            self.start += len;
            return Ok(len);
        }
        match self.socket.try_read(place) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Ok(len) => {
                self.mark(len);
                Ok(len)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the socket has more.
    pub(super) async fn wait(&self) -> io::Result<()> {
        self.socket.readable().await
    }
}
