//! Messages of the eager service in the words of the cluster crate, and back.

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_cluster::Owner;
use tensorfleet_cluster::coordination::CoordinationOptions;
use tensorfleet_cluster::eager::{
    CreateContext, Handle, Input, Item, Operation, Output, RegisterFunction, Reply, UpdateContext,
};
use tensorfleet_framework::{DeviceName, StepId};
use tensorfleet_graph::wire as graph_wire;
use tensorfleet_planner::Device;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::eager as eager_pb;
use tensorfleet_spec::{ClusterSpec, Task};
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{DType, Result, Tensor, internal, invalid_argument};

use crate::wire;

/// An operation whose outputs are returned has this number.
const NO_ID: i64 = -1;

/// Reads the description of a new context on the task `own`.
pub(super) fn create_context(
    request: eager_pb::CreateContextRequest,
    own: &DeviceName,
) -> Result<CreateContext> {
    let server = request.server_def.unwrap_or_default();
    let config = server.default_session_config.as_ref();
    let cluster = cluster(&server)?;
    let task_name = match &cluster {
        None => own.clone(),
        Some(cluster) => {
            let (job, index) = (&server.job_name, server.task_index);
            let task = u32::try_from(index).ok();
            if !task.is_some_and(|index| cluster.contains(&Task::new(job, index))) {
                return Err(internal!(
                    "Could not parse port for local server from \"\": the client calls this task \
                     /job:{job}/task:{index}, and its cluster has none of that name"
                ));
            }
            let (job, replica) = (Some(job.clone()), Some(0));
            DeviceName { job, replica, task, ..DeviceName::default() }
        }
    };
    Ok(CreateContext {
        id: request.context_id,
        view: request.context_view_id,
        task_name,
        cluster,
        devices: devices(&request.cluster_device_attributes)?,
        keep_alive: Duration::from_secs(u64::try_from(request.keep_alive_secs).unwrap_or(0)),
        isolate: config.is_some_and(|config| config.isolate_session_state),
        threads: config.map(wire::threads).unwrap_or_default(),
        clear_existing: request.clear_existing_contexts,
        coordination: config.map(|config| coordination(config, &server)).transpose()?.flatten(),
        owner: Owner::default(),
        client: String::new(),
    })
}

/// How long a member may be silent where the client does not say.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads who coordinates the tasks, if somebody does.
fn coordination(
    config: &pb::ConfigProto,
    server: &pb::ServerDef,
) -> Result<Option<CoordinationOptions>> {
    let experimental = config.experimental.as_ref();
    let config = experimental.and_then(|experimental| experimental.coordination_config.as_ref());
    let Some(config) =
        config.filter(|config| !config.service_type.is_empty() && !config.force_disable)
    else {
        return Ok(None);
    };
    let Some(cluster) = cluster(server)? else { return Ok(None) };
    let tasks: Vec<Task> = cluster.tasks().map(|(task, _)| task).collect();
    let own = Task::new(&server.job_name, u32::try_from(server.task_index).unwrap_or(0));
    let leader = match config.service_leader.as_str() {
        // TensorFlow's tasks agree on the first one then.
        "" => tasks.first().cloned().unwrap_or_else(|| own.clone()),
        leader => {
            let leader = DeviceName::parse(leader)?;
            Task::new(leader.job.unwrap_or_default(), leader.task.unwrap_or(0))
        }
    };
    let timeout = u64::try_from(config.heartbeat_timeout_in_ms).ok().filter(|&ms| ms > 0);
    Ok(Some(CoordinationOptions {
        leader,
        tasks,
        own,
        heartbeat_timeout: timeout.map_or(HEARTBEAT_TIMEOUT, Duration::from_millis),
        allow_restarts: config.allow_new_incarnation_to_reconnect,
        heartbeats: config.enable_health_check,
    }))
}

/// Reads a change of a context's cluster.
pub(super) fn update_context(request: eager_pb::UpdateContextRequest) -> Result<UpdateContext> {
    Ok(UpdateContext {
        id: request.context_id,
        view: request.context_view_id,
        cluster: request.server_def.as_ref().map(cluster).transpose()?.flatten(),
        devices: devices(&request.cluster_device_attributes)?,
    })
}

fn cluster(server: &pb::ServerDef) -> Result<Option<ClusterSpec>> {
    let cluster = server.cluster.as_ref().filter(|cluster| !cluster.job.is_empty());
    cluster.map(tensorfleet_spec::wire::cluster_spec).transpose()
}

