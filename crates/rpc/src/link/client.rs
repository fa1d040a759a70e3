//! The client's side of a link.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use prost::Message;
use rustc_hash::FxHashMap;
use tensorfleet_cluster::{EventKind, Events};
use tensorfleet_framework::{Parcel, StepId};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::eager as eager_pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{DType, Error, Result, Tensor, internal};
use tokio::sync::oneshot;

use super::borrowing::{Borrowed, Borrowing};
use super::frame::{Header, Kind, decode_failure};
use super::inbox::{Inbox, Incoming};
use super::memory::{Address, PeerMemory};
use super::offer::Offer;
use super::outbox::Outbox;
use super::pulse::silence;
use super::socket::Socket;
use crate::recv_tensor::{read_response, takes_any_bytes};
use crate::transport::Place;

/// A link to a worker.
#[derive(Debug)]
pub(crate) struct Link {
    outbox: Outbox,
    calls: Mutex<Calls>,
    ends: Ends,
    /// Bytes that came, over the connection or from the peer's memory.
    received: Arc<AtomicU64>,
}

/// Who calls whom over a link, and how long the other one may be silent.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub(crate) own: String,
    pub(crate) peer: String,
    pub(crate) silence: Duration,
    /// Where losses are told of.
    pub(crate) events: Arc<Events>,
}

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    waiting: FxHashMap<u64, Waiting>,
    is_broken: bool,
    /// Whether it broke because the other end was silent.
    was_silent: bool,
}

/// Who waits for the answer of a call.
#[derive(Debug)]
enum Waiting {
    Run(oneshot::Sender<Result<pb::RunGraphResponse>>),
    Tensor(oneshot::Sender<Result<Parcel>>),
    Component(oneshot::Sender<Result<eager_pb::RunComponentFunctionResponse>>),
}

impl Waiting {
    fn fail(self, error: Error) {
        // Whoever stopped waiting needs no error.
        match self {
            Waiting::Run(waiting) => drop(waiting.send(Err(error))),
            Waiting::Tensor(waiting) => drop(waiting.send(Err(error))),
            Waiting::Component(waiting) => drop(waiting.send(Err(error))),
        }
    }
}

impl Link {
    /// Connects to a server that offered it. The link works until the connection ends.
    pub(crate) async fn connect(offer: Offer, place: &Place, ends: Ends) -> io::Result<Arc<Link>> {
        Ok(Link::over(offer.connect(place, ends.silence).await?, ends))
    }

