//! Frames that come in.

use tokio::io::{AsyncRead, AsyncWrite};

use super::{BUFFER, Block, Connection, Expected, MAX_WINDOW, MIN_FRAME};
use crate::http2::frame::{HEAD, Head, PREFACE, flag, kind, number, setting};
use crate::http2::request::Request;
use crate::http2::stream::reopened;
use crate::http2::{Failure, Reason, violation};
use crate::limits::{CONNECTION_WINDOW, FRAME, HEADER_BLOCK, HEADER_FRAMES, MAX_UNREAD};

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    /// Looks at everything that has come. A client that only asks and never reads is stopped.
    pub(super) fn take_frames(&mut self) -> Result<(), Failure> {
        // Apart, so that what it holds can be looked at while the connection changes.
        let mut input = std::mem::take(&mut self.input);
        let outcome = loop {
            match self.take(input.bytes()) {
                Ok(Some(taken)) => input.start += taken,
                Ok(None) => break Ok(()),
                Err(failure) => break Err(failure),
            }
        };
        self.input = input;
        outcome?;
        self.heart.pace.check()?;
        if self.outbox.len() > MAX_UNREAD {
            return Err(Failure { reason: Reason::Calm, why: "too much is not read" });
        }
        Ok(())
    }

    /// Looks at the next thing, and returns how long it was; nothing if it has not come yet.
    fn take(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        match self.expected {
            Expected::Preface => {
                let len = bytes.len().min(PREFACE.len());
                if bytes[..len] != PREFACE[..len] {
                    return Err(violation("not a client of HTTP/2"));
                }
                if len < PREFACE.len() {
                    return Ok(None);
                }
                self.expected = Expected::Head;
                Ok(Some(len))
            }
            Expected::Head => {
                let Some(head) = bytes.first_chunk() else { return Ok(None) };
                self.on_head(Head::read(head), bytes.get(HEAD).copied())
            }
            Expected::Frame(head) => {
                let Some(payload) = bytes.get(..head.len) else { return Ok(None) };
                self.expected = Expected::Head;
                self.on_frame(head, payload)?;
                Ok(Some(head.len))
            }
            Expected::Data { stream, left, padding, ends } => {
                let len = left.min(bytes.len());
                self.on_content(stream, &bytes[..len]);
                if len < left {
                    self.expected = Expected::Data { stream, left: left - len, padding, ends };
                    return Ok((len > 0).then_some(len));
                }
                self.expected =
                    if padding == 0 { Expected::Head } else { Expected::Nothing(padding) };
                if ends {
                    self.on_end(stream);
                }
                Ok(Some(len))
            }
            Expected::Nothing(left) => {
                let len = left.min(bytes.len());
                self.expected =
                    if len == left { Expected::Head } else { Expected::Nothing(left - len) };
                Ok((len > 0).then_some(len))
            }
        }
    }

    /// Takes the head of a frame, and of one with padding the length of that, which comes `next`.
    fn on_head(&mut self, head: Head, next: Option<u8>) -> Result<Option<usize>, Failure> {
        if head.len > FRAME as usize {
            return Err(wrong_size());
        }
        if self.block.is_some() && head.kind != kind::CONTINUATION {
            return Err(violation("headers were interrupted"));
        }
        if !self.is_greeted && (head.kind != kind::SETTINGS || head.has(flag::ACK)) {
            return Err(violation("a client begins with its settings"));
        }
        match head.kind {
            kind::DATA => return self.on_data(head, next),
            kind::GOAWAY => {
                if head.stream != 0 {
                    return Err(violation("a goodbye to a stream"));
                }
                if head.len < 8 {
                    return Err(wrong_size());
                }
                // Why it says goodbye does not matter.
                self.expected = Expected::Nothing(head.len);
            }
            kind::HEADERS | kind::CONTINUATION if head.len > BUFFER => {
                return Err(calm("the headers are too large"));
            }
            kind::SETTINGS if head.len > BUFFER => return Err(calm("the settings are too many")),
            kind::HEADERS..=kind::CONTINUATION if head.len > BUFFER => return Err(wrong_size()),
            kind::HEADERS..=kind::CONTINUATION => self.expected = Expected::Frame(head),
            _ => {
                self.heart.pace.idle_frames += 1;
                if head.len > 0 {
                    self.expected = Expected::Nothing(head.len);
                }
            }
        }
        Ok(Some(HEAD))
    }

    fn on_data(&mut self, head: Head, next: Option<u8>) -> Result<Option<usize>, Failure> {
        let (mut taken, mut padding) = (HEAD, 0);
        if head.has(flag::PADDED) {
            if head.len == 0 {
                return Err(wrong_size());
            }
            let Some(len) = next else { return Ok(None) };
            (taken, padding) = (HEAD + 1, usize::from(len));
        }
        let content = (HEAD + head.len).checked_sub(taken + padding);
        let left = content.ok_or(violation("a frame of padding"))?;
        if self.is_unused(head.stream) {
            return Err(violation("data without a call"));
        }
        let ends = head.has(flag::END_STREAM);
        if left == 0 && !ends {
            self.heart.pace.idle_frames += 1;
        }
        self.on_received(head, left)?;
        let Head { stream, .. } = head;
        self.expected = Expected::Data { stream, left, padding, ends };
        Ok(Some(taken))
    }

    /// Whether a number is of no stream that a client has begun.
    fn is_unused(&self, stream: u32) -> bool {
        stream == 0 || stream > self.last || stream.is_multiple_of(2)
    }

    /// Counts what has come against the windows, and opens that of the connection again.
    fn on_received(&mut self, head: Head, content: usize) -> Result<(), Failure> {
        take(&mut self.receive_window, head.len)?;
        if let Some(more) = reopened(&mut self.receive_window, CONNECTION_WINDOW, 0) {
            self.outbox.window_update(0, more);
        }
        let Some(stream) = self.streams.get_mut(&head.stream) else { return Ok(()) };
        if stream.is_heard {
            self.reset(head.stream, Reason::StreamClosed);
            return Ok(());
        }
        stream.received += content as u64;
        take(&mut stream.receive_window, head.len)
    }

    /// Ends a stream whose client broke the rules there.
    fn reset(&mut self, id: u32, reason: Reason) {
        self.heart.pace.resets += 1;
        self.outbox.reset(id, reason);
        self.forget(id);
    }

    fn on_frame(&mut self, head: Head, payload: &[u8]) -> Result<(), Failure> {
        let four = || payload.try_into().map(number).map_err(|_| wrong_size());
        match head.kind {
            kind::HEADERS => self.on_headers(head, payload),
            kind::CONTINUATION => match self.block.take() {
                Some(block) if block.stream == head.stream => self.on_block(block, head, payload),
                _ => Err(violation("headers that go on were not begun")),
            },
            kind::PRIORITY if head.stream == 0 => Err(violation("a priority of no stream")),
            kind::PRIORITY => {
                self.heart.pace.idle_frames += 1;
                if payload.len() != 5 {
                    self.reset(head.stream, Reason::FrameSize);
                }
                Ok(())
            }
            kind::RST_STREAM => {
                four()?;
                if self.is_unused(head.stream) {
                    return Err(violation("a call that was not begun is ended"));
                }
                self.heart.pace.resets += 1;
                self.forget(head.stream);
                Ok(())
            }
            kind::SETTINGS => self.on_settings(head, payload),
            kind::PING if head.stream != 0 => Err(violation("a ping of a stream")),
            kind::PING if payload.len() != 8 => Err(wrong_size()),
            kind::PING => {
                if !head.has(flag::ACK) {
                    self.heart.pace.pings += 1;
                    self.outbox.frame(kind::PING, flag::ACK, 0, payload);
                }
                Ok(())
            }
            kind::WINDOW_UPDATE => self.on_window_update(head.stream, four()?),
            kind::PUSH_PROMISE => Err(violation("a client promises nothing")),
            _ => unreachable!("other kinds are passed over"),
        }
    }

    fn on_headers(&mut self, head: Head, mut payload: &[u8]) -> Result<(), Failure> {
        let broken = violation("headers that are too short");
        if head.stream == 0 || head.stream.is_multiple_of(2) {
            return Err(violation("a stream that is not a client's"));
        }
        if head.has(flag::PADDED) {
            let (len, rest) = payload.split_first().ok_or(broken)?;
            let content = rest.len().checked_sub(usize::from(*len)).ok_or(broken)?;
            payload = &rest[..content];
        }
        if head.has(flag::PRIORITY) {
            payload = payload.get(5..).ok_or(broken)?;
        }
        let ends = head.has(flag::END_STREAM);
        let block = Block { stream: head.stream, ends, bytes: Vec::new(), frames: 0 };
        self.on_block(block, head, payload)
    }

    /// Takes a part of a block of headers, perhaps the last.
    fn on_block(&mut self, mut block: Block, head: Head, part: &[u8]) -> Result<(), Failure> {
        block.frames += 1;
        if !head.has(flag::END_HEADERS) {
            if block.bytes.len() + part.len() > HEADER_BLOCK || block.frames > HEADER_FRAMES {
                return Err(calm("the headers are too large"));
            }
            block.bytes.extend_from_slice(part);
            self.block = Some(block);
            return Ok(());
        }
        let Block { stream, ends, mut bytes, .. } = block;
        let whole = if bytes.is_empty() {
            part
        } else {
            bytes.extend_from_slice(part);
            &bytes
        };
        let mut request = Request::default();
        request.size = self.headers.decode(whole, |name, value| request.header(name, value))?;
        if stream <= self.last {
            self.on_trailers(stream, ends, &request);
            return Ok(());
        }
        self.last = stream;
        self.on_request(stream, request, ends);
        Ok(())
    }

    /// Takes the trailers of a request, or of one that has ended here already.
    fn on_trailers(&mut self, id: u32, ends: bool, trailers: &Request) {
        let Some(stream) = self.streams.get(&id) else { return };
        if stream.is_heard {
            return self.reset(id, Reason::StreamClosed);
        }
        if !ends || !trailers.are_trailers() {
            return self.reset(id, Reason::Protocol);
        }
        self.on_end(id);
    }

    fn on_settings(&mut self, head: Head, payload: &[u8]) -> Result<(), Failure> {
        if head.stream != 0 {
            return Err(violation("settings of a stream"));
        }
        if head.has(flag::ACK) {
            if !payload.is_empty() {
                return Err(wrong_size());
            }
            if std::mem::replace(&mut self.is_confirmed, true) {
                return Err(violation("settings are confirmed that were not sent"));
            }
            return Ok(());
        }
        if !payload.len().is_multiple_of(6) {
            return Err(wrong_size());
        }
        self.is_greeted = true;
        self.heart.pace.settings += 1;
        for setting in payload.chunks_exact(6) {
            let name = u16::from_be_bytes([setting[0], setting[1]]);
            let value = u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]);
            match name {
                setting::ENABLE_PUSH if value > 1 => {
                    return Err(violation("pushes are on or off"));
                }
                setting::INITIAL_WINDOW_SIZE => self.set_window(i64::from(value))?,
                setting::MAX_FRAME_SIZE => {
                    if !(MIN_FRAME..1 << 24).contains(&(value as usize)) {
                        return Err(violation("frames cannot be so large"));
                    }
                    self.max_frame = value as usize;
                }
                _ => {}
            }
        }
        self.outbox.frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(())
    }

    /// Sets the window that streams begin with. Those that there are count from it, so that it
    /// changes theirs; only those that wait for a wider one are looked at.
    fn set_window(&mut self, window: i64) -> Result<(), Failure> {
        if window > MAX_WINDOW {
            return Err(too_wide_window());
        }
        let is_wider = window > self.initial_window;
        self.initial_window = window;
        if is_wider {
            for id in self.starved.take() {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.is_starved = false;
                    self.queue(id);
                }
            }
        }
        Ok(())
    }

    fn on_window_update(&mut self, id: u32, more: u32) -> Result<(), Failure> {
        if id == 0 {
            if more == 0 {
                return Err(violation("a window that does not open"));
            }
            self.send_window += i64::from(more);
            if self.send_window > MAX_WINDOW {
                return Err(too_wide_window());
            }
            for id in self.blocked.take() {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.is_queued = false;
                    self.queue(id);
                }
            }
            return Ok(());
        }
        if self.is_unused(id) {
            return Err(violation("a window of a call that was not begun"));
        }
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        stream.send_window += i64::from(more);
        if more == 0 {
            self.reset(id, Reason::Protocol);
        } else if stream.send_window + self.initial_window > MAX_WINDOW {
            self.reset(id, Reason::FlowControl);
        } else {
            self.queue(id);
        }
        Ok(())
    }
}

/// Counts data against a window.
fn take(window: &mut i64, len: usize) -> Result<(), Failure> {
    *window -= len as i64;
    if *window < 0 {
        return Err(Failure { reason: Reason::FlowControl, why: "more data than the window" });
    }
    Ok(())
}

fn too_wide_window() -> Failure {
    Failure { reason: Reason::FlowControl, why: "a window is too wide" }
}

fn wrong_size() -> Failure {
    Failure { reason: Reason::FrameSize, why: "a frame of the wrong size" }
}

fn calm(why: &'static str) -> Failure {
    Failure { reason: Reason::Calm, why }
}
