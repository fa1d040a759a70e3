//! The messages of a call whose client sends a stream of them.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;

use crate::Status;
use crate::http2::{Event, Events};

/// Messages as they come. The client is slowed down when they are not taken.
#[derive(Debug)]
pub struct Requests {
    messages: mpsc::UnboundedReceiver<Result<Bytes, Status>>,
    stream: u32,
    connection: Events,
}

/// Where a connection puts the messages.
pub(crate) type Feed = mpsc::UnboundedSender<Result<Bytes, Status>>;

impl Requests {
    pub(crate) fn new(stream: u32, connection: Events) -> (Feed, Requests) {
        let (feed, messages) = mpsc::unbounded_channel();
        (feed, Requests { messages, stream, connection })
    }
}

/// Ends when the client has said everything. An error is what the client did wrong, and the last.
impl Stream for Requests {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let message = ready!(self.messages.poll_recv(cx));
        if let Some(Ok(bytes)) = &message {
            // Without a connection there is nobody to slow down.
            let _ = self.connection.send((self.stream, Event::Taken(bytes.len())));
        }
        Poll::Ready(message)
    }
}
