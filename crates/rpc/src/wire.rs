//! Requests and responses of the services in the words of the cluster crate.

use std::time::Duration;

use bytes::Bytes;
use rustc_hash::FxHashSet;
use tensorfleet_cluster::{
    Callable, CostModel, RunOptions, SessionOptions, StepCall, StepReply, Threads,
};
use tensorfleet_framework::DeviceName;
use tensorfleet_graph::wire as graph_wire;
use tensorfleet_planner::{Connection, Device};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_runtime::NodeRecord;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

mod costs;
mod debugging;

pub(crate) use debugging::{debug_options, watches};
pub(crate) use tensorfleet_graph::wire::graph;

/// About how many nodes a graph has.
pub(crate) fn graph_size(message: &Bytes) -> usize {
    message.len() / 64
}

/// Reads what a client asks of its session.
pub(crate) fn session_options(config: Option<&pb::ConfigProto>) -> Result<SessionOptions> {
    let Some(config) = config else { return Ok(SessionOptions::default()) };
    let experimental = config.experimental.as_ref();
    let cluster = config.cluster_def.as_ref().filter(|cluster| !cluster.job.is_empty());
    let shares_state =
        experimental.is_some_and(|e| e.share_session_state_in_clusterspec_propagation);
    let mut options = SessionOptions {
        device_filters: config.device_filters.clone(),
        isolate_session_state: config.isolate_session_state || (cluster.is_some() && !shares_state),
        timeout: milliseconds(config.operation_timeout_in_ms),
        cluster: cluster.map(tensorfleet_spec::wire::cluster_spec).transpose()?,
        threads: threads(config),
        thread_pools: config
            .session_inter_op_thread_pool
            .iter()
            .map(|pool| tensorfleet_cluster::limit(pool.num_threads))
            .collect(),
        ..SessionOptions::default()
    };
    let graph = config.graph_options.as_ref().filter(|graph| graph.build_cost_model > 0);
    options.costs = graph.map(|graph| CostModel {
        every: graph.build_cost_model,
        after: graph.build_cost_model_after,
    });
    options.plan.allow_soft_placement = config.allow_soft_placement;
    options.plan.log_device_placement = config.log_device_placement;
    options.plan.optimize = optimizes(config);
    // That executor knows no switches.
    options.plan.lower_control_flow =
        experimental.is_none_or(|e| e.executor_type != "SINGLE_THREADED_EXECUTOR");
    Ok(options)
}

/// Reads how many threads a client wants used.
pub(crate) fn threads(config: &pb::ConfigProto) -> Threads {
    Threads {
        inter_op: tensorfleet_cluster::limit(config.inter_op_parallelism_threads),
        intra_op: tensorfleet_cluster::limit(config.intra_op_parallelism_threads),
    }
}

/// Which task leads collectives, where a configuration says so.
pub(crate) fn group_leader(config: &pb::ConfigProto) -> Result<Option<DeviceName>> {
    let leader = config.experimental.as_ref().map(|more| more.collective_group_leader.as_str());
    match leader {
        None | Some("") => Ok(None),
        Some(leader) => Ok(Some(DeviceName::parse(leader)?.task_name())),
    }
}

/// Writes how many threads a client wants used.
pub(crate) fn threads_config(threads: &Threads) -> pb::ConfigProto {
    pb::ConfigProto {
        inter_op_parallelism_threads: limit_number(threads.inter_op),
        intra_op_parallelism_threads: limit_number(threads.intra_op),
        ..Default::default()
    }
}

fn limit_number(limit: Option<usize>) -> i32 {
    limit.map_or(0, |threads| i32::try_from(threads).unwrap_or(i32::MAX))
}

/// Whether graphs may be rewritten: not when the client has switched the optimisers off.
fn optimizes(config: &pb::ConfigProto) -> bool {
    let Some(graph) = &config.graph_options else { return true };
    let level_is_off = graph
        .optimizer_options
        .as_ref()
        .is_some_and(|o| o.opt_level == pb::optimizer_options::Level::L0 as i32);
    let rewrites_are_off =
        graph.rewrite_options.as_ref().is_some_and(|rewrites| rewrites.disable_meta_optimizer);
    !level_is_off && !rewrites_are_off
}

