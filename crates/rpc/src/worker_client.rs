//! A worker on another task.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tensorfleet_cluster::client::{CreateWorkerSession, RunGraph, RunGraphReply, WorkerClient};
use tensorfleet_cluster::collective::{CollectivePeer, graph_key};
use tensorfleet_cluster::coordination::LeaderClient;
use tensorfleet_cluster::eager::{Item, Operation, Output, Reply};
use tensorfleet_cluster::{Events, Watches, random_nonzero};
use tensorfleet_framework::{BoxFuture, DeviceName, Parcel, StepId};
use tensorfleet_graph::wire as graph_wire;
use tensorfleet_graph::{ControlFlow, Graph};
use tensorfleet_planner::Device;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::eager as eager_pb;
use tensorfleet_proto::tensorflow::eager::eager_service_client::EagerServiceClient;
use tensorfleet_proto::tensorflow::worker_service_client::WorkerServiceClient;
use tensorfleet_tensor::{Code, Context, Error, Result, cancelled, internal, unavailable};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::Channel;

use crate::eager::wire as eager_wire;
use crate::link::{
    Broken, Call, Ends, Introductions, Link, LinkReport, LinkSlot, Offer, Token, ask,
    ask_to_confirm, is_confirmed,
};
use crate::patience::{Lost, Patience, Probe};
use crate::recv_tensor::receive;
use crate::status::from_status;
use crate::transport::Place;
use crate::wire;
use crate::{behalf, durable};

/// Speaks WorkerService to one task.
#[derive(Clone, Debug)]
pub(crate) struct RemoteWorker {
    task: DeviceName,
    place: Place,
    pub(crate) client: WorkerServiceClient<Channel>,
    eager: EagerServiceClient<Channel>,
    pub(crate) channel: Channel,
    runtime: Handle,
    patience: Arc<Patience>,
    /// How it asks for links, if it may.
    introductions: Option<Arc<Introductions>>,
    link: Arc<LinkSlot>,
    events: Arc<Events>,
}

/// What is known of another task.
#[derive(Debug)]
pub(crate) struct PeerReport {
    /// Whether it was given up and has not answered since.
    pub(crate) is_lost: bool,
    /// How many calls over gRPC and over the link wait for it.
    pub(crate) waiting: usize,
    pub(crate) link: LinkReport,
}

impl RemoteWorker {
    /// Prepares a connection; it is made with the first call.
    pub(crate) fn new(
        task: DeviceName,
        place: Place,
        runtime: Handle,
        introductions: Option<Arc<Introductions>>,
        silence: Duration,
        events: Arc<Events>,
    ) -> Result<RemoteWorker> {
        let channel = place.channel(&runtime).context(|| task.to_string())?;
        let client = WorkerServiceClient::new(channel.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        let eager = EagerServiceClient::new(channel.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        let link = LinkSlot::new(introductions.is_some());
        let patience = Patience::new(silence, Arc::clone(&events));
        Ok(RemoteWorker {
            task,
            place,
            client,
            eager,
            channel,
            runtime,
            patience,
            introductions,
            link,
            events,
        })
    }

    /// What is known of the worker.
    pub(crate) fn report(&self) -> PeerReport {
        let link = self.link.report();
        PeerReport {
            is_lost: self.patience.is_lost(),
            waiting: self.patience.waiting() + link.waiting,
            link,
        }
    }

    /// The link to the worker, if one is up.
    fn link(&self) -> Option<Arc<Link>> {
        self.link.get(|| {
            let (mut client, place) = (self.client.clone(), self.place.clone());
            let (introductions, peer) = (self.introductions.clone(), self.task.to_string());
            let (silence, events) = (self.patience.silence(), Arc::clone(&self.events));
            let connecting = async move {
                let introductions = introductions?;
                let own = introductions.own().to_owned();
                let mut request = tonic::Request::new(pb::GetStatusRequest {});
                request.set_timeout(silence);
                ask(request.metadata_mut(), introductions.ask(&peer)?, &own);
                let status = client.get_status(request).await.ok()?;
                let offer = Offer::find(status.metadata())?;
                Link::connect(offer, &place, Ends { own, peer, silence, events }).await.ok()
            };
            (self.runtime.clone(), connecting)
        })
    }

    /// Whether the worker says that a nonce is of its making.
    pub(crate) async fn has_asked(&self, nonce: Token) -> bool {
        let Some(introductions) = &self.introductions else { return false };
        let mut request = tonic::Request::new(pb::GetStatusRequest {});
        request.set_timeout(self.patience.silence());
        ask_to_confirm(request.metadata_mut(), nonce, introductions.own());
        let status = self.client.clone().get_status(request).await;
        status.is_ok_and(|status| is_confirmed(status.metadata()))
    }

    /// Awaits a call over a link.
    fn linked<T: Send + 'static>(
        &self,
        method: &'static str,
        call: Call<T>,
    ) -> BoxFuture<Result<T>> {
        let (task, address) = (self.task.clone(), Arc::clone(&self.place.address));
        let patience = Arc::clone(&self.patience);
        Box::pin(async move {
            let why = match call.await {
                Ok(outcome) => return outcome.map_err(|error| describe(&error, &task, method)),
                Err(Broken::Closed) => ": the connection was closed".to_owned(),
                Err(Broken::Silent) => {
                    // Calls over gRPC need not find that out once more.
                    patience.lose();
                    silent(patience.silence())
                }
            };
            Err(describe(&unreachable(&task, &address, &why), &task, method))
        })
    }

    /// Starts a call on the network's threads, whichever thread waits for it.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        method: &'static str,
        future: impl Future<Output = Result<tonic::Response<T>, Status>> + Send + 'static,
    ) -> BoxFuture<Result<T>> {
        let (task, address) = (self.task.clone(), Arc::clone(&self.place.address));
        let handle = AbortOnDrop(self.runtime.spawn(future));
        let (patience, runtime) = (Arc::clone(&self.patience), self.runtime.clone());
        let (client, introductions) = (self.client.clone(), self.introductions.clone());
        Box::pin(async move {
            let silence = patience.silence();
            let who = || {
                let own = introductions.as_ref().map_or("this task", |own| own.own());
                format!("{own} waits for {task}")
            };
            match patience.wait(&runtime, handle, || probe(client), who).await {
                Ok(Some(Ok(response))) => Ok(response.into_inner()),
                Ok(Some(Err(status))) => {
                    Err(describe(&read_status(&status, &task, &address), &task, method))
                }
                Ok(None) => Err(cancelled!("the call of {method} on {task} was cancelled")),
                Err(Lost) => {
                    Err(describe(&unreachable(&task, &address, &silent(silence)), &task, method))
                }
            }
        })
    }
}

