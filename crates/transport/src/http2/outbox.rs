//! What is to be written: small things together, large ones from where they are.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

use super::frame::{Head, flag, kind};
use super::{Reason, hpack};
use crate::Status;

/// Below this, copying costs less than a place of its own.
const SHARED: usize = 4 << 10;

/// How many pieces one write takes.
const PIECES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Bytes>,
    /// What comes behind the pieces.
    tail: Vec<u8>,
    /// How much of the tail is written; only if there are no pieces.
    written: usize,
    len: usize,
}

impl Outbox {
    /// Bytes that are not written yet.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        self.len += bytes.len();
    }

    pub(super) fn share(&mut self, bytes: Bytes) {
        if bytes.len() < SHARED {
            return self.put(&bytes);
        }
        if !self.tail.is_empty() {
            let mut tail = Bytes::from(std::mem::take(&mut self.tail));
            tail.advance(std::mem::take(&mut self.written));
            self.pieces.push_back(tail);
        }
        self.len += bytes.len();
        self.pieces.push_back(bytes);
    }

    pub(super) fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.put(&Head { len: payload.len(), kind, flags, stream }.bytes());
        self.put(payload);
    }

    pub(super) fn headers(&mut self, stream: u32, block: &[u8], ends: bool) {
        let end = if ends { flag::END_STREAM } else { 0 };
        self.frame(kind::HEADERS, flag::END_HEADERS | end, stream, block);
    }

    /// Answers a call that is not begun: a status in a single block of headers.
    pub(super) fn refuse(&mut self, stream: u32, http: &str, status: &Status, goes_on: bool) {
        let mut block = Vec::new();
        hpack::encode(b":status", http.as_bytes(), &mut block);
        hpack::encode(b"content-type", b"application/grpc", &mut block);
        status.encode(&mut block);
        self.headers(stream, &block, true);
        if goes_on {
            // What the client still has to say does not matter.
            self.reset(stream, Reason::Nothing);
        }
    }

    pub(super) fn window_update(&mut self, stream: u32, more: u32) {
        self.frame(kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
    }

    pub(super) fn reset(&mut self, stream: u32, reason: Reason) {
        self.frame(kind::RST_STREAM, 0, stream, &(reason as u32).to_be_bytes());
    }

    pub(super) fn go_away(&mut self, last: u32, reason: Reason, why: &str) {
        let mut payload = last.to_be_bytes().to_vec();
        payload.extend_from_slice(&(reason as u32).to_be_bytes());
        payload.extend_from_slice(why.as_bytes());
        self.frame(kind::GOAWAY, 0, 0, &payload);
    }

    /// Writes until everything is written.
    pub(super) fn poll_write(
        &mut self,
        socket: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.len > 0 {
            let written = if self.pieces.is_empty() {
                ready!(Pin::new(&mut *socket).poll_write(cx, &self.tail[self.written..]))?
            } else {
                let mut slices = [IoSlice::new(&[]); PIECES];
                let pieces = self.pieces.iter().map(|piece| &piece[..]).chain([&self.tail[..]]);
                for (slice, piece) in slices.iter_mut().zip(pieces) {
                    *slice = IoSlice::new(piece);
                }
                ready!(Pin::new(&mut *socket).poll_write_vectored(cx, &slices))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut written: usize) {
        self.len -= written;
        while let Some(piece) = self.pieces.front_mut() {
            let part = written.min(piece.len());
            piece.advance(part);
            written -= part;
            if !piece.is_empty() {
                return;
            }
            self.pieces.pop_front();
        }
        self.written += written;
        if self.written == self.tail.len() {
            self.tail.clear();
            self.written = 0;
        }
    }
}
