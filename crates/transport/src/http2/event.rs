//! What calls that did not end at once tell their connection.

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::{Answer, Status};

#[derive(Debug)]
pub(crate) enum Event {
    Answer(Answer),
    /// One of the messages of an answer.
    Message(Vec<Bytes>),
    End(Result<(), Status>),
    /// The method took so many bytes of what the client sends.
    Taken(usize),
}

/// Sends events of one stream or another.
pub(crate) type Events = mpsc::UnboundedSender<(u32, Event)>;
