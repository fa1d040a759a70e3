//! What a debugger watches: nodes on the edges of a partition that copy tensors and record them.
//!
//! A watched tensor reaches its consumers by way of a copy, and they wait until it is recorded. Names
//! and attributes are TensorFlow's, because the tools that read the records know them.

use std::sync::Arc;

use tensorfleet_graph::{AttrList, AttrValue, ControlFlow, Graph, NodeId, OpLookup, Output};
use tensorfleet_tensor::{DType, Result, failed_precondition};

use crate::edit::{NewNode, first_output, string_attr};

/// A tensor to be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The name of the node that makes it.
    pub node: String,
    pub slot: u32,
    /// The ops that record it, as `DebugIdentity` or `DebugNumericSummary(lower_bound=1)`.
    pub ops: Vec<String>,
    /// Where to.
    pub urls: Vec<String>,
    /// Whether to go on without ops that cannot be made.
    pub tolerates_failures: bool,
}

/// Puts the nodes that record watched tensors into the graph of a partition.
pub fn watch(graph: &mut Graph, watches: &[Watch], ops: &dyn OpLookup) -> Result<()> {
    one_iteration_at_a_time(graph);
    let watched = watches.iter().filter_map(|watch| Some((graph.find(&watch.node)?, watch)));
    let watched: Vec<(NodeId, &Watch)> = watched.collect();
    for (node, watch) in watched {
        // As in TensorFlow, a tensor that is not there is not watched.
        if (watch.slot as usize) < graph.node(node).output_types().len() {
            watch_output(graph, Output { node, index: watch.slot }, watch, ops)?;
        }
    }
    Ok(())
}

/// Records of a loop come in the order of its iterations.
fn one_iteration_at_a_time(graph: &mut Graph) {
    for index in 0..graph.len() {
        let node = graph.node_mut(NodeId(index as u32));
        if node.steers(ControlFlow::Enter) {
            let attrs = Arc::make_mut(&mut node.attrs);
            attrs.insert("parallel_iterations".to_owned(), AttrValue::Int(1));
        }
    }
}

fn watch_output(
    graph: &mut Graph,
    output: Output,
    watch: &Watch,
    ops: &dyn OpLookup,
) -> Result<()> {
    let node = graph.node(output.node);
    let (value, device) = (node.output_types()[output.index as usize], Arc::clone(&node.device));
    let takes = |id: &NodeId| graph.node(*id).inputs.contains(&output);
    let consumers: Vec<NodeId> = graph.iter().map(|(id, _)| id).filter(takes).collect();
    let tensor = format!("{}:{}", watch.node, watch.slot);
    let specs: Vec<Spec<'_>> = watch.ops.iter().map(|op| Spec::parse(op)).collect();
    let is_on_host = matches!(value.dtype, DType::String | DType::Resource | DType::Variant);
    let described = specs.iter().flat_map(|spec| {
        let gated = u8::from(spec.is_gated());
        watch.urls.iter().map(move |url| format!("{};{url};{gated}", spec.op))
    });
    let copy = NewNode {
        name: &format!("__copy_{}_{}", watch.node, watch.slot),
        op: if is_on_host { "CopyHost" } else { "Copy" },
        device: Arc::clone(&device),
        attrs: vec![("T", AttrValue::Type(value.dtype)), ("debug_ops_spec", strings(described))],
        inputs: vec![output],
        control_inputs: Vec::new(),
    }
    .add_to(graph, ops)?;
    let mut recorders = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let mut attrs = vec![
            ("T", AttrValue::Type(value.dtype)),
            ("device_name", string_attr(&device)),
            ("tensor_name", string_attr(&tensor)),
            ("debug_urls", strings(watch.urls.iter().cloned())),
        ];
        let made = spec.attrs().and_then(|own| {
            attrs.extend(own);
            NewNode {
                name: &format!("__dbg_{tensor}_{index}_{}", spec.op),
                op: spec.op,
                device: Arc::clone(&device),
                attrs,
                inputs: vec![first_output(copy)],
                control_inputs: Vec::new(),
            }
            .add_to(graph, ops)
        });
        match made {
            Ok(recorder) => recorders.push(recorder),
            Err(_) if watch.tolerates_failures => {}
            Err(error) => {
                return Err(failed_precondition!(
                    "Failed to create debug node {op} for tensor {tensor}, due to: Failed to create node \
                     definition for debug op {op} on watched tensor {tensor}: {}",
                    error.message(),
                    op = spec.op
                ));
            }
        }
    }
    for consumer in consumers {
        let consumer = graph.node_mut(consumer);
        // A reference has to stay one.
        for input in consumer.inputs.iter_mut().filter(|input| **input == output && !value.is_ref) {
            *input = first_output(copy);
        }
        // Nobody makes a merge wait: it goes on with whatever comes first.
        if !consumer.steers(ControlFlow::Merge) {
            consumer.control_inputs.extend(&recorders);
        }
    }
    Ok(())
}

fn strings(texts: impl Iterator<Item = String>) -> AttrValue {
    AttrValue::List(AttrList::Strings(texts.map(|text| text.into_bytes().into()).collect()))
}

/// An op that records a tensor, with attributes.
struct Spec<'a> {
    op: &'a str,
    attrs: Vec<(&'a str, &'a str)>,
}

impl<'a> Spec<'a> {
    /// Reads `Op(name=value;name=value)`.
    fn parse(text: &'a str) -> Spec<'a> {
        let Some((op, rest)) = text.split_once('(') else {
            return Spec { op: text, attrs: Vec::new() };
        };
        let pairs = rest.trim_end_matches(')').split(';').filter(|pair| !pair.trim().is_empty());
        let pair = |pair: &'a str| pair.split_once('=').unwrap_or((pair, ""));
        Spec {
            op,
            attrs: pairs.map(pair).map(|(name, value)| (name.trim(), value.trim())).collect(),
        }
    }

    fn is_gated(&self) -> bool {
        self.attrs.contains(&("gated_grpc", "true"))
    }

    fn attrs(&self) -> Result<Vec<(&'a str, AttrValue)>> {
        let wrong = |name: &str, value: &str| {
            failed_precondition!("the attribute {name}={value} is not valid for {}", self.op)
        };
        let read = |&(name, value): &(&'a str, &'a str)| {
            let attr = match name {
                "lower_bound" | "upper_bound" => value.parse().ok().map(AttrValue::Float),
                "mute_if_healthy" | "gated_grpc" => {
                    value.to_ascii_lowercase().parse().ok().map(AttrValue::Bool)
                }
                _ => None,
            };
            attr.map(|attr| (name, attr)).ok_or_else(|| wrong(name, value))
        };
        self.attrs.iter().map(read).collect()
    }
}
