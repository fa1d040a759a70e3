//! WorkerService: partitions run for any master, ours or TensorFlow's.

use std::sync::Arc;

use tensorfleet_cluster::client::{CreateWorkerSession, RunGraph};
use tensorfleet_cluster::{Owner, Task, Threads, Worker};
use tensorfleet_framework::{DeviceName, Parcel, StepId};
use tensorfleet_graph::Graph;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{Error, Result, internal, unimplemented_error};
use tensorfleet_transport::{Call, Role};
use tonic::metadata::MetadataMap;
use tonic::{Response, Status};

use crate::activity::{Activity, Work};
use crate::eager::EagerHandler;
use crate::grpc::{Services, owner, unary};
use crate::link::{Introductions, Offer, asked, asked_to_confirm, confirm, is_task};
use crate::peers::ClusterPeers;
use crate::recent::RecentRequests;
use crate::status::{reply, to_status};
use crate::{behalf, durable};
use crate::{raw, recv_tensor, wire};

/// Serves a [`Worker`].
#[derive(Clone, Debug)]
pub(crate) struct WorkerHandler {
    pub(crate) task: Arc<Task>,
    pub(crate) worker: Arc<Worker>,
    pub(crate) recent_runs: Arc<RecentRequests>,
    pub(crate) recent_tensors: Arc<RecentRequests>,
    pub(crate) activity: Arc<Activity>,
    /// Who may have links.
    pub(crate) link: Option<Linking>,
}

/// What it takes to offer links.
#[derive(Clone, Debug)]
pub(crate) struct Linking {
    pub(crate) introductions: Arc<Introductions>,
    /// The tasks that may have them.
    pub(crate) peers: Arc<ClusterPeers>,
}

impl Linking {
    /// Answers what a caller says about links.
    async fn answer(&self, call: &Call, metadata: &mut MetadataMap) {
        let introductions = &self.introductions;
        if let Some((nonce, task)) = asked_to_confirm(&call.metadata)
            && introductions.confirms(nonce, &task)
        {
            confirm(metadata);
        }
        if let Some((nonce, task)) = asked(&call.metadata)
            && (call.identity.role != Role::Peer || is_task(&call.identity, &task))
            && self.peers.has_asked(&task, nonce).await
            && let Some(token) = introductions.issue(&task)
        {
            Offer::new(introductions, token).make(metadata);
        }
    }
}

impl WorkerHandler {
    /// Adds the methods to a server's.
    pub(crate) fn add_methods(&self, services: &mut Services) {
        unary!(services, self, "tensorflow.WorkerService" {
            CleanupAll => cleanup_all,
            CleanupGraph => cleanup_graph,
            CompleteGroup => complete_group,
            CompleteInstance => complete_instance,
            DeleteWorkerSession => delete_worker_session,
            DeregisterGraph => deregister_graph,
            GetStepSequence => get_step_sequence,
            Logging => logging,
            MarkRecvFinished => mark_recv_finished,
            RecvBuf => recv_buf,
            RegisterGraph => register_graph,
            RunGraph => run_graph,
            Tracing => tracing,
        });
        let handler = self.clone();
        services.unary(
            "/tensorflow.WorkerService/GetStatus",
            move |call, _: pb::GetStatusRequest| {
                let handler = handler.clone();
                async move { handler.get_status(call).await }
            },
        );
        let handler = self.clone();
        services.unary("/tensorflow.WorkerService/CreateWorkerSession", move |call, request| {
            let (handler, owner) = (handler.clone(), behalf::hear(&call));
            let durable = durable::hear(&call);
            async move { handler.create_worker_session(owner, durable, request).await }
        });
        let handler = self.clone();
        services.parts(recv_tensor::PATH, move |call, request| {
            let (handler, caller) = (handler.clone(), owner(&call));
            async move { recv_tensor::answer(&handler, &caller, request).await }
        });
    }

    /// The handler of TensorFlow 2 clients of the same worker.
    pub(crate) fn eager(&self) -> EagerHandler {
        let (worker, activity) = (Arc::clone(&self.worker), Arc::clone(&self.activity));
        EagerHandler { worker, activity }
    }

