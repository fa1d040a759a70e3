"""TensorFlow's services at the level of messages.

The Python package ships the messages that these are made of, but not these. Their fields are
listed here, as in `.proto` files, and turned into classes when the module is loaded.
"""

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorflow.core.framework import (  # noqa: F401  They fill the descriptor pool.
    attr_value_pb2,
    cost_graph_pb2,
    device_attributes_pb2,
    function_pb2,
    graph_pb2,
    step_stats_pb2,
    tensor_pb2,
    tensor_shape_pb2,
    versions_pb2,
)
from tensorflow.core.protobuf import (  # noqa: F401
    config_pb2,
    named_tensor_pb2,
    tensorflow_server_pb2,
)

_FIELDS = """
CreateSessionRequest: graph_def=1 GraphDef, config=2 ConfigProto, target=3 string
CreateSessionResponse: session_handle=1 string, graph_version=2 int64
ExtendSessionRequest: session_handle=1 string, graph_def=2 GraphDef, current_graph_version=3 int64
ExtendSessionResponse: new_graph_version=4 int64
RunStepRequest: session_handle=1 string, feed=2 NamedTensorProto*, fetch=3 string*,\
 target=4 string*, options=5 RunOptions, partial_run_handle=6 string,\
 store_errors_in_response_body=7 bool, request_id=8 int64
RunStepResponse: tensor=1 NamedTensorProto*, metadata=2 RunMetadata, status_code=3 int32,\
 status_error_message=4 string
PartialRunSetupRequest: session_handle=1 string, feed=2 string*, fetch=3 string*,\
 target=4 string*, request_id=5 int64
PartialRunSetupResponse: partial_run_handle=1 string
CloseSessionRequest: session_handle=1 string
CloseSessionResponse:
ResetRequest: container=1 string*, device_filters=2 string*
ResetResponse:
ListDevicesRequest: session_handle=1 string
ListDevicesResponse: local_device=1 DeviceAttributes*, remote_device=2 DeviceAttributes*
MakeCallableRequest: session_handle=1 string, options=2 CallableOptions, request_id=3 int64
MakeCallableResponse: handle=1 int64
RunCallableRequest: session_handle=1 string, handle=2 int64, feed=3 TensorProto*,\
 request_id=4 int64
RunCallableResponse: fetch=1 TensorProto*, metadata=2 RunMetadata
ReleaseCallableRequest: session_handle=1 string, handle=2 int64
ReleaseCallableResponse:
GetStatusRequest:
GetStatusResponse: device_attributes=1 DeviceAttributes*
CreateWorkerSessionRequest: session_handle=1 string, server_def=2 ServerDef,\
 isolate_session_state=3 bool, cluster_device_attributes=4 DeviceAttributes*,\
 master_task=5 string, master_incarnation=6 int64
CreateWorkerSessionResponse:
DeleteWorkerSessionRequest: session_handle=1 string
DeleteWorkerSessionResponse:
RegisterGraphRequest: session_handle=1 string, create_worker_session_called=6 bool,\
 graph_def=2 GraphDef, has_control_flow=3 bool, graph_options=4 GraphOptions,\
 collective_graph_key=7 int64, config_proto=8 ConfigProto
RegisterGraphResponse: graph_handle=1 string
DeregisterGraphRequest: session_handle=2 string, create_worker_session_called=3 bool,\
 graph_handle=1 string
DeregisterGraphResponse:
CleanupAllRequest: container=1 string*
CleanupAllResponse:
ExecutorOpts: record_costs=1 bool, record_timeline=3 bool, record_partition_graphs=4 bool,\
 report_tensor_allocations_upon_oom=5 bool
RunGraphRequest: session_handle=8 string, create_worker_session_called=10 bool,\
 graph_handle=1 string, step_id=2 int64, exec_opts=5 ExecutorOpts, send=3 NamedTensorProto*,\
 recv_key=4 string*, is_partial=6 bool, is_last_partial_run=7 bool,\
 store_errors_in_response_body=9 bool, request_id=11 int64
RunGraphResponse: recv=1 NamedTensorProto*, step_stats=2 StepStats, cost_graph=3 CostGraphDef,\
 partition_graph=4 GraphDef*, status_code=5 int32, status_error_message=6 string
CleanupGraphRequest: step_id=1 int64
CleanupGraphResponse:
RecvTensorRequest: step_id=1 int64, rendezvous_key=2 string, dma_ok=3 bool, request_id=7 int64
RecvTensorResponse: tensor=1 TensorProto, is_dead=2 bool, send_start_micros=3 int64,\
 require_ack=5 bool
LoggingRequest: enable_rpc_logging=1 bool, clear=2 bool, fetch_step_id=3 int64*,\
 disable_rpc_logging=4 bool
LoggingResponse:
CreateContextRequest: server_def=1 ServerDef, async=2 bool, keep_alive_secs=3 int64,\
 version_def=4 VersionDef, cluster_device_attributes=6 DeviceAttributes*, context_id=7 fixed64,\
 context_view_id=8 fixed64, lazy_copy_remote_function_inputs=9 bool,\
 clear_existing_contexts=10 bool
CreateContextResponse: device_attributes=2 DeviceAttributes*
UpdateContextRequest: server_def=1 ServerDef, cluster_device_attributes=2 DeviceAttributes*,\
 context_id=3 fixed64, context_view_id=4 fixed64
UpdateContextResponse: device_attributes=1 DeviceAttributes*
RemoteTensorHandle: op_id=1 int64, output_num=2 int32, device=3 string, op_device=4 string,\
 dtype=5 int32
OperationInput: remote_handle=1 RemoteTensorHandle, tensor=2 TensorProto
OperationAttr: key=1 string, value=2 AttrValue
Operation: id=1 int64, name=2 string, control_op_ids=4 int64*, attrs=5 OperationAttr*,\
 device=6 string, is_component_function=7 bool, func_step_id=8 int64, is_function=9 bool,\
 op_inputs=10 OperationInput*
SendTensorOp: op_id=1 int64, tensors=2 TensorProto*, device_name=3 string
RegisterFunctionOp: function_def=1 FunctionDef, is_component_function=2 bool,\
 library=3 FunctionDefLibrary
CleanupFunctionOp: step_id=1 int64
SyncRemoteExecutorForStream:
LocalTensorHandle: tensor=1 TensorProto, device=2 string
PackedHandle: local_handle=1 LocalTensorHandle, remote_handle=2 RemoteTensorHandle
SendPackedHandleOp: op_id=1 int64, handles=2 PackedHandle*, device_name=3 string
RemoveFunctionOp: function_name=1 string
QueueItem: handle_to_decref=1 RemoteTensorHandle, operation=2 Operation,\
 send_tensor=3 SendTensorOp, register_function=4 RegisterFunctionOp,\
 cleanup_function=5 CleanupFunctionOp,\
 sync_remote_executor_for_stream=6 SyncRemoteExecutorForStream,\
 send_packed_handle=7 SendPackedHandleOp, remove_function=8 RemoveFunctionOp
EnqueueRequest: context_id=1 fixed64, queue=3 QueueItem*
QueueResponse: shape=1 TensorShapeProto*, tensor=2 TensorProto*, device=3 string*
EnqueueResponse: queue_response=1 QueueResponse*
RunComponentFunctionRequest: context_id=1 fixed64, operation=2 Operation, output_num=3 int32*
RunComponentFunctionResponse: shape=1 TensorShapeProto*, tensor=2 TensorProto*
WaitQueueDoneRequest: context_id=1 fixed64
WaitQueueDoneResponse:
KeepAliveRequest: context_id=1 fixed64
KeepAliveResponse: context_view_id=1 fixed64
CloseContextRequest: context_id=1 fixed64, context_view_id=2 fixed64
CloseContextResponse:
CoordinatedTask: job_name=1 string, task_id=2 int32, recoverable=3 bool
CoordinatedTaskStateInfo: task=1 CoordinatedTask, state=2 int32, error_code=3 int32,\
 error_message=4 string, incarnation=6 fixed64
KeyValueEntry: key=1 string, value=2 bytes
RegisterTaskRequest: incarnation=3 fixed64, source_task=5 CoordinatedTask
RegisterTaskResponse: leader_incarnation=1 fixed64
HeartbeatRequest: incarnation=3 fixed64, source_task=4 CoordinatedTask
HeartbeatResponse: leader_incarnation=1 fixed64
PollForErrorRequest: source_task=1 CoordinatedTask
PollForErrorResponse:
WaitForAllTasksRequest: source_task=5 CoordinatedTask
WaitForAllTasksResponse: leader_incarnation=1 fixed64
ShutdownTaskRequest: source_task=1 CoordinatedTask
ShutdownTaskResponse:
ResetTaskRequest: source_task=1 CoordinatedTask
ResetTaskResponse:
ReportErrorToTaskRequest: error_code=1 int32, error_message=2 string
ReportErrorToTaskResponse:
ReportErrorToServiceRequest: error_code=1 int32, error_message=2 string,\
 error_origin=5 CoordinatedTask
ReportErrorToServiceResponse:
GetTaskStateRequest: source_task=1 CoordinatedTask*
GetTaskStateResponse: task_state=1 CoordinatedTaskStateInfo*
WatchJobStateRequest: job_name=1 string, version_number=2 int64
WatchJobStateResponse: task_state=1 CoordinatedTaskStateInfo*, version_number=2 int64
InsertKeyValueRequest: kv=1 KeyValueEntry, allow_overwrite=2 bool
InsertKeyValueResponse:
GetKeyValueRequest: key=1 string
GetKeyValueResponse: kv=1 KeyValueEntry
TryGetKeyValueRequest: key=1 string
TryGetKeyValueResponse: kv=1 KeyValueEntry
IncrementKeyValueRequest: key=1 string, increment=2 int64
IncrementKeyValueResponse: kv=1 KeyValueEntry
GetKeyValueDirRequest: directory_key=1 string
GetKeyValueDirResponse: directory_key=1 string, kv=2 KeyValueEntry*
DeleteKeyValueRequest: key=1 string, is_directory=2 bool
DeleteKeyValueResponse:
BarrierRequest: barrier_id=1 string, barrier_timeout_in_ms=2 int64, tasks=3 CoordinatedTask*,\
 source_task=4 CoordinatedTask, counter=5 int64
BarrierResponse: counter=1 int64
CancelBarrierRequest: barrier_id=1 string, source_task=2 CoordinatedTask, counter=3 int64
CancelBarrierResponse:
GetAliveTasksRequest: requesting_task=1 CoordinatedTask, tasks=2 CoordinatedTask*
GetAliveTasksResponse: alive_tasks=1 CoordinatedTask*, incarnations=2 fixed64*
"""

