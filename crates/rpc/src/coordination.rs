//! CoordinationService: what a leader answers its members and its client, and what members ask.

use std::sync::Arc;
use std::time::Duration;

use prost::{Message, Name};
use tensorfleet_cluster::Task;
use tensorfleet_cluster::coordination::{Leader, LeaderClient, Standing, TaskState, WaitAtBarrier};
use tensorfleet_framework::BoxFuture;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::coordination_service_client::CoordinationServiceClient;
use tensorfleet_proto::tensorflow::distributed_runtime::GrpcPayloadContainer;
use tensorfleet_spec as spec;
use tensorfleet_tensor::{Code, Error, Result, internal};
use tonic::{Response, Status};

use crate::grpc::{Services, unary};
use crate::status::to_status;
use crate::worker_client::RemoteWorker;

/// Serves the coordination of a task's cluster.
#[derive(Clone, Debug)]
pub(crate) struct CoordinationHandler {
    pub(crate) task: Arc<Task>,
}

type Answer<T> = Result<Response<T>, Status>;

/// Ends a handler. Members tell an error of the service from one of the network by its payload.
fn answer<T>(outcome: Result<T>) -> Answer<T> {
    outcome.map(Response::new).map_err(|error| {
        let status = to_status(&error);
        let mut payloads = GrpcPayloadContainer::decode(status.details()).unwrap_or_default();
        payloads.payloads.insert(pb::CoordinationServiceError::type_url(), Default::default());
        let details = payloads.encode_to_vec().into();
        Status::with_details(status.code(), status.message(), details)
    })
}

fn task(message: Option<pb::CoordinatedTask>) -> spec::Task {
    let message = message.unwrap_or_default();
    // A negative number is of no task.
    spec::Task::new(message.job_name, u32::try_from(message.task_id).unwrap_or(u32::MAX))
}

fn tasks(messages: Vec<pb::CoordinatedTask>) -> Vec<spec::Task> {
    messages.into_iter().map(|message| task(Some(message))).collect()
}

fn task_proto(task: spec::Task) -> pb::CoordinatedTask {
    let task_id = i32::try_from(task.index).unwrap_or(i32::MAX);
    pb::CoordinatedTask { job_name: task.job, task_id, recoverable: false }
}

fn state_proto(state: TaskState) -> pb::CoordinatedTaskStateInfo {
    let (number, error) = match state.standing {
        Standing::Disconnected => (pb::CoordinatedTaskState::TaskstateDisconnected, None),
        Standing::Connected => (pb::CoordinatedTaskState::TaskstateConnected, None),
        Standing::Failed(error) => (pb::CoordinatedTaskState::TaskstateError, Some(error)),
    };
    pb::CoordinatedTaskStateInfo {
        task: Some(task_proto(state.task)),
        state: number as i32,
        error_code: error.as_ref().map_or(0, |error| error.code() as i32),
        error_message: error.map(|error| error.message().to_owned()).unwrap_or_default(),
        error_payload: None,
        incarnation: state.incarnation,
    }
}

fn entry(key: String, value: Vec<u8>) -> Option<pb::KeyValueEntry> {
    Some(pb::KeyValueEntry { key, value: value.into() })
}

/// The methods.
impl CoordinationHandler {
    /// Adds the methods to a server's.
    pub(crate) fn add_methods(&self, services: &mut Services) {
        unary!(services, self, "tensorflow.CoordinationService" {
            Barrier => barrier,
            CancelBarrier => cancel_barrier,
            DeleteKeyValue => delete_key_value,
            GetAliveTasks => get_alive_tasks,
            GetKeyValue => get_key_value,
            GetKeyValueDir => get_key_value_dir,
            GetTaskState => get_task_state,
            Heartbeat => heartbeat,
            IncrementKeyValue => increment_key_value,
            InsertKeyValue => insert_key_value,
            PollForError => poll_for_error,
            RegisterTask => register_task,
            ReportErrorToService => report_error_to_service,
            ReportErrorToTask => report_error_to_task,
            ResetTask => reset_task,
            ShutdownTask => shutdown_task,
            TryGetKeyValue => try_get_key_value,
            WaitForAllTasks => wait_for_all_tasks,
            WatchJobState => watch_job_state,
        });
    }

