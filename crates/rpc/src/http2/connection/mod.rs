//! A connection: frames in, calls, frames out.

mod incoming;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use rustc_hash::FxHashMap;
use tensorfleet_framework::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tonic::Status;

use crate::deadline;
use crate::http2::frame::{Head, kind, setting};
use crate::http2::outbox::Outbox;
use crate::http2::stream::{Call, Sent, Stream};
use crate::http2::{Answer, Body, Failure, Messages, Reason, Service, hpack};
use crate::transport::{CONNECTION_WINDOW, FRAME, STREAM_WINDOW};

/// What is read at once, and so the largest frame that is no data.
const BUFFER: usize = 32 << 10;

/// What is missing of a message is read straight to its place from this much on.
const DIRECT: usize = 16 << 10;

/// How large a block of headers may be, in all its frames.
const MAX_BLOCK: usize = 64 << 10;

/// No more is made ready to be written than this.
const READY: usize = 1 << 20;

/// What may wait to be written for a client that only asks and never reads.
const MAX_UNREAD: usize = 8 << 20;

/// The window of a connection or stream before anybody says otherwise, and the largest.
const DEFAULT_WINDOW: i64 = 65_535;
const MAX_WINDOW: i64 = i32::MAX as i64;

/// The smallest largest frame, which is also the one before anybody says otherwise.
const MIN_FRAME: usize = 16_384;

/// Serves one connection.
pub(crate) struct Connection<S> {
    socket: TcpStream,
    service: S,
    input: Input,
    expected: Expected,
    headers: hpack::Decoder,
    /// A block of headers that is not whole yet.
    block: Option<Block>,
    streams: FxHashMap<u32, Stream>,
    /// The newest stream.
    last: u32,
    /// Streams with something to send, in turn.
    ready: VecDeque<u32>,
    /// Streams that wait for the window of the connection.
    blocked: Vec<u32>,
    receive_window: i64,
    send_window: i64,
    /// What the client set.
    initial_window: i64,
    max_frame: usize,
    outbox: Outbox,
    events: mpsc::UnboundedReceiver<(u32, Event)>,
    sender: mpsc::UnboundedSender<(u32, Event)>,
    /// Whether no more calls are taken.
    is_closing: bool,
}

/// What a call that did not end at once has to say.
enum Event {
    Answer(Answer),
    Message(Vec<Bytes>),
    End(Result<(), Status>),
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Preface,
    Head,
    Frame(Head),
    Data {
        stream: u32,
        left: usize,
        padding: usize,
        ends: bool,
    },
    /// Bytes that nobody needs.
    Nothing(usize),
}

#[derive(Debug)]
struct Block {
    stream: u32,
    ends: bool,
    bytes: Vec<u8>,
}

/// Bytes that have come and are not looked at yet.
#[derive(Debug, Default)]
struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Makes room at the end, and returns it.
    fn room(&mut self) -> &mut [u8] {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.buffer[self.end..]
    }
}