fn milliseconds(value: i64) -> Option<Duration> {
    u64::try_from(value).ok().filter(|&ms| ms > 0).map(Duration::from_millis)
}

/// Reads how a client wants a step run.
pub(crate) fn run_options(options: Option<&pb::RunOptions>) -> Result<RunOptions> {
    let Some(options) = options else { return Ok(RunOptions::default()) };
    Ok(RunOptions {
        trace: options.trace_level > pb::run_options::TraceLevel::NoTrace as i32,
        partition_graphs: options.output_partition_graphs,
        timeout: milliseconds(options.timeout_in_ms),
        inter_op_thread_pool: options.inter_op_thread_pool,
        watches: options.debug_options.as_ref().map(debugging::watches).transpose()?.flatten(),
    })
}

/// Reads a step. A tensor that is fetched several times is returned once, as by TensorFlow's master.
pub(crate) fn step_call(request: pb::RunStepRequest) -> Result<StepCall> {
    Ok(StepCall {
        feeds: request.feed.into_iter().map(named_tensor).collect::<Result<_>>()?,
        fetches: distinct(request.fetch),
        targets: request.target,
        connections: Vec::new(),
        options: run_options(request.options.as_ref())?,
    })
}

/// The names of tensors, each of them once.
pub(crate) fn distinct(names: Vec<String>) -> Vec<String> {
    let mut known = FxHashSet::default();
    names.into_iter().filter(|name| known.insert(full_name(name))).collect()
}

/// The name of a tensor with its number.
fn full_name(name: &str) -> String {
    if name.contains(':') { name.to_owned() } else { format!("{name}:0") }
}

/// Writes what a client asks of its session.
pub(crate) fn config_proto(options: &SessionOptions) -> pb::ConfigProto {
    let optimizer_options = (!options.plan.optimize).then(|| pb::OptimizerOptions {
        opt_level: pb::optimizer_options::Level::L0 as i32,
        ..Default::default()
    });
    let rewrite_options = (!options.plan.optimize)
        .then(|| pb::RewriterConfig { disable_meta_optimizer: true, ..Default::default() });
    let shares_state = options.cluster.is_some() && !options.isolate_session_state;
    pb::ConfigProto {
        device_filters: options.device_filters.clone(),
        isolate_session_state: options.isolate_session_state,
        operation_timeout_in_ms: to_milliseconds(options.timeout),
        allow_soft_placement: options.plan.allow_soft_placement,
        log_device_placement: options.plan.log_device_placement,
        graph_options: Some(pb::GraphOptions {
            optimizer_options,
            rewrite_options,
            ..Default::default()
        }),
        cluster_def: options.cluster.as_ref().map(tensorfleet_spec::wire::cluster_def),
        experimental: shares_state.then(|| pb::config_proto::Experimental {
            share_session_state_in_clusterspec_propagation: true,
            ..Default::default()
        }),
        session_inter_op_thread_pool: options
            .thread_pools
            .iter()
            .map(|&pool| pb::ThreadPoolOptionProto {
                num_threads: limit_number(pool),
                ..Default::default()
            })
            .collect(),
        ..threads_config(&options.threads)
    }
}

fn to_milliseconds(limit: Option<Duration>) -> i64 {
    limit.map_or(0, |limit| i64::try_from(limit.as_millis()).unwrap_or(i64::MAX).max(1))
}

/// Writes a step.
pub(crate) fn run_step_request(handle: &str, call: StepCall) -> Result<pb::RunStepRequest> {
    let feeds = call.feeds.into_iter();
    Ok(pb::RunStepRequest {
        session_handle: handle.to_owned(),
        feed: feeds
            .map(|(name, tensor)| named_tensor_proto(name, &tensor))
            .collect::<Result<_>>()?,
        fetch: call.fetches,
        target: call.targets,
        options: Some(run_options_proto(&call.options)),
        // Long messages do not fit into the headers in which gRPC puts them.
        store_errors_in_response_body: true,
        ..Default::default()
    })
}