    fn leader(&self) -> Result<Arc<Leader>, Status> {
        answer(self.task.coordination.leader()).map(Response::into_inner)
    }

    async fn register_task(
        &self,
        request: pb::RegisterTaskRequest,
    ) -> Answer<pb::RegisterTaskResponse> {
        let registered = self.leader()?.register(&task(request.source_task), request.incarnation);
        answer(registered.map(|leader_incarnation| pb::RegisterTaskResponse { leader_incarnation }))
    }

    async fn heartbeat(&self, request: pb::HeartbeatRequest) -> Answer<pb::HeartbeatResponse> {
        let heard = self.leader()?.heartbeat(&task(request.source_task), request.incarnation);
        answer(heard.map(|leader_incarnation| pb::HeartbeatResponse { leader_incarnation }))
    }

    async fn wait_for_all_tasks(
        &self,
        request: pb::WaitForAllTasksRequest,
    ) -> Answer<pb::WaitForAllTasksResponse> {
        let leader = self.leader()?;
        let devices = request.device_info.unwrap_or_default().encode_to_vec();
        let all = leader.wait_for_all(task(request.source_task), devices).await;
        answer(all.and_then(|devices| {
            // Messages of lists, one behind the other, are one message of a longer list.
            let devices = pb::DeviceInfo::decode(&devices[..])
                .map_err(|error| internal!("the list of devices is broken: {error}"))?;
            Ok(pb::WaitForAllTasksResponse {
                leader_incarnation: leader.incarnation,
                device_info: Some(devices),
            })
        }))
    }

    async fn shutdown_task(
        &self,
        request: pb::ShutdownTaskRequest,
    ) -> Answer<pb::ShutdownTaskResponse> {
        let left = self.leader()?.disconnect(&task(request.source_task));
        answer(left.map(|()| pb::ShutdownTaskResponse {}))
    }

    async fn reset_task(&self, request: pb::ResetTaskRequest) -> Answer<pb::ResetTaskResponse> {
        let left = self.leader()?.disconnect(&task(request.source_task));
        answer(left.map(|()| pb::ResetTaskResponse {}))
    }

    async fn report_error_to_task(
        &self,
        request: pb::ReportErrorToTaskRequest,
    ) -> Answer<pb::ReportErrorToTaskResponse> {
        let member = answer(self.task.coordination.member())?.into_inner();
        member.fail(Error::new(Code::from_number(request.error_code), request.error_message));
        answer(Ok(pb::ReportErrorToTaskResponse {}))
    }

    async fn report_error_to_service(
        &self,
        request: pb::ReportErrorToServiceRequest,
    ) -> Answer<pb::ReportErrorToServiceResponse> {
        let error = Error::new(Code::from_number(request.error_code), request.error_message);
        let reported = self.leader()?.report(&task(request.error_origin), error);
        answer(reported.map(|()| pb::ReportErrorToServiceResponse {}))
    }

    async fn get_task_state(
        &self,
        request: pb::GetTaskStateRequest,
    ) -> Answer<pb::GetTaskStateResponse> {
        let states = self.leader()?.states(&tasks(request.source_task));
        answer(states.map(|states| pb::GetTaskStateResponse {
            task_state: states.into_iter().map(state_proto).collect(),
        }))
    }

    async fn watch_job_state(
        &self,
        request: pb::WatchJobStateRequest,
    ) -> Answer<pb::WatchJobStateResponse> {
        let leader = self.leader()?;
        let (states, version) = leader.watch(&request.job_name, request.version_number).await;
        answer(Ok(pb::WatchJobStateResponse {
            task_state: states.into_iter().map(state_proto).collect(),
            version_number: version,
        }))
    }

    async fn poll_for_error(&self, _: pb::PollForErrorRequest) -> Answer<pb::PollForErrorResponse> {
        self.leader()?;
        answer(Err(internal!(
            "Should not use error polling from service when there is service to client connection."
        )))
    }

    async fn insert_key_value(
        &self,
        request: pb::InsertKeyValueRequest,
    ) -> Answer<pb::InsertKeyValueResponse> {
        let pb::KeyValueEntry { key, value } = request.kv.unwrap_or_default();
        let inserted = self.leader()?.store.insert(&key, value.into(), request.allow_overwrite);
        answer(inserted.map(|()| pb::InsertKeyValueResponse {}))
    }