    fn create_session(
        &self,
        owner: Owner,
        durable: Vec<DeviceName>,
        request: pb::CreateWorkerSessionRequest,
    ) -> Result<()> {
        let server = request.server_def.unwrap_or_default();
        let cluster = server.cluster.as_ref().filter(|cluster| !cluster.job.is_empty());
        let task_name = match cluster {
            None => self.task.name.clone(),
            Some(_) => DeviceName {
                job: Some(server.job_name.clone()),
                replica: Some(0),
                task: u32::try_from(server.task_index).ok(),
                ..DeviceName::default()
            },
        };
        self.worker.create_session(CreateWorkerSession {
            handle: request.session_handle,
            task_name,
            cluster: cluster.map(tensorfleet_spec::wire::cluster_spec).transpose()?,
            isolate_session_state: request.isolate_session_state,
            master_task: request.master_task,
            master_incarnation: request.master_incarnation as u64,
            threads: server.default_session_config.as_ref().map(wire::threads).unwrap_or_default(),
            owner,
            durable,
        })
    }

    /// Sessions of masters that do not make worker sessions share one without a name.
    fn session_handle(&self, handle: String, create_worker_session_called: bool) -> Result<String> {
        if create_worker_session_called {
            return Ok(handle);
        }
        let shared = "legacy".to_owned();
        self.worker.create_session(CreateWorkerSession {
            handle: shared.clone(),
            task_name: self.task.name.clone(),
            cluster: None,
            isolate_session_state: false,
            master_task: String::new(),
            master_incarnation: 0,
            threads: Threads::default(),
            owner: Owner::default(),
            durable: Vec::new(),
        })?;
        Ok(shared)
    }

    fn register(&self, request: raw::RegisterGraphRequest) -> Result<String> {
        let session =
            self.session_handle(request.session_handle, request.create_worker_session_called)?;
        let (nodes, library) = wire::graph(request.graph_def)?;
        let graph = Graph::from_nodes(nodes, Arc::new(library), &*self.task.registry)?;
        let watches = request.debug_options.as_ref().map(wire::watches).transpose()?.flatten();
        self.worker.register_graph(&session, &graph, watches.as_deref())
    }

    /// Runs a partition. Errors go where the master wants them.
    pub(crate) async fn run(&self, request: pb::RunGraphRequest) -> Result<pb::RunGraphResponse> {
        let errors_in_body = request.store_errors_in_response_body;
        match self.try_run(request).await {
            // A body has no place for the marks of a consequence and of a restart; a status has.
            Err(error) if errors_in_body && !error.is_derived() && !error.is_worker_restarted() => {
                Ok(error_in_body(&error))
            }
            outcome => outcome,
        }
    }

    async fn try_run(&self, request: pb::RunGraphRequest) -> Result<pb::RunGraphResponse> {
        // A durable task that drains will be back: its callers need not hear of it.
        let running = self.activity.begin(Work::Part).map_err(Error::worker_restarted)?;
        let session = request.session_handle.clone();
        running.end(self.run_part(request).await, || format!("session {session}"))
    }

    async fn run_part(&self, request: pb::RunGraphRequest) -> Result<pb::RunGraphResponse> {
        self.recent_runs.check(request.request_id, "RunGraph (Worker)")?;
        let session =
            self.session_handle(request.session_handle, request.create_worker_session_called)?;
        let options = request.exec_opts.unwrap_or_default();
        let outcome = self
            .worker
            .run_graph(RunGraph {
                session,
                graph: request.graph_handle,
                step: request.step_id,
                args: Vec::new(),
                sends: request.send.into_iter().map(wire::named_tensor).collect::<Result<_>>()?,
                recv_keys: request.recv_key,
                trace: options.record_timeline || options.record_costs,
                inter_op: None,
            })
            .await?;
        Ok(pb::RunGraphResponse {
            recv: outcome
                .recvs
                .into_iter()
                .map(|(key, tensor)| wire::named_tensor_proto(key, &tensor))
                .collect::<Result<_>>()?,
            step_stats: (!outcome.trace.is_empty()).then(|| wire::step_stats(&outcome.trace)),
            ..Default::default()
        })
    }

    /// Waits for the tensor that a request is for, if the caller may have it.
    pub(crate) async fn parcel_for(
        &self,
        caller: &Owner,
        request: pb::RecvTensorRequest,
    ) -> Result<Parcel> {
        self.worker.contexts().check_step(caller, StepId(request.step_id))?;
        self.parcel(request).await
    }