/// Why a call to a task that stands still has failed.
fn silent(timeout: Duration) -> String {
    format!(": it does not answer; the failure timeout is {timeout:?}")
}

/// Asks a worker whether it is there. Whatever it answers, it is.
fn probe(client: WorkerServiceClient<Channel>) -> Probe {
    Box::new(move || {
        let mut client = client.clone();
        Box::pin(async move {
            let status = client.get_status(pb::GetStatusRequest {}).await;
            // Without an answer there is a cause, and an error of the connection's own.
            status.err().is_none_or(|status| std::error::Error::source(&status).is_none())
        })
    })
}

/// A call that ends when nobody waits for it any more.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for AbortOnDrop<T> {
    type Output = Option<T>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<T>> {
        std::pin::Pin::new(&mut self.0).poll(cx).map(|outcome| outcome.ok())
    }
}

/// What a failed gRPC call says.
fn read_status(status: &Status, task: &DeviceName, address: &str) -> Error {
    // A connection that failed says so only in its chain of sources.
    let mut cause = None;
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        cause = Some(format!(": {error}"));
        source = error.source();
    }
    match cause {
        None => from_status(status),
        // Without an answer the task is gone, whatever the transport calls it.
        Some(cause) => unreachable(task, address, &cause),
    }
}

/// Programs look for TensorFlow's words, which tell tasks that are not there from tasks that went.
fn unreachable(task: &DeviceName, address: &str, cause: &str) -> Error {
    let words = if cause.contains("connect error") || cause.contains("refused") {
        "failed to connect to all addresses"
    } else {
        "Socket closed"
    };
    unavailable!("{words}; last error: {task} at {address} cannot be reached{cause}")
        .unreached(true)
}

/// Says which task failed. TensorFlow's coordinator finds the task at fault by the words "GRPC error
/// information from remote target".
fn describe(error: &Error, task: &DeviceName, method: &str) -> Error {
    let message = error.message();
    let mut described = Error::new(
        error.code(),
        format!(
            "{message}\nAdditional GRPC error information from remote target {task} while calling \
             /tensorflow.{method}:\n:UNKNOWN:Error received from peer  \
             {{grpc_message:\"{}\", grpc_status:{}}}",
            message.lines().next().unwrap_or_default(),
            error.code() as i32
        ),
    );
    if error.is_derived() {
        described = described.derived();
    }
    if error.is_worker_restarted() {
        described = described.worker_restarted();
    }
    described.unreached(error.is_unreached())
}

/// TensorFlow's masters give up on deleting a session after this long.
const DELETE_TIMEOUT: Duration = Duration::from_secs(10);

impl WorkerClient for RemoteWorker {
    fn get_status(&self) -> BoxFuture<Result<Vec<Device>>> {
        let mut client = self.client.clone();
        let call = self.call("WorkerService/GetStatus", async move {
            client.get_status(pb::GetStatusRequest {}).await
        });
        Box::pin(async move { call.await?.device_attributes.iter().map(wire::device).collect() })
    }

