//! The server's side of a link.

use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use prost::Message;
use rustc_hash::FxHashMap;
use tensorfleet_cluster::Owner;
use tensorfleet_framework::{BoxFuture, Parcel, StepId};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::eager as eager_pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Result, internal, invalid_argument, resource_exhausted};
use tokio::task::AbortHandle;

use super::frame::{Header, Kind, MAX_MESSAGE, encode_failure};
use super::inbox::{Inbox, Incoming};
use super::lending::{Lending, Lent};
use super::outbox::Outbox;
use super::prompt::Prompt;
use super::pulse::silence;
use super::socket::Socket;
use crate::recv_tensor::takes_any_bytes;
use crate::worker::WorkerHandler;

/// Contents below this travel inside their message.
const MIN_PIECES: usize = 4 << 10;

/// The calls of one connection. When it ends they end.
#[derive(Debug)]
pub(super) struct Served {
    handler: WorkerHandler,
    outbox: Outbox,
    running: Mutex<FxHashMap<u64, Running>>,
    lending: Lending,
}

/// A call under way.
#[derive(Debug)]
enum Running {
    /// One that computes, on the threads of the runtime.
    Task(AbortHandle),
    /// One that waits for a tensor.
    Prompt(Arc<Prompt>),
}

impl Running {
    fn cancel(self) {
        match self {
            Running::Task(task) => task.abort(),
            Running::Prompt(prompt) => prompt.cancel(),
        }
    }
}

impl Served {
    pub(super) fn new(handler: WorkerHandler, socket: Arc<Socket>) -> Arc<Served> {
        let lending = Lending::new(&socket);
        let outbox = Outbox::new(socket);
        Arc::new(Served { handler, outbox, running: Mutex::default(), lending })
    }

