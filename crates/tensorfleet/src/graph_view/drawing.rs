//! A planned step as boxes and arrows. What goes from device to device goes from the node that made it to
//! those that use it; the nodes that send and receive are left out. Large graphs are drawn by scopes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::status::short;

/// Boxes by device, and arrows between them.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    pub(super) lanes: Vec<String>,
    pub(super) boxes: Vec<Box>,
    pub(super) edges: Vec<Edge>,
}

/// A node, or a scope of nodes.
#[derive(Debug)]
pub(super) struct Box {
    pub(super) lane: usize,
    pub(super) name: String,
    /// The op, or how many nodes there are.
    pub(super) what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) is_control: bool,
    /// Whether it goes to another device.
    pub(super) crosses: bool,
}

/// A node of the plan.
struct Node<'a> {
    name: &'a str,
    op: &'a str,
    lane: usize,
    inputs: Vec<&'a str>,
    after: Vec<&'a str>,
}

impl Drawing {
    /// Draws a plan with at most about `limit` boxes.
    pub(super) fn new(plan: &Value, limit: usize) -> Drawing {
        let mut lanes = Vec::new();
        let all = nodes(plan, &mut lanes);
        let sources = sources(&all);
        let shown: Vec<&Node<'_>> = all.iter().filter(|node| !is_way(node)).collect();
        let depth = depth(&shown, limit);
        let mut numbers: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut groups: Vec<Vec<&Node<'_>>> = Vec::new();
        for node in &shown {
            let key = (node.lane, scope(node.name, depth));
            let number = *numbers.entry(key).or_insert(groups.len());
            if number == groups.len() {
                groups.push(Vec::new());
            }
            groups[number].push(node);
        }
        let of: BTreeMap<&str, usize> = shown
            .iter()
            .map(|node| (node.name, numbers[&(node.lane, scope(node.name, depth))]))
            .collect();
        let boxes: Vec<Box> = groups
            .iter()
            .map(|nodes| Box {
                lane: nodes[0].lane,
                name: scope(nodes[0].name, depth).to_owned(),
                what: if nodes.len() == 1 {
                    nodes[0].op.to_owned()
                } else {
                    format!("{} nodes", nodes.len())
                },
            })
            .collect();
        let mut edges = BTreeSet::new();
        for node in &shown {
            let to = of[node.name];
            let inputs = node.inputs.iter().map(|input| (input, false));
            for (input, is_control) in inputs.chain(node.after.iter().map(|input| (input, true))) {
                let source = sources.get(*input).copied().unwrap_or(input);
                let Some(&from) = of.get(source) else { continue };
                if from != to {
                    let crosses = boxes[from].lane != boxes[to].lane;
                    edges.insert(Edge { from, to, is_control, crosses });
                }
            }
        }
        Drawing { lanes, boxes, edges: edges.into_iter().collect() }
    }
}

fn nodes<'a>(plan: &'a Value, lanes: &mut Vec<String>) -> Vec<Node<'a>> {
    let mut nodes = Vec::new();
    for part in plan["parts"].as_array().into_iter().flatten() {
        for node in part["nodes"].as_array().into_iter().flatten() {
            let text = |key: &str| node[key].as_str().unwrap_or_default();
            let names = |key: &str| {
                node[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
            };
            let device = text("device");
            let (task, device) = device.split_once("/device:").unwrap_or((device, ""));
            let lane = format!("{} {device}", short(task));
            let known = lanes.iter().position(|it| *it == lane);
            let lane = known.unwrap_or_else(|| {
                lanes.push(lane);
                lanes.len() - 1
            });
            let (inputs, after) = (names("inputs"), names("after"));
            nodes.push(Node { name: text("name"), op: text("op"), lane, inputs, after });
        }
    }
    nodes
}

fn is_way(node: &Node<'_>) -> bool {
    matches!(node.op, "_Send" | "_Recv" | "_HostSend" | "_HostRecv")
}

/// For each node that receives, the node whose tensor it receives.
fn sources<'a>(nodes: &[Node<'a>]) -> BTreeMap<&'a str, &'a str> {
    let mut sent: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for node in nodes {
        if let (Some(ends), Some(source)) = (node.name.rsplit_once("/_send_"), node.inputs.first())
        {
            sent.insert(ends, source);
        }
    }
    let received = nodes.iter().filter_map(|node| {
        let ends = node.name.rsplit_once("/_recv_")?;
        Some((node.name, *sent.get(&ends)?))
    });
    received.collect()
}

/// The scope of a name that has at most so many parts.
fn scope(name: &str, depth: usize) -> &str {
    match name.match_indices('/').nth(depth.saturating_sub(1)) {
        Some((end, _)) if depth > 0 => &name[..end],
        _ => name,
    }
}

/// How many parts of names are told apart, so that there are not too many boxes.
fn depth(nodes: &[&Node<'_>], limit: usize) -> usize {
    let deepest = nodes.iter().map(|node| node.name.matches('/').count() + 1).max().unwrap_or(1);
    let count = |depth: usize| {
        let scopes = nodes.iter().map(|node| (node.lane, scope(node.name, depth)));
        scopes.collect::<BTreeSet<_>>().len()
    };
    (1..=deepest).rev().find(|&depth| count(depth) <= limit).unwrap_or(1)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A product on a worker of a variable on a parameter server.
    pub(in super::super) fn plan() -> Value {
        let (ps, worker) =
            ("/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0");
        json!({"fetches": ["y:0"], "targets": [], "runs": 3, "parts": [
            {"task": "ps", "nodes": [
                {"name": "w", "op": "VariableV2", "device": ps, "inputs": [], "after": []},
                {"name": "w/_send_01", "op": "_Send", "device": ps, "inputs": ["w"], "after": []},
            ]},
            {"task": "worker", "nodes": [
                {"name": "w/_recv_01", "op": "_Recv", "device": worker, "inputs": [], "after": []},
                {"name": "x", "op": "Const", "device": worker, "inputs": [], "after": []},
                {"name": "y", "op": "MatMul", "device": worker, "inputs": ["x", "w/_recv_01"], "after": []},
            ]},
        ]})
    }

    #[test]
    fn arrows_lead_from_device_to_device() {
        let drawing = Drawing::new(&plan(), 100);
        assert_eq!(drawing.lanes, ["ps/0 CPU:0", "worker/0 CPU:0"]);
        let crossing: Vec<_> = drawing.edges.iter().filter(|edge| edge.crosses).collect();
        assert_eq!(crossing.len(), 1);
        assert_eq!(drawing.boxes[crossing[0].from].name, "w");
        assert_eq!(drawing.boxes[crossing[0].to].name, "y");
    }

    #[test]
    fn large_graphs_are_drawn_by_scopes() {
        let nodes: Vec<Value> = (0..50)
            .map(|it| {
                let name = format!("layer{}/op{it}", it % 5);
                json!({"name": name, "op": "Add", "device": "", "inputs": [], "after": []})
            })
            .collect();
        let plan = json!({"parts": [{"nodes": nodes}]});
        assert_eq!(Drawing::new(&plan, 100).boxes.len(), 50);
        let drawing = Drawing::new(&plan, 10);
        assert_eq!(drawing.boxes.len(), 5);
        assert_eq!((&*drawing.boxes[0].name, &*drawing.boxes[0].what), ("layer0", "10 nodes"));
    }
}
