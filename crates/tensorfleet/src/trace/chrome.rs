//! Steps as trace events, the format of Chrome that Perfetto and TensorBoard read.
//!
//! A task is a process. What overlaps gets lanes of its own, because a lane shows what is nested; arrows go
//! from where a tensor was sent to where it was received.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// A task with its record.
pub(super) struct Task<'a> {
    pub(super) name: &'a str,
    /// How far its clock is ahead, in seconds.
    pub(super) ahead: f64,
    pub(super) told: &'a Value,
}

/// A drawn record.
pub(super) struct Drawn {
    pub(super) text: String,
    pub(super) steps: usize,
    pub(super) nodes: usize,
    pub(super) tasks: usize,
}

/// A node that ran, in microseconds by our clock.
struct Node<'a> {
    step: &'a str,
    device: &'a str,
    name: &'a str,
    op: &'a str,
    start: f64,
    duration: f64,
    bytes: u64,
}

impl Node<'_> {
    /// What is waited for overlaps with everything.
    fn waits(&self) -> bool {
        matches!(self.op, "_Recv" | "_HostRecv") || self.op.contains("Dequeue")
    }

    /// What both ends of an edge between devices have in their names.
    fn edge(&self, mark: &str) -> Option<String> {
        let (name, number) = self.name.rsplit_once(mark)?;
        Some(format!("{}/{name}/{number}", self.step))
    }
}

/// Draws the first steps of what tasks have recorded.
pub(super) fn draw(tasks: &[Task<'_>], most: usize) -> Drawn {
    let mut by_task: Vec<(&str, Vec<Node<'_>>)> =
        tasks.iter().map(|task| (task.name, nodes(task))).collect();
    let chosen = first_steps(&by_task, most);
    for (_, nodes) in &mut by_task {
        nodes.retain(|node| chosen.contains(node.step));
    }
    let chosen: BTreeSet<String> = chosen.into_iter().map(str::to_owned).collect();
    by_task.retain(|(_, nodes)| !nodes.is_empty());
    let all = || by_task.iter().flat_map(|(_, nodes)| nodes);
    let origin = all().map(|node| node.start).fold(f64::INFINITY, f64::min);
    let mut events = Vec::new();
    let mut sent: BTreeMap<String, (usize, usize, f64)> = BTreeMap::new();
    let mut received = Vec::new();
    for (process, (name, nodes)) in by_task.iter().enumerate() {
        let process = process + 1;
        events.push(named("process_name", process, 0, name));
        events.push(json!({"ph": "M", "name": "process_sort_index", "pid": process, "tid": 0,
                           "args": {"sort_index": process}}));
        steps(process, nodes, origin, &mut events);
        let mut lanes: Vec<(String, f64)> = Vec::new();
        let mut order: Vec<&Node<'_>> = nodes.iter().collect();
        order.sort_by(|a, b| a.start.total_cmp(&b.start));
        for node in order {
            let device = node.device.rsplit_once("/device:").map_or(node.device, |(_, it)| it);
            let kind = if node.waits() { format!("{device} waits") } else { device.to_owned() };
            let lane = lane(&mut lanes, &kind, node);
            events.push(json!({
                "ph": "X", "name": node.op, "cat": kind, "pid": process, "tid": lane,
                "ts": node.start - origin, "dur": node.duration,
                "args": {"node": node.name, "step": node.step, "bytes": node.bytes},
            }));
            let end = node.start - origin + node.duration;
            if let Some(edge) = node.edge("/_send_") {
                sent.insert(edge, (process, lane, node.start - origin));
            } else if let Some(edge) = node.edge("/_recv_") {
                received.push((edge, process, lane, end));
            }
        }
        for (number, (kind, _)) in lanes.iter().enumerate() {
            events.push(named("thread_name", process, number + 1, kind));
        }
    }
    for (number, (edge, process, lane, at)) in received.into_iter().enumerate() {
        let Some((from, from_lane, start)) = sent.get(&edge) else { continue };
        events
            .push(json!({"ph": "s", "id": number, "name": "tensor", "cat": "tensor", "pid": from,
                           "tid": from_lane, "ts": start}));
        events.push(json!({"ph": "f", "bp": "e", "id": number, "name": "tensor", "cat": "tensor",
                           "pid": process, "tid": lane, "ts": at}));
    }
    let nodes = all().count();
    let text = json!({"displayTimeUnit": "ms", "traceEvents": events}).to_string();
    Drawn { text, steps: chosen.len(), nodes, tasks: by_task.len() }
}

fn nodes<'a>(task: &Task<'a>) -> Vec<Node<'a>> {
    let mut nodes = Vec::new();
    for part in task.told["parts"].as_array().into_iter().flatten() {
        let text = |name: &str| part[name].as_str().unwrap_or_default();
        let (step, device) = (text("step"), text("device"));
        for node in part["nodes"].as_array().into_iter().flatten() {
            let (Some(start), Some(duration)) = (node[2].as_f64(), node[3].as_f64()) else {
                continue;
            };
            nodes.push(Node {
                step,
                device,
                name: node[0].as_str().unwrap_or_default(),
                op: node[1].as_str().unwrap_or_default(),
                start: start - task.ahead * 1e6,
                duration,
                bytes: node[4].as_u64().unwrap_or(0),
            });
        }
    }
    nodes
}

