//! A message, as far as it has come.

use bytes::buf::Limit;
use bytes::{BufMut, Bytes, BytesMut};

use crate::{Code, MAX_MESSAGE, PREFIX, Status};

/// Room for a message is made as it comes, whatever its prefix promises: this much at first, and
/// then so many times what has come already.
const FIRST: usize = 16 << 10;
const AHEAD: usize = 3;

/// How the messages of a call may be compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    #[default]
    Identity,
    Gzip,
    /// One that nobody here knows.
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Message {
    encoding: Encoding,
    prefix: [u8; PREFIX],
    /// How much of the prefix has come.
    begun: usize,
    /// How long the message is, once the prefix says so.
    len: usize,
    bytes: BytesMut,
}

impl Message {
    pub(super) fn new(encoding: Encoding) -> Message {
        Message { encoding, ..Message::default() }
    }

    /// Takes bytes that have come, up to the end of the message, and returns how many those are.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        if self.begun < PREFIX {
            let count = rest.len().min(PREFIX - self.begun);
            let (begin, behind) = rest.split_at(count);
            self.prefix[self.begun..][..count].copy_from_slice(begin);
            self.begun += count;
            rest = behind;
            if self.begun == PREFIX {
                let [_, a, b, c, d] = self.prefix;
                self.len = u32::from_be_bytes([a, b, c, d]) as usize;
            }
        }
        while !rest.is_empty() && self.missing() > 0 {
            let most = rest.len();
            let mut room = self.room(most);
            let (begin, behind) = rest.split_at(room.remaining_mut());
            room.put_slice(begin);
            rest = behind;
        }
        bytes.len() - rest.len()
    }

    /// How much is still to come, of a message that can be read.
    pub(super) fn missing(&self) -> usize {
        if self.is_readable() { self.len - self.bytes.len() } else { 0 }
    }

    /// Where it comes to stay: room for some, or all, of what is missing, and for at most `most`.
    pub(super) fn room(&mut self, most: usize) -> Limit<&mut BytesMut> {
        if self.bytes.len() == self.bytes.capacity() {
            let more = FIRST.max(AHEAD * self.bytes.len());
            self.bytes.reserve(self.missing().min(more));
        }
        let room = (self.bytes.capacity() - self.bytes.len()).min(self.missing());
        (&mut self.bytes).limit(room.min(most))
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun > 0
    }

    /// Whether nothing is missing, or it is known that it cannot be read.
    pub(super) fn is_whole(&self) -> bool {
        self.begun == PREFIX && self.missing() == 0
    }

    /// Whether its prefix says that it cannot be read.
    pub(super) fn is_unreadable(&self) -> bool {
        self.begun == PREFIX && !self.is_readable()
    }

    fn is_readable(&self) -> bool {
        self.len <= MAX_MESSAGE
            && (self.prefix[0] == 0 || self.prefix[0] == 1 && self.encoding == Encoding::Gzip)
    }

    /// The message, which is whole, and whether it is compressed. The next one may begin.
    pub(super) fn take(&mut self) -> Result<(Bytes, bool), Status> {
        let next = Message::new(self.encoding);
        let Message { prefix, len, bytes, encoding, .. } = std::mem::replace(self, next);
        match (prefix[0], encoding) {
            (0, _) | (1, Encoding::Gzip) => {}
            (1, Encoding::Other) => {
                let words = "messages may be compressed by gzip, and by nothing else";
                return Err(Status::new(Code::UNIMPLEMENTED, words));
            }
            (1, Encoding::Identity) => {
                let words = "a message is compressed, and its headers do not say how";
                return Err(Status::new(Code::INTERNAL, words));
            }
            (mark, _) => {
                let words = format!("a message begins with {mark}, which is no mark of gRPC's");
                return Err(Status::new(Code::INTERNAL, words));
            }
        }
        if len > MAX_MESSAGE {
            let words =
                format!("a message of {len} bytes is longer than the limit of {MAX_MESSAGE}");
            return Err(Status::new(Code::RESOURCE_EXHAUSTED, words));
        }
        Ok((bytes.freeze(), prefix[0] != 0))
    }
}