fn devices(attributes: &[pb::DeviceAttributes]) -> Result<Vec<Device>> {
    attributes.iter().map(wire::device).collect()
}

/// Reads one thing to do.
pub(super) fn item(item: eager_pb::QueueItem) -> Result<Item> {
    use eager_pb::queue_item::Item as Message;
    // Nothing to do is done.
    let Some(item) = item.item else { return Ok(Item::Sync) };
    Ok(match item {
        Message::HandleToDecref(message) => Item::Decref(handle(message)),
        Message::Operation(message) => Item::Operation(operation(message)?),
        Message::SendTensor(message) => Item::SendTensor {
            op_id: message.op_id,
            device: message.device_name,
            tensors: message.tensors.iter().map(tensor_wire::tensor).collect::<Result<_>>()?,
        },
        Message::RegisterFunction(message) => Item::RegisterFunction(RegisterFunction {
            function: Arc::new(graph_wire::function_def(
                &message.function_def.unwrap_or_default(),
            )?),
            is_component: message.is_component_function,
            library: Arc::new(graph_wire::library(message.library.as_ref())?),
        }),
        Message::CleanupFunction(message) => Item::CleanupFunction(StepId(message.step_id)),
        Message::SyncRemoteExecutorForStream(_) => Item::Sync,
        Message::SendPackedHandle(message) => Item::SendPackedHandle {
            op_id: message.op_id,
            members: message.handles.into_iter().map(member).collect::<Result<_>>()?,
        },
        Message::RemoveFunction(message) => Item::RemoveFunction(message.function_name),
    })
}

fn member(message: eager_pb::send_packed_handle_op::Handle) -> Result<Input> {
    use eager_pb::send_packed_handle_op::handle::Item;
    match message.item {
        Some(Item::LocalHandle(local)) => {
            let tensor = tensor_wire::tensor(&local.tensor.unwrap_or_default())?;
            Ok(Input::Tensor(tensor, local.device))
        }
        Some(Item::RemoteHandle(remote)) => Ok(Input::Handle(handle(remote))),
        None => Err(invalid_argument!("a member of a packed handle is empty")),
    }
}

/// Reads a call of an op or function.
pub(super) fn operation(message: eager_pb::Operation) -> Result<Operation> {
    Ok(Operation {
        id: (message.id != NO_ID).then_some(message.id),
        name: message.name,
        inputs: message.op_inputs.into_iter().map(input).collect::<Result<_>>()?,
        attrs: graph_wire::attr_map(&message.attrs)?,
        device: message.device,
        is_function: message.is_function,
        is_component: message.is_component_function,
        step: message.func_step_id,
    })
}

fn input(message: eager_pb::operation::Input) -> Result<Input> {
    use eager_pb::operation::input::Item;
    match message.item {
        Some(Item::RemoteHandle(remote)) => Ok(Input::Handle(handle(remote))),
        Some(Item::Tensor(tensor)) => {
            Ok(Input::Tensor(tensor_wire::tensor(&tensor)?, String::new()))
        }
        None => Err(invalid_argument!("an input of an operation is empty")),
    }
}

fn handle(message: eager_pb::RemoteTensorHandle) -> Handle {
    Handle {
        op_id: message.op_id,
        output: message.output_num,
        device: message.device,
        op_device: message.op_device,
        dtype: DType::from_number(message.dtype),
    }
}

/// Writes what is told of an item.
pub(super) fn queue_response(reply: &Reply) -> Result<eager_pb::QueueResponse> {
    let devices = reply.outputs.iter().map(|output| output.device.clone());
    Ok(eager_pb::QueueResponse {
        device: if reply.is_function { devices.collect() } else { Vec::new() },
        shape: shapes(reply.outputs.iter().filter(|output| output.value.is_none())),
        tensor: values(&reply.outputs)?,
    })
}

/// The shapes of outputs. A caller that gets values needs none.
pub(super) fn shapes<'a>(
    outputs: impl IntoIterator<Item = &'a Output>,
) -> Vec<pb::TensorShapeProto> {
    outputs.into_iter().map(|output| tensor_wire::shape_proto(&output.shape)).collect()
}

pub(super) fn values(outputs: &[Output]) -> Result<Vec<pb::TensorProto>> {
    outputs
        .iter()
        .filter_map(|output| output.value.as_ref())
        .map(tensor_wire::tensor_proto)
        .collect()
}

