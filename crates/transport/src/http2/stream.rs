//! A stream: one call, from its headers to its trailers.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::backlog::Backlog;
use super::frame::{Head, kind};
use super::hpack;
use super::intake::Intake;
use super::outbox::Outbox;
use crate::memory::Share;
use crate::{STREAM_WINDOW, Status};

/// The largest frame of ours, so that streams take turns.
const FRAME: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) intake: Intake,
    /// When the client stops to wait.
    pub(super) deadline: Option<Instant>,
    /// Whether the client has said everything.
    pub(super) is_heard: bool,
    /// What the client may still send, and we.
    pub(super) receive_window: i64,
    /// Counted from the window that all streams begin with, which may change.
    pub(super) send_window: i64,
    /// Whether it has its place among those that have something to send, and among those that may
    /// not.
    pub(super) is_queued: bool,
    pub(super) is_starved: bool,
    /// How much has come, and how much the client said would.
    pub(super) received: u64,
    pub(super) content_length: Option<u64>,
    /// What is charged for it.
    pub(super) held: usize,
    /// The call, if it did not end at once. It ends with the stream.
    pub(super) task: Option<Running>,
    answer: Outgoing,
}

/// The task of a call, aborted when nobody waits for it.
#[derive(Debug)]
pub(super) struct Running(pub(super) AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An answer that is on its way.
#[derive(Debug, Default)]
struct Outgoing {
    has_begun: bool,
    parts: VecDeque<Bytes>,
    /// How much the parts are together.
    len: usize,
    /// Who makes more of them.
    backlog: Option<Arc<Backlog>>,
    /// The last headers, once they are known.
    trailers: Option<Vec<u8>>,
}

/// What a stream could send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// A frame, and there is more.
    Some,
    /// What the window of the connection let through.
    Blocked,
    /// What the window of the stream let through.
    Starved,
    /// All that there was.
    Waits,
    /// Everything; the stream is over.
    All,
}

impl Stream {
    pub(super) fn new(intake: Intake, receive_window: i64) -> Stream {
        Stream {
            intake,
            deadline: None,
            is_heard: false,
            receive_window,
            send_window: 0,
            is_queued: false,
            is_starved: false,
            received: 0,
            content_length: None,
            held: 0,
            task: None,
            answer: Outgoing::default(),
        }
    }

    /// Charges for bytes that it holds from now on.
    pub(super) fn charge(&mut self, len: usize, memory: &mut Share) -> Result<(), Status> {
        memory.grow(len)?;
        self.held += len;
        Ok(())
    }

    /// Gives back what was charged for bytes, at most all.
    pub(super) fn release(&mut self, len: usize, memory: &mut Share) {
        let len = len.min(self.held);
        self.held -= len;
        memory.shrink(len);
    }

    /// Bytes of the answer that wait for the client.
    pub(super) fn unsent(&self) -> usize {
        self.answer.len
    }

    /// Lets the client send more, once it has used half of what it may, unless what it has sent is
    /// not taken.
    pub(super) fn open_window(&mut self, id: u32, outbox: &mut Outbox) {
        if !self.is_heard
            && let Some(more) =
                reopened(&mut self.receive_window, STREAM_WINDOW, self.intake.unread())
        {
            outbox.window_update(id, more);
        }
    }

    /// Begins the answer.
    pub(super) fn begin(&mut self, id: u32, headers: &HeaderMap, outbox: &mut Outbox) {
        let mut block = vec![hpack::OK];
        hpack::encode(b"content-type", b"application/grpc", &mut block);
        encode_all(headers, &mut block);
        outbox.headers(id, &block, false);
        self.answer.has_begun = true;
    }

    /// Adds a message to the answer.
    pub(super) fn push(&mut self, parts: Vec<Bytes>) {
        self.answer.len += parts.iter().map(Bytes::len).sum::<usize>();
        self.answer.parts.extend(parts);
    }

    /// The answer is made by somebody who waits while much of it is not sent.
    pub(super) fn follow(&mut self, backlog: Arc<Backlog>) {
        self.answer.backlog = Some(backlog);
    }

    /// Ends the answer.
    pub(super) fn end(&mut self, outcome: Result<(), Status>) {
        let mut block = Vec::new();
        if !self.answer.has_begun {
            // An error alone is a single block of headers.
            block.push(hpack::OK);
            hpack::encode(b"content-type", b"application/grpc", &mut block);
        }
        match outcome {
            Ok(()) => hpack::encode(b"grpc-status", b"0", &mut block),
            Err(status) => status.encode(&mut block),
        }
        self.answer.trailers = Some(block);
    }

    /// Puts the next frame of the answer into the outbox, as far as the windows allow.
    pub(super) fn send(
        &mut self,
        id: u32,
        outbox: &mut Outbox,
        max_frame: usize,
        (initial_window, connection_window): (i64, &mut i64),
    ) -> Sent {
        let answer = &mut self.answer;
        if answer.len > 0 {
            let own = initial_window + self.send_window;
            let window = own.min(*connection_window).max(0) as usize;
            let len = answer.len.min(max_frame.min(FRAME)).min(window);
            if len == 0 {
                return if own > 0 { Sent::Blocked } else { Sent::Starved };
            }
            outbox.put(&Head { len, kind: kind::DATA, flags: 0, stream: id }.bytes());
            self.send_window -= len as i64;
            *connection_window -= len as i64;
            answer.len -= len;
            answer.take(len, outbox);
            if let Some(backlog) = &answer.backlog {
                backlog.remove(len);
            }
            if answer.len > 0 {
                return Sent::Some;
            }
        }
        match answer.trailers.take() {
            Some(block) => {
                outbox.headers(id, &block, true);
                Sent::All
            }
            None => Sent::Waits,
        }
    }
}

impl Outgoing {
    /// Moves the first bytes of the parts into the outbox.
    fn take(&mut self, mut len: usize, outbox: &mut Outbox) {
        while len > 0
            && let Some(part) = self.parts.front_mut()
        {
            let piece = part.split_to(len.min(part.len()));
            len -= piece.len();
            outbox.share(piece);
            if part.is_empty() {
                self.parts.pop_front();
            }
        }
    }
}

/// Opens a window of a size again as far as `held` allows, if it is worth it, and returns by how much.
pub(super) fn reopened(window: &mut i64, size: u32, held: usize) -> Option<u32> {
    let size = i64::from(size);
    let more = size - held as i64 - *window;
    if more < size / 2 {
        return None;
    }
    *window += more;
    Some(more as u32)
}

fn encode_all(headers: &HeaderMap, block: &mut Vec<u8>) {
    for (name, value) in headers {
        hpack::encode(name.as_str().as_bytes(), value.as_bytes(), block);
    }
}
