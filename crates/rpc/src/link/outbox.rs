//! Frames on their way out.
//!
//! Whoever has a frame writes it, without a switch to another thread, unless somebody is writing
//! already: then that one takes it along. Only when the socket takes no more does a task of its own
//! go on.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::Notify;

use super::frame::{Header, Kind};
use super::socket::Socket;

/// How much of a tensor is written before others have their turn.
const PIECE: usize = 1 << 20;

/// The writing side of a connection.
#[derive(Debug)]
pub(super) struct Outbox {
    socket: Arc<Socket>,
    queue: Mutex<Queue>,
    /// The socket was full: the task of [`Outbox::drain`] has to go on.
    stalled: Notify,
    /// Bytes that the socket took.
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    /// Whole frames, one behind the other.
    frames: Vec<u8>,
    /// Tensors of which some is still to be sent.
    tensors: VecDeque<Contents>,
    /// Somebody writes, and nobody else may.
    is_writing: bool,
    /// What the socket did not take.
    rest: Option<Batch>,
    is_closed: bool,
}

#[derive(Debug)]
struct Contents {
    call: u64,
    rest: Bytes,
}

/// What is written in one go: whole frames, the last of which may be a piece of a tensor.
#[derive(Debug)]
struct Batch {
    frames: Vec<u8>,
    piece: Bytes,
    /// How much of both is written.
    done: usize,
}

impl Outbox {
    pub(super) fn new(socket: Arc<Socket>) -> Outbox {
        let written = AtomicU64::new(0);
        Outbox { socket, queue: Mutex::default(), stalled: Notify::new(), written }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Sends a frame whose message is written by `message`.
    pub(super) fn send(&self, kind: Kind, call: u64, message: &[u8]) {
        self.push(kind, call, message, Bytes::new());
    }

    /// Sends the head of a tensor, and behind it the contents in pieces.
    pub(super) fn send_tensor(&self, call: u64, head: &[u8], contents: Bytes) {
        self.push(Kind::Tensor, call, head, contents);
    }

    fn push(&self, kind: Kind, call: u64, message: &[u8], contents: Bytes) {
        let mut queue = self.lock();
        if queue.is_closed {
            return;
        }
        queue.push_frame(kind, call, message.len());
        queue.frames.extend_from_slice(message);
        if !contents.is_empty() {
            queue.tensors.push_back(Contents { call, rest: contents });
        }
        if !queue.is_writing {
            queue.is_writing = true;
            drop(queue);
            self.write();
        }
    }

    /// Stops sending the tensor of a call that nobody waits for.
    pub(super) fn forget_tensor(&self, call: u64) {
        self.lock().tensors.retain(|contents| contents.call != call);
    }

    /// Holds frames back until the guard is dropped, so that they leave together.
    pub(super) fn cork(&self) -> Cork<'_> {
        let mut queue = self.lock();
        let is_mine = !queue.is_writing;
        queue.is_writing = true;
        Cork { outbox: self, is_mine }
    }

    /// Writes until nothing is left or the socket takes no more. The caller is the writer.
    fn write(&self) {
        loop {
            let Some(mut batch) = self.lock().next_batch() else { return };
            let before = batch.done;
            let outcome = batch.write(&self.socket);
            self.written.fetch_add((batch.done - before) as u64, Ordering::Relaxed);
            match outcome {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.lock().rest = Some(batch);
                    self.stalled.notify_one();
                    return;
                }
                // The reader of this connection meets the same end and tells those who wait.
                Err(_) => return self.close(),
            }
        }
    }

    /// How many bytes the socket took.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Writes what others could not, until the connection ends.
    pub(super) async fn drain(&self) {
        loop {
            self.stalled.notified().await;
            if self.socket.writable().await.is_err() {
                return self.close();
            }
            self.write();
        }
    }

    /// Drops what is queued, and all that comes.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        *queue = Queue { is_closed: true, is_writing: true, ..Queue::default() };
    }
}

/// Keeps frames back while it lives.
#[derive(Debug)]
pub(super) struct Cork<'a> {
    outbox: &'a Outbox,
    is_mine: bool,
}

impl Drop for Cork<'_> {
    fn drop(&mut self) {
        if self.is_mine {
            self.outbox.write();
        }
    }
}

impl Queue {
    fn push_frame(&mut self, kind: Kind, call: u64, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        self.frames.extend_from_slice(&Header { kind, len, call }.to_bytes());
    }

    /// Takes what goes next. If there is nothing, nobody writes any more.
    fn next_batch(&mut self) -> Option<Batch> {
        if let Some(rest) = self.rest.take() {
            return Some(rest);
        }
        let mut piece = Bytes::new();
        if let Some(mut contents) = self.tensors.pop_front() {
            piece = contents.rest.split_to(contents.rest.len().min(PIECE));
            self.push_frame(Kind::Piece, contents.call, piece.len());
            if !contents.rest.is_empty() {
                self.tensors.push_back(contents);
            }
        }
        if self.frames.is_empty() {
            self.is_writing = self.is_closed;
            return None;
        }
        Some(Batch { frames: std::mem::take(&mut self.frames), piece, done: 0 })
    }
}

impl Batch {
    fn write(&mut self, socket: &Socket) -> io::Result<()> {
        let len = self.frames.len() + self.piece.len();
        while self.done < len {
            let head = &self.frames[self.done.min(self.frames.len())..];
            let tail = &self.piece[self.done.saturating_sub(self.frames.len())..];
            self.done += socket.try_write(&[IoSlice::new(head), IoSlice::new(tail)])?;
        }
        socket.try_flush()
    }
}
