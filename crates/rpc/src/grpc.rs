//! gRPC connections: hyper speaks HTTP/2, and each call goes to the service that its path names.
//!
//! tonic's own server would do the same behind a router and half a dozen layers that nothing here
//! needs; for a step of nothing they were a good part of the work.

use std::convert::Infallible;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use tensorfleet_framework::BoxFuture;
use tensorfleet_proto::grpc::health::v1::health_server::HealthServer;
use tensorfleet_proto::tensorflow::master_service_server::MasterServiceServer;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::server::NamedService;

use crate::health::HealthHandler;
use crate::master::MasterHandler;
use crate::recv_tensor::WorkerService;
use crate::{deadline, transport};

/// The services of a task.
#[derive(Clone, Debug)]
pub(crate) struct Grpc {
    pub(crate) master: MasterServiceServer<MasterHandler>,
    pub(crate) worker: WorkerService,
    pub(crate) health: HealthServer<HealthHandler>,
}

const MASTER: &str = MasterServiceServer::<MasterHandler>::NAME;
const WORKER: &str = WorkerService::NAME;
const HEALTH: &str = HealthServer::<HealthHandler>::NAME;

impl Service<Request<Incoming>> for Grpc {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Response<Body>, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let timeout = deadline::timeout(request.headers());
        let call = match service(request.uri().path()) {
            MASTER => self.master.clone().call(request),
            WORKER => self.worker.clone().call(request),
            HEALTH => self.health.clone().call(request),
            _ => Box::pin(ready(Ok(Status::unimplemented("").into_http()))),
        };
        match timeout {
            None => call,
            Some(timeout) => Box::pin(deadline::within(timeout, call)),
        }
    }
}

/// The name of the service in `/service/method`.
fn service(path: &str) -> &str {
    path.strip_prefix('/').and_then(|path| path.split_once('/')).map_or("", |(service, _)| service)
}

impl Grpc {
    /// Serves a connection until it ends, or until the server stops: calls that are under way then
    /// have a time to end.
    pub(crate) async fn serve(
        self,
        socket: TcpStream,
        mut stop: watch::Receiver<bool>,
        drain: Duration,
    ) {
        let connection = transport::tune_server(http2::Builder::new(Calls))
            .serve_connection(TokioIo::new(socket), self);
        let mut connection = pin!(connection);
        let stopped = async {
            // An error means that the server is gone.
            let _ = stop.wait_for(|stop| *stop).await;
        };
        let outcome = tokio::select! {
            biased;
            outcome = connection.as_mut() => outcome,
            () = stopped => {
                connection.as_mut().graceful_shutdown();
                tokio::time::timeout(drain, connection).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = outcome {
            tracing::debug!("a connection broke: {error}");
        }
    }
}

/// Runs calls: those that end at once on the spot, before the connection is looked at again, and the
/// others as tasks. A short step so costs no task, and its answer leaves with the next flush.
#[derive(Clone, Copy, Debug)]
struct Calls;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Calls {
    fn execute(&self, call: F) {
        let mut call = Box::pin(call);
        // Nobody need be woken: a task looks again itself.
        let mut context = Context::from_waker(Waker::noop());
        match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(&mut context))) {
            Ok(Poll::Ready(())) => {}
            Ok(Poll::Pending) => drop(tokio::spawn(call)),
            // Told by the panic hook. Without its call the stream is reset; the others go on.
            Err(_) => {}
        }
    }
}
