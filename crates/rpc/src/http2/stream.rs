//! A stream: one call, from its headers to its trailers.

use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;
use tokio::task::AbortHandle;
use tonic::Status;

use super::frame::{Head, kind};
use super::hpack;
use super::outbox::Outbox;
use super::request::{Message, Request};

/// The largest frame of ours, so that streams take turns.
const FRAME: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) request: Request,
    pub(super) message: Message,
    /// Whether the client has said everything.
    pub(super) is_heard: bool,
    /// What the client may still send, and we.
    pub(super) receive_window: i64,
    pub(super) send_window: i64,
    /// Whether it has its place among those that have something to send.
    pub(super) is_queued: bool,
    /// The call, if it did not end at once. It ends with the stream.
    pub(super) call: Option<Call>,
    answer: Outgoing,
}

/// The task of a call, aborted when nobody waits for it.
#[derive(Debug)]
pub(super) struct Call(pub(super) AbortHandle);

impl Drop for Call {
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
    /// All that there was, or what the window of the stream let through.
    Waits,
    /// Everything; the stream is over.
    All,
}

impl Stream {
    pub(super) fn new(request: Request, receive_window: i64, send_window: i64) -> Stream {
        Stream {
            request,
            message: Message::default(),
            is_heard: false,
            receive_window,
            send_window,
            is_queued: false,
            call: None,
            answer: Outgoing::default(),
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
            Err(status) => {
                let mut headers = HeaderMap::new();
                if status.add_header(&mut headers).is_err() {
                    // Its message cannot be a header.
                    hpack::encode(b"grpc-status", b"13", &mut block);
                }
                encode_all(&headers, &mut block);
            }
        }
        self.answer.trailers = Some(block);
    }

    /// Puts the next frame of the answer into the outbox, as far as the windows allow.
    pub(super) fn send(
        &mut self,
        id: u32,
        outbox: &mut Outbox,
        max_frame: usize,
        connection_window: &mut i64,
    ) -> Sent {
        let answer = &mut self.answer;
        if answer.len > 0 {
            let window = self.send_window.min(*connection_window).max(0) as usize;
            let len = answer.len.min(max_frame.min(FRAME)).min(window);
            if len == 0 {
                return if self.send_window > 0 { Sent::Blocked } else { Sent::Waits };
            }
            outbox.put(&Head { len, kind: kind::DATA, flags: 0, stream: id }.bytes());
            self.send_window -= len as i64;
            *connection_window -= len as i64;
            answer.len -= len;
            answer.take(len, outbox);
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

fn encode_all(headers: &HeaderMap, block: &mut Vec<u8>) {
    for (name, value) in headers {
        hpack::encode(name.as_str().as_bytes(), value.as_bytes(), block);
    }
}
