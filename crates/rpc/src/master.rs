//! MasterService: a client's sessions. Each handler decodes, makes one call and encodes.

use std::sync::Arc;

use tensorfleet_cluster::{Master, Owner};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Error, Result};
use tensorfleet_transport::Call;
use tonic::{Response, Status};

use crate::activity::{Activity, Work};
use crate::grpc::{Services, owner, unary_for};
use crate::recent::RecentRequests;
use crate::status::reply;
use crate::{raw, wire};

/// Serves a [`Master`].
#[derive(Clone, Debug)]
pub(crate) struct MasterHandler {
    pub(crate) master: Arc<Master>,
    pub(crate) recent: Arc<RecentRequests>,
    pub(crate) activity: Arc<Activity>,
}

/// A client that asks for it gets a step's error in the body, where long messages survive.
fn error_in_body(error: &Error) -> pb::RunStepResponse {
    pb::RunStepResponse {
        status_code: error.code() as i32,
        status_error_message: error.message().to_owned(),
        ..Default::default()
    }
}

impl MasterHandler {
    /// Adds the methods to a server's.
    pub(crate) fn add_methods(&self, services: &mut Services) {
        unary_for!(services, self, "tensorflow.MasterService" {
            CloseSession => close_session,
            ExtendSession => extend_session,
            ListDevices => list_devices,
            MakeCallable => make_callable,
            PartialRunSetup => partial_run_setup,
            ReleaseCallable => release_callable,
            Reset => reset,
            RunCallable => run_callable,
            RunStep => run_step,
        });
        let handler = self.clone();
        services.unary("/tensorflow.MasterService/CreateSession", move |call, request| {
            let handler = handler.clone();
            async move { handler.create_session(&call, request).await }
        });
    }

    /// Runs a step that counts.
    async fn counted<T>(
        &self,
        session: &str,
        fed: usize,
        step: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let running = self.activity.begin(Work::Step)?;
        running.end(step.await, || match fed / 1_000_000 {
            0 => format!("session {session}"),
            // What grows from step to step is often the reason why they take longer.
            megabytes => format!("session {session}, fed with {megabytes} MB,"),
        })
    }

    pub(crate) async fn create_session(
        &self,
        call: &Call,
        request: raw::CreateSessionRequest,
    ) -> Result<Response<pb::CreateSessionResponse>, Status> {
        reply(
            async {
                self.activity.check_open()?;
                let mut options = wire::session_options(request.config.as_ref())?;
                options.target = request.target;
                options.owner = owner(call);
                options.client = call.peer.to_string();
                let graph_def = request.graph_def;
                let size = wire::graph_size(&graph_def);
                let read = move || wire::graph(graph_def);
                let (nodes, library) = self.master.world().aside_if_large(size, read).await?;
                let session = self.master.create_session(nodes, library, options).await?;
                Ok(pb::CreateSessionResponse {
                    session_handle: session.handle.clone(),
                    graph_version: 0,
                })
            }
            .await,
        )
    }

    pub(crate) async fn extend_session(
        &self,
        caller: &Owner,
        request: raw::ExtendSessionRequest,
    ) -> Result<Response<pb::ExtendSessionResponse>, Status> {
        let outcome = async {
            let session = self.master.session_for(caller, &request.session_handle)?;
            let (graph_def, version) = (request.graph_def, request.current_graph_version);
            let size = wire::graph_size(&graph_def);
            let extended = self.master.world().aside_if_large(size, move || {
                let (nodes, library) = wire::graph(graph_def)?;
                session.extend(nodes, library, Some(version))
            });
            Ok(pb::ExtendSessionResponse { new_graph_version: extended.await? })
        };
        reply(outcome.await)
    }