    /// Waits for the tensor that a request is for.
    pub(crate) async fn parcel(&self, request: pb::RecvTensorRequest) -> Result<Parcel> {
        self.recent_tensors.check(request.request_id, "RecvTensor (GrpcWorker)")?;
        let step = StepId(request.step_id);
        self.worker.recv_tensor(step, &request.rendezvous_key).await
    }
}

fn error_in_body(error: &Error) -> pb::RunGraphResponse {
    pb::RunGraphResponse {
        status_code: error.code() as i32,
        status_error_message: error.message().to_owned(),
        ..Default::default()
    }
}

/// The methods.
impl WorkerHandler {
    pub(crate) async fn get_status(
        &self,
        call: Call,
    ) -> Result<Response<pb::GetStatusResponse>, Status> {
        let device_attributes = self.worker.devices().iter().map(wire::device_attributes).collect();
        let mut response = Response::new(pb::GetStatusResponse { device_attributes });
        if let Some(link) = &self.link {
            link.answer(&call, response.metadata_mut()).await;
        }
        Ok(response)
    }

    pub(crate) async fn create_worker_session(
        &self,
        owner: Owner,
        durable: Vec<DeviceName>,
        request: pb::CreateWorkerSessionRequest,
    ) -> Result<Response<pb::CreateWorkerSessionResponse>, Status> {
        let outcome = self.create_session(owner, durable, request);
        reply(outcome.map(|()| pb::CreateWorkerSessionResponse {}))
    }

    pub(crate) async fn delete_worker_session(
        &self,
        request: pb::DeleteWorkerSessionRequest,
    ) -> Result<Response<pb::DeleteWorkerSessionResponse>, Status> {
        self.worker.delete_session(&request.session_handle);
        Ok(Response::new(pb::DeleteWorkerSessionResponse {}))
    }

    pub(crate) async fn register_graph(
        &self,
        request: raw::RegisterGraphRequest,
    ) -> Result<Response<pb::RegisterGraphResponse>, Status> {
        let handler = self.clone();
        // A graph may be large, and others need this thread.
        let registered = tokio::task::spawn_blocking(move || handler.register(request)).await;
        let outcome = registered.unwrap_or_else(|error| Err(internal!("cannot register: {error}")));
        reply(outcome.map(|graph_handle| pb::RegisterGraphResponse { graph_handle }))
    }

    pub(crate) async fn deregister_graph(
        &self,
        request: pb::DeregisterGraphRequest,
    ) -> Result<Response<pb::DeregisterGraphResponse>, Status> {
        let session =
            self.session_handle(request.session_handle, request.create_worker_session_called);
        reply(
            session
                .and_then(|session| self.worker.deregister_graph(&session, &request.graph_handle))
                .map(|()| pb::DeregisterGraphResponse {}),
        )
    }

    pub(crate) async fn run_graph(
        &self,
        request: pb::RunGraphRequest,
    ) -> Result<Response<pb::RunGraphResponse>, Status> {
        reply(self.run(request).await)
    }

    pub(crate) async fn cleanup_graph(
        &self,
        request: pb::CleanupGraphRequest,
    ) -> Result<Response<pb::CleanupGraphResponse>, Status> {
        self.worker.cleanup_graph(StepId(request.step_id));
        Ok(Response::new(pb::CleanupGraphResponse {}))
    }

    pub(crate) async fn cleanup_all(
        &self,
        request: pb::CleanupAllRequest,
    ) -> Result<Response<pb::CleanupAllResponse>, Status> {
        self.worker.cleanup_all(&request.container).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::CleanupAllResponse {}))
    }

    pub(crate) async fn mark_recv_finished(
        &self,
        _: pb::MarkRecvFinishedRequest,
    ) -> Result<Response<pb::MarkRecvFinishedResponse>, Status> {
        // Responses are never kept for repetition, so there is nothing to forget.
        Ok(Response::new(pb::MarkRecvFinishedResponse {}))
    }

    pub(crate) async fn logging(
        &self,
        _: pb::LoggingRequest,
    ) -> Result<Response<pb::LoggingResponse>, Status> {
        Ok(Response::new(pb::LoggingResponse::default()))
    }

    pub(crate) async fn tracing(
        &self,
        _: pb::TracingRequest,
    ) -> Result<Response<pb::TracingResponse>, Status> {
        Err(to_status(&unimplemented_error!("Tracing")))
    }
}
