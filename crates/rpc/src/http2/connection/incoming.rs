//! Frames that come in.

use super::{
    BUFFER, Block, CONNECTION_WINDOW, Connection, Expected, FRAME, MAX_BLOCK, MAX_UNREAD,
    MAX_WINDOW, MIN_FRAME, STREAM_WINDOW, queue,
};
use crate::http2::frame::{HEAD, Head, PREFACE, flag, kind, number, setting};
use crate::http2::request::Request;
use crate::http2::stream::Stream;
use crate::http2::{Failure, Reason, Service, violation};

impl<S: Service> Connection<S> {
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
                if let Some(stream) = self.streams.get_mut(&stream) {
                    stream.message.extend(&bytes[..len]);
                }
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
        let too_large = Failure { reason: Reason::FrameSize, why: "a frame is too large" };
        if head.len > FRAME as usize {
            return Err(too_large);
        }
        if self.block.is_some() && head.kind != kind::CONTINUATION {
            return Err(violation("headers were interrupted"));
        }
        match head.kind {
            kind::DATA => return self.on_data(head, next),
            kind::HEADERS..=kind::CONTINUATION if head.len > BUFFER => return Err(too_large),
            kind::HEADERS..=kind::CONTINUATION => self.expected = Expected::Frame(head),
            _ if head.len > 0 => self.expected = Expected::Nothing(head.len),
            _ => {}
        }
        Ok(Some(HEAD))
    }

    fn on_data(&mut self, head: Head, next: Option<u8>) -> Result<Option<usize>, Failure> {
        let (mut taken, mut padding) = (HEAD, 0);
        if head.has(flag::PADDED) {
            let Some(len) = next else { return Ok(None) };
            (taken, padding) = (HEAD + 1, usize::from(len));
        }
        let content = (HEAD + head.len).checked_sub(taken + padding);
        let left = content.ok_or(violation("a frame of padding"))?;
        self.on_received(head)?;
        let Head { stream, .. } = head;
        if stream == 0 || stream > self.last {
            return Err(violation("data without a call"));
        }
        let ends = head.has(flag::END_STREAM);
        self.expected = Expected::Data { stream, left, padding, ends };
        Ok(Some(taken))
    }

    /// Counts what has come against the windows, and opens them again.
    fn on_received(&mut self, head: Head) -> Result<(), Failure> {
        if let Some(more) = take_window(&mut self.receive_window, CONNECTION_WINDOW, head.len)? {
            self.outbox.window_update(0, more);
        }
        let Some(stream) = self.streams.get_mut(&head.stream) else { return Ok(()) };
        if stream.is_heard {
            return Err(violation("data behind the end of a call"));
        }
        let more = take_window(&mut stream.receive_window, STREAM_WINDOW, head.len)?;
        if let Some(more) = more.filter(|_| !head.has(flag::END_STREAM)) {
            self.outbox.window_update(head.stream, more);
        }
        Ok(())
    }

    fn on_frame(&mut self, head: Head, payload: &[u8]) -> Result<(), Failure> {
        let wrong_size = Failure { reason: Reason::FrameSize, why: "a frame of the wrong size" };
        let four = || payload.try_into().map(number).map_err(|_| wrong_size);
        match head.kind {
            kind::HEADERS => self.on_headers(head, payload),
            kind::CONTINUATION => match self.block.take() {
                Some(block) if block.stream == head.stream => self.on_block(block, head, payload),
                _ => Err(violation("headers that go on were not begun")),
            },
            kind::RST_STREAM => {
                four()?;
                if head.stream == 0 || head.stream > self.last {
                    return Err(violation("a call that was not begun is ended"));
                }
                self.streams.remove(&head.stream);
                Ok(())
            }
            kind::SETTINGS if head.stream != 0 || !payload.len().is_multiple_of(6) => {
                Err(wrong_size)
            }
            kind::SETTINGS if head.has(flag::ACK) => Ok(()),
            kind::SETTINGS => self.on_settings(payload),
            kind::PING if payload.len() != 8 || head.stream != 0 => Err(wrong_size),
            kind::PING => {
                if !head.has(flag::ACK) {
                    self.outbox.frame(kind::PING, flag::ACK, 0, payload);
                }
                Ok(())
            }
            kind::WINDOW_UPDATE => self.on_window_update(head.stream, four()?),
            kind::PUSH_PROMISE => Err(violation("a client promises nothing")),
            kind::GOAWAY | kind::PRIORITY => Ok(()),
            _ => unreachable!("other kinds are passed over"),
        }
    }

    fn on_headers(&mut self, head: Head, mut payload: &[u8]) -> Result<(), Failure> {
        let broken = violation("headers that are too short");
        if head.has(flag::PADDED) {
            let (len, rest) = payload.split_first().ok_or(broken)?;
            let content = rest.len().checked_sub(usize::from(*len)).ok_or(broken)?;
            payload = &rest[..content];
        }
        if head.has(flag::PRIORITY) {
            payload = payload.get(5..).ok_or(broken)?;
        }
        if head.stream.is_multiple_of(2) {
            return Err(violation("a stream that is not a client's"));
        }
        let ends = head.has(flag::END_STREAM);
        self.on_block(Block { stream: head.stream, ends, bytes: Vec::new() }, head, payload)
    }

    /// Takes a part of a block of headers, perhaps the last.
    fn on_block(&mut self, mut block: Block, head: Head, part: &[u8]) -> Result<(), Failure> {
        if !head.has(flag::END_HEADERS) {
            if block.bytes.len() + part.len() > MAX_BLOCK {
                return Err(Failure { reason: Reason::Calm, why: "the headers are too large" });
            }
            block.bytes.extend_from_slice(part);
            self.block = Some(block);
            return Ok(());
        }
        let Block { stream, ends, mut bytes } = block;
        let whole = if bytes.is_empty() {
            part
        } else {
            bytes.extend_from_slice(part);
            &bytes
        };
        let mut request = Request::default();
        self.headers.decode(whole, |name, value| request.header(name, value))?;
        if stream <= self.last {
            // Trailers of a request, or of one that has ended here already.
            return match self.streams.get(&stream) {
                Some(stream) if stream.is_heard || !ends => {
                    Err(violation("headers within a request"))
                }
                Some(_) => {
                    self.on_end(stream);
                    Ok(())
                }
                None => Ok(()),
            };
        }
        self.last = stream;
        if self.is_closing {
            self.outbox.reset(stream, Reason::Refused);
            return Ok(());
        }
        if !request.is_call() {
            self.outbox.reset(stream, Reason::Protocol);
            return Ok(());
        }
        let window = i64::from(STREAM_WINDOW);
        self.streams.insert(stream, Stream::new(request, window, self.initial_window));
        if ends {
            self.on_end(stream);
        }
        Ok(())
    }

    fn on_settings(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let mut window = self.initial_window;
        for setting in payload.chunks_exact(6) {
            let name = u16::from_be_bytes([setting[0], setting[1]]);
            let value = u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]);
            match name {
                setting::INITIAL_WINDOW_SIZE => window = i64::from(value),
                setting::MAX_FRAME_SIZE => {
                    if !(MIN_FRAME..1 << 24).contains(&(value as usize)) {
                        return Err(violation("frames cannot be so large"));
                    }
                    self.max_frame = value as usize;
                }
                _ => {}
            }
        }
        self.set_window(window)?;
        self.outbox.frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(())
    }

    /// Sets the window that streams begin with, which changes those of all that there are.
    fn set_window(&mut self, window: i64) -> Result<(), Failure> {
        let more = window - self.initial_window;
        if more == 0 {
            return Ok(());
        }
        self.initial_window = window;
        for (id, stream) in &mut self.streams {
            stream.send_window += more;
            queue(*id, stream, &mut self.ready);
        }
        let too_wide = |window| window > MAX_WINDOW;
        if too_wide(window) || self.streams.values().any(|stream| too_wide(stream.send_window)) {
            return Err(too_wide_window());
        }
        Ok(())
    }

    fn on_window_update(&mut self, id: u32, more: u32) -> Result<(), Failure> {
        if more == 0 {
            return Err(violation("a window that does not open"));
        }
        if id > self.last {
            return Err(violation("a window of a call that was not begun"));
        }
        let more = i64::from(more);
        let window = if id == 0 {
            self.send_window += more;
            self.ready.extend(self.blocked.drain(..));
            self.send_window
        } else {
            let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
            stream.send_window += more;
            queue(id, stream, &mut self.ready);
            stream.send_window
        };
        if window > MAX_WINDOW { Err(too_wide_window()) } else { Ok(()) }
    }
}

/// Counts data against a window of a size; once half of it is used, it opens again by what is
/// returned.
fn take_window(window: &mut i64, size: u32, len: usize) -> Result<Option<u32>, Failure> {
    *window -= len as i64;
    if *window < 0 {
        return Err(Failure { reason: Reason::FlowControl, why: "more data than the window" });
    }
    let used = i64::from(size) - *window;
    if used < i64::from(size) / 2 {
        return Ok(None);
    }
    *window += used;
    Ok(Some(used as u32))
}

fn too_wide_window() -> Failure {
    Failure { reason: Reason::FlowControl, why: "a window is too wide" }
}