    fn create_session(&self, request: CreateWorkerSession) -> BoxFuture<Result<()>> {
        let mut client = self.client.clone();
        let (owner, durable) = (request.owner.clone(), request.durable.clone());
        let mut request = tonic::Request::new(create_worker_session(request));
        behalf::say(request.metadata_mut(), &owner);
        durable::say(request.metadata_mut(), &durable);
        let call = self.call("WorkerService/CreateWorkerSession", async move {
            client.create_worker_session(request).await
        });
        Box::pin(async move { call.await.map(|_| ()) })
    }

    fn delete_session(&self, handle: String) -> BoxFuture<Result<()>> {
        let mut client = self.client.clone();
        let mut request =
            tonic::Request::new(pb::DeleteWorkerSessionRequest { session_handle: handle });
        request.set_timeout(DELETE_TIMEOUT);
        // The limit holds for the connection too, which may take any number of attempts.
        let call = self.call("WorkerService/DeleteWorkerSession", async move {
            let deleted = client.delete_worker_session(request);
            tokio::time::timeout(DELETE_TIMEOUT, deleted)
                .await
                .unwrap_or_else(|_| Err(Status::deadline_exceeded("the worker does not answer")))
        });
        Box::pin(async move { call.await.map(|_| ()) })
    }

    fn register_graph(
        &self,
        session: String,
        graph: Arc<Graph>,
        watches: Option<Arc<Watches>>,
    ) -> BoxFuture<Result<String>> {
        let mut client = self.client.clone();
        let graph_def = match graph_wire::graph_def(&graph) {
            Ok(graph_def) => graph_def,
            Err(error) => return Box::pin(async move { Err(error) }),
        };
        // TensorFlow's workers look at nothing else to know that a graph has collectives.
        let collective_graph_key = graph_key([&*graph]).unwrap_or_default();
        let call = self.call("WorkerService/RegisterGraph", async move {
            client
                .register_graph(pb::RegisterGraphRequest {
                    session_handle: session,
                    create_worker_session_called: true,
                    has_control_flow: has_control_flow(&graph),
                    graph_def: Some(graph_def),
                    graph_options: Some(pb::GraphOptions::default()),
                    config_proto: Some(pb::ConfigProto::default()),
                    collective_graph_key,
                    debug_options: watches.as_deref().map(wire::debug_options),
                })
                .await
        });
        Box::pin(async move { Ok(call.await?.graph_handle) })
    }

    fn run_graph(&self, request: RunGraph) -> BoxFuture<Result<RunGraphReply>> {
        if !request.args.is_empty() {
            return Box::pin(async { Err(internal!("feeds stay on the master's own task")) });
        }
        let task = self.task.clone();
        let request = match run_graph_request(request) {
            Ok(request) => request,
            Err(error) => return Box::pin(async move { Err(error) }),
        };
        let call = match self.link() {
            Some(link) => self.linked("WorkerService/RunGraph", link.run_graph(&request)),
            None => {
                let mut client = self.client.clone();
                self.call("WorkerService/RunGraph", async move { client.run_graph(request).await })
            }
        };
        Box::pin(async move {
            let response = call.await?;
            if response.status_code != 0 {
                let code = Code::from_number(response.status_code);
                return Err(Error::new(code, response.status_error_message));
            }
            let trace = response.step_stats.as_ref().map(wire::node_records).unwrap_or_default();
            let recvs = response.recv.into_iter().map(wire::named_tensor).collect::<Result<_>>();
            let recvs =
                recvs.map_err(|error: Error| error.prefixed(format_args!("From {task}: ")))?;
            Ok(RunGraphReply { retvals: Vec::new(), recvs, trace })
        })
    }

    fn deregister_graph(&self, session: String, graph: String) -> BoxFuture<Result<()>> {
        let mut client = self.client.clone();
        let call = self.call("WorkerService/DeregisterGraph", async move {
            client
                .deregister_graph(pb::DeregisterGraphRequest {
                    session_handle: session,
                    create_worker_session_called: true,
                    graph_handle: graph,
                })
                .await
        });
        Box::pin(async move { call.await.map(|_| ()) })
    }

    fn cleanup_graph(&self, step: StepId) -> BoxFuture<Result<()>> {
        if let Some(link) = self.link() {
            link.cleanup_graph(step);
            return Box::pin(async { Ok(()) });
        }
        let mut client = self.client.clone();
        let call = self.call("WorkerService/CleanupGraph", async move {
            client.cleanup_graph(pb::CleanupGraphRequest { step_id: step.0 }).await
        });
        Box::pin(async move { call.await.map(|_| ()) })
    }