    async fn get_key_value(
        &self,
        request: pb::GetKeyValueRequest,
    ) -> Answer<pb::GetKeyValueResponse> {
        let value = self.leader()?.store.get(&request.key).await;
        answer(Ok(pb::GetKeyValueResponse { kv: entry(request.key, value) }))
    }

    async fn try_get_key_value(
        &self,
        request: pb::TryGetKeyValueRequest,
    ) -> Answer<pb::TryGetKeyValueResponse> {
        let value = self.leader()?.store.try_get(&request.key);
        answer(value.map(|value| pb::TryGetKeyValueResponse { kv: entry(request.key, value) }))
    }

    async fn increment_key_value(
        &self,
        request: pb::IncrementKeyValueRequest,
    ) -> Answer<pb::IncrementKeyValueResponse> {
        let value = self.leader()?.store.increment(&request.key, request.increment);
        answer(value.map(|value| pb::IncrementKeyValueResponse { kv: entry(request.key, value) }))
    }

    async fn get_key_value_dir(
        &self,
        request: pb::GetKeyValueDirRequest,
    ) -> Answer<pb::GetKeyValueDirResponse> {
        let below = self.leader()?.store.below(&request.directory_key);
        let kv = below.into_iter().filter_map(|(key, value)| entry(key, value)).collect();
        answer(Ok(pb::GetKeyValueDirResponse { directory_key: String::new(), kv }))
    }

    async fn delete_key_value(
        &self,
        request: pb::DeleteKeyValueRequest,
    ) -> Answer<pb::DeleteKeyValueResponse> {
        self.leader()?.store.remove(&request.key);
        answer(Ok(pb::DeleteKeyValueResponse {}))
    }

    async fn barrier(&self, request: pb::BarrierRequest) -> Answer<pb::BarrierResponse> {
        let leader = self.leader()?;
        let counter = request.counter;
        let milliseconds = u64::try_from(request.barrier_timeout_in_ms).unwrap_or(0);
        let passed = leader.barrier(WaitAtBarrier {
            id: request.barrier_id,
            counter,
            timeout: Duration::from_millis(milliseconds),
            task: task(request.source_task),
            tasks: tasks(request.tasks),
        });
        answer(passed.await.map(|()| pb::BarrierResponse { counter }))
    }

    async fn cancel_barrier(
        &self,
        request: pb::CancelBarrierRequest,
    ) -> Answer<pb::CancelBarrierResponse> {
        let by = task(request.source_task);
        let cancelled = self.leader()?.cancel_barrier(&request.barrier_id, request.counter, &by);
        answer(cancelled.map(|()| pb::CancelBarrierResponse {}))
    }

    async fn get_alive_tasks(
        &self,
        request: pb::GetAliveTasksRequest,
    ) -> Answer<pb::GetAliveTasksResponse> {
        let leader = self.leader()?;
        let alive = leader.alive(&task(request.requesting_task), tasks(request.tasks)).await;
        answer(alive.map(|alive| {
            let (alive_tasks, incarnations) =
                alive.into_iter().map(|(task, number)| (task_proto(task), number)).unzip();
            pb::GetAliveTasksResponse { alive_tasks, incarnations }
        }))
    }
}

impl RemoteWorker {
    fn coordination_client(&self) -> CoordinationServiceClient<tonic::transport::Channel> {
        CoordinationServiceClient::new(self.channel.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX)
    }
}

impl LeaderClient for RemoteWorker {
    fn register(&self, task: spec::Task, incarnation: u64) -> BoxFuture<Result<u64>> {
        let mut client = self.coordination_client();
        let request = pb::RegisterTaskRequest { incarnation, source_task: Some(task_proto(task)) };
        let call = self.call("CoordinationService/RegisterTask", async move {
            client.register_task(request).await
        });
        Box::pin(async move { Ok(call.await?.leader_incarnation) })
    }

    fn heartbeat(&self, task: spec::Task, incarnation: u64) -> BoxFuture<Result<u64>> {
        let mut client = self.coordination_client();
        let request = pb::HeartbeatRequest { incarnation, source_task: Some(task_proto(task)) };
        let call = self
            .call("CoordinationService/Heartbeat", async move { client.heartbeat(request).await });
        Box::pin(async move { Ok(call.await?.leader_incarnation) })
    }
}