    pub(crate) async fn run_step(
        &self,
        caller: &Owner,
        request: pb::RunStepRequest,
    ) -> Result<Response<pb::RunStepResponse>, Status> {
        let errors_in_body = request.store_errors_in_response_body;
        let handle = request.session_handle.clone();
        let fed = request.feed.iter().filter_map(|feed| feed.tensor.as_ref());
        let fed = fed.map(|tensor| tensor.tensor_content.len()).sum();
        let outcome = self.counted(&handle, fed, async {
            self.recent.check(request.request_id, "RunStep (Master)")?;
            let session = self.master.session_for(caller, &request.session_handle)?;
            if !request.partial_run_handle.is_empty() {
                let handle = request.partial_run_handle.clone();
                let fetches = wire::distinct(request.fetch.clone());
                let outcome = session.partial_run(&handle, wire::step_call(request)?).await?;
                return wire::run_step_response(fetches, &outcome);
            }
            let fetches = wire::distinct(request.fetch.clone());
            let outcome = session.run(wire::step_call(request)?).await?;
            wire::run_step_response(fetches, &outcome)
        });
        match outcome.await {
            Err(error) if errors_in_body => Ok(Response::new(error_in_body(&error))),
            outcome => reply(outcome),
        }
    }

    pub(crate) async fn partial_run_setup(
        &self,
        caller: &Owner,
        request: pb::PartialRunSetupRequest,
    ) -> Result<Response<pb::PartialRunSetupResponse>, Status> {
        reply(
            async {
                let session = self.master.session_for(caller, &request.session_handle)?;
                let partial_run_handle =
                    session.partial_run_setup(request.feed, request.fetch, request.target).await?;
                Ok(pb::PartialRunSetupResponse { partial_run_handle })
            }
            .await,
        )
    }

    pub(crate) async fn close_session(
        &self,
        caller: &Owner,
        request: pb::CloseSessionRequest,
    ) -> Result<Response<pb::CloseSessionResponse>, Status> {
        let handle = request.session_handle;
        let closed = self.master.close_session_for(caller, &handle).await;
        reply(closed.map(|()| pb::CloseSessionResponse {}))
    }

    pub(crate) async fn list_devices(
        &self,
        caller: &Owner,
        request: pb::ListDevicesRequest,
    ) -> Result<Response<pb::ListDevicesResponse>, Status> {
        let handle = request.session_handle;
        reply(self.master.list_devices(caller, &handle).await.map(|(local, remote)| {
            pb::ListDevicesResponse {
                local_device: local.iter().map(wire::device_attributes).collect(),
                remote_device: remote.iter().map(wire::device_attributes).collect(),
            }
        }))
    }

    pub(crate) async fn reset(
        &self,
        caller: &Owner,
        request: pb::ResetRequest,
    ) -> Result<Response<pb::ResetResponse>, Status> {
        let outcome = self.master.reset(caller, request.container, request.device_filters).await;
        reply(outcome.map(|()| pb::ResetResponse {}))
    }

    pub(crate) async fn make_callable(
        &self,
        caller: &Owner,
        request: pb::MakeCallableRequest,
    ) -> Result<Response<pb::MakeCallableResponse>, Status> {
        reply(
            async {
                let session = self.master.session_for(caller, &request.session_handle)?;
                let callable = wire::callable(request.options.unwrap_or_default())?;
                Ok(pb::MakeCallableResponse { handle: session.make_callable(callable).await? })
            }
            .await,
        )
    }

    pub(crate) async fn run_callable(
        &self,
        caller: &Owner,
        request: pb::RunCallableRequest,
    ) -> Result<Response<pb::RunCallableResponse>, Status> {
        let handle = request.session_handle.clone();
        let fed = request.feed.iter().map(|tensor| tensor.tensor_content.len()).sum();
        reply(
            self.counted(&handle, fed, async {
                let session = self.master.session_for(caller, &request.session_handle)?;
                let feeds = request.feed.iter().map(tensor_wire::tensor).collect::<Result<_>>()?;
                let outcome = session.run_callable(request.handle, feeds).await?;
                Ok(pb::RunCallableResponse {
                    fetch: outcome
                        .tensors
                        .iter()
                        .map(tensor_wire::tensor_proto)
                        .collect::<Result<_>>()?,
                    metadata: Some(wire::run_metadata(&outcome)?),
                })
            })
            .await,
        )
    }

    pub(crate) async fn release_callable(
        &self,
        caller: &Owner,
        request: pb::ReleaseCallableRequest,
    ) -> Result<Response<pb::ReleaseCallableResponse>, Status> {
        reply(self.master.session_for(caller, &request.session_handle).map(|session| {
            session.release_callable(request.handle);
            pb::ReleaseCallableResponse {}
        }))
    }
}
