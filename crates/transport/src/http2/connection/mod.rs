//! A connection: frames in, calls, frames out.

mod calls;
mod incoming;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use rustc_hash::FxHashMap;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, watch};

use super::event::{Event, Events};
use super::frame::{Head, kind, setting};
use super::heart::{Beat, Doing, Heart};
use super::outbox::Outbox;
use super::queue::Waiting;
use super::stream::{Sent, Stream};
use super::{Failure, Reason, hpack};
use crate::identity::Open;
use crate::limits::{CONNECTION_WINDOW, FRAME, HEADER_LIST, STREAM_WINDOW};
use crate::memory::Share;
use crate::{Guard, Limits, Memory, Methods, Peer};

/// What is read at once, and so the largest frame that is looked at as a whole.
const BUFFER: usize = 32 << 10;

/// What is missing of a message is read straight to its place from this much on.
const DIRECT: usize = 16 << 10;

/// No more is made ready to be written than this.
const READY: usize = 1 << 20;

/// The window of a connection or stream before anybody says otherwise, and the largest.
const DEFAULT_WINDOW: i64 = 65_535;
const MAX_WINDOW: i64 = i32::MAX as i64;

/// The smallest largest frame, which is also the one before anybody says otherwise.
const MIN_FRAME: usize = 16_384;

/// Serves one connection.
#[derive(Debug)]
pub struct Connection<IO> {
    socket: IO,
    peer: Peer,
    guard: Arc<dyn Guard>,
    methods: Arc<Methods>,
    limits: Limits,
    heart: Heart,
    memory: Share,
    input: Input,
    expected: Expected,
    headers: hpack::Decoder,
    /// A block of headers that is not whole yet.
    block: Option<Block>,
    streams: FxHashMap<u32, Stream>,
    /// The newest stream.
    last: u32,
    /// Streams with something to send, in turn.
    ready: Waiting,
    /// Streams that wait for the window of the connection, or for their own.
    blocked: Waiting,
    starved: Waiting,
    receive_window: i64,
    send_window: i64,
    /// What the client set.
    initial_window: i64,
    max_frame: usize,
    /// Whether the client has sent its first settings, and confirmed ours.
    is_greeted: bool,
    is_confirmed: bool,
    outbox: Outbox,
    events: mpsc::UnboundedReceiver<(u32, Event)>,
    sender: Events,
    /// Whether no more calls are taken.
    is_closing: bool,
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
    frames: usize,
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

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    /// Prepares to serve methods to a client, which shares memory with others.
    pub fn new(
        socket: IO,
        peer: Peer,
        methods: Arc<Methods>,
        limits: &Limits,
        memory: Arc<Memory>,
    ) -> Connection<IO> {
        let (sender, events) = mpsc::unbounded_channel();
        let mut outbox = Outbox::default();
        let settings = [
            (setting::MAX_CONCURRENT_STREAMS, limits.streams),
            (setting::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (setting::MAX_FRAME_SIZE, FRAME),
            (setting::MAX_HEADER_LIST_SIZE, HEADER_LIST as u32),
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
            peer,
            guard: Arc::new(Open),
            methods,
            limits: limits.clone(),
            heart: Heart::new(limits),
            memory: Share::new(memory, limits.connection_memory),
            input: Input::default(),
            expected: Expected::Preface,
            headers: hpack::Decoder::new(),
            block: None,
            streams: FxHashMap::default(),
            last: 0,
            ready: Waiting::default(),
            blocked: Waiting::default(),
            starved: Waiting::default(),
            receive_window: i64::from(CONNECTION_WINDOW),
            send_window: DEFAULT_WINDOW,
            initial_window: DEFAULT_WINDOW,
            max_frame: MIN_FRAME,
            is_greeted: false,
            is_confirmed: false,
            outbox,
            events,
            sender,
            is_closing: false,
        }
    }

    /// Lets a guard say who may call what; without one everybody may call everything.
    #[must_use]
    pub fn guarded_by(self, guard: Arc<dyn Guard>) -> Connection<IO> {
        Connection { guard, ..self }
    }

    /// Serves until the client hangs up, is gone or breaks the rules, or until the server stops:
    /// calls that are under way then have a time to end.
    pub async fn serve(mut self, mut stop: watch::Receiver<bool>) -> io::Result<()> {
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
        let drain = self.limits.drain;
        tokio::time::timeout(drain, poll_fn(|cx| self.poll(cx))).await.unwrap_or(Ok(()))
    }

    /// Takes no more calls.
    fn close(&mut self, reason: Reason, why: &str) {
        self.is_closing = true;
        self.outbox.go_away(self.last, reason, why);
    }

    /// Does what can be done now; ready when the connection is over.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Looked at first: a client that always has something to say must not keep it back.
        let mut is_time = self.heart.poll(cx).is_ready();
        loop {
            while let Poll::Ready(Some((id, event))) = self.events.poll_recv(cx) {
                self.on_event(id, event);
            }
            if self.poll_write(cx)?.is_ready() && self.is_closing && self.streams.is_empty() {
                return Poll::Ready(Ok(()));
            }
            match self.poll_read(cx)? {
                Poll::Ready(0) => return Poll::Ready(Ok(())),
                Poll::Ready(_) => self.heart.heard = true,
                // What had come is read, so a client is not taken for silent that we did not hear.
                Poll::Pending if is_time => {
                    is_time = false;
                    match self.on_beat() {
                        Ok(()) => {}
                        Err(failure) => return Poll::Ready(Err(self.fail(failure, cx))),
                    }
                    if self.heart.poll(cx).is_ready() {
                        cx.waker().wake_by_ref();
                    }
                    continue;
                }
                Poll::Pending => return Poll::Pending,
            }
            if let Err(failure) = self.take_frames() {
                return Poll::Ready(Err(self.fail(failure, cx)));
            }
        }
    }

