//! The operator's side of the service.

use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use tensorfleet_security::Credentials;
use tensorfleet_tensor::{Error, Result, unavailable};
use tokio::runtime::Handle;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

use super::{DRAIN, EXAMINE, GRAPHS, LOGS, RECORD, SNAPSHOT, STATUS, STOP};
use crate::status::from_status;
use crate::transport::Place;

/// How long a task has to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it has to write all that it keeps.
const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(3600);

/// How long a task has that asks others before it answers.
const MORE_PATIENCE: Duration = Duration::from_secs(15);

/// What a task may tell.
const LARGEST: usize = 256 << 20;

/// Asks one task, ours or TensorFlow's, which does not know the service.
#[derive(Clone, Debug)]
pub struct AdminClient {
    channel: Grpc<Channel>,
    address: String,
}

impl AdminClient {
    /// Prepares a connection to `host:port`, or to a target as `grpc://host:port` or `grpcs://`.
    pub fn new(target: &str, runtime: &Handle) -> Result<AdminClient> {
        let place = match target.contains("://") {
            true => Place::of_target(target, None, runtime)?,
            false => Place::new(target, None),
        };
        AdminClient::at(&place, runtime)
    }

    /// Prepares a connection to another task of the cluster, as its other connections are.
    pub(super) fn of_task(
        address: &str,
        credentials: Option<Arc<Credentials>>,
        runtime: &Handle,
    ) -> Result<AdminClient> {
        AdminClient::at(&Place::new(address, credentials), runtime)
    }

    fn at(place: &Place, runtime: &Handle) -> Result<AdminClient> {
        let channel = Grpc::new(place.channel(runtime)?).max_decoding_message_size(LARGEST);
        Ok(AdminClient { channel, address: place.address.to_string() })
    }

    /// The last lines of its log from a number on, as JSON.
    pub async fn logs(&self, since: u64) -> Result<String> {
        self.call(LOGS, since).await
    }

    /// The task's status, as JSON.
    pub async fn status(&self) -> Result<String> {
        self.call(STATUS, ()).await
    }

    /// Has the task take a snapshot of what it keeps; the last record in it.
    pub async fn snapshot(&self) -> Result<u64> {
        self.call_within(SNAPSHOT_PATIENCE, SNAPSHOT, ()).await
    }

    /// What the task sees of the others and of some directories, as JSON. `paths` is a list in JSON.
    pub async fn examine(&self, paths: &str) -> Result<String> {
        self.call_within(MORE_PATIENCE, EXAMINE, paths.to_owned()).await
    }

    /// Starts, watches or ends a record of the task's steps; request and answer are JSON.
    pub async fn record(&self, request: &str) -> Result<String> {
        self.call_within(MORE_PATIENCE, RECORD, request.to_owned()).await
    }

    /// The graphs of a session as they are placed, as JSON; without a handle those of the only session.
    pub async fn graphs(&self, session: &str) -> Result<String> {
        self.call_within(MORE_PATIENCE, GRAPHS, session.to_owned()).await
    }

    /// Lets the task refuse new steps.
    pub async fn drain(&self) -> Result<()> {
        self.call(DRAIN, ()).await
    }

    /// Lets the task end, when its steps have or the time of grace is over.
    pub async fn stop(&self, grace: Duration) -> Result<()> {
        self.call(STOP, grace.as_secs()).await
    }

    async fn call<Q, R>(&self, path: &'static str, message: Q) -> Result<R>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        self.call_within(PATIENCE, path, message).await
    }

    async fn call_within<Q, R>(
        &self,
        patience: Duration,
        path: &'static str,
        message: Q,
    ) -> Result<R>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        let mut channel = self.channel.clone();
        let call = async {
            let unreachable = |error: tonic::transport::Error| {
                tonic::Status::unavailable(format!("cannot be reached: {error}"))
            };
            channel.ready().await.map_err(unreachable)?;
            let codec = ProstCodec::<Q, R>::default();
            channel.unary(Request::new(message), PathAndQuery::from_static(path), codec).await
        };
        let failed = |error: Error| {
            Error::new(error.code(), format!("{}: {}", self.address, error.message()))
        };
        match tokio::time::timeout(patience, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(failed(from_status(&status))),
            Err(_) => Err(unavailable!("{} has not answered for {patience:?}", self.address)),
        }
    }
}