    /// A link over a connection.
    pub(super) fn over(socket: Socket, ends: Ends) -> Arc<Link> {
        let socket = Arc::new(socket);
        let outbox = Outbox::new(Arc::clone(&socket));
        let link =
            Arc::new(Link { outbox, calls: Mutex::default(), ends, received: Arc::default() });
        tokio::spawn(Arc::clone(&link).work(socket));
        link
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether the connection has ended.
    pub(crate) fn is_broken(&self) -> bool {
        self.calls().is_broken
    }

    /// How many calls wait, and the bytes that went and came.
    pub(super) fn traffic(&self) -> (usize, u64, u64) {
        let waiting = self.calls().waiting.len();
        (waiting, self.outbox.written(), self.received.load(Ordering::Relaxed))
    }

    /// Counts bytes that were read from the peer's memory.
    pub(super) fn count_borrowed(&self, len: usize) {
        self.received.fetch_add(len as u64, Ordering::Relaxed);
    }

    /// Why calls ended that a broken link had.
    fn why_broken(&self) -> Broken {
        if self.calls().was_silent { Broken::Silent } else { Broken::Closed }
    }

    /// Runs a partition.
    pub(crate) fn run_graph(
        self: &Arc<Self>,
        request: &pb::RunGraphRequest,
    ) -> Call<pb::RunGraphResponse> {
        self.call(Kind::RunGraph, &request.encode_to_vec(), Waiting::Run)
    }

    /// Fetches a tensor.
    pub(crate) fn recv_tensor(self: &Arc<Self>, request: &pb::RecvTensorRequest) -> Call<Parcel> {
        self.call(Kind::RecvTensor, &request.encode_to_vec(), Waiting::Tensor)
    }

    /// Runs the part of a function that belongs to the worker's task.
    pub(crate) fn run_component(
        self: &Arc<Self>,
        request: &eager_pb::RunComponentFunctionRequest,
    ) -> Call<eager_pb::RunComponentFunctionResponse> {
        self.call(Kind::RunComponent, &request.encode_to_vec(), Waiting::Component)
    }

    /// Ends a step, without waiting for it.
    pub(crate) fn cleanup_graph(&self, step: StepId) {
        self.outbox.send(Kind::Cleanup, 0, &step.0.to_le_bytes());
    }

    fn call<T>(
        self: &Arc<Self>,
        kind: Kind,
        message: &[u8],
        waiting: fn(oneshot::Sender<Result<T>>) -> Waiting,
    ) -> Call<T> {
        let (sender, answer) = oneshot::channel();
        let mut calls = self.calls();
        calls.last += 1;
        let id = calls.last;
        // On a broken link the sender is dropped here, which is what breaks the call.
        if !calls.is_broken {
            calls.waiting.insert(id, waiting(sender));
            drop(calls);
            self.outbox.send(kind, id, message);
        }
        Call { link: Arc::clone(self), id, answer }
    }

    /// Takes answers until the connection ends.
    async fn work(self: Arc<Self>, socket: Arc<Socket>) {
        let mut reader = Reader {
            link: &self,
            borrowing: Borrowing::new(Arc::clone(&self), PeerMemory::of(&socket)),
            inbox: Inbox::new(socket).counting(Arc::clone(&self.received)),
            arriving: FxHashMap::default(),
        };
        let heard = reader.inbox.heard();
        let mut was_silent = false;
        let ended = {
            let reading = pin!(reader.read());
            let writing = pin!(self.outbox.drain());
            tokio::select! {
                outcome = reading => outcome,
                () = writing => Ok(()),
                () = silence(heard, &self.outbox, self.ends.silence) => {
                    was_silent = true;
                    Err(io::ErrorKind::TimedOut.into())
                }
            }
        };
        let Ends { own, peer, silence, events } = &self.ends;
        if let Err(error) = ended {
            tracing::debug!("the link to {peer} broke: {error}");
        }
        self.outbox.close();
        let waiting = {
            let mut calls = self.calls();
            calls.is_broken = true;
            calls.was_silent = was_silent;
            std::mem::take(&mut calls.waiting)
        };
        if was_silent && !waiting.is_empty() {
            let count = waiting.len();
            let text = format!(
                "{own} waits with {count} calls for {peer}, which does not answer; the failure timeout is \
                 {silence:?}"
            );
            tracing::warn!("{text}");
            events.keep(Instant::now(), EventKind::PeerLost, text);
        }
        drop(waiting);
    }
}

/// A call under way. Dropping it cancels the call.
#[derive(Debug)]
pub(crate) struct Call<T> {
    link: Arc<Link>,
    id: u64,
    answer: oneshot::Receiver<Result<T>>,
}

/// The connection ended before the answer came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Closed,
    /// The other end does not answer any more.
    Silent,
}

impl<T> Future for Call<T> {
    type Output = std::result::Result<Result<T>, Broken>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.answer).poll(cx));
        Poll::Ready(answer.map_err(|_| self.link.why_broken()))
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        let was_waiting = self.link.calls().waiting.remove(&self.id).is_some();
        if was_waiting {
            self.link.send(Kind::Cancel, self.id);
        }
    }
}

/// Reads the answers of a link.
struct Reader<'a> {
    link: &'a Link,
    inbox: Inbox,
    /// Tensors of which a part has come.
    arriving: FxHashMap<u64, Arriving>,
    /// Tensors that are read from the server's memory.
    borrowing: Arc<Borrowing>,
}

struct Arriving {
    parcel: Parcel,
    filled: usize,
}

impl Reader<'_> {
    async fn read(&mut self) -> io::Result<()> {
        loop {
            while let Some(incoming) = self.inbox.next()? {
                match incoming {
                    Incoming::Piece(header) => self.piece(header).await?,
                    Incoming::Frame(header, message) => {
                        match header.kind {
                            Kind::Tensor => {
                                // The rest of a cancelled tensor never comes.
                                let link = self.link;
                                self.arriving.retain(|call, _| link.is_waiting(*call));
                                match begin_tensor(message) {
                                    Ok(arriving) => {
                                        self.arriving.insert(header.call, arriving);
                                    }
                                    Err(error) => self.link.fail(header.call, error),
                                }
                            }
                            Kind::Lent => match borrow_tensor(header.call, message) {
                                Ok(borrowed) => self.borrowing.push(borrowed),
                                Err(error) => {
                                    self.link.fail(header.call, error);
                                    self.link.send(Kind::Returned, header.call);
                                }
                            },
                            Kind::Ping => self.link.send(Kind::Pong, 0),
                            Kind::Pong => {}
                            _ => self.link.answer(header, message)?,
                        }
                    }
                }
            }
            let goes_on = if self.borrowing.read_some() {
                // Frames that come meanwhile have their turn between two pieces.
                tokio::task::coop::consume_budget().await;
                self.inbox.fill_now()?
            } else {
                self.inbox.fill().await?
            };
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Reads a piece straight into its tensor.
    async fn piece(&mut self, header: Header) -> io::Result<()> {
        let mut left = header.len as usize;
        let is_wanted = self.link.is_waiting(header.call);
        let mut arriving = self.arriving.remove(&header.call).filter(|_| is_wanted);
        let mut waste = if arriving.is_none() { vec![0; left.min(WASTE)] } else { Vec::new() };
        while left > 0 {
            let len = match &mut arriving {
                None => {
                    let room = left.min(WASTE);
                    self.inbox.read_piece(&mut waste[..room])?
                }
                Some(arriving) => {
                    let from = arriving.filled;
                    let inbox = &mut self.inbox;
                    let mut read = Ok(0);
                    let written = arriving.parcel.tensor.write_raw(|bytes| {
                        if let Some(place) = bytes.get_mut(from..from + left) {
                            read = inbox.read_piece(place);
                            return Ok(());
                        }
                        Err(internal!("a tensor is longer than it said"))
                    });
                    if let Err(error) = written {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string()));
                    }
                    let len = read?;
                    arriving.filled += len;
                    len
                }
            };
            left -= len;
            if len == 0 {
                self.inbox.wait().await?;
            } else {
                // A sender that never pauses must not keep this thread for itself.
                tokio::task::coop::consume_budget().await;
            }
        }
        if let Some(arriving) = arriving {
            if arriving.filled == arriving.parcel.tensor.byte_len() {
                self.link.deliver(header.call, arriving.parcel);
            } else {
                self.arriving.insert(header.call, arriving);
            }
        }
        Ok(())
    }
}

