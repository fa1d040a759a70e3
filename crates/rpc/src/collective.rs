//! Collectives over the network: what a member asks of other tasks, and how this one answers.

use std::sync::Arc;

use prost::Message;
use tensorfleet_cluster::collective::{CollectivePeer, CompleteGroup, CompleteInstance, RecvBuf};
use tensorfleet_cluster::random_nonzero;
use tensorfleet_framework::{BoxFuture, CollectiveKind, DeviceName, Group, Member, StepId};
use tensorfleet_planner::Device;
use tensorfleet_proto::google::protobuf::Any;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire::{dtype, shape, shape_proto};
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument};
use tonic::{Response, Status};

use crate::status::reply;
use crate::wire;
use crate::worker::WorkerHandler;
use crate::worker_client::RemoteWorker;

/// What says that a buffer is in the answer itself.
const EXTRA: &str = "type.googleapis.com/tensorflow.RecvBufRespExtra";
/// How much of a buffer is in one piece.
const PIECE: usize = 1 << 22;

fn member(device: Device) -> Member {
    Member { device: device.name, incarnation: device.incarnation }
}

fn attributes(member: &Member) -> pb::DeviceAttributes {
    let Member { device, incarnation } = member.clone();
    wire::device_attributes(&Device { name: device, incarnation, durable: false })
}

impl CollectivePeer for RemoteWorker {
    fn complete_group(&self, request: CompleteGroup) -> BoxFuture<Result<Arc<Group>>> {
        let mut client = self.client.clone();
        let message = pb::CompleteGroupRequest {
            group_key: request.key,
            group_size: request.size as i32,
            device_type: request.device_type,
            collective_type: 0,
            device_attributes: Some(attributes(&request.member)),
        };
        let call = self.call("WorkerService/CompleteGroup", async move {
            client.complete_group(message).await
        });
        Box::pin(async move {
            let response = call.await?;
            let devices = response.device_attributes.iter();
            let members = devices.map(|device| wire::device(device).map(member));
            let members = members.collect::<Result<Vec<_>>>()?;
            if members.len() != request.size {
                return Err(internal!(
                    "CompleteGroupResponse group_size doesn't match device_name list"
                ));
            }
            Ok(Arc::new(Group::new(response.group_key, members)))
        })
    }

    fn complete_instance(&self, request: CompleteInstance) -> BoxFuture<Result<Option<usize>>> {
        let mut client = self.client.clone();
        let message = pb::CompleteInstanceRequest {
            name: request.name,
            r#type: request.kind as i32,
            data_type: request.dtype as i32,
            shape: Some(shape_proto(&request.shape)),
            group_key: request.group,
            group_size: request.group_size as i32,
            instance_key: request.instance,
            device_type: request.device.kind.clone().unwrap_or_default(),
            subdiv_offset: request.subdivisions,
            device: request.device.to_string(),
            is_source: request.is_source,
            step_id: 0,
        };
        let call = self.call("WorkerService/CompleteInstance", async move {
            client.complete_instance(message).await
        });
        Box::pin(async move { Ok(usize::try_from(call.await?.source_rank).ok()) })
    }

    fn recv_buf(&self, request: RecvBuf) -> BoxFuture<Result<Tensor>> {
        let mut client = self.client.clone();
        let RecvBuf { step, key, from, to, dtype, shape } = request;
        let message = pb::RecvBufRequest {
            step_id: step.0,
            buf_rendezvous_key: key,
            num_bytes: (shape.num_elements() * dtype.size()) as i64,
            client_locality: Some(pb::DeviceLocality::default()),
            server_locality: Some(pb::DeviceLocality::default()),
            src_device: from.device.to_string(),
            dst_device: to.to_string(),
            request_id: random_nonzero() as i64,
            src_incarnation: from.incarnation,
            ..Default::default()
        };
        let call =
            self.call("WorkerService/RecvBuf", async move { client.recv_buf(message).await });
        Box::pin(async move {
            let extra = call.await?.transport_options.unwrap_or_default();
            let extra = pb::RecvBufRespExtra::decode(&extra.value[..])
                .map_err(|error| internal!("RecvBufResponse cannot be read: {error}"))?;
            let bytes = extra.tensor_content.concat();
            let expected = shape.num_elements() * dtype.size();
            if bytes.len() != expected {
                return Err(internal!(
                    "RecvBufResponse returned {} bytes where to_tensor expected {expected}",
                    bytes.len()
                ));
            }
            Tensor::from_bytes(dtype, shape, &bytes)
        })
    }

