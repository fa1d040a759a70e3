//! Groups of nodes that must share a device, and the device that each group asks for.
//!
//! Three things tie nodes together: an edge that carries a reference or a resource handle, since
//! the state behind it is in one place; a `_class` attribute with `loc:@other`; and the back edge of
//! a loop. The device of whatever *makes* the state wins over what its users ask for.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::DeviceName;
use tensorfleet_graph::{AttrList, AttrValue, Graph, Node, NodeId};
use tensorfleet_tensor::{DType, Error, Result, invalid_argument};

use super::{Calls, Placement};
use crate::lower::is_call;

/// A partition of a graph's nodes into groups.
#[derive(Debug)]
pub(super) struct Groups {
    calls: Calls,
    parents: Vec<u32>,
    sizes: Vec<u32>,
}

/// What one group asks for.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) device: DeviceName,
    /// The node that asked first, for messages.
    pub(super) asked_by: Option<NodeId>,
    pub(super) failure: Option<Error>,
}

impl Groups {
    /// Ties the nodes of `graph` together.
    pub(super) fn new(graph: &Graph, calls: Calls) -> Groups {
        let mut groups = Groups {
            calls,
            parents: (0..graph.len() as u32).collect(),
            sizes: vec![1; graph.len()],
        };
        // Nodes may name a node that is not in the graph: they still belong together.
        let mut absent: FxHashMap<&[u8], NodeId> = FxHashMap::default();
        for (id, node) in graph.iter() {
            for (index, input) in node.inputs.iter().enumerate() {
                if carries_state(graph, node, index, calls) || is_back_edge(graph, node, index) {
                    groups.unite(id, input.node);
                }
            }
            for other in colocated_with(node) {
                let found = std::str::from_utf8(other).ok().and_then(|name| graph.find(name));
                groups.unite(id, found.unwrap_or_else(|| *absent.entry(other).or_insert(id)));
            }
        }
        groups
    }

    /// The node that stands for the group of `id`.
    pub(super) fn find(&mut self, id: NodeId) -> NodeId {
        let mut root = id.0;
        while self.parents[root as usize] != root {
            let grandparent = self.parents[self.parents[root as usize] as usize];
            self.parents[root as usize] = grandparent;
            root = grandparent;
        }
        NodeId(root)
    }

    /// Whether the group of `id` is that node alone.
    pub(super) fn is_alone(&mut self, id: NodeId) -> bool {
        let root = self.find(id);
        self.sizes[root.index()] == 1
    }

    fn unite(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        let (small, large) =
            if self.sizes[a.index()] < self.sizes[b.index()] { (a, b) } else { (b, a) };
        self.parents[small.index()] = large.0;
        self.sizes[large.index()] += self.sizes[small.index()];
    }

    /// The error for two makers of state that must be together, and cannot, because an edge from
    /// the second leads to a node that uses both.
    fn contradicting_state(
        &self,
        graph: &Graph,
        maker: NodeId,
        device: &DeviceName,
        other: &DeviceName,
    ) -> Option<Error> {
        let uses_both = |node: &&Node| {
            let carries = |index: &usize| carries_state(graph, node, *index, self.calls);
            let mut sources = (0..node.inputs.len()).filter(carries).map(|i| node.inputs[i].node);
            sources.clone().any(|id| id == maker) && sources.any(|id| id != maker)
        };
        let user = graph.nodes().iter().find(uses_both)?;
        let maker = graph.node(maker);
        Some(invalid_argument!(
            "Cannot place the graph because a reference or resource edge connects colocation groups \
             with incompatible resource devices: {other} vs {device}. The edge src node is \
             name='{}' (op='{}'), and the dst node is name='{}' (op='{}').",
            maker.name,
            maker.op,
            user.name,
            user.op
        ))
    }

    /// What each group asks for, at the index of the node that stands for it.
    ///
    /// State that `earlier` steps may have put somewhere asks to stay there.
    pub(super) fn requests(
        &mut self,
        graph: &Graph,
        earlier: Option<&Placement>,
        allow_soft_placement: bool,
    ) -> Vec<Request> {
        let mut patterns = Patterns::default();
        let mut requests: Vec<Request> =
            std::iter::repeat_with(Request::default).take(graph.len()).collect();
        let (makers, users): (Vec<NodeId>, Vec<NodeId>) =
            graph.iter().map(|(id, _)| id).partition(|&id| makes_state(graph, id, self.calls));
        let kept = |&id: &NodeId| earlier.and_then(|earlier| earlier.device(id));
        let makers = makers.iter().map(|id| (*id, kept(id)));
        for (id, kept) in makers.chain(users.iter().map(|id| (*id, None))) {
            let node = graph.node(id);
            let device = kept.unwrap_or(&node.device);
            if device.is_empty() {
                continue;
            }
            let request = &mut requests[self.find(id).index()];
            match patterns.parse(device) {
                Err(error) => {
                    request.failure.get_or_insert_with(|| malformed(&error, node));
                }
                Ok(pattern) => match merge(&request.device, &pattern) {
                    Some(merged) => {
                        request.device = merged;
                        request.asked_by.get_or_insert(id);
                    }
                    None if uses_state(graph, node, self.calls) => {}
                    None => {
                        let first = graph.node(request.asked_by.unwrap_or(id));
                        let error = self.contradicting_state(graph, id, &request.device, &pattern);
                        let error = error.or_else(|| {
                            let error = || conflict(first, node, &request.device, &pattern);
                            (!allow_soft_placement).then(error)
                        });
                        request.failure = request.failure.take().or(error);
                    }
                },
            }
        }
        requests
    }
}