/// Writes how a step is to be run.
fn run_options_proto(options: &RunOptions) -> pb::RunOptions {
    let trace = if options.trace {
        pb::run_options::TraceLevel::FullTrace
    } else {
        pb::run_options::TraceLevel::NoTrace
    };
    pb::RunOptions {
        trace_level: trace as i32,
        output_partition_graphs: options.partition_graphs,
        timeout_in_ms: to_milliseconds(options.timeout),
        inter_op_thread_pool: options.inter_op_thread_pool,
        ..Default::default()
    }
}

/// Reads what a step returned, in the order of its fetches.
pub(crate) fn step_reply(fetches: &[String], response: pb::RunStepResponse) -> Result<StepReply> {
    let returned = response.tensor.into_iter().map(named_tensor).collect::<Result<Vec<_>>>()?;
    let mut tensors = Vec::with_capacity(fetches.len());
    for (position, fetch) in fetches.iter().enumerate() {
        // Masters keep the order, but the protocol promises names only, and each of them once.
        let fetch = full_name(fetch);
        let found = match returned.get(position) {
            Some(found) if found.0 == fetch => Some(found),
            _ => returned.iter().find(|(name, _)| full_name(name) == fetch),
        };
        let (_, tensor) = found
            .ok_or_else(|| tensorfleet_tensor::internal!("the server did not return {fetch}"))?;
        tensors.push(tensor.clone());
    }
    let trace = response.metadata.as_ref().and_then(|metadata| metadata.step_stats.as_ref());
    Ok(StepReply {
        tensors,
        trace: trace.map(node_records).unwrap_or_default(),
        ..StepReply::default()
    })
}

/// Reads a tensor with its name.
pub(crate) fn named_tensor(named: pb::NamedTensorProto) -> Result<(String, Tensor)> {
    let Some(tensor) = &named.tensor else {
        return Err(invalid_argument!("the tensor {} has no value", named.name));
    };
    let tensor = tensor_wire::tensor(tensor).map_err(|error| {
        error.prefixed(format_args!("Invalid TensorProto for {}: ", named.name))
    })?;
    Ok((named.name, tensor))
}

/// Writes a tensor with its name.
pub(crate) fn named_tensor_proto(name: String, tensor: &Tensor) -> Result<pb::NamedTensorProto> {
    Ok(pb::NamedTensorProto { name, tensor: Some(tensor_wire::tensor_proto(tensor)?) })
}

/// Writes what a step returned.
pub(crate) fn run_step_response(
    fetches: Vec<String>,
    reply: &StepReply,
) -> Result<pb::RunStepResponse> {
    Ok(pb::RunStepResponse {
        tensor: fetches
            .into_iter()
            .zip(&reply.tensors)
            .map(|(name, tensor)| named_tensor_proto(full_name(&name), tensor))
            .collect::<Result<_>>()?,
        metadata: Some(run_metadata(reply)?),
        ..Default::default()
    })
}

/// Writes what a step recorded about itself.
pub(crate) fn run_metadata(reply: &StepReply) -> Result<pb::RunMetadata> {
    let step_stats = (!reply.trace.is_empty()).then(|| step_stats(&reply.trace));
    Ok(pb::RunMetadata {
        step_stats,
        partition_graphs: reply
            .partition_graphs
            .iter()
            .map(|graph| graph_wire::graph_def(graph))
            .collect::<Result<_>>()?,
        cost_graph: (!reply.costs.is_empty()).then(|| costs::cost_graph(&reply.costs)),
        ..Default::default()
    })
}

/// Writes the records of a traced step.
pub(crate) fn step_stats(trace: &[(String, Vec<NodeRecord>)]) -> pb::StepStats {
    let dev_stats = trace
        .iter()
        .map(|(device, records)| pb::DeviceStepStats {
            device: device.clone(),
            node_stats: records.iter().map(node_stats).collect(),
            ..Default::default()
        })
        .collect();
    pb::StepStats { dev_stats }
}

