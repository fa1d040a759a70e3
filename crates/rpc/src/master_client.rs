//! A master on another task, or in another process: what a Rust client of `grpc://host:port` calls.

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_cluster::{Callable, SessionOptions, StepCall, StepReply, random_nonzero};
use tensorfleet_graph::wire as graph_wire;
use tensorfleet_graph::{FunctionLibrary, NodeDef};
use tensorfleet_planner::Device;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::master_service_client::MasterServiceClient;
use tensorfleet_security::Credentials;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Code, Context, Error, Result, Tensor, unavailable};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tonic::Status;
use tonic::transport::Channel;

use crate::status::from_status;
use crate::transport::Place;
use crate::wire;

/// How long a client waits for a server that is not up yet.
const DEFAULT_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before calling again.
const RETRY: Duration = Duration::from_millis(100);

/// Speaks MasterService to one task.
#[derive(Clone, Debug)]
pub struct RemoteMaster {
    client: MasterServiceClient<Channel>,
    address: Arc<str>,
}

/// A session that a client has opened.
#[derive(Clone, Debug)]
pub struct RemoteSession {
    pub handle: String,
    /// The version of its graph, which grows with every extension.
    pub graph_version: i64,
}

impl RemoteMaster {
    /// Prepares a connection to a target such as `grpc://localhost:2222`; it is made with the first
    /// call, on the threads of `runtime`. A target that begins with `grpcs://` is spoken to over TLS,
    /// with the credentials that are given or those that the environment names.
    pub fn new(
        target: &str,
        credentials: Option<&Arc<Credentials>>,
        runtime: &Handle,
    ) -> Result<RemoteMaster> {
        let place = Place::of_target(target, credentials, runtime)?;
        let channel = place.channel(runtime).context(|| target.to_owned())?;
        let client = MasterServiceClient::new(channel)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        Ok(RemoteMaster { client, address: place.address })
    }

    /// Opens a session. A server that is not up yet is waited for.
    pub async fn create_session(
        &self,
        nodes: &[NodeDef],
        library: &FunctionLibrary,
        options: &SessionOptions,
    ) -> Result<RemoteSession> {
        let request = pb::CreateSessionRequest {
            graph_def: Some(graph_wire::graph_def_of(nodes, library)?),
            config: Some(wire::config_proto(options)),
            target: format!("grpc://{}", self.address),
        };
        let deadline = Instant::now() + options.timeout.unwrap_or(DEFAULT_WAIT);
        loop {
            let call = self.client.clone().create_session(request.clone()).await;
            match call {
                Ok(response) => {
                    let response = response.into_inner();
                    return Ok(RemoteSession {
                        handle: response.session_handle,
                        graph_version: response.graph_version,
                    });
                }
                Err(status) if is_transport(&status) && Instant::now() + RETRY < deadline => {
                    tokio::time::sleep(RETRY).await;
                }
                Err(status) => return Err(self.error(&status)),
            }
        }
    }

    /// Adds nodes and functions to a session's graph.
    pub async fn extend_session(
        &self,
        session: &mut RemoteSession,
        nodes: &[NodeDef],
        library: &FunctionLibrary,
    ) -> Result<()> {
        let request = pb::ExtendSessionRequest {
            session_handle: session.handle.clone(),
            graph_def: Some(graph_wire::graph_def_of(nodes, library)?),
            current_graph_version: session.graph_version,
        };
        let response = self.client.clone().extend_session(request).await;
        let response = response.map_err(|status| self.error(&status))?;
        session.graph_version = response.into_inner().new_graph_version;
        Ok(())
    }

    /// Runs a step.
    pub async fn run_step(&self, handle: &str, call: StepCall) -> Result<StepReply> {
        let fetches = call.fetches.clone();
        let mut request = wire::run_step_request(handle, call)?;
        request.request_id = request_id();
        let response = self.client.clone().run_step(request).await;
        let response = response.map_err(|status| self.error(&status))?.into_inner();
        if response.status_code != 0 {
            let code = Code::from_number(response.status_code);
            return Err(Error::new(code, response.status_error_message));
        }
        wire::step_reply(&fetches, response)
    }

    /// Prepares a step to be run many times; returns by which number it is known.
    pub async fn make_callable(&self, handle: &str, callable: Callable) -> Result<i64> {
        let request = pb::MakeCallableRequest {
            session_handle: handle.to_owned(),
            options: Some(wire::callable_options(callable)),
            request_id: request_id(),
        };
        let response = self.client.clone().make_callable(request).await;
        Ok(response.map_err(|status| self.error(&status))?.into_inner().handle)
    }

    /// Runs a prepared step with values for its feeds; returns those of its fetches.
    pub async fn run_callable(
        &self,
        handle: &str,
        callable: i64,
        feeds: &[Tensor],
    ) -> Result<StepReply> {
        let request = pb::RunCallableRequest {
            session_handle: handle.to_owned(),
            handle: callable,
            feed: feeds.iter().map(tensor_wire::tensor_proto).collect::<Result<_>>()?,
            request_id: request_id(),
        };
        let response = self.client.clone().run_callable(request).await;
        let response = response.map_err(|status| self.error(&status))?.into_inner();
        let tensors = response.fetch.iter().map(tensor_wire::tensor).collect::<Result<_>>()?;
        Ok(StepReply { tensors, ..StepReply::default() })
    }

    /// Lets the master forget a prepared step.
    pub async fn release_callable(&self, handle: &str, callable: i64) -> Result<()> {
        let request =
            pb::ReleaseCallableRequest { session_handle: handle.to_owned(), handle: callable };
        self.client.clone().release_callable(request).await.map_err(|s| self.error(&s))?;
        Ok(())
    }

    /// Closes a session.
    pub async fn close_session(&self, handle: &str) -> Result<()> {
        let request = pb::CloseSessionRequest { session_handle: handle.to_owned() };
        self.client.clone().close_session(request).await.map_err(|status| self.error(&status))?;
        Ok(())
    }

    /// The devices of a session, or of the whole cluster without one.
    pub async fn list_devices(&self, handle: &str) -> Result<Vec<Device>> {
        let request = pb::ListDevicesRequest { session_handle: handle.to_owned() };
        let response = self.client.clone().list_devices(request).await;
        let response = response.map_err(|status| self.error(&status))?.into_inner();
        response.local_device.iter().chain(&response.remote_device).map(wire::device).collect()
    }

    /// Closes all sessions of the master and forgets the resources in containers, on every task.
    pub async fn reset(&self, containers: &[String], device_filters: &[String]) -> Result<()> {
        let request = pb::ResetRequest {
            container: containers.to_vec(),
            device_filters: device_filters.to_vec(),
        };
        self.client.clone().reset(request).await.map_err(|status| self.error(&status))?;
        Ok(())
    }

    /// Turns a failed call into an error that says what could not be reached and why.
    fn error(&self, status: &Status) -> Error {
        if !is_transport(status) {
            return from_status(status);
        }
        let mut cause = String::new();
        let mut source = std::error::Error::source(status);
        while let Some(error) = source {
            cause = format!(": {error}");
            source = error.source();
        }
        unavailable!("the server at {} cannot be reached{cause}", self.address)
    }
}

/// By what a master knows a call that comes twice.
fn request_id() -> i64 {
    (random_nonzero() >> 1).max(1) as i64
}

/// Whether no answer came, as opposed to an answer that says no.
fn is_transport(status: &Status) -> bool {
    std::error::Error::source(status).is_some()
}
