//! What the nodes of a step cost, as the graph that TensorFlow's tools read.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_graph::{Graph, Node, NodeId, ValueType};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_runtime::NodeRecord;
use tensorfleet_tensor::wire as tensor_wire;

use pb::cost_graph_def::Node as Cost;
use pb::cost_graph_def::node::{InputInfo, OutputInfo};

/// The first two numbers are those of the nodes before and after all others.
const SOURCE: i32 = 0;
const SINK: i32 = 1;
const FIRST: i32 = 2;

/// Writes the partitions of a step with what their nodes took. Each has numbers of its own.
pub(super) fn cost_graph(costs: &[(Arc<Graph>, Vec<NodeRecord>)]) -> pb::CostGraphDef {
    let node = costs.iter().flat_map(|(graph, records)| nodes(graph, records)).collect();
    pb::CostGraphDef { node, ..Default::default() }
}

fn nodes(graph: &Graph, records: &[NodeRecord]) -> Vec<Cost> {
    let by_name: FxHashMap<&str, &NodeRecord> =
        records.iter().map(|record| (&*record.name, record)).collect();
    let mut is_used = vec![false; graph.len()];
    for node in graph.nodes() {
        let inputs = node.inputs.iter().map(|input| input.node);
        inputs.chain(node.control_inputs.iter().copied()).for_each(|id| is_used[id.index()] = true);
    }
    let finals = graph.iter().map(|(id, _)| id).filter(|id| !is_used[id.index()]);
    let ends = std::iter::once(SOURCE).chain(finals.map(number)).collect();
    let around = |name: &str, id, control_input| Cost {
        name: name.to_owned(),
        id,
        control_input,
        ..Default::default()
    };
    let mut costs = vec![around("_SOURCE", SOURCE, Vec::new()), around("_SINK", SINK, ends)];
    costs.extend(graph.iter().map(|(id, node)| Cost {
        id: number(id),
        is_final: !is_used[id.index()],
        ..cost(node, by_name.get(&*node.name).copied())
    }));
    costs
}

fn number(id: NodeId) -> i32 {
    FIRST + id.index() as i32
}

fn cost(node: &Node, record: Option<&NodeRecord>) -> Cost {
    let input_info = node.inputs.iter().map(|input| InputInfo {
        preceding_node: number(input.node),
        preceding_port: input.index as i32,
    });
    let mut control_input: Vec<i32> = node.control_inputs.iter().map(|&id| number(id)).collect();
    if node.inputs.is_empty() && control_input.is_empty() {
        control_input.push(SOURCE);
    }
    let outputs = node.output_types().iter().enumerate();
    Cost {
        name: node.name.to_string(),
        device: node.device.to_string(),
        input_info: input_info.collect(),
        output_info: outputs.map(|(index, value)| output(index, value, record)).collect(),
        control_input,
        compute_cost: record.map_or(0, |record| record.duration.as_micros() as i64),
        ..Default::default()
    }
}

fn output(index: usize, value: &ValueType, record: Option<&NodeRecord>) -> OutputInfo {
    let known = record.and_then(|record| record.outputs.get(index));
    let unknown = || pb::TensorShapeProto { dim: Vec::new(), unknown_rank: true };
    OutputInfo {
        size: known.map_or(-1, |(_, _, bytes)| *bytes as i64),
        alias_input_port: -1,
        shape: Some(known.map_or_else(unknown, |(_, shape, _)| tensor_wire::shape_proto(shape))),
        dtype: known.map_or(value.dtype, |(dtype, _, _)| *dtype) as i32,
    }
}
