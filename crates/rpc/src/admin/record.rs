//! The steps of a task, node by node, and the graphs that they run, for an operator.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tensorfleet_cluster::{PlannedStep, RecordedPart};
use tensorfleet_tensor::{Result, invalid_argument, not_found};

use super::View;

/// How long a record may be under way; whoever asked for it may have gone.
const LONGEST: Duration = Duration::from_secs(600);

impl View {
    /// Starts, watches or ends a record: `{"start": 20, "seconds": 60}`, `{}`, `{"take": true}`. The answer
    /// has the time by this task's clock, and how many steps there are.
    pub(crate) fn record(&self, request: &str) -> Result<String> {
        let request: Value = serde_json::from_str(request)
            .map_err(|error| invalid_argument!("this is no request for a record: {error}"))?;
        let recorder = &self.task.recorder;
        if let Some(steps) = request["start"].as_u64() {
            let limit = Duration::from_secs(request["seconds"].as_u64().unwrap_or(60)).min(LONGEST);
            recorder.start(usize::try_from(steps).unwrap_or(usize::MAX), Instant::now(), limit)?;
        }
        let steps = recorder.recorded();
        let parts = if request["take"] == true { recorder.take() } else { Vec::new() };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let answer = json!({
            "task": self.task.name.to_string(),
            "at_seconds": now.as_secs_f64(),
            "steps": steps,
            "parts": parts.iter().map(part).collect::<Vec<_>>(),
        });
        Ok(answer.to_string())
    }

    /// The graphs of a session as they are placed and parted, or of the one that there is.
    pub(crate) fn graphs(&self, session: &str) -> Result<String> {
        let all = self.master.sessions();
        let mut handles = all.iter().map(|session| session.handle.as_str());
        let handle = match (session, handles.clone().count()) {
            ("", 1) => handles.next().unwrap_or_default(),
            ("", 0) => return Err(not_found!("no session is open on {}", self.task.name)),
            ("", _) => {
                return Err(invalid_argument!(
                    "several sessions are open on {}: name one of {}",
                    self.task.name,
                    handles.collect::<Vec<_>>().join(", ")
                ));
            }
            (wanted, _) => match handles.find(|handle| handle.starts_with(wanted)) {
                Some(handle) => handle,
                None => {
                    return Err(not_found!("no session {wanted} is open on {}", self.task.name));
                }
            },
        };
        let session = self.master.session(handle)?;
        let plans: Vec<Value> = session.planned().iter().map(plan).collect();
        Ok(json!({"session": handle, "plans": plans}).to_string())
    }
}

/// Times are microseconds since 1970.
fn part(part: &RecordedPart) -> Value {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let nodes = part.nodes.iter().map(|node| {
        let bytes: usize = node.outputs.iter().map(|(.., bytes)| bytes).sum();
        json!([&*node.name, &*node.op, micros(node.start), micros(node.duration), bytes])
    });
    json!({
        "step": part.step.0.to_string(),
        "device": part.device,
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

fn plan(plan: &PlannedStep) -> Value {
    let parts = plan.parts.iter().map(|(task, graph)| {
        let nodes = graph.iter().map(|(_, node)| {
            let inputs = node.inputs.iter().map(|input| &*graph.node(input.node).name);
            let after = node.control_inputs.iter().map(|&input| &*graph.node(input).name);
            json!({
                "name": &*node.name,
                "op": &*node.op,
                "device": &*node.device,
                "inputs": inputs.collect::<Vec<_>>(),
                "after": after.collect::<Vec<_>>(),
            })
        });
        json!({"task": task, "nodes": nodes.collect::<Vec<_>>()})
    });
    json!({
        "feeds": plan.feeds,
        "fetches": plan.fetches,
        "targets": plan.targets,
        "runs": plan.runs,
        "parts": parts.collect::<Vec<_>>(),
    })
}
