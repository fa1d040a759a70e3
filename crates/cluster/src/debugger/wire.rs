//! The records of a debugged step as events.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use prost::Message;
use serde_json::json;
use tensorfleet_graph::Graph;
use tensorfleet_graph::wire::graph_def;
use tensorfleet_planner::StepSpec;
use tensorfleet_tensor::Result;

/// Those fields of `tensorflow.Event` that a debugger reads.
#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(bytes = "vec", tag = "4")]
    graph_def: Vec<u8>,
    #[prost(message, optional, tag = "6")]
    log_message: Option<LogMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct LogMessage {
    #[prost(string, tag = "2")]
    message: String,
}

/// The event that says what a step feeds, fetches and runs.
pub(super) fn step(now: Duration, global_step: i64, spec: &StepSpec) -> Vec<u8> {
    let message = json!({
        "global_step": global_step,
        "session_run_index": 0,
        "executor_step_index": 0,
        "input_names": spec.feeds,
        "output_names": spec.fetches,
        "target_nodes": spec.targets,
    });
    let log_message = Some(LogMessage { message: message.to_string() });
    Event { wall_time: now.as_secs_f64(), log_message, ..Event::default() }.encode_to_vec()
}

/// The event that holds a graph, and a number that tells graphs apart.
pub(super) fn graph(now: Duration, graph: &Graph) -> Result<(u64, Vec<u8>)> {
    let graph_def = graph_def(graph)?.encode_to_vec();
    let mut hasher = DefaultHasher::new();
    graph_def.hash(&mut hasher);
    let event = Event { wall_time: now.as_secs_f64(), graph_def, ..Event::default() };
    Ok((hasher.finish(), event.encode_to_vec()))
}