/// The steps that began first.
fn first_steps<'a>(tasks: &[(&str, Vec<Node<'a>>)], most: usize) -> BTreeSet<&'a str> {
    let mut begun: BTreeMap<&str, f64> = BTreeMap::new();
    for node in tasks.iter().flat_map(|(_, nodes)| nodes) {
        let first = begun.entry(node.step).or_insert(node.start);
        *first = first.min(node.start);
    }
    let mut steps: Vec<(&str, f64)> = begun.into_iter().collect();
    steps.sort_by(|a, b| a.1.total_cmp(&b.1));
    steps.into_iter().take(most).map(|(step, _)| step).collect()
}

fn named(what: &str, process: usize, lane: usize, name: &str) -> Value {
    json!({"ph": "M", "name": what, "pid": process, "tid": lane, "args": {"name": name}})
}

/// A bar for each step, over all that it did on the task.
fn steps(process: usize, nodes: &[Node<'_>], origin: f64, events: &mut Vec<Value>) {
    events.push(named("thread_name", process, 0, "steps"));
    let mut bars: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for node in nodes {
        let bar = bars.entry(node.step).or_insert((node.start, node.start));
        *bar = (bar.0.min(node.start), bar.1.max(node.start + node.duration));
    }
    for (step, (start, end)) in bars {
        events.push(json!({
            "ph": "X", "name": format!("step {step}"), "cat": "step", "pid": process, "tid": 0,
            "ts": start - origin, "dur": end - start,
        }));
    }
}

/// The first lane of a kind that is free when the node begins.
fn lane(lanes: &mut Vec<(String, f64)>, kind: &str, node: &Node<'_>) -> usize {
    let end = node.start + node.duration;
    let free = lanes.iter().position(|(of, busy)| of == kind && *busy <= node.start);
    match free {
        Some(lane) => {
            lanes[lane].1 = end;
            lane + 1
        }
        None => {
            lanes.push((kind.to_owned(), end));
            lanes.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(step: &str, task: &str, nodes: Value) -> Value {
        let device = format!("/job:{task}/replica:0/task:0/device:CPU:0");
        json!({"step": step, "device": device, "nodes": nodes})
    }

    fn events(drawn: &Drawn) -> Vec<Value> {
        let document: Value = serde_json::from_str(&drawn.text).unwrap();
        document["traceEvents"].as_array().unwrap().clone()
    }

    #[test]
    fn clocks_are_made_one_and_tensors_go_from_task_to_task() {
        // The clock of ps is one second ahead.
        let ps = json!({"parts": [part("7", "ps", json!([
            ["w", "ReadVariableOp", 2_000_000.0, 10.0, 4],
            ["w/_send_0a", "_Send", 2_000_010.0, 5.0, 0],
        ]))]});
        let worker = json!({"parts": [
            part("7", "worker", json!([
                ["w/_recv_0a", "_Recv", 1_000_000.0, 30.0, 4],
                ["a", "MatMul", 1_000_002.0, 8.0, 4],
                ["b", "MatMul", 1_000_004.0, 8.0, 4],
            ])),
            part("8", "worker", json!([["c", "Add", 1_000_090.0, 8.0, 4]])),
        ]});
        let tasks = [
            Task { name: "ps/0", ahead: 1.0, told: &ps },
            Task { name: "worker/0", ahead: 0.0, told: &worker },
        ];
        let drawn = draw(&tasks, 1);
        assert_eq!((drawn.steps, drawn.nodes, drawn.tasks), (1, 5, 2));
        let events = events(&drawn);
        let find = |name: &str| events.iter().find(|it| it["args"]["node"] == name).unwrap();
        assert_eq!(find("w")["ts"], 0.0);
        assert_eq!(find("a")["ts"], 2.0);
        // What overlaps is in different lanes, and what waits in none of those.
        assert_ne!(find("a")["tid"], find("b")["tid"]);
        assert!(find("w/_recv_0a")["cat"].as_str().unwrap().contains("waits"));
        let arrows: Vec<&Value> = events.iter().filter(|it| it["cat"] == "tensor").collect();
        assert_eq!(arrows.len(), 2);
        assert_eq!((&arrows[0]["pid"], &arrows[1]["pid"]), (&json!(1), &json!(2)));
        assert!(arrows[0]["ts"].as_f64() <= arrows[1]["ts"].as_f64());
    }
}
