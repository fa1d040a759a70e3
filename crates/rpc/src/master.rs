//! MasterService: a client's sessions. Each handler decodes, makes one call and encodes.

use std::sync::Arc;

use tensorfleet_cluster::Master;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::master_service_server::MasterService;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Error, Result};
use tonic::{Request, Response, Status};

use crate::recent::RecentRequests;
use crate::status::reply;
use crate::wire;

/// Serves a [`Master`].
#[derive(Clone, Debug)]
pub(crate) struct MasterHandler {
    pub(crate) master: Arc<Master>,
    pub(crate) recent: Arc<RecentRequests>,
}

/// A client that asks for it gets a step's error in the body, where long messages survive.
fn error_in_body(error: &Error) -> pb::RunStepResponse {
    pb::RunStepResponse {
        status_code: error.code() as i32,
        status_error_message: error.message().to_owned(),
        ..Default::default()
    }
}

#[tonic::async_trait]
impl MasterService for MasterHandler {
    async fn create_session(
        &self,
        request: Request<pb::CreateSessionRequest>,
    ) -> Result<Response<pb::CreateSessionResponse>, Status> {
        let request = request.into_inner();
        reply(
            async {
                let mut options = wire::session_options(request.config.as_ref())?;
                options.target = request.target;
                let (nodes, library) = wire::graph(request.graph_def.as_ref())?;
                let session = self.master.create_session(nodes, library, options).await?;
                Ok(pb::CreateSessionResponse {
                    session_handle: session.handle.clone(),
                    graph_version: 0,
                })
            }
            .await,
        )
    }

    async fn extend_session(
        &self,
        request: Request<pb::ExtendSessionRequest>,
    ) -> Result<Response<pb::ExtendSessionResponse>, Status> {
        let request = request.into_inner();
        reply((|| {
            let session = self.master.session(&request.session_handle)?;
            let (nodes, library) = wire::graph(request.graph_def.as_ref())?;
            let version = Some(request.current_graph_version);
            let new_graph_version = session.extend(nodes, library, version)?;
            Ok(pb::ExtendSessionResponse { new_graph_version })
        })())
    }

    async fn run_step(
        &self,
        request: Request<pb::RunStepRequest>,
    ) -> Result<Response<pb::RunStepResponse>, Status> {
        let request = request.into_inner();
        let errors_in_body = request.store_errors_in_response_body;
        let outcome = async {
            self.recent.check(request.request_id, "RunStep (Master)")?;
            let session = self.master.session(&request.session_handle)?;
            if !request.partial_run_handle.is_empty() {
                let handle = request.partial_run_handle.clone();
                let fetches = request.fetch.clone();
                let outcome = session.partial_run(&handle, wire::step_call(request)?).await?;
                return wire::run_step_response(fetches, &outcome);
            }
            let fetches = request.fetch.clone();
            let outcome = session.run(wire::step_call(request)?).await?;
            wire::run_step_response(fetches, &outcome)
        }
        .await;
        match outcome {
            Err(error) if errors_in_body => Ok(Response::new(error_in_body(&error))),
            outcome => reply(outcome),
        }
    }

    async fn partial_run_setup(
        &self,
        request: Request<pb::PartialRunSetupRequest>,
    ) -> Result<Response<pb::PartialRunSetupResponse>, Status> {
        let request = request.into_inner();
        reply(
            async {
                let session = self.master.session(&request.session_handle)?;
                let partial_run_handle =
                    session.partial_run_setup(request.feed, request.fetch, request.target).await?;
                Ok(pb::PartialRunSetupResponse { partial_run_handle })
            }
            .await,
        )
    }

    async fn close_session(
        &self,
        request: Request<pb::CloseSessionRequest>,
    ) -> Result<Response<pb::CloseSessionResponse>, Status> {
        let handle = request.into_inner().session_handle;
        reply(self.master.close_session(&handle).await.map(|()| pb::CloseSessionResponse {}))
    }

    async fn list_devices(
        &self,
        request: Request<pb::ListDevicesRequest>,
    ) -> Result<Response<pb::ListDevicesResponse>, Status> {
        let handle = request.into_inner().session_handle;
        reply(self.master.list_devices(&handle).await.map(|(local, remote)| {
            pb::ListDevicesResponse {
                local_device: local.iter().map(wire::device_attributes).collect(),
                remote_device: remote.iter().map(wire::device_attributes).collect(),
            }
        }))
    }

    async fn reset(
        &self,
        request: Request<pb::ResetRequest>,
    ) -> Result<Response<pb::ResetResponse>, Status> {
        let request = request.into_inner();
        let outcome = self.master.reset(request.container, request.device_filters).await;
        reply(outcome.map(|()| pb::ResetResponse {}))
    }

    async fn make_callable(
        &self,
        request: Request<pb::MakeCallableRequest>,
    ) -> Result<Response<pb::MakeCallableResponse>, Status> {
        let request = request.into_inner();
        reply(
            async {
                let session = self.master.session(&request.session_handle)?;
                let callable = wire::callable(request.options.unwrap_or_default());
                Ok(pb::MakeCallableResponse { handle: session.make_callable(callable).await? })
            }
            .await,
        )
    }

    async fn run_callable(
        &self,
        request: Request<pb::RunCallableRequest>,
    ) -> Result<Response<pb::RunCallableResponse>, Status> {
        let request = request.into_inner();
        reply(
            async {
                let session = self.master.session(&request.session_handle)?;
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
            }
            .await,
        )
    }

    async fn release_callable(
        &self,
        request: Request<pb::ReleaseCallableRequest>,
    ) -> Result<Response<pb::ReleaseCallableResponse>, Status> {
        let request = request.into_inner();
        reply(self.master.session(&request.session_handle).map(|session| {
            session.release_callable(request.handle);
            pb::ReleaseCallableResponse {}
        }))
    }
}