    fn cleanup_all(&self, containers: Vec<String>) -> BoxFuture<Result<()>> {
        let mut client = self.client.clone();
        let call = self.call("WorkerService/CleanupAll", async move {
            client.cleanup_all(pb::CleanupAllRequest { container: containers }).await
        });
        Box::pin(async move { call.await.map(|_| ()) })
    }

    fn recv_tensor(&self, step: StepId, key: String) -> BoxFuture<Result<Parcel>> {
        let request = pb::RecvTensorRequest {
            step_id: step.0,
            rendezvous_key: key,
            request_id: random_nonzero() as i64,
            ..Default::default()
        };
        if let Some(link) = self.link() {
            return self.linked("WorkerService/RecvTensor", link.recv_tensor(&request));
        }
        self.call("WorkerService/RecvTensor", receive(self.channel.clone(), request))
    }

    fn enqueue(&self, context: u64, items: Vec<Item>) -> BoxFuture<Result<Vec<Reply>>> {
        if let ([Item::CleanupFunction(step)], Some(link)) = (&items[..], self.link()) {
            link.cleanup_graph(*step);
            return Box::pin(async { Ok(vec![Reply::default()]) });
        }
        let items = items.into_iter().map(eager_wire::queue_item).collect::<Result<Vec<_>>>();
        let queue = match items {
            Ok(queue) => queue,
            Err(error) => return Box::pin(async move { Err(error) }),
        };
        let mut client = self.eager.clone();
        let request = eager_pb::EnqueueRequest { context_id: context, queue };
        let call =
            self.call("eager.EagerService/Enqueue", async move { client.enqueue(request).await });
        Box::pin(async move {
            let reply = |response: &eager_pb::QueueResponse| -> Result<Reply> {
                let outputs = eager_wire::outputs(&response.shape, &response.tensor)?;
                Ok(Reply { outputs, is_function: !response.device.is_empty() })
            };
            call.await?.queue_response.iter().map(reply).collect()
        })
    }

    fn run_component(
        &self,
        context: u64,
        operation: Operation,
        outputs: Vec<i32>,
    ) -> BoxFuture<Result<Vec<Output>>> {
        let operation = match eager_wire::operation_proto(operation) {
            Ok(operation) => operation,
            Err(error) => return Box::pin(async move { Err(error) }),
        };
        let request = eager_pb::RunComponentFunctionRequest {
            context_id: context,
            operation: Some(operation),
            output_num: outputs,
        };
        const METHOD: &str = "eager.EagerService/RunComponentFunction";
        let call = match self.link() {
            Some(link) => self.linked(METHOD, link.run_component(&request)),
            None => {
                let mut client = self.eager.clone();
                self.call(METHOD, async move { client.run_component_function(request).await })
            }
        };
        Box::pin(async move {
            let response = call.await?;
            eager_wire::outputs(&response.shape, &response.tensor)
        })
    }

    fn collectives(&self) -> Option<&dyn CollectivePeer> {
        Some(self)
    }

    fn coordination(&self) -> Option<&dyn LeaderClient> {
        Some(self)
    }
}

fn run_graph_request(request: RunGraph) -> Result<pb::RunGraphRequest> {
    let sends = request.sends.into_iter();
    let sends = sends.map(|(key, tensor)| wire::named_tensor_proto(key, &tensor));
    Ok(pb::RunGraphRequest {
        send: sends.collect::<Result<_>>()?,
        session_handle: request.session,
        create_worker_session_called: true,
        graph_handle: request.graph,
        step_id: request.step,
        exec_opts: Some(pb::ExecutorOpts { record_timeline: request.trace, ..Default::default() }),
        recv_key: request.recv_keys,
        store_errors_in_response_body: true,
        request_id: random_nonzero() as i64,
        ..Default::default()
    })
}

fn has_control_flow(graph: &Graph) -> bool {
    let steers = |what: ControlFlow| !what.is_end() && what != ControlFlow::ControlTrigger;
    graph.nodes().iter().any(|node| node.nature().control_flow.is_some_and(steers))
}

fn create_worker_session(request: CreateWorkerSession) -> pb::CreateWorkerSessionRequest {
    pb::CreateWorkerSessionRequest {
        session_handle: request.handle,
        server_def: Some(pb::ServerDef {
            cluster: request.cluster.as_ref().map(tensorfleet_spec::wire::cluster_def),
            job_name: request.task_name.job.unwrap_or_default(),
            task_index: request.task_name.task.unwrap_or_default() as i32,
            protocol: "grpc".to_owned(),
            default_session_config: Some(wire::threads_config(&request.threads)),
            ..Default::default()
        }),
        isolate_session_state: request.isolate_session_state,
        master_task: request.master_task,
        master_incarnation: request.master_incarnation as i64,
        ..Default::default()
    }
}