/// How much is read at once of what nobody wants.
const WASTE: usize = 64 << 10;

fn borrow_tensor(call: u64, message: &[u8]) -> Result<Borrowed> {
    let Some((address, head)) = message.split_first_chunk::<{ Address::SIZE }>() else {
        return Err(internal!("a tensor was lent without an address"));
    };
    let Address { start, len } = Address::from_bytes(*address);
    let Arriving { parcel, filled } = begin_tensor(head)?;
    if len != parcel.tensor.byte_len() as u64 {
        return Err(internal!("a lent tensor has {len} bytes, not those of its shape"));
    }
    Ok(Borrowed { call, start, parcel, filled })
}

fn begin_tensor(message: &[u8]) -> Result<Arriving> {
    let response = pb::RecvTensorResponse::decode(message)
        .map_err(|error| internal!("the answer cannot be read: {error}"))?;
    let head = response.tensor.unwrap_or_default();
    let dtype = DType::from_number(head.dtype)
        .filter(|dtype| takes_any_bytes(*dtype))
        .ok_or_else(|| internal!("a tensor of type {} cannot come in pieces", head.dtype))?;
    let shape = tensor_wire::shape(head.tensor_shape.as_ref())?;
    let tensor = Tensor::build_raw(dtype, shape, |_| Ok(()))?;
    Ok(Arriving { parcel: Parcel { tensor, is_dead: response.is_dead }, filled: 0 })
}

impl Link {
    /// Says something about a call that needs no more words.
    pub(super) fn send(&self, kind: Kind, call: u64) {
        self.outbox.send(kind, call, &[]);
    }

    pub(super) fn is_waiting(&self, call: u64) -> bool {
        self.calls().waiting.contains_key(&call)
    }

    fn take(&self, call: u64) -> Option<Waiting> {
        self.calls().waiting.remove(&call)
    }

    pub(super) fn fail(&self, call: u64, error: Error) {
        if let Some(waiting) = self.take(call) {
            waiting.fail(error);
        }
    }

    pub(super) fn deliver(&self, call: u64, parcel: Parcel) {
        if let Some(Waiting::Tensor(waiting)) = self.take(call) {
            // Whoever stopped waiting needs no tensor.
            let _ = waiting.send(Ok(parcel));
        }
    }

    /// Hands an answer to whoever waits for it. Those of cancelled calls may still come.
    fn answer(&self, header: Header, message: &[u8]) -> io::Result<()> {
        match (header.kind, self.take(header.call)) {
            (Kind::Failure | Kind::Reply, None) => {}
            (Kind::Failure, Some(waiting)) => waiting.fail(decode_failure(message)),
            (Kind::Reply, Some(Waiting::Run(waiting))) => {
                let response = pb::RunGraphResponse::decode(message)
                    .map_err(|error| internal!("the answer cannot be read: {error}"));
                // As above.
                let _ = waiting.send(response);
            }
            (Kind::Reply, Some(Waiting::Component(waiting))) => {
                let response = eager_pb::RunComponentFunctionResponse::decode(message)
                    .map_err(|error| internal!("the answer cannot be read: {error}"));
                let _ = waiting.send(response);
            }
            (Kind::Reply, Some(Waiting::Tensor(waiting))) => {
                let _ = waiting.send(read_response(message));
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "not an answer")),
        }
        Ok(())
    }
}