_SCALARS = {"string": 9, "int64": 3, "int32": 5, "bool": 8, "fixed64": 6, "bytes": 12}
_MESSAGE = 11


def _load():
    # A package of our own: the names in TensorFlow's belong to TensorFlow.
    package = "tensorfleet.conformance"
    known = [graph_pb2, config_pb2, named_tensor_pb2, device_attributes_pb2, step_stats_pb2]
    known += [cost_graph_pb2, tensor_pb2, tensorflow_server_pb2, attr_value_pb2, function_pb2]
    known += [tensor_shape_pb2, versions_pb2]
    file = descriptor_pb2.FileDescriptorProto(
        name="tensorfleet/conformance/wire.proto",
        package=package,
        syntax="proto3",
        dependency=[module.DESCRIPTOR.name for module in known],
    )
    own = [line.split(":")[0] for line in _FIELDS.strip().split("\n")]
    for line in _FIELDS.strip().split("\n"):
        name, _, fields = line.partition(":")
        message = file.message_type.add(name=name)
        for field in filter(None, fields.strip().split(", ")):
            field, _, kind = field.strip().partition(" ")
            field, _, number = field.partition("=")
            kind, repeated = kind.removesuffix("*"), kind.endswith("*")
            added = message.field.add(name=field, number=int(number), label=3 if repeated else 1)
            added.type = _SCALARS.get(kind, _MESSAGE)
            if kind not in _SCALARS:
                added.type_name = f".{package}.{kind}" if kind in own else f".tensorflow.{kind}"
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    find = pool.FindMessageTypeByName
    return {name: message_factory.GetMessageClass(find(f"{package}.{name}")) for name in own}


