//! EagerService: TensorFlow 2 clients drive this task.

pub(crate) mod wire;

use std::sync::Arc;

use futures_util::StreamExt;
use tensorfleet_cluster::eager::{Contexts, CreateContext};
use tensorfleet_cluster::{Owner, Worker};
use tensorfleet_proto::tensorflow::eager as pb;
use tensorfleet_tensor::{Result, internal};
use tensorfleet_transport::Call;
use tonic::{Response, Status};

use crate::activity::{Activity, Work};
use crate::grpc::{Requests, Services, owner, unary_for};
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
        unary_for!(services, self, "tensorflow.eager.EagerService" {
            CloseContext => close_context,
            Enqueue => enqueue,
            KeepAlive => keep_alive,
            RunComponentFunction => run_component_function,
            UpdateContext => update_context,
            WaitQueueDone => wait_queue_done,
        });
        let handler = self.clone();
        services.unary("/tensorflow.eager.EagerService/CreateContext", move |call, request| {
            let handler = handler.clone();
            async move { handler.create_context(&call, request).await }
        });
        let handler = self.clone();
        services.streaming(
            "/tensorflow.eager.EagerService/StreamingEnqueue",
            move |call, requests: Requests<pb::EnqueueRequest>| {
                let (handler, caller) = (handler.clone(), owner(&call));
                // One after the other: the answers are in the order of the requests.
                requests.then(move |request| {
                    let (handler, caller) = (handler.clone(), caller.clone());
                    async move { Ok(handler.enqueue(&caller, request?).await?.into_inner()) }
                })
            },
        );
    }

    fn contexts(&self) -> &Contexts {
        self.worker.contexts()
    }

    pub(crate) async fn create_context(
        &self,
        call: &Call,
        request: pb::CreateContextRequest,
    ) -> Result<Response<pb::CreateContextResponse>, Status> {
        let open = self.activity.check_open();
        let request = open.and_then(|()| {
            let request = wire::create_context(request, self.worker.task_name())?;
            Ok(CreateContext { owner: owner(call), client: call.peer.to_string(), ..request })
        });
        let devices = request.and_then(|request| self.contexts().create(request));
        reply(devices.map(|devices| pb::CreateContextResponse {
            device_attributes: devices.iter().map(device_attributes).collect(),
        }))
    }

    pub(crate) async fn update_context(
        &self,
        caller: &Owner,
        request: pb::UpdateContextRequest,
    ) -> Result<Response<pb::UpdateContextResponse>, Status> {
        let request = wire::update_context(request);
        let devices = request.and_then(|request| self.contexts().update(caller, request));
        reply(devices.map(|devices| pb::UpdateContextResponse {
            device_attributes: devices.iter().map(device_attributes).collect(),
        }))
    }

    pub(crate) async fn enqueue(
        &self,
        caller: &Owner,
        request: pb::EnqueueRequest,
    ) -> Result<Response<pb::EnqueueResponse>, Status> {
        let context = request.context_id;
        reply(self.counted(context, self.try_enqueue(caller, request)).await)
    }

    /// Does what counts as work.
    async fn counted<T>(&self, context: u64, work: impl Future<Output = Result<T>>) -> Result<T> {
        let running = self.activity.begin(Work::Eager)?;
        running.end(work.await, || format!("context {context:x}"))
    }

    async fn try_enqueue(
        &self,
        caller: &Owner,
        request: pb::EnqueueRequest,
    ) -> Result<pb::EnqueueResponse> {
        let items = request.queue.into_iter().map(wire::item).collect::<Result<_>>()?;
        let replies = self.contexts().enqueue(caller, request.context_id, items).await?;
        let queue_response = replies.iter().map(wire::queue_response).collect::<Result<_>>()?;
        Ok(pb::EnqueueResponse { queue_response })
    }

    pub(crate) async fn run_component_function(
        &self,
        caller: &Owner,
        request: pb::RunComponentFunctionRequest,
    ) -> Result<Response<pb::RunComponentFunctionResponse>, Status> {
        reply(self.run_component(caller, request).await)
    }

    /// Runs this task's part of a function.
    pub(crate) async fn run_component(
        &self,
        caller: &Owner,
        request: pb::RunComponentFunctionRequest,
    ) -> Result<pb::RunComponentFunctionResponse> {
        let context = request.context_id;
        self.counted(context, self.try_run_component(caller, request)).await
    }

    async fn try_run_component(
        &self,
        caller: &Owner,
        request: pb::RunComponentFunctionRequest,
    ) -> Result<pb::RunComponentFunctionResponse> {
        let operation = request.operation.ok_or_else(|| internal!("no operation to run"))?;
        let operation = wire::operation(operation)?;
        let (id, numbers) = (request.context_id, request.output_num);
        let outputs = self.contexts().run_component(caller, id, operation, numbers).await?;
        Ok(pb::RunComponentFunctionResponse {
            // A caller takes either, not both.
            shape: wire::shapes(outputs.iter().filter(|output| output.value.is_none())),
            tensor: wire::values(&outputs)?,
        })
    }

    pub(crate) async fn wait_queue_done(
        &self,
        caller: &Owner,
        request: pb::WaitQueueDoneRequest,
    ) -> Result<Response<pb::WaitQueueDoneResponse>, Status> {
        let waited = self.contexts().wait_until_done(caller, request.context_id).await;
        reply(waited.map(|()| pb::WaitQueueDoneResponse {}))
    }

    pub(crate) async fn keep_alive(
        &self,
        caller: &Owner,
        request: pb::KeepAliveRequest,
    ) -> Result<Response<pb::KeepAliveResponse>, Status> {
        let view = self.contexts().keep_alive(caller, request.context_id);
        reply(view.map(|context_view_id| pb::KeepAliveResponse { context_view_id }))
    }

    pub(crate) async fn close_context(
        &self,
        caller: &Owner,
        request: pb::CloseContextRequest,
    ) -> Result<Response<pb::CloseContextResponse>, Status> {
        let closed = self.contexts().close(caller, request.context_id, request.context_view_id);
        reply(closed.map(|()| pb::CloseContextResponse {}))
    }
}
