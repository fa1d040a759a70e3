//! A request: what its headers say, and its message.

use std::time::Duration;

use bytes::buf::Limit;
use bytes::{BufMut, Bytes, BytesMut};
use tonic::Status;

use super::PREFIX;
use crate::{deadline, transport};

/// What the headers of a request say.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) timeout: Option<Duration>,
    is_post: bool,
}

impl Request {
    pub(super) fn header(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b":path" => self.path = String::from_utf8_lossy(value).into_owned(),
            b":method" => self.is_post = value == b"POST",
            b"grpc-timeout" => self.timeout = deadline::timeout(value),
            _ => {}
        }
    }

    /// Whether it is a call at all.
    pub(super) fn is_call(&self) -> bool {
        self.is_post && self.path.starts_with('/')
    }
}

/// Room for a message is made as it comes: who only says that it will be long gets this much.
const AHEAD: usize = 16 << 20;

/// The message of a request, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Message {
    prefix: [u8; PREFIX],
    /// How much of the prefix has come.
    begun: usize,
    /// How long the message is, once the prefix says so.
    len: usize,
    bytes: BytesMut,
    /// Whether there was more than one message.
    is_more: bool,
}

impl Message {
    /// Takes bytes that have come.
    pub(super) fn extend(&mut self, mut bytes: &[u8]) {
        if self.begun < PREFIX {
            let count = bytes.len().min(PREFIX - self.begun);
            let (begin, rest) = bytes.split_at(count);
            self.prefix[self.begun..][..count].copy_from_slice(begin);
            self.begun += count;
            bytes = rest;
            if self.begun == PREFIX {
                let [_, a, b, c, d] = self.prefix;
                self.len = u32::from_be_bytes([a, b, c, d]) as usize;
                self.bytes.reserve(self.missing().min(AHEAD));
            }
        }
        if bytes.len() > self.missing() {
            self.is_more |= self.begun == PREFIX && self.is_readable();
            bytes = &bytes[..self.missing()];
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// How much is still to come, of a message that can be read.
    pub(super) fn missing(&self) -> usize {
        if self.is_readable() { self.len - self.bytes.len() } else { 0 }
    }

    /// Where it comes to stay: room for some, or all, of what is missing, and for at most `most`.
    pub(super) fn room(&mut self, most: usize) -> Limit<&mut BytesMut> {
        if self.bytes.len() == self.bytes.capacity() {
            let more = self.bytes.len().max(AHEAD);
            self.bytes.reserve(self.missing().min(more));
        }
        let room = (self.bytes.capacity() - self.bytes.len()).min(self.missing());
        (&mut self.bytes).limit(room.min(most))
    }

    fn is_readable(&self) -> bool {
        self.prefix[0] == 0 && self.len <= transport::MAX_MESSAGE
    }

    /// The message, at the end of the request.
    pub(super) fn finish(&mut self) -> Result<Bytes, Status> {
        if self.begun < PREFIX {
            return Err(Status::internal("Missing request message."));
        }
        if self.prefix[0] != 0 {
            return Err(Status::unimplemented("compressed messages are not supported"));
        }
        if !self.is_readable() {
            return Err(Status::resource_exhausted(format!(
                "a message of {} bytes is longer than the limit of {}",
                self.len,
                transport::MAX_MESSAGE
            )));
        }
        if self.missing() > 0 || self.is_more {
            return Err(Status::internal("the request is not one message"));
        }
        Ok(std::mem::take(&mut self.bytes).freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Bytes, tonic::Code> {
        let mut message = Message::default();
        for piece in pieces {
            message.extend(piece);
        }
        message.finish().map_err(|status| status.code())
    }

    #[test]
    fn a_message_comes_in_any_pieces() {
        let whole = b"\0\0\0\0\x03abc";
        for at in 0..whole.len() {
            let (a, b) = whole.split_at(at);
            assert_eq!(read(&[a, b]).unwrap(), "abc", "{at}");
        }
        assert_eq!(read(&[b"\0\0\0\0\0"]).unwrap(), "");
    }

    #[test]
    fn what_is_not_one_message_is_refused() {
        use tonic::Code::{Internal, ResourceExhausted, Unimplemented};
        assert_eq!(read(&[]), Err(Internal));
        assert_eq!(read(&[b"\0\0\0\0"]), Err(Internal));
        assert_eq!(read(&[b"\0\0\0\0\x04abc"]), Err(Internal));
        assert_eq!(read(&[b"\0\0\0\0\x02abc"]), Err(Internal));
        assert_eq!(read(&[b"\0\0\0\0\0", b"x"]), Err(Internal));
        assert_eq!(read(&[b"\x01\0\0\0\x03abc"]), Err(Unimplemented));
        assert_eq!(read(&[b"\0\xff\xff\xff\xff", b"abc"]), Err(ResourceExhausted));
    }
}
