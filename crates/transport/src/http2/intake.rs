//! What is done with what a client says in a call.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::message::Message;
use crate::methods::Unary;
use crate::requests::Feed;
use crate::{Call, Code, Status, gzip};

pub(super) enum Intake {
    /// One message, and what is called with it.
    One { method: Arc<Unary>, call: Call, message: Message },
    /// Messages that are handed on as they come.
    Many {
        feed: Feed,
        message: Message,
        /// The bytes of messages that the method has not taken yet.
        unread: usize,
    },
    /// Nobody wants to know it.
    Nothing,
}

impl fmt::Debug for Intake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Intake::One { call, message, .. } => {
                f.debug_struct("One").field("call", call).field("message", message).finish()
            }
            Intake::Many { message, unread, .. } => {
                f.debug_struct("Many").field("message", message).field("unread", unread).finish()
            }
            Intake::Nothing => f.write_str("Nothing"),
        }
    }
}

/// What is to be called once a request is whole.
pub(super) struct Begun {
    pub(super) method: Arc<Unary>,
    pub(super) call: Call,
    pub(super) message: Bytes,
    pub(super) is_compressed: bool,
}

impl Intake {
    /// Takes bytes that have come.
    pub(super) fn extend(&mut self, mut bytes: &[u8]) -> Result<(), Status> {
        match self {
            Intake::Nothing => Ok(()),
            Intake::One { message, .. } => {
                let taken = message.extend(bytes);
                if message.is_unreadable() {
                    message.take()?;
                }
                if taken < bytes.len() { Err(not_one()) } else { Ok(()) }
            }
            Intake::Many { feed, message, unread } => loop {
                let taken = message.extend(bytes);
                bytes = &bytes[taken..];
                if !message.is_whole() {
                    return Ok(());
                }
                let whole = match message.take()? {
                    (whole, false) => whole,
                    (whole, true) if gzip::size(&whole)? > MAX_INFLATED => {
                        return Err(Status::new(Code::RESOURCE_EXHAUSTED, TOO_LARGE));
                    }
                    (whole, true) => gzip::inflate_now(&whole)?,
                };
                *unread += whole.len();
                if feed.send(Ok(whole)).is_err() {
                    // The method answers, and listens no more.
                    *self = Intake::Nothing;
                    return Ok(());
                }
            },
        }
    }

    /// The message that comes, where it can be received directly.
    pub(super) fn message(&mut self) -> Option<&mut Message> {
        match self {
            Intake::One { message, .. } | Intake::Many { message, .. } => Some(message),
            Intake::Nothing => None,
        }
    }

    /// Whether what comes is kept.
    pub(super) fn wants(&self) -> bool {
        !matches!(self, Intake::Nothing)
    }

    /// How much was handed on and not taken.
    pub(super) fn unread(&self) -> usize {
        match self {
            Intake::Many { unread, .. } => *unread,
            _ => 0,
        }
    }

    /// The method has taken a message.
    pub(super) fn on_taken(&mut self, len: usize) {
        if let Intake::Many { unread, .. } = self {
            *unread = unread.saturating_sub(len);
        }
    }

    /// The client has said everything. Returns what is to be called now.
    pub(super) fn end(&mut self) -> Result<Option<Begun>, Status> {
        match std::mem::replace(self, Intake::Nothing) {
            Intake::One { message, .. } if !message.has_begun() => {
                Err(Status::new(Code::INTERNAL, "Missing request message."))
            }
            Intake::One { method, call, mut message } if message.is_whole() => {
                let (message, is_compressed) = message.take()?;
                Ok(Some(Begun { method, call, message, is_compressed }))
            }
            Intake::One { .. } => Err(not_one()),
            Intake::Many { feed, message, .. } => {
                if message.has_begun() {
                    // Nobody may be left to tell.
                    let _ = feed.send(Err(cut_off()));
                }
                Ok(None)
            }
            Intake::Nothing => Ok(None),
        }
    }

    /// Tells a method that takes a stream why nothing more comes.
    pub(super) fn fail(&mut self, status: &Status) {
        if let Intake::Many { feed, .. } = self {
            // As above.
            let _ = feed.send(Err(status.clone()));
        }
        *self = Intake::Nothing;
    }
}

/// Compressed messages of a stream are inflated where they come, so they are not to be large.
const MAX_INFLATED: usize = 4 << 20;
const TOO_LARGE: &str = "a compressed message of a stream is larger than 4 MiB";

fn not_one() -> Status {
    Status::new(Code::INTERNAL, "the request is not one message")
}

fn cut_off() -> Status {
    Status::new(Code::INTERNAL, "the request ends within a message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Peer;

    fn one() -> Intake {
        let call = Call {
            path: "/a/b",
            metadata: http::HeaderMap::new(),
            peer: Peer::Inside,
            identity: crate::Identity::anybody(),
            timeout: None,
        };
        let method: Arc<Unary> = Arc::new(|_, _| Box::pin(std::future::pending()));
        Intake::One { method, call, message: Message::default() }
    }

    fn read(pieces: &[&[u8]]) -> Result<Bytes, Code> {
        let mut intake = one();
        for piece in pieces {
            intake.extend(piece).map_err(|status| status.code)?;
        }
        let begun = intake.end().map_err(|status| status.code)?;
        Ok(begun.unwrap().message)
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
        assert_eq!(read(&[]), Err(Code::INTERNAL));
        assert_eq!(read(&[b"\0\0\0\0"]), Err(Code::INTERNAL));
        assert_eq!(read(&[b"\0\0\0\0\x04abc"]), Err(Code::INTERNAL));
        assert_eq!(read(&[b"\0\0\0\0\x02abc"]), Err(Code::INTERNAL));
        assert_eq!(read(&[b"\0\0\0\0\0", b"x"]), Err(Code::INTERNAL));
        assert_eq!(read(&[b"\x01\0\0\0\x03abc"]), Err(Code::INTERNAL));
        assert_eq!(read(&[b"\0\xff\xff\xff\xff", b"abc"]), Err(Code::RESOURCE_EXHAUSTED));
    }
}