fn malformed(error: &Error, node: &Node) -> Error {
    let name = &node.name;
    invalid_argument!("{} in node: {{{{node {name}}}}}\n\t [[{name}]]", error.message())
}

/// Patterns by their text. Few differ in a graph.
#[derive(Default)]
struct Patterns {
    parsed: FxHashMap<Arc<str>, Result<DeviceName>>,
}

impl Patterns {
    fn parse(&mut self, text: &Arc<str>) -> Result<DeviceName> {
        if let Some(parsed) = self.parsed.get(text) {
            return parsed.clone();
        }
        let parsed = DeviceName::parse(text);
        self.parsed.insert(Arc::clone(text), parsed.clone());
        parsed
    }
}

/// Both patterns in one, unless some part contradicts.
pub(crate) fn merge(a: &DeviceName, b: &DeviceName) -> Option<DeviceName> {
    fn agree<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
        a.is_none() || b.is_none() || a == b
    }
    let compatible = agree(&a.job, &b.job)
        && agree(&a.replica, &b.replica)
        && agree(&a.task, &b.task)
        && agree(&a.kind, &b.kind)
        && agree(&a.index, &b.index);
    compatible.then(|| DeviceName {
        job: a.job.clone().or_else(|| b.job.clone()),
        replica: a.replica.or(b.replica),
        task: a.task.or(b.task),
        kind: a.kind.clone().or_else(|| b.kind.clone()),
        index: a.index.or(b.index),
    })
}

/// Whether the input carries a reference or a handle, so that the node must be with its state.
///
/// Calls that will be replaced are free: each part of a body goes to the state that it uses.
fn carries_state(graph: &Graph, node: &Node, index: usize, calls: Calls) -> bool {
    let is_open = |node| calls == Calls::Open && is_call(graph, node);
    if is_open(node) {
        return false;
    }
    let input = node.inputs[index];
    let Some(wanted) = node.input_types().get(index) else { return false };
    let source = graph.node(input.node);
    let Some(given) = source.output_types().get(input.index as usize) else { return false };
    (wanted.is_ref && given.is_ref) || (given.dtype == DType::Resource && !is_open(source))
}

fn is_back_edge(graph: &Graph, node: &Node, index: usize) -> bool {
    node.closes_loop(graph.node(node.inputs[index].node))
}

fn uses_state(graph: &Graph, node: &Node, calls: Calls) -> bool {
    (0..node.inputs.len()).any(|index| carries_state(graph, node, index, calls))
}

/// Whether the node is where references or handles come from.
fn makes_state(graph: &Graph, id: NodeId, calls: Calls) -> bool {
    let node = graph.node(id);
    node.output_types().iter().any(|value| value.is_ref || value.dtype == DType::Resource)
        && !uses_state(graph, node, calls)
}

/// The names in the node's `_class` attribute.
fn colocated_with(node: &Node) -> impl Iterator<Item = &[u8]> {
    let classes = match node.attrs.get("_class") {
        Some(AttrValue::List(AttrList::Strings(classes))) => classes.as_slice(),
        _ => &[],
    };
    classes.iter().filter_map(|class| class.strip_prefix(b"loc:@"))
}

fn conflict(first: &Node, second: &Node, device: &DeviceName, other: &DeviceName) -> Error {
    let what = if device.job.is_some() && other.job.is_some() && device.job != other.job {
        "jobs"
    } else if device.replica.is_some() && other.replica.is_some() && device.replica != other.replica
    {
        "replicas"
    } else if device.task.is_some() && other.task.is_some() && device.task != other.task {
        "tasks"
    } else if device.kind.is_some() && other.kind.is_some() && device.kind != other.kind {
        "types"
    } else {
        "ids"
    };
    invalid_argument!(
        "Cannot colocate nodes {{{{colocation_node {}}}}} and {{{{colocation_node {}}}}}: Cannot \
         merge devices with incompatible {what}: '{other}' and '{device}'",
        second.name,
        first.name
    )
    .at_node(&second.name)
}
