//! The methods of a task's services.

use bytes::Bytes;
use futures_util::StreamExt;
use http::HeaderMap;
use prost::Message;
use tensorfleet_framework::BoxFuture;
use tonic::{Response, Status};

use crate::health::HealthHandler;
use crate::http2::{Answer, Body, Reply, Service, with_prefix};
use crate::master::MasterHandler;
use crate::recv_tensor;
use crate::worker::WorkerHandler;

/// The services of a task.
#[derive(Clone, Debug)]
pub(crate) struct Grpc {
    pub(crate) master: MasterHandler,
    pub(crate) worker: WorkerHandler,
    pub(crate) health: HealthHandler,
}

impl Service for Grpc {
    fn call(&self, path: &str, message: Bytes) -> BoxFuture<Answer> {
        /// Calls a method that takes one message and gives one.
        macro_rules! call {
            ($service:ident.$method:ident) => {{
                let handler = self.$service.clone();
                Box::pin(async move { answer(handler.$method(decode(message)?).await?) })
            }};
        }
        match path {
            "/tensorflow.MasterService/CloseSession" => call!(master.close_session),
            "/tensorflow.MasterService/CreateSession" => call!(master.create_session),
            "/tensorflow.MasterService/ExtendSession" => call!(master.extend_session),
            "/tensorflow.MasterService/ListDevices" => call!(master.list_devices),
            "/tensorflow.MasterService/MakeCallable" => call!(master.make_callable),
            "/tensorflow.MasterService/PartialRunSetup" => call!(master.partial_run_setup),
            "/tensorflow.MasterService/ReleaseCallable" => call!(master.release_callable),
            "/tensorflow.MasterService/Reset" => call!(master.reset),
            "/tensorflow.MasterService/RunCallable" => call!(master.run_callable),
            "/tensorflow.MasterService/RunStep" => call!(master.run_step),
            "/tensorflow.WorkerService/CleanupAll" => call!(worker.cleanup_all),
            "/tensorflow.WorkerService/CleanupGraph" => call!(worker.cleanup_graph),
            "/tensorflow.WorkerService/CompleteGroup" => call!(worker.complete_group),
            "/tensorflow.WorkerService/CompleteInstance" => call!(worker.complete_instance),
            "/tensorflow.WorkerService/CreateWorkerSession" => call!(worker.create_worker_session),
            "/tensorflow.WorkerService/DeleteWorkerSession" => call!(worker.delete_worker_session),
            "/tensorflow.WorkerService/DeregisterGraph" => call!(worker.deregister_graph),
            "/tensorflow.WorkerService/GetStatus" => call!(worker.get_status),
            "/tensorflow.WorkerService/GetStepSequence" => call!(worker.get_step_sequence),
            "/tensorflow.WorkerService/Logging" => call!(worker.logging),
            "/tensorflow.WorkerService/MarkRecvFinished" => call!(worker.mark_recv_finished),
            "/tensorflow.WorkerService/RecvBuf" => call!(worker.recv_buf),
            "/tensorflow.WorkerService/RegisterGraph" => call!(worker.register_graph),
            "/tensorflow.WorkerService/RunGraph" => call!(worker.run_graph),
            "/tensorflow.WorkerService/Tracing" => call!(worker.tracing),
            "/grpc.health.v1.Health/Check" => call!(health.check),
            recv_tensor::PATH => {
                let handler = self.worker.clone();
                Box::pin(async move {
                    let parts = recv_tensor::answer(&handler, decode(message)?).await?;
                    Ok(Reply { headers: HeaderMap::new(), body: Body::Message(parts) })
                })
            }
            "/grpc.health.v1.Health/Watch" => {
                let handler = self.health.clone();
                Box::pin(async move {
                    let messages = handler.watch(decode(message)?).map(|message| encode(&message));
                    let body = Body::Messages(Box::pin(messages));
                    Ok(Reply { headers: HeaderMap::new(), body })
                })
            }
            _ => Box::pin(std::future::ready(Err(Status::unimplemented("")))),
        }
    }
}

fn decode<T: Message + Default>(message: Bytes) -> Result<T, Status> {
    T::decode(message).map_err(|error| Status::internal(error.to_string()))
}

fn answer<T: Message>(response: Response<T>) -> Answer {
    let (metadata, message, _) = response.into_parts();
    Ok(Reply { headers: metadata.into_headers(), body: Body::Message(encode(&message)?) })
}

/// A message with its prefix.
fn encode<T: Message>(message: &T) -> Result<Vec<Bytes>, Status> {
    let message = with_prefix(message);
    Ok(vec![message.ok_or_else(|| Status::resource_exhausted("a message above 4 GiB"))?])
}
