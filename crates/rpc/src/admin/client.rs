//! The operator's side of the service.

use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use tensorfleet_tensor::{Error, Result, unavailable};
use tokio::runtime::Handle;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

use super::{DRAIN, STATUS, STOP};
use crate::status::from_status;
use crate::transport::Place;

/// How long a task has to answer.
const PATIENCE: Duration = Duration::from_secs(5);

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
        let channel = Grpc::new(place.channel(runtime)?);
        Ok(AdminClient { channel, address: place.address.to_string() })
    }

    /// The task's status, as JSON.
    pub async fn status(&self) -> Result<String> {
        self.call(STATUS, ()).await
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
        match tokio::time::timeout(PATIENCE, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(failed(from_status(&status))),
            Err(_) => Err(unavailable!("{} has not answered for {PATIENCE:?}", self.address)),
        }
    }
}
