//! Chooses a device for every node.
//!
//! Nodes that must be together form groups (`groups.rs`). A group goes to the first device, in a
//! fixed order, that fits what its members ask for; what asks for nothing goes to the client's
//! device. Two kinds of lonely nodes follow their neighbours instead, to save an edge between
//! devices: a source goes to its consumers, and what only reads a shape goes to its input.

mod groups;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::DeviceName;
use tensorfleet_graph::{Graph, Node, NodeId};
use tensorfleet_tensor::{Error, Result, invalid_argument};

use crate::lower::is_call;
use crate::{Devices, Options};
use groups::{Groups, Request};

/// The devices of a graph's nodes.
///
/// It belongs to the whole graph of a session, so that a variable is in the same place in every
/// step. When the graph grows, [`Placement::extend`] leaves state where it is.
#[derive(Debug, Default)]
pub struct Placement {
    devices: Vec<Arc<str>>,
    /// Nodes that fit on no device.
    failures: FxHashMap<NodeId, Error>,
    /// The one of them that a step's error names.
    first_failure: Option<NodeId>,
}

impl Placement {
    /// Chooses a device for every node of `graph`, whose first nodes may have been placed before.
    #[must_use]
    pub fn extend(&self, graph: &Graph, devices: &Devices<'_>, options: &Options) -> Placement {
        place(graph, Some(self), Calls::Open, devices, options)
    }

    /// Whether all nodes of `graph` are placed, provided that its first nodes are the ones here.
    pub fn covers(&self, graph: &Graph) -> bool {
        graph.len() <= self.devices.len()
    }

    /// Fails if some node fits on no device, whether a step runs it or not.
    pub(crate) fn check(&self) -> Result<()> {
        let first = self.first_failure.and_then(|id| self.failures.get(&id));
        first.map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// The device of a node, if it has been placed.
    fn device(&self, id: NodeId) -> Option<&Arc<str>> {
        self.devices.get(id.index()).filter(|_| !self.failures.contains_key(&id))
    }

    /// Writes devices into the nodes of `part`, which are some nodes of `graph` and new ones.
    pub(crate) fn apply(&self, graph: &Graph, part: &mut Graph) -> Result<()> {
        for index in 0..part.len() {
            let id = NodeId(index as u32);
            let Some(original) = graph.find(&part.node(id).name) else { continue };
            if let Some(failure) = self.failures.get(&original) {
                return Err(failure.clone());
            }
            part.node_mut(id).device = Arc::clone(&self.devices[original.index()]);
        }
        Ok(())
    }
}

/// What to do with calls of functions that could be replaced by their bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    /// They keep the device that they ask for: the nodes of the body are placed when they are known.
    Open,
    /// They were not replaced, and are nodes like others.
    Final,
}

/// Chooses a device for every node of `graph`.
pub(crate) fn place(
    graph: &Graph,
    earlier: Option<&Placement>,
    calls: Calls,
    devices: &Devices<'_>,
    options: &Options,
) -> Placement {
    let candidates = Candidates::new(devices);
    let mut groups = Groups::new(graph, calls);
    let requests = groups.requests(graph, earlier, options.allow_soft_placement);
    let mut failures = FxHashMap::default();
    let mut chosen: Vec<Option<Arc<str>>> = vec![None; graph.len()];
    let mut open: Vec<NodeId> = Vec::new();
    for (id, node) in graph.iter() {
        let request = &requests[groups.find(id).index()];
        if calls == Calls::Open && is_call(graph, node) {
            // Those who follow a call must have a device even in a step without the call.
            chosen[id.index()] = candidates.choose(request, node, true).ok();
            open.push(id);
            continue;
        }
        let is_free = groups.is_alone(id) && request.device == DeviceName::default();
        if is_free && (is_source(node) || is_metadata(node)) {
            continue;
        }
        match candidates.choose(request, node, options.allow_soft_placement) {
            Ok(device) => chosen[id.index()] = Some(device),
            Err(error) => {
                failures.insert(id, error);
            }
        }
    }
    follow_inputs(graph, &mut chosen);
    follow_consumers(graph, &mut chosen);
    for id in open {
        chosen[id.index()] = Some(Arc::clone(&graph.node(id).device));
    }
    let devices = chosen
        .into_iter()
        .map(|device| device.unwrap_or_else(|| Arc::clone(&candidates.client)))
        .collect();
    // Those that may follow others are placed last.
    let rank = |id: &NodeId| {
        let node = graph.node(*id);
        (is_source(node) || is_metadata(node), *id)
    };
    let first_failure = failures.keys().copied().min_by_key(rank);
    Placement { devices, failures, first_failure }
}

