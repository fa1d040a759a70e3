//! The steps of a task as an operator sees them: who runs them, and what they wait for.

use serde::Serialize;
use tensorfleet_cluster::RunningStep;
use tensorfleet_framework::{Awaited, ParsedKey, Wait};

/// How many steps are told of, and of each how many waits and questions.
const STEPS: usize = 64;
const WAITS: usize = 32;

#[derive(Debug, Serialize)]
pub(super) struct StepStatus {
    /// As text: JSON's readers have no integers of 64 bits.
    id: String,
    session: Option<String>,
    seconds: f64,
    is_computing: bool,
    /// What its nodes wait for, the longest first.
    waits: Vec<WaitStatus>,
    /// Tensors that this task is to make and somebody waits for.
    asked_for: Vec<AskedFor>,
    /// Tensors that nobody has fetched yet.
    held: usize,
    held_bytes: usize,
}

#[derive(Debug, Serialize)]
struct WaitStatus {
    node: String,
    op: String,
    /// `tensor`, `resource`, `function`, `collective`, `file` or `thread`.
    r#for: &'static str,
    /// The device that is to send the tensor.
    from: Option<String>,
    /// The tensor, or the node that stands for the resource.
    what: Option<String>,
    seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct AskedFor {
    what: String,
    by: String,
}

/// What operators are told of steps.
pub(super) fn step_statuses(steps: Vec<RunningStep>) -> Vec<StepStatus> {
    steps.into_iter().take(STEPS).map(status).collect()
}

fn status(step: RunningStep) -> StepStatus {
    let RunningStep { id, session, since, mut look } = step;
    // What has no time has just begun.
    look.waits.sort_by_key(|wait| (wait.since.is_none(), wait.since));
    StepStatus {
        id: id.0.to_string(),
        session,
        seconds: since.elapsed().as_secs_f64(),
        is_computing: look.is_computing,
        waits: look.waits.into_iter().take(WAITS).map(wait).collect(),
        asked_for: look.awaited.iter().take(WAITS).map(|key| asked_for(key)).collect(),
        held: look.held,
        held_bytes: look.held_bytes,
    }
}

fn wait(wait: Wait) -> WaitStatus {
    let Wait { node, op, awaited, source, since } = wait;
    let r#for = awaited.name();
    let (from, what) = match awaited {
        Awaited::Tensor { from, edge } => (Some(from), Some(edge)),
        Awaited::Resource => (None, source.map(|source| source.to_string())),
        Awaited::Function | Awaited::Collective | Awaited::File | Awaited::Thread => (None, None),
    };
    WaitStatus {
        node: node.to_string(),
        op: op.to_string(),
        r#for,
        from,
        what,
        seconds: since.map(|since| since.elapsed().as_secs_f64()),
    }
}

fn asked_for(key: &str) -> AskedFor {
    match ParsedKey::parse(key) {
        Ok(parsed) => AskedFor { what: parsed.edge.to_owned(), by: parsed.dst_device.to_owned() },
        Err(_) => AskedFor { what: key.to_owned(), by: String::new() },
    }
}