    fn running(&self) -> MutexGuard<'_, FxHashMap<u64, Running>> {
        self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether no call is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.running().is_empty() && self.lending.is_empty()
    }

    /// Answers calls until the connection ends.
    pub(super) async fn work(
        self: &Arc<Self>,
        socket: Arc<Socket>,
        limit: Duration,
    ) -> io::Result<()> {
        let inbox = Inbox::new(socket);
        let heard = inbox.heard();
        let reading = pin!(self.read(inbox));
        let writing = pin!(self.outbox.drain());
        tokio::select! {
            outcome = reading => outcome,
            () = writing => Ok(()),
            () = silence(heard, &self.outbox, limit) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Ends all calls.
    pub(super) fn close(&self) {
        self.outbox.close();
        let running = std::mem::take(&mut *self.running());
        running.into_values().for_each(Running::cancel);
        self.lending.close();
    }

    async fn read(self: &Arc<Self>, mut inbox: Inbox) -> io::Result<()> {
        loop {
            {
                // What these calls answer at once leaves together.
                let _cork = self.outbox.cork();
                while let Some(incoming) = inbox.next()? {
                    let Incoming::Frame(header, message) = incoming else {
                        return Err(not_a_call());
                    };
                    self.frame(header, message)?;
                }
            }
            if !inbox.fill().await? {
                return Ok(());
            }
            tokio::task::coop::consume_budget().await;
        }
    }

    fn frame(self: &Arc<Self>, header: Header, message: &[u8]) -> io::Result<()> {
        let call = header.call;
        match header.kind {
            Kind::RunGraph => match pb::RunGraphRequest::decode(message) {
                Ok(request) => {
                    let this = Arc::clone(self);
                    let waiting = first_poll(self.caught(call, async move {
                        let outcome = this.handler.run(request).await;
                        this.reply(call, outcome.map(|response| response.encode_to_vec()));
                    }));
                    if let Some(work) = waiting {
                        self.go_on(call, work);
                    }
                }
                Err(error) => self.reply(call, Err(invalid_argument!("{error}"))),
            },
            Kind::RunComponent => match eager_pb::RunComponentFunctionRequest::decode(message) {
                Ok(request) => {
                    let this = Arc::clone(self);
                    let waiting = first_poll(self.caught(call, async move {
                        let eager = this.handler.eager();
                        let outcome = eager.run_component(&Owner::default(), request).await;
                        this.reply(call, outcome.map(|response| response.encode_to_vec()));
                    }));
                    if let Some(work) = waiting {
                        self.go_on(call, work);
                    }
                }
                Err(error) => self.reply(call, Err(invalid_argument!("{error}"))),
            },
            Kind::RecvTensor => match pb::RecvTensorRequest::decode(message) {
                Ok(request) => {
                    let this = Arc::clone(self);
                    let waiting = first_poll(self.caught(call, async move {
                        match this.handler.parcel(request).await {
                            Ok(parcel) => this.send(call, &parcel),
                            Err(error) => this.reply(call, Err(error)),
                        }
                    }));
                    if let Some(work) = waiting {
                        self.go_on_promptly(call, work);
                    }
                }
                Err(error) => self.reply(call, Err(invalid_argument!("{error}"))),
            },
            Kind::Cleanup => {
                let step = message.try_into().map_err(|_| not_a_call())?;
                self.handler.worker.cleanup_graph(StepId(i64::from_le_bytes(step)));
            }
            Kind::Cancel => {
                let running = self.running().remove(&call);
                if let Some(running) = running {
                    running.cancel();
                }
                self.outbox.forget_tensor(call);
                self.lending.end(call);
            }
            Kind::Returned => self.lending.end(call),
            Kind::Unreadable => {
                if let Some(Lent { head, contents }) = self.lending.refuse(call) {
                    self.outbox.send_tensor(call, &head, contents);
                }
            }
            Kind::Ping => self.outbox.send(Kind::Pong, 0, &[]),
            Kind::Pong => {}
            Kind::Reply | Kind::Tensor | Kind::Piece | Kind::Failure | Kind::Lent => {
                return Err(not_a_call());
            }
        }
        Ok(())
    }

    /// Answers a call that panics, as any other: the link and its other calls go on.
    fn caught(
        self: &Arc<Self>,
        call: u64,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let this = Arc::clone(self);
        async move {
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                this.reply(call, Err(internal!("the call failed unexpectedly")));
            }
        }
    }

    /// Goes on with a call as a task.
    fn go_on(self: &Arc<Self>, call: u64, work: BoxFuture<()>) {
        let this = Arc::clone(self);
        // Held while the task starts, so that it cannot end before it is known.
        let mut running = self.running();
        let task = tokio::spawn(async move {
            work.await;
            this.running().remove(&call);
        });
        running.insert(call, Running::Task(task.abort_handle()));
    }

    /// Goes on with a call on the thread that makes what it waits for.
    fn go_on_promptly(self: &Arc<Self>, call: u64, work: BoxFuture<()>) {
        let this = Arc::clone(self);
        let prompt = Prompt::new(Box::pin(async move {
            work.await;
            this.running().remove(&call);
        }));
        self.running().insert(call, Running::Prompt(Arc::clone(&prompt)));
        prompt.wake();
    }

    fn reply(&self, call: u64, outcome: Result<Vec<u8>>) {
        let outcome = outcome.and_then(|message| {
            if message.len() > MAX_MESSAGE {
                return Err(resource_exhausted!(
                    "an answer of {} bytes is too long for a message",
                    message.len()
                ));
            }
            Ok(message)
        });
        match outcome {
            Ok(message) => self.outbox.send(Kind::Reply, call, &message),
            Err(error) => self.outbox.send(Kind::Failure, call, &encode_failure(&error)),
        }
    }

    fn send(&self, call: u64, parcel: &Parcel) {
        let tensor = &parcel.tensor;
        let mut response = pb::RecvTensorResponse { is_dead: parcel.is_dead, ..Default::default() };
        let dtype = tensor.dtype();
        if takes_any_bytes(dtype) && tensor.byte_len() >= MIN_PIECES {
            response.tensor = Some(pb::TensorProto {
                dtype: dtype as i32,
                tensor_shape: Some(tensor_wire::shape_proto(tensor.shape())),
                ..Default::default()
            });
            let head = response.encode_to_vec();
            return match self.lending.lend(call, Lent { head, contents: tensor.shared_bytes() }) {
                Ok(message) => self.outbox.send(Kind::Lent, call, &message),
                Err(Lent { head, contents }) => self.outbox.send_tensor(call, &head, contents),
            };
        }
        let whole = tensor_wire::tensor_proto(tensor).map(|message| {
            response.tensor = Some(message);
            response.encode_to_vec()
        });
        self.reply(call, whole);
    }
}

/// Starts a call, and returns the rest of one that waits. Most end at once.
fn first_poll(work: impl Future<Output = ()> + Send + 'static) -> Option<BoxFuture<()>> {
    let mut work: BoxFuture<()> = Box::pin(work);
    let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    polled.is_pending().then_some(work)
}

fn not_a_call() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a call")
}
