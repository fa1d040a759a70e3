//! gRPC's health service, by which orchestrators see whether a server is ready: it is as soon as it
//! answers, until it begins to drain or to stop.

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use tensorfleet_proto::grpc::health::v1::health_check_response::ServingStatus;
use tensorfleet_proto::grpc::health::v1::{HealthCheckRequest, HealthCheckResponse};
use tokio::sync::watch;
use tonic::{Response, Status};

use crate::grpc::{Services, unary};

/// The services that have a health; the empty name is the server's.
const SERVICES: [&str; 4] =
    ["", "tensorflow.MasterService", "tensorflow.WorkerService", "tensorflow.eager.EagerService"];

/// Serves the health of a server.
#[derive(Clone, Debug)]
pub(crate) struct HealthHandler {
    /// Whether the server drains or stops.
    pub(crate) stop: watch::Receiver<bool>,
}

fn status(service: &str, stops: bool) -> ServingStatus {
    match (SERVICES.contains(&service), stops) {
        (false, _) => ServingStatus::ServiceUnknown,
        (true, false) => ServingStatus::Serving,
        (true, true) => ServingStatus::NotServing,
    }
}

impl HealthHandler {
    /// Adds the methods to a server's.
    pub(crate) fn add_methods(&self, services: &mut Services) {
        unary!(services, self, "grpc.health.v1.Health" { Check => check });
        let handler = self.clone();
        services.streaming("/grpc.health.v1.Health/Watch", move |_, mut requests| {
            let handler = handler.clone();
            let first = async move {
                let missing = || Status::internal("Missing request message.");
                Ok::<_, Status>(handler.watch(requests.next().await.ok_or_else(missing)??).map(Ok))
            };
            stream::once(first).try_flatten()
        });
    }

    pub(crate) async fn check(
        &self,
        request: HealthCheckRequest,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.service;
        match status(&service, *self.stop.borrow()) {
            ServingStatus::ServiceUnknown => {
                Err(Status::not_found(format!("there is no service {service}")))
            }
            status => Ok(Response::new(HealthCheckResponse { status: status.into() })),
        }
    }

    /// Sends the present status, then every change of it.
    pub(crate) fn watch(
        &self,
        request: HealthCheckRequest,
    ) -> impl Stream<Item = HealthCheckResponse> + Send + use<> {
        let service = request.service;
        let sent: Option<ServingStatus> = None;
        stream::unfold((self.stop.clone(), sent), move |(mut stop, sent)| {
            let service = service.clone();
            async move {
                let wanted = |stops: &bool| Some(status(&service, *stops)) != sent;
                // An error means that the server is gone, and this connection with it.
                let stops = *stop.wait_for(wanted).await.ok()?;
                let now = status(&service, stops);
                Some((HealthCheckResponse { status: now.into() }, (stop, Some(now))))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn next(stream: Pin<&mut impl Stream<Item = HealthCheckResponse>>) -> Option<i32> {
        match stream.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(response)) => Some(response.status),
            _ => None,
        }
    }

    #[test]
    fn a_watcher_learns_that_the_server_stops() {
        let stop = watch::Sender::new(false);
        let handler = HealthHandler { stop: stop.subscribe() };
        let mut changes = pin!(handler.watch(HealthCheckRequest::default()));
        assert_eq!(next(changes.as_mut()), Some(ServingStatus::Serving as i32));
        assert_eq!(next(changes.as_mut()), None);
        stop.send_replace(true);
        assert_eq!(next(changes.as_mut()), Some(ServingStatus::NotServing as i32));
    }
}