/// Writes one thing to do, for another task.
pub(crate) fn queue_item(item: Item) -> Result<eager_pb::QueueItem> {
    use eager_pb::queue_item::Item as Message;
    let item = match item {
        Item::Decref(handle) => Message::HandleToDecref(handle_proto(handle)),
        Item::Operation(operation) => Message::Operation(operation_proto(operation)?),
        Item::SendTensor { op_id, device, tensors } => {
            Message::SendTensor(eager_pb::SendTensorOp {
                op_id,
                tensors: tensors.iter().map(tensor_wire::tensor_proto).collect::<Result<_>>()?,
                device_name: device,
            })
        }
        Item::RegisterFunction(RegisterFunction { function, is_component, library }) => {
            Message::RegisterFunction(eager_pb::RegisterFunctionOp {
                function_def: Some(graph_wire::function_def_proto(&function)?),
                is_component_function: is_component,
                library: Some(graph_wire::library_proto(&library)?),
            })
        }
        Item::CleanupFunction(step) => {
            Message::CleanupFunction(eager_pb::CleanupFunctionOp { step_id: step.0 })
        }
        Item::Sync => {
            Message::SyncRemoteExecutorForStream(eager_pb::SyncRemoteExecutorForStream {})
        }
        Item::SendPackedHandle { op_id, members } => {
            let handles = members.into_iter().map(member_proto).collect::<Result<_>>()?;
            let device_name = String::new();
            Message::SendPackedHandle(eager_pb::SendPackedHandleOp { op_id, handles, device_name })
        }
        Item::RemoveFunction(function_name) => {
            Message::RemoveFunction(eager_pb::RemoveFunctionOp { function_name })
        }
    };
    Ok(eager_pb::QueueItem { item: Some(item) })
}

fn member_proto(member: Input) -> Result<eager_pb::send_packed_handle_op::Handle> {
    use eager_pb::send_packed_handle_op::handle::Item;
    use eager_pb::send_packed_handle_op::{Handle, LocalTensorHandle};
    let item = match member {
        Input::Tensor(tensor, device) => {
            let tensor = Some(tensor_wire::tensor_proto(&tensor)?);
            Item::LocalHandle(LocalTensorHandle { tensor, device })
        }
        Input::Handle(handle) => Item::RemoteHandle(handle_proto(handle)),
    };
    Ok(Handle { item: Some(item) })
}

/// Writes a call of an op or function.
pub(crate) fn operation_proto(operation: Operation) -> Result<eager_pb::Operation> {
    Ok(eager_pb::Operation {
        id: operation.id.unwrap_or(NO_ID),
        name: operation.name,
        control_op_ids: Vec::new(),
        attrs: graph_wire::attr_map_proto(&operation.attrs)?,
        device: operation.device,
        is_component_function: operation.is_component,
        func_step_id: operation.step,
        is_function: operation.is_function,
        op_inputs: operation.inputs.into_iter().map(input_proto).collect::<Result<_>>()?,
    })
}

fn input_proto(input: Input) -> Result<eager_pb::operation::Input> {
    use eager_pb::operation::input::Item;
    let item = match input {
        Input::Handle(handle) => Item::RemoteHandle(handle_proto(handle)),
        Input::Tensor(tensor, _) => Item::Tensor(tensor_wire::tensor_proto(&tensor)?),
    };
    Ok(eager_pb::operation::Input { item: Some(item) })
}

fn handle_proto(handle: Handle) -> eager_pb::RemoteTensorHandle {
    eager_pb::RemoteTensorHandle {
        op_id: handle.op_id,
        output_num: handle.output,
        device: handle.device,
        op_device: handle.op_device,
        dtype: handle.dtype.map_or(0, |dtype| dtype as i32),
        resource_dtypes_and_shapes: Vec::new(),
    }
}

/// Reads what is told of outputs.
pub(crate) fn outputs(
    shapes: &[pb::TensorShapeProto],
    tensors: &[pb::TensorProto],
) -> Result<Vec<Output>> {
    if shapes.is_empty() {
        let output = |tensor: &pb::TensorProto| -> Result<Output> {
            let value: Tensor = tensor_wire::tensor(tensor)?;
            let shape = value.shape().clone();
            Ok(Output { shape, device: String::new(), value: Some(value) })
        };
        return tensors.iter().map(output).collect();
    }
    let mut values = tensors.iter().map(tensor_wire::tensor);
    let output = |shape: &pb::TensorShapeProto| -> Result<Output> {
        let shape = tensor_wire::shape(Some(shape))?;
        Ok(Output { shape, device: String::new(), value: values.next().transpose()? })
    };
    shapes.iter().map(output).collect()
}