/// A node with one output and no inputs: it can run wherever its value is needed.
fn is_source(node: &Node) -> bool {
    node.inputs.is_empty() && matches!(node.output_types(), [value] if !value.is_ref)
}

/// A node that reads the shape of its input but not its values.
fn is_metadata(node: &Node) -> bool {
    node.nature().needs_only_shape && !node.inputs.is_empty()
}

fn follow_inputs(graph: &Graph, chosen: &mut [Option<Arc<str>>]) {
    for (id, node) in graph.iter() {
        if chosen[id.index()].is_none() && is_metadata(node) {
            chosen[id.index()] = chosen[node.inputs[0].node.index()].clone();
        }
    }
}

/// Puts sources with the consumers of their value, when these are all on one device.
fn follow_consumers(graph: &Graph, chosen: &mut [Option<Arc<str>>]) {
    #[derive(Clone)]
    enum Consumers {
        None,
        On(Arc<str>),
        Several,
    }
    let mut consumers = vec![Consumers::None; graph.len()];
    for (id, node) in graph.iter() {
        let Some(device) = &chosen[id.index()] else { continue };
        for input in node.inputs.iter().filter(|input| chosen[input.node.index()].is_none()) {
            let seen = &mut consumers[input.node.index()];
            *seen = match seen {
                Consumers::None => Consumers::On(Arc::clone(device)),
                Consumers::On(first) if first == device => continue,
                Consumers::On(_) | Consumers::Several => Consumers::Several,
            };
        }
    }
    for (device, consumers) in chosen.iter_mut().zip(consumers) {
        if let (None, Consumers::On(consumer)) = (&device, consumers) {
            *device = Some(consumer);
        }
    }
}

/// The devices, best first.
struct Candidates {
    devices: Vec<(DeviceName, Arc<str>)>,
    client: Arc<str>,
}

impl Candidates {
    fn new(devices: &Devices<'_>) -> Candidates {
        let Devices { all, client } = devices;
        let client_text: Arc<str> = client.name.to_string().into();
        let mut devices: Vec<(DeviceName, Arc<str>)> = all
            .iter()
            .map(|device| (device.name.clone(), device.name.to_string().into()))
            .collect();
        // A peer may have devices of other kinds, but which ops it runs there we cannot know: they
        // are for those who ask for them.
        devices.sort_by_cached_key(|(name, text)| {
            let is_cpu = name.kind.as_deref() == Some("CPU");
            let is_near = name.task_name() == client.name.task_name();
            (!is_cpu, *text != client_text, !is_near, Arc::clone(text))
        });
        Candidates { devices, client: client_text }
    }

    fn choose(&self, request: &Request, node: &Node, soft: bool) -> Result<Arc<str>> {
        if let Some(failure) = &request.failure {
            return Err(failure.clone());
        }
        let task = request.device.task_name();
        let first = |pattern: &DeviceName| {
            self.devices.iter().find(|(name, _)| pattern.matches(name)).map(|(_, text)| text)
        };
        let found = first(&request.device).or_else(|| soft.then(|| first(&task)).flatten());
        found.map(Arc::clone).ok_or_else(|| self.unsatisfiable(node, &request.device))
    }