    fn step_sequence(&self, graph_key: i64) -> BoxFuture<Result<i64>> {
        let mut client = self.client.clone();
        let message = pb::GetStepSequenceRequest { graph_key: vec![graph_key] };
        let call = self.call("WorkerService/GetStepSequence", async move {
            client.get_step_sequence(message).await
        });
        Box::pin(async move {
            let response = call.await?;
            let sequence = response.step_sequence.iter().find(|s| s.graph_key == graph_key);
            sequence
                .map(|sequence| sequence.next_step_id)
                .ok_or_else(|| internal!("the leader knows no step of graph {graph_key}"))
        })
    }
}

/// The methods.
impl WorkerHandler {
    pub(crate) async fn recv_buf(
        &self,
        request: pb::RecvBufRequest,
    ) -> Result<Response<pb::RecvBufResponse>, Status> {
        reply(self.buffer(request).await)
    }

    async fn buffer(&self, request: pb::RecvBufRequest) -> Result<pb::RecvBufResponse> {
        self.recent_tensors.check(request.request_id, "RecvBuf (GrpcWorker)")?;
        let from = Member {
            device: DeviceName::parse(&request.src_device)?,
            incarnation: request.src_incarnation,
        };
        let step = StepId(request.step_id);
        let buffer = self.task.recv_buf(step, request.buf_rendezvous_key, &from).await?;
        let bytes = buffer.shared_bytes();
        let tensor_content =
            bytes.chunks(PIECE).map(|piece| bytes.slice_ref(piece)).collect::<Vec<_>>();
        let value = pb::RecvBufRespExtra { tensor_content }.encode_to_vec();
        let transport_options = Any { type_url: EXTRA.to_owned(), value: value.into() };
        Ok(pb::RecvBufResponse {
            num_bytes: bytes.len() as i64,
            transport_options: Some(transport_options),
            ..Default::default()
        })
    }

    pub(crate) async fn get_step_sequence(
        &self,
        request: pb::GetStepSequenceRequest,
    ) -> Result<Response<pb::GetStepSequenceResponse>, Status> {
        let position = |&graph_key: &i64| pb::StepSequence {
            graph_key,
            next_step_id: self.task.step_sequence(graph_key),
        };
        let step_sequence = request.graph_key.iter().map(position).collect();
        Ok(Response::new(pb::GetStepSequenceResponse { step_sequence }))
    }

    pub(crate) async fn complete_group(
        &self,
        request: pb::CompleteGroupRequest,
    ) -> Result<Response<pb::CompleteGroupResponse>, Status> {
        reply(self.group(request).await)
    }

    async fn group(&self, request: pb::CompleteGroupRequest) -> Result<pb::CompleteGroupResponse> {
        let Some(device) = &request.device_attributes else {
            return Err(internal!(
                "CompleteGroupRequest device_attributes is not set. Make sure you're running the \
                 same version of Tensorflow on all workers."
            ));
        };
        let (key, device_type) = (request.group_key, request.device_type.clone());
        let group = self
            .task
            .complete_group(CompleteGroup {
                name: String::new(),
                key,
                size: positive(request.group_size)?,
                device_type: device_type.clone(),
                member: member(wire::device(device)?),
            })
            .await?;
        Ok(pb::CompleteGroupResponse {
            group_key: key,
            group_size: request.group_size,
            device_type,
            num_tasks: group.devices_per_task().len() as i32,
            device_attributes: group.members.iter().map(attributes).collect(),
            ..Default::default()
        })
    }

    pub(crate) async fn complete_instance(
        &self,
        request: pb::CompleteInstanceRequest,
    ) -> Result<Response<pb::CompleteInstanceResponse>, Status> {
        reply(self.instance(request).await)
    }

    async fn instance(
        &self,
        request: pb::CompleteInstanceRequest,
    ) -> Result<pb::CompleteInstanceResponse> {
        let kind = CollectiveKind::from_number(request.r#type)
            .ok_or_else(|| invalid_argument!("unknown collective type {}", request.r#type))?;
        let source = self
            .task
            .complete_instance(CompleteInstance {
                name: request.name,
                device: DeviceName::parse(&request.device)?,
                group: request.group_key,
                group_size: positive(request.group_size)?,
                instance: request.instance_key,
                kind,
                dtype: dtype(request.data_type)?,
                shape: shape(request.shape.as_ref())?,
                subdivisions: request.subdiv_offset,
                is_source: request.is_source,
            })
            .await?;
        Ok(pb::CompleteInstanceResponse {
            instance_key: request.instance_key,
            source_rank: source.map_or(-1, |rank| rank as i32),
        })
    }
}

fn positive(size: i32) -> Result<usize> {
    usize::try_from(size)
        .ok()
        .filter(|&size| size > 0)
        .ok_or_else(|| invalid_argument!("group_size must be positive integer but got {size}"))
}