    fn on_beat(&mut self) -> Result<(), Failure> {
        let doing = Doing {
            is_greeted: self.is_greeted,
            has_calls: !self.streams.is_empty(),
            has_unsent: self.streams.values().any(|stream| stream.unsent() > 0),
            has_unwritten: self.outbox.len() > 0,
        };
        match self.heart.beat(doing) {
            Beat::Nothing => {}
            Beat::Ping => self.outbox.frame(kind::PING, 0, 0, &[0; 8]),
            Beat::Close if self.is_closing => {}
            Beat::Close => self.close(Reason::Nothing, "the connection is not used"),
            Beat::Dead(why) => {
                if doing.has_calls {
                    let count = self.streams.len();
                    tracing::warn!("{} is given up with {count} calls: {why}", self.peer);
                }
                return Err(Failure { reason: Reason::Nothing, why });
            }
        }
        Ok(())
    }

    /// Tells the client why the connection ends, if it listens.
    fn fail(&mut self, failure: Failure, cx: &mut Context<'_>) -> io::Error {
        let Failure { reason, why } = failure;
        self.close(reason, why);
        let _ = self.outbox.poll_write(&mut self.socket, cx);
        io::Error::other(format!("{why} ({reason:?})"))
    }

    /// Writes what streams have to send; ready when nothing is left that may be sent.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> io::Result<Poll<()>> {
        loop {
            while self.outbox.len() < READY
                && let Some(id) = self.ready.pop()
            {
                self.send(id);
            }
            let before = self.outbox.len();
            let written = self.outbox.poll_write(&mut self.socket, cx)?;
            self.heart.wrote |= self.outbox.len() < before;
            if written.is_pending() {
                return Ok(Poll::Pending);
            }
            if self.ready.is_empty() {
                return Ok(Poll::Ready(()));
            }
        }
    }

    fn send(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.is_queued = false;
        let before = stream.unsent();
        let windows = (self.initial_window, &mut self.send_window);
        let sent = stream.send(id, &mut self.outbox, self.max_frame, windows);
        let len = before - stream.unsent();
        self.heart.sent |= len > 0;
        stream.release(len, &mut self.memory);
        match sent {
            Sent::Some => self.queue(id),
            Sent::Blocked => {
                stream.is_queued = true;
                let streams = &self.streams;
                self.blocked.push(id, streams.len(), |id| streams.contains_key(&id));
            }
            Sent::Starved => {
                if !std::mem::replace(&mut stream.is_starved, true) {
                    let streams = &self.streams;
                    self.starved.push(id, streams.len(), |id| streams.contains_key(&id));
                }
            }
            Sent::Waits => {}
            Sent::All => {
                if !stream.is_heard {
                    // What the client still has to say does not matter.
                    self.outbox.reset(id, Reason::Nothing);
                }
                self.forget(id);
            }
        }
    }

    /// Lets a stream send when it is its turn. It has one place, whatever the client says.
    fn queue(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if !std::mem::replace(&mut stream.is_queued, true) {
            let streams = &self.streams;
            self.ready.push(id, streams.len(), |id| streams.contains_key(&id));
        }
    }

    /// Ends a stream, and its call with it.
    fn forget(&mut self, id: u32) {
        if let Some(mut stream) = self.streams.remove(&id) {
            stream.release(usize::MAX, &mut self.memory);
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
        let Expected::Data { stream: id, left, .. } = &mut self.expected else { return None };
        let stream = self.streams.get_mut(id)?;
        let message = stream.intake.message()?;
        if message.missing().min(*left) < DIRECT || !self.input.bytes().is_empty() {
            return None;
        }
        let mut room = message.room(*left);
        let read = pin!(self.socket.read_buf(&mut room)).poll(cx);
        if let Poll::Ready(Ok(len)) = read {
            *left -= len;
            if let Err(status) = stream.charge(len, &mut self.memory) {
                let id = *id;
                self.refuse_content(id, status);
            }
        }
        Some(read)
    }
}
