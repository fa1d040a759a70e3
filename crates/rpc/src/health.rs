//! gRPC's health service, by which orchestrators see whether a server is ready: it is as soon as it
//! answers, until it begins to stop.

use std::pin::Pin;

use futures_util::{Stream, stream};
use tensorfleet_proto::grpc::health::v1::health_check_response::ServingStatus;
use tensorfleet_proto::grpc::health::v1::health_server::Health;
use tensorfleet_proto::grpc::health::v1::{HealthCheckRequest, HealthCheckResponse};
use tokio::sync::watch;
use tonic::{Request, Response, Status};

/// The services that have a health; the empty name is the server's.
const SERVICES: [&str; 3] = ["", "tensorflow.MasterService", "tensorflow.WorkerService"];

/// Serves the health of a server.
#[derive(Debug)]
pub(crate) struct HealthHandler {
    /// Whether the server stops.
    pub(crate) stop: watch::Receiver<bool>,
}

fn status(service: &str, stops: bool) -> ServingStatus {
    match (SERVICES.contains(&service), stops) {
        (false, _) => ServingStatus::ServiceUnknown,
        (true, false) => ServingStatus::Serving,
        (true, true) => ServingStatus::NotServing,
    }
}

#[tonic::async_trait]
impl Health for HealthHandler {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        match status(&service, *self.stop.borrow()) {
            ServingStatus::ServiceUnknown => {
                Err(Status::not_found(format!("there is no service {service}")))
            }
            status => Ok(Response::new(HealthCheckResponse { status: status.into() })),
        }
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    /// Sends the present status, then every change of it.
    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let service = request.into_inner().service;
        let sent: Option<ServingStatus> = None;
        let changes = stream::unfold((self.stop.clone(), sent), move |(mut stop, sent)| {
            let service = service.clone();
            async move {
                let wanted = |stops: &bool| Some(status(&service, *stops)) != sent;
                // An error means that the server is gone, and this connection with it.
                let stops = *stop.wait_for(wanted).await.ok()?;
                let now = status(&service, stops);
                Some((Ok(HealthCheckResponse { status: now.into() }), (stop, Some(now))))
            }
        });
        Ok(Response::new(Box::pin(changes)))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn next(
        stream: &mut Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>,
    ) -> Option<i32> {
        match stream.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(response))) => Some(response.status),
            _ => None,
        }
    }

    #[test]
    fn a_watcher_learns_that_the_server_stops() {
        let stop = watch::Sender::new(false);
        let handler = HealthHandler { stop: stop.subscribe() };
        let mut watching = pin!(handler.watch(Request::new(HealthCheckRequest::default())));
        let Poll::Ready(Ok(response)) =
            watching.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("it answers at once");
        };
        let mut changes = response.into_inner();
        assert_eq!(next(&mut changes), Some(ServingStatus::Serving as i32));
        assert_eq!(next(&mut changes), None);
        stop.send_replace(true);
        assert_eq!(next(&mut changes), Some(ServingStatus::NotServing as i32));
    }
}
