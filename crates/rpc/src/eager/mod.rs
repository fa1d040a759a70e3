//! EagerService: TensorFlow 2 clients drive this task.

pub(crate) mod wire;

use std::sync::Arc;

use futures_util::StreamExt;
use tensorfleet_cluster::Worker;
use tensorfleet_cluster::eager::Contexts;
use tensorfleet_proto::tensorflow::eager as pb;
use tensorfleet_tensor::{Result, internal};
use tonic::{Response, Status};

use crate::activity::{Activity, Work};
use crate::grpc::{Requests, Services, unary};
use crate::status::reply;
use crate::wire::device_attributes;

/// Serves the contexts of a [`Worker`].
#[derive(Clone, Debug)]
pub(crate) struct EagerHandler {
    pub(crate) worker: Arc<Worker>,
    pub(crate) activity: Arc<Activity>,
}

/// The methods.
impl EagerHandler {
    /// Adds the methods to a server's.
    pub(crate) fn add_methods(&self, services: &mut Services) {
        unary!(services, self, "tensorflow.eager.EagerService" {
            CloseContext => close_context,
            CreateContext => create_context,
            Enqueue => enqueue,
            KeepAlive => keep_alive,
            RunComponentFunction => run_component_function,
            UpdateContext => update_context,
            WaitQueueDone => wait_queue_done,
        });
        let handler = self.clone();
        services.streaming(
            "/tensorflow.eager.EagerService/StreamingEnqueue",
            move |_, requests: Requests<pb::EnqueueRequest>| {
                let handler = handler.clone();
                // One after the other: the answers are in the order of the requests.
                requests.then(move |request| {
                    let handler = handler.clone();
                    async move { Ok(handler.enqueue(request?).await?.into_inner()) }
                })
            },
        );
    }

    fn contexts(&self) -> &Contexts {
        self.worker.contexts()
    }

    pub(crate) async fn create_context(
        &self,
        request: pb::CreateContextRequest,
    ) -> Result<Response<pb::CreateContextResponse>, Status> {
        let open = self.activity.check_open();
        let request = open.and_then(|()| wire::create_context(request, self.worker.task_name()));
        let devices = request.and_then(|request| self.contexts().create(request));
        reply(devices.map(|devices| pb::CreateContextResponse {
            device_attributes: devices.iter().map(device_attributes).collect(),
        }))
    }

    pub(crate) async fn update_context(
        &self,
        request: pb::UpdateContextRequest,
    ) -> Result<Response<pb::UpdateContextResponse>, Status> {
        let request = wire::update_context(request);
        let devices = request.and_then(|request| self.contexts().update(request));
        reply(devices.map(|devices| pb::UpdateContextResponse {
            device_attributes: devices.iter().map(device_attributes).collect(),
        }))
    }

    pub(crate) async fn enqueue(
        &self,
        request: pb::EnqueueRequest,
    ) -> Result<Response<pb::EnqueueResponse>, Status> {
        let context = request.context_id;
        reply(self.counted(context, self.try_enqueue(request)).await)
    }

    /// Does what counts as work.
    async fn counted<T>(&self, context: u64, work: impl Future<Output = Result<T>>) -> Result<T> {
        let running = self.activity.begin(Work::Eager)?;
        running.end(work.await, || format!("context {context:x}"))
    }

    async fn try_enqueue(&self, request: pb::EnqueueRequest) -> Result<pb::EnqueueResponse> {
        let items = request.queue.into_iter().map(wire::item).collect::<Result<_>>()?;
        let replies = self.contexts().enqueue(request.context_id, items).await?;
        let queue_response = replies.iter().map(wire::queue_response).collect::<Result<_>>()?;
        Ok(pb::EnqueueResponse { queue_response })
    }

    pub(crate) async fn run_component_function(
        &self,
        request: pb::RunComponentFunctionRequest,
    ) -> Result<Response<pb::RunComponentFunctionResponse>, Status> {
        reply(self.run_component(request).await)
    }

    /// Runs this task's part of a function.
    pub(crate) async fn run_component(
        &self,
        request: pb::RunComponentFunctionRequest,
    ) -> Result<pb::RunComponentFunctionResponse> {
        let context = request.context_id;
        self.counted(context, self.try_run_component(request)).await
    }

    async fn try_run_component(
        &self,
        request: pb::RunComponentFunctionRequest,
    ) -> Result<pb::RunComponentFunctionResponse> {
        let operation = request.operation.ok_or_else(|| internal!("no operation to run"))?;
        let operation = wire::operation(operation)?;
        let outputs =
            self.contexts().run_component(request.context_id, operation, request.output_num);
        let outputs = outputs.await?;
        Ok(pb::RunComponentFunctionResponse {
            // A caller takes either, not both.
            shape: wire::shapes(outputs.iter().filter(|output| output.value.is_none())),
            tensor: wire::values(&outputs)?,
        })
    }

    pub(crate) async fn wait_queue_done(
        &self,
        request: pb::WaitQueueDoneRequest,
    ) -> Result<Response<pb::WaitQueueDoneResponse>, Status> {
        let waited = self.contexts().wait_until_done(request.context_id).await;
        reply(waited.map(|()| pb::WaitQueueDoneResponse {}))
    }

    pub(crate) async fn keep_alive(
        &self,
        request: pb::KeepAliveRequest,
    ) -> Result<Response<pb::KeepAliveResponse>, Status> {
        let view = self.contexts().keep_alive(request.context_id);
        reply(view.map(|context_view_id| pb::KeepAliveResponse { context_view_id }))
    }

    pub(crate) async fn close_context(
        &self,
        request: pb::CloseContextRequest,
    ) -> Result<Response<pb::CloseContextResponse>, Status> {
        self.contexts().close(request.context_id, request.context_view_id);
        reply(Ok(pb::CloseContextResponse {}))
    }
}