MESSAGES = _load()


class Service:
    """One of a server's services, called message by message."""

    def __init__(self, target, name):
        self.channel = grpc.insecure_channel(target.removeprefix("grpc://"))
        self.name = name

    def start(self, method, timeout=60, **fields):
        """Starts a call and returns its future."""
        request = MESSAGES[f"{method}Request"](**fields)
        stub = self.channel.unary_unary(
            f"/tensorflow.{self.name}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=MESSAGES[f"{method}Response"].FromString,
        )
        return stub.future(request, timeout=timeout)

    def call(self, method, **fields):
        """Makes a call and returns its answer."""
        return self.start(method, **fields).result()

    def fails(self, code, method, message="", **fields):
        """Makes a call that must fail with a code and with words in its message."""
        with pytest.raises(grpc.RpcError) as raised:
            self.call(method, **fields)
        assert (raised.value.code(), raised.value.details()) == (code, _Containing(message))

    def send(self, method, data, timeout=60):
        """Sends bytes, whatever they are, and returns the code of the answer and its words."""
        stub = self.channel.unary_unary(f"/tensorflow.{self.name}/{method}")
        try:
            stub(data, timeout=timeout)
        except grpc.RpcError as error:
            return error.code(), error.details()
        return grpc.StatusCode.OK, ""

    def close(self):
        self.channel.close()


class _Containing(str):
    """Equals every text that contains it, so that a failed comparison shows both."""

    def __eq__(self, other):
        return str(self) in other

    __hash__ = str.__hash__