impl<S: Service> Connection<S> {
    pub(crate) fn new(socket: TcpStream, service: S) -> Connection<S> {
        let (sender, events) = mpsc::unbounded_channel();
        let mut outbox = Outbox::default();
        let settings = [
            (setting::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (setting::MAX_FRAME_SIZE, FRAME),
            (setting::MAX_HEADER_LIST_SIZE, hpack::LIST as u32),
        ];
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend_from_slice(&name.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        outbox.frame(kind::SETTINGS, 0, 0, &payload);
        outbox.window_update(0, CONNECTION_WINDOW - DEFAULT_WINDOW as u32);
        Connection {
            socket,
            service,
            input: Input::default(),
            expected: Expected::Preface,
            headers: hpack::Decoder::new(),
            block: None,
            streams: FxHashMap::default(),
            last: 0,
            ready: VecDeque::new(),
            blocked: Vec::new(),
            receive_window: i64::from(CONNECTION_WINDOW),
            send_window: DEFAULT_WINDOW,
            initial_window: DEFAULT_WINDOW,
            max_frame: MIN_FRAME,
            outbox,
            events,
            sender,
            is_closing: false,
        }
    }

    /// Serves until the client hangs up, or until the server stops: calls that are under way then
    /// have a time to end.
    pub(crate) async fn serve(
        mut self,
        mut stop: watch::Receiver<bool>,
        drain: Duration,
    ) -> io::Result<()> {
        let stopped = async {
            // An error means that the server is gone.
            let _ = stop.wait_for(|stop| *stop).await;
        };
        tokio::select! {
            biased;
            outcome = poll_fn(|cx| self.poll(cx)) => return outcome,
            () = stopped => {}
        }
        self.close(Reason::Nothing, "the server stops");
        tokio::time::timeout(drain, poll_fn(|cx| self.poll(cx))).await.unwrap_or(Ok(()))
    }

    /// Takes no more calls.
    fn close(&mut self, reason: Reason, why: &str) {
        self.is_closing = true;
        self.outbox.go_away(self.last, reason, why);
    }

    /// Does what can be done now; ready when the connection is over.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            while let Poll::Ready(Some((id, event))) = self.events.poll_recv(cx) {
                self.on_event(id, event);
            }
            if self.poll_write(cx)?.is_ready() && self.is_closing && self.streams.is_empty() {
                return Poll::Ready(Ok(()));
            }
            match self.poll_read(cx)? {
                Poll::Ready(0) => return Poll::Ready(Ok(())),
                Poll::Ready(_) => {}
                Poll::Pending => return Poll::Pending,
            }
            if let Err(failure) = self.take_frames() {
                self.fail(failure, cx);
                let Failure { reason, why } = failure;
                return Poll::Ready(Err(io::Error::other(format!("{why} ({reason:?})"))));
            }
        }
    }

    /// Tells the client why the connection ends, if it listens.
    fn fail(&mut self, failure: Failure, cx: &mut Context<'_>) {
        self.close(failure.reason, failure.why);
        let _ = self.outbox.poll_write(&mut self.socket, cx);
    }

    /// Writes what streams have to send; ready when nothing is left that may be sent.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> io::Result<Poll<()>> {
        loop {
            while self.outbox.len() < READY
                && let Some(id) = self.ready.pop_front()
            {
                self.send(id);
            }
            if self.outbox.poll_write(&mut self.socket, cx)?.is_pending() {
                return Ok(Poll::Pending);
            }
            if self.ready.is_empty() {
                return Ok(Poll::Ready(()));
            }
        }
    }

    fn send(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match stream.send(id, &mut self.outbox, self.max_frame, &mut self.send_window) {
            Sent::Some => self.ready.push_back(id),
            Sent::Blocked => self.blocked.push(id),
            Sent::Waits => stream.is_queued = false,
            Sent::All => {
                if !stream.is_heard {
                    // What the client still has to say does not matter.
                    self.outbox.reset(id, Reason::Nothing);
                }
                self.streams.remove(&id);
            }
        }
    }

    /// Reads what has come; ready with zero when no more will.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> io::Result<Poll<usize>> {
        if let Some(read) = self.poll_read_message(cx) {
            return match read {
                Poll::Ready(read) => read.map(Poll::Ready),
                Poll::Pending => Ok(Poll::Pending),
            };
        }
        let mut buffer = ReadBuf::new(self.input.room());
        if Pin::new(&mut self.socket).poll_read(cx, &mut buffer)?.is_pending() {
            return Ok(Poll::Pending);
        }
        let len = buffer.filled().len();
        self.input.end += len;
        Ok(Poll::Ready(len))
    }

    /// Reads a large message to where it is to stay, if one comes.
    fn poll_read_message(&mut self, cx: &mut Context<'_>) -> Option<Poll<io::Result<usize>>> {
        let Expected::Data { stream, left, .. } = &mut self.expected else { return None };
        let message = &mut self.streams.get_mut(stream)?.message;
        if message.missing().min(*left) < DIRECT || !self.input.bytes().is_empty() {
            return None;
        }
        let mut room = message.room(*left);
        let read = pin!(self.socket.read_buf(&mut room)).poll(cx);
        if let Poll::Ready(Ok(len)) = read {
            *left -= len;
        }
        Some(read)
    }

    /// Begins the call whose request has come.
    fn on_end(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.is_heard = true;
        let mut call: BoxFuture<Answer> = match stream.message.finish() {
            Ok(message) => self.service.call(&stream.request.path, message),
            Err(status) => return self.on_event(id, Event::End(Err(status))),
        };
        if let Some(timeout) = stream.request.timeout {
            call = Box::pin(deadline::within(timeout, call));
        }
        // Nobody need be woken: a task looks again itself.
        let mut context = Context::from_waker(Waker::noop());
        match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(&mut context))) {
            Ok(Poll::Ready(answer)) => self.on_event(id, Event::Answer(answer)),
            Ok(Poll::Pending) => {
                let sender = self.sender.clone();
                let task = tokio::spawn(async move {
                    let answer = AssertUnwindSafe(call).catch_unwind().await;
                    let answer = answer.unwrap_or_else(|_| Err(panicked()));
                    // Without a connection nobody waits.
                    let _ = sender.send((id, Event::Answer(answer)));
                });
                stream.call = Some(Call(task.abort_handle()));
            }
            Err(_) => self.on_event(id, Event::End(Err(panicked()))),
        }
    }

    fn on_event(&mut self, id: u32, event: Event) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match event {
            Event::Answer(Err(status)) => stream.end(Err(status)),
            Event::Answer(Ok(reply)) => {
                stream.begin(id, &reply.headers, &mut self.outbox);
                match reply.body {
                    Body::Message(parts) => {
                        stream.push(parts);
                        stream.end(Ok(()));
                    }
                    Body::Messages(messages) => {
                        let task = tokio::spawn(forward(id, messages, self.sender.clone()));
                        stream.call = Some(Call(task.abort_handle()));
                    }
                }
            }
            Event::Message(parts) => stream.push(parts),
            Event::End(outcome) => stream.end(outcome),
        }
        queue(id, stream, &mut self.ready);
    }
}

/// Lets a stream send when it is its turn. It has one place, whatever the client says.
fn queue(id: u32, stream: &mut Stream, ready: &mut VecDeque<u32>) {
    if !std::mem::replace(&mut stream.is_queued, true) {
        ready.push_back(id);
    }
}

/// Passes the messages of an answer on as they come.
async fn forward(id: u32, mut messages: Messages, sender: mpsc::UnboundedSender<(u32, Event)>) {
    let outcome = loop {
        match messages.next().await {
            None => break Ok(()),
            Some(Err(status)) => break Err(status),
            Some(Ok(parts)) => {
                if sender.send((id, Event::Message(parts))).is_err() {
                    return;
                }
            }
        }
    };
    // Without a connection nobody waits.
    let _ = sender.send((id, Event::End(outcome)));
}

fn panicked() -> Status {
    Status::internal("the call failed unexpectedly")
}