    fn unsatisfiable(&self, node: &Node, device: &DeviceName) -> Error {
        let mut names: Vec<&str> = self.devices.iter().map(|(_, text)| &**text).collect();
        names.sort_unstable();
        let name = &node.name;
        invalid_argument!(
            "Cannot assign a device for operation {name}: {{{{node {name}}}}} was explicitly assigned \
             to {device} but available devices are [ {} ]. Make sure the device specification refers \
             to a valid device.\n\t [[{name}]]",
            names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::testing::{devices, ops, parse, parse_node, print_graph};

    fn check_with(text: &str, options: &Options, expected: Expect) {
        let (ops, devices) = (ops(), devices());
        let graph = parse(text, &ops).unwrap();
        let devices = Devices { all: &devices, client: &devices[0] };
        let placement = Placement::default().extend(&graph, &devices, options);
        let mut placed = graph.clone();
        let text = match placement.apply(&graph, &mut placed) {
            Ok(()) => print_graph(&placed),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&text);
    }

    fn check(text: &str, expected: Expect) {
        check_with(text, &Options::default(), expected);
    }

    fn check_soft(text: &str, expected: Expect) {
        check_with(text, &Options { allow_soft_placement: true, ..Options::default() }, expected);
    }

    #[test]
    fn open_parts_of_a_device_are_filled_in() {
        check(
            "a = NoOp
             b = NoOp @/job:ps
             c = NoOp @/job:ps/task:1
             d = NoOp @/cpu:0
             e = NoOp @/device:CPU:*
             f = NoOp @/job:worker/replica:0/task:1/device:CPU:0
             g = NoOp @/task:1",
            expect![[r#"
                a = NoOp @w0
                b = NoOp @ps0
                c = NoOp @ps1
                d = NoOp @w0
                e = NoOp @w0
                f = NoOp @w1
                g = NoOp @ps1
            "#]],
        );
    }

    #[test]
    fn users_of_state_go_where_it_is() {
        check(
            "v = VariableV2 @/job:ps/task:1
             a = Assign(v, c) @/job:worker/task:1
             c = Const @/job:worker/task:1
             i = Identity(v) @/job:worker/task:1
             h = VarHandleOp @/job:ps/task:0
             r = ReadVariableOp(h) @/job:worker/task:1
             w = AssignVariableOp(h, r)
             k = NoOp {_class=[loc:@h]}",
            expect![[r#"
                v = VariableV2 @ps1
                a = Assign(v, c) @ps1
                c = Const @w1
                i = Identity(v) @w1
                h = VarHandleOp @ps0
                r = ReadVariableOp(h) @ps0
                w = AssignVariableOp(h, r) @ps0
                k = NoOp @ps0
            "#]],
        );
    }

    #[test]
    fn state_without_a_device_goes_to_its_users() {
        check(
            "h = VarHandleOp
             r = ReadVariableOp(h) @/job:ps/task:1
             g = VarHandleOp
             s = ReadVariableOp(g)",
            expect![[r#"
                h = VarHandleOp @ps1
                r = ReadVariableOp(h) @ps1
                g = VarHandleOp @w0
                s = ReadVariableOp(g) @w0
            "#]],
        );
    }

    #[test]
    fn state_stays_where_it_is_when_the_graph_grows() {
        let (ops, devices, options) = (ops(), devices(), Options::default());
        let devices = Devices { all: &devices, client: &devices[0] };
        let mut graph = parse("h = VarHandleOp\nr = ReadVariableOp(h)", &ops).unwrap();
        let placement = Placement::default().extend(&graph, &devices, &options);
        let more = ["c = Const", "a = AssignVariableOp(h, c) @ps0"].map(parse_node);
        graph.extend(more.to_vec(), &*ops).unwrap();
        assert!(!placement.covers(&graph));
        let mut placed = graph.clone();
        placement.extend(&graph, &devices, &options).apply(&graph, &mut placed).unwrap();
        expect![[r#"
            h = VarHandleOp @w0
            r = ReadVariableOp(h) @w0
            c = Const @w0
            a = AssignVariableOp(h, c) @w0
        "#]]
        .assert_eq(&print_graph(&placed));
    }

    #[test]
    fn sources_follow_consumers_and_shapes_follow_inputs() {
        check(
            "a = Const
             b = Neg(a) @ps0
             c = Const
             d = Neg(c) @ps0
             e = Neg(c) @ps1
             s = Shape(b)
             i = Identity(b)",
            expect![[r#"
                a = Const @ps0
                b = Neg(a) @ps0
                c = Const @w0
                d = Neg(c) @ps0
                e = Neg(c) @ps1
                s = Shape(b) @ps0
                i = Identity(b) @w0
            "#]],
        );
    }

    #[test]
    fn sources_and_shapes_beside_a_call_have_a_device_of_their_own() {
        check(
            "fn f(x: float) -> (y: float = n:y:0) {
               n = Neg(x)
             }
             a = Const
             c = f(a) @/job:ps/task:1
             s = Shape(c)
             b = Const
             d = f(b) @/job:gone",
            expect![[r#"
                a = Const @ps1
                c = f(a) @/job:ps/task:1
                s = Shape(c) @ps1
                b = Const @w0
                d = f(b) @/job:gone
            "#]],
        );
    }

    #[test]
    fn nodes_colocated_with_an_absent_node_stay_together() {
        check(
            "a = NoOp {_class=[loc:@gone]}
             b = NoOp @ps1 {_class=[loc:@gone]}",
            expect![[r#"
                a = NoOp @ps1
                b = NoOp @ps1
            "#]],
        );
    }

    #[test]
    fn a_missing_device_is_an_error_unless_placement_is_soft() {
        let gpu = "a = Const @/gpu:0\nb = Neg(a) @/job:ps/task:1/gpu:3";
        check(
            gpu,
            expect![[r#"
            INVALID_ARGUMENT: Cannot assign a device for operation a: {{node a}} was explicitly assigned to /device:GPU:0 but available devices are [ /job:ps/replica:0/task:0/device:CPU:0, /job:ps/replica:0/task:1/device:CPU:0, /job:worker/replica:0/task:0/device:CPU:0, /job:worker/replica:0/task:1/device:CPU:0 ]. Make sure the device specification refers to a valid device.
            	 [[a]]"#]],
        );
        check_soft(
            gpu,
            expect![[r#"
            a = Const @w0
            b = Neg(a) @ps1
        "#]],
        );
        check_soft(
            "a = NoOp @/job:other",
            expect![[r#"
            INVALID_ARGUMENT: Cannot assign a device for operation a: {{node a}} was explicitly assigned to /job:other but available devices are [ /job:ps/replica:0/task:0/device:CPU:0, /job:ps/replica:0/task:1/device:CPU:0, /job:worker/replica:0/task:0/device:CPU:0, /job:worker/replica:0/task:1/device:CPU:0 ]. Make sure the device specification refers to a valid device.
            	 [[a]]"#]],
        );
        check(
            "a = NoOp @/jobs:ps",
            expect![[r#"
                INVALID_ARGUMENT: Malformed device specification '/jobs:ps' in node: {{node a}}
                	 [[a]]"#]],
        );
    }

    #[test]
    fn state_in_two_places_cannot_be_used_as_one() {
        check_soft(
            "g = VarHandleOp @ps0
             h = VarHandleOp @ps1
             m = Merge(g, h) {T=resource}",
            expect![
                "INVALID_ARGUMENT: Cannot place the graph because a reference or resource edge connects colocation groups with incompatible resource devices: /job:ps/replica:0/task:1/device:CPU:0 vs /job:ps/replica:0/task:0/device:CPU:0. The edge src node is name='h' (op='VarHandleOp'), and the dst node is name='m' (op='Merge')."
            ],
        );
    }

    #[test]
    fn contradicting_colocations_are_an_error_unless_placement_is_soft() {
        let text = "a = NoOp @ps0\nb = NoOp @ps1 {_class=[loc:@a]}";
        check(
            text,
            expect![[r#"
                INVALID_ARGUMENT: Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot merge devices with incompatible tasks: '/job:ps/replica:0/task:1/device:CPU:0' and '/job:ps/replica:0/task:0/device:CPU:0'
                	 [[{{node b}}]]"#]],
        );
        check_soft(
            text,
            expect![[r#"
            a = NoOp @ps0
            b = NoOp @ps0
        "#]],
        );
    }
}