fn node_stats(record: &NodeRecord) -> pb::NodeExecStats {
    let (start, length) = (record.start.as_nanos() as i64, record.duration.as_nanos() as i64);
    let output =
        record.outputs.iter().enumerate().map(|(slot, (dtype, shape, bytes))| pb::NodeOutput {
            slot: slot as i32,
            tensor_description: Some(pb::TensorDescription {
                dtype: *dtype as i32,
                shape: Some(tensor_wire::shape_proto(shape)),
                allocation_description: Some(pb::AllocationDescription {
                    requested_bytes: *bytes as i64,
                    allocated_bytes: *bytes as i64,
                    allocator_name: "cpu".to_owned(),
                    has_single_reference: true,
                    ..Default::default()
                }),
            }),
        });
    // A duration of zero would vanish in the viewer's whole microseconds.
    let micros = (length / 1000).max(1);
    pb::NodeExecStats {
        node_name: record.name.to_string(),
        all_start_micros: start / 1000,
        op_start_rel_micros: 0,
        op_end_rel_micros: micros,
        all_end_rel_micros: micros,
        timeline_label: format!("{} = {}()", record.name, record.op),
        scheduled_micros: start / 1000,
        all_start_nanos: start,
        op_end_rel_nanos: length,
        all_end_rel_nanos: length,
        scheduled_nanos: start,
        output: output.collect(),
        ..Default::default()
    }
}

/// Reads the records of a step that was traced on another task.
pub(crate) fn node_records(stats: &pb::StepStats) -> Vec<(String, Vec<NodeRecord>)> {
    let record = |node: &pb::NodeExecStats| NodeRecord {
        name: node.node_name.as_str().into(),
        op: node.timeline_label.as_str().into(),
        start: Duration::from_micros(u64::try_from(node.all_start_micros).unwrap_or_default()),
        duration: Duration::from_micros(u64::try_from(node.all_end_rel_micros).unwrap_or_default()),
        outputs: Vec::new(),
    };
    stats
        .dev_stats
        .iter()
        .map(|device| (device.device.clone(), device.node_stats.iter().map(record).collect()))
        .collect()
}

/// Reads a step to be prepared.
pub(crate) fn callable(options: pb::CallableOptions) -> Result<Callable> {
    let connection = |connection: pb::TensorConnection| Connection {
        from: connection.from_tensor,
        to: connection.to_tensor,
    };
    Ok(Callable {
        feeds: options.feed,
        fetches: options.fetch,
        targets: options.target,
        connections: options.tensor_connection.into_iter().map(connection).collect(),
        options: run_options(options.run_options.as_ref())?,
    })
}

/// Writes a step to be prepared.
pub(crate) fn callable_options(callable: Callable) -> pb::CallableOptions {
    let connection = |connection: Connection| pb::TensorConnection {
        from_tensor: connection.from,
        to_tensor: connection.to,
    };
    pb::CallableOptions {
        run_options: Some(run_options_proto(&callable.options)),
        feed: callable.feeds,
        fetch: callable.fetches,
        target: callable.targets,
        tensor_connection: callable.connections.into_iter().map(connection).collect(),
        ..Default::default()
    }
}

/// The memory that TensorFlow says a CPU device has.
const CPU_MEMORY_LIMIT: i64 = 256 << 20;

/// Writes a device.
pub(crate) fn device_attributes(device: &Device) -> pb::DeviceAttributes {
    pb::DeviceAttributes {
        name: device.name.to_string(),
        device_type: device.name.kind.clone().unwrap_or_default(),
        memory_limit: CPU_MEMORY_LIMIT,
        locality: Some(pb::DeviceLocality::default()),
        incarnation: device.incarnation,
        xla_global_id: -1,
        physical_device_desc: if device.durable { DURABLE.to_owned() } else { String::new() },
    }
}

/// How a device says that its task keeps what it has. TensorFlow shows these words to people.
const DURABLE: &str = "durable";

/// Reads a device.
pub(crate) fn device(attributes: &pb::DeviceAttributes) -> Result<Device> {
    Ok(Device {
        name: tensorfleet_framework::DeviceName::parse(&attributes.name)?,
        incarnation: attributes.incarnation,
        durable: attributes.physical_device_desc == DURABLE,
    })
}
