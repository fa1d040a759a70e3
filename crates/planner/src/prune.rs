//! Cuts a client's graph down to what one step needs.
//!
//! Fed tensors become `_Arg` nodes and fetched ones `_Retval` nodes, both on the client's device, so
//! that they all end up in one partition. What neither a fetch nor a target needs is dropped, feeds
//! among it; a feed cuts the graph, so what only a fed tensor needed is dropped too.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_graph::{
    AttrMap, AttrValue, Graph, Node, NodeId, OpLookup, Output, parse_tensor_name,
};
use tensorfleet_tensor::{DType, Result, invalid_argument, not_found};

use crate::edit::NewNode;
use crate::lower::{END, is_call};
use crate::{Connection, Device, Step, StepSpec};

/// The part of `graph` that a step needs, with its feeds and fetches as nodes.
pub(crate) fn prune(
    graph: &Graph,
    spec: &StepSpec,
    client: &Device,
    ops: &dyn OpLookup,
) -> Result<Step> {
    let ends = Ends::resolve(graph, spec)?;
    let Needed { nodes: kept, feeds: needed_feeds } = ends.needed(graph);
    let new_ids = number(&kept);
    let num_kept = new_ids.iter().flatten().count();
    let arg_ids = number(&needed_feeds);
    let arg_id = |feed: usize| {
        let NodeId(arg) = arg_ids[feed].expect("feeds of kept nodes are needed");
        NodeId(num_kept as u32 + arg)
    };
    let moved = |id: NodeId| new_ids[id.index()].expect("inputs of kept nodes are kept or fed");
    let moved_output = |output: Output| match ends.feed_of(output) {
        Ok(feed) => Output { node: arg_id(feed), index: 0 },
        Err(output) => Output { node: moved(output.node), index: output.index },
    };

    let mut pruned = Graph::new(Arc::clone(graph.library()));
    for (id, node) in graph.iter().filter(|(id, _)| kept[id.index()]) {
        pruned.add(Node {
            inputs: node.inputs.iter().map(|&input| moved_output(input)).collect(),
            control_inputs: node
                .control_inputs
                .iter()
                .map(|id| ends.fed_placeholders.get(id).map_or_else(|| moved(*id), |&f| arg_id(f)))
                .collect(),
            attrs: marked(graph, id, node, &ends),
            ..node.clone()
        })?;
    }
    let device: Arc<str> = client.name.to_string().into();
    for (index, &output) in ends.feeds.iter().enumerate().filter(|(feed, _)| needed_feeds[*feed]) {
        NewNode {
            name: &end_name("_recv", graph, output),
            op: "_Arg",
            device: Arc::clone(&device),
            attrs: end_attrs(feed_type(graph, output, &spec.feeds[index])?, index),
            ..NewNode::default()
        }
        .add_to(&mut pruned, ops)?;
    }
    let mut roots: Vec<NodeId> = ends.targets.iter().map(|&id| moved(id)).collect();
    check_registered(&pruned)?;
    for (index, &output) in ends.fetches.iter().enumerate() {
        let input = Output { node: moved(output.node), index: output.index };
        let dtype = pruned.node(input.node).output_types()[input.index as usize].dtype;
        let retval = NewNode {
            name: &end_name("_send", graph, output),
            op: "_Retval",
            device: Arc::clone(&device),
            attrs: end_attrs(dtype, index),
            inputs: vec![input],
            ..NewNode::default()
        };
        roots.push(retval.add_to(&mut pruned, ops)?);
    }
    if !ends.connected.is_empty() {
        // Only the client knows that what it connects fits.
        pruned.validate()?;
    }
    Ok(Step { graph: pruned, roots })
}

/// The attributes of a node; one with several results of which a feed or a fetch names one says so.
fn marked(graph: &Graph, id: NodeId, node: &Node, ends: &Ends) -> Arc<AttrMap> {
    let is_end = || ends.feeds.iter().chain(&ends.fetches).any(|output| output.node == id);
    let mut attrs = Arc::clone(&node.attrs);
    if (is_call(graph, node) || &*node.op == "IdentityN") && is_end() {
        Arc::make_mut(&mut attrs).insert(END.to_owned(), AttrValue::Bool(true));
    }
    attrs
}

/// Fails if the graph has nodes of ops that this server does not know, and names all of them.
pub(crate) fn check_registered(graph: &Graph) -> Result<()> {
    let mut missing: Vec<&str> = graph
        .nodes()
        .iter()
        .filter(|node| node.signature.is_none())
        .map(|node| &*node.op)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort_unstable();
    missing.dedup();
    Err(not_found!(
        "Op type not registered '{}' in binary running on tensorfleet. Make sure the Op and Kernel \
         are registered in the binary running in this process.",
        missing.join("', '")
    ))
}

/// The nodes from which `roots` can be reached along data and control edges.
pub(crate) fn ancestors(graph: &Graph, roots: impl IntoIterator<Item = NodeId>) -> Vec<bool> {
    let mut kept = vec![false; graph.len()];
    let mut pending: Vec<NodeId> = roots.into_iter().collect();
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut kept[id.index()], true) {
            let node = graph.node(id);
            pending.extend(node.inputs.iter().map(|input| input.node));
            pending.extend(&node.control_inputs);
        }
    }
    kept
}

/// Drops what no root needs.
pub(crate) fn keep_needed(step: Step) -> Step {
    let Step { graph, roots } = step;
    let kept = ancestors(&graph, roots.iter().copied());
    let pruned = graph.retain(|id| kept[id.index()]);
    let find = |id| pruned.find(&graph.node(id).name).expect("roots are kept");
    let roots = roots.into_iter().map(find).collect();
    Step { graph: pruned, roots }
}

/// Where a step enters and leaves the graph.
struct Ends {
    feeds: Vec<Output>,
    /// For a fed tensor, the position of its feed. Of two spellings of one tensor the last counts.
    positions: FxHashMap<Output, usize>,
    /// For a tensor in whose place another one is fed, that one.
    connected: FxHashMap<Output, Output>,
    /// Fed placeholders: whoever waits for one by a control edge waits for the feed instead.
    fed_placeholders: FxHashMap<NodeId, usize>,
    fetches: Vec<Output>,
    targets: Vec<NodeId>,
}

impl Ends {
    fn resolve(graph: &Graph, spec: &StepSpec) -> Result<Ends> {
        if spec.fetches.is_empty() && spec.targets.is_empty() {
            return Err(invalid_argument!("Must specify at least one target to fetch or execute."));
        }
        check_distinct(spec)?;
        let feeds: Vec<Output> =
            spec.feeds.iter().map(|name| resolve_feed(graph, name)).collect::<Result<_>>()?;
        let fetches: Vec<Output> =
            spec.fetches.iter().map(|name| resolve_fetch(graph, name)).collect::<Result<_>>()?;
        let positions = feeds.iter().enumerate().map(|(feed, &output)| (output, feed)).collect();
        let mut connected = FxHashMap::default();
        for connection in &spec.connections {
            let (replaced, source) = resolve_connection(graph, connection)?;
            if fetches.contains(&replaced) {
                return Err(invalid_argument!("{} is both fed and fetched.", connection.to));
            }
            connected.insert(replaced, source);
        }
        let fed_placeholders = feeds
            .iter()
            .enumerate()
            .filter(|(_, output)| {
                matches!(&*graph.node(output.node).op, "Placeholder" | "PlaceholderV2")
            })
            .map(|(feed, output)| (output.node, feed))
            .collect();
        let targets = resolve_targets(graph, &spec.targets)?;
        Ok(Ends { feeds, positions, connected, fed_placeholders, fetches, targets })
    }

    /// The position of the feed that a consumer of `output` gets, or else the tensor it gets.
    fn feed_of(&self, output: Output) -> Result<usize, Output> {
        if let Some(&feed) = self.positions.get(&output) {
            return Ok(feed);
        }
        let Some(&source) = self.connected.get(&output) else { return Err(output) };
        self.positions.get(&source).copied().ok_or(source)
    }

    fn needed(&self, graph: &Graph) -> Needed {
        let mut nodes = vec![false; graph.len()];
        let mut feeds = vec![false; self.feeds.len()];
        let mut pending = self.targets.clone();
        // A fetch asks for what the graph computes, whatever others get in its place.
        pending.extend(self.fetches.iter().map(|output| output.node));
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut nodes[id.index()], true) {
                continue;
            }
            let node = graph.node(id);
            for &input in &node.inputs {
                match self.feed_of(input) {
                    Ok(feed) => feeds[feed] = true,
                    Err(output) => pending.push(output.node),
                }
            }
            for id in &node.control_inputs {
                match self.fed_placeholders.get(id) {
                    Some(&feed) => feeds[feed] = true,
                    None => pending.push(*id),
                }
            }
        }
        Needed { nodes, feeds }
    }
}

/// What the fetches and targets of a step need.
struct Needed {
    nodes: Vec<bool>,
    feeds: Vec<bool>,
}

/// Fails if one name is fed twice, or fed and fetched.
fn check_distinct(spec: &StepSpec) -> Result<()> {
    let mut fed: FxHashSet<&str> = FxHashSet::default();
    if let Some(name) = spec.feeds.iter().find(|name| !fed.insert(name)) {
        return Err(invalid_argument!("Endpoint \"{name}\" fed more than once."));
    }
    match spec.fetches.iter().find(|name| fed.contains(name.as_str())) {
        Some(name) => Err(invalid_argument!("{name} is both fed and fetched.")),
        None => Ok(()),
    }
}

fn resolve_feed(graph: &Graph, name: &str) -> Result<Output> {
    let (node, index) = parse_tensor_name(name);
    let node = graph
        .find(node)
        .ok_or_else(|| not_found!("FeedInputs: unable to find feed output {name}"))?;
    let signature = &graph.node(node).signature;
    match signature.as_ref().map(|signature| signature.outputs.len()) {
        Some(count) if index as usize >= count => {
            Err(invalid_argument!("FeedInputs: {name} should have output index < {count}"))
        }
        _ => Ok(Output { node, index }),
    }
}

/// The two ends of a connection: the tensor that is replaced, and the one in its place.
fn resolve_connection(graph: &Graph, connection: &Connection) -> Result<(Output, Output)> {
    let Connection { from, to } = connection;
    let (node, index) = parse_tensor_name(from);
    let node = graph.find(node).ok_or_else(|| {
        invalid_argument!("Requested tensor connection from unknown node: \"{to}\".")
    })?;
    let signature = &graph.node(node).signature;
    if let Some(count) = signature.as_ref().map(|signature| signature.outputs.len())
        && index as usize >= count
    {
        return Err(invalid_argument!(
            "Requested tensor connection from unknown edge: \"{to}\" (actual number of outputs = \
             {count})."
        ));
    }
    let replaced = resolve_feed(graph, to)?;
    if ancestors(graph, [node])[replaced.node.index()] {
        return Err(invalid_argument!(
            "Requested Tensor connection between nodes \"{}\" and \"{}\" would create a cycle.",
            graph.node(replaced.node).name,
            graph.node(node).name
        ));
    }
    Ok((replaced, Output { node, index }))
}

fn resolve_fetch(graph: &Graph, name: &str) -> Result<Output> {
    let (node, index) = parse_tensor_name(name);
    let node = graph.find(node).ok_or_else(|| not_found!("FetchOutputs node {name}: not found"))?;
    let signature = &graph.node(node).signature;
    match signature.as_ref().map(|signature| signature.outputs.len()) {
        Some(0) => Err(invalid_argument!(
            "Tried to fetch data for '{name}', which produces no output.  To run to a node but not \
             fetch any data, pass '{name}' as an argument to the 'target_node_names' argument of \
             the Session::Run API."
        )),
        Some(count) if index as usize >= count => {
            Err(invalid_argument!("FetchOutputs {name}: output index too large, must be < {count}"))
        }
        _ => Ok(Output { node, index }),
    }
}

fn resolve_targets(graph: &Graph, names: &[String]) -> Result<Vec<NodeId>> {
    let mut found = Vec::with_capacity(names.len());
    let mut missing = String::new();
    for name in names {
        match graph.find(parse_tensor_name(name).0) {
            Some(id) => found.push(id),
            None => missing.extend([name, " "]),
        }
    }
    if missing.is_empty() {
        Ok(found)
    } else {
        Err(not_found!("PruneForTargets: Some target nodes not found: {missing}"))
    }
}

/// The type of a fed tensor. For an op that we do not know, whoever consumes the tensor tells.
fn feed_type(graph: &Graph, output: Output, name: &str) -> Result<DType> {
    if let Some(value) = graph.node(output.node).output_types().get(output.index as usize) {
        return Ok(value.dtype);
    }
    let wanted = graph.nodes().iter().find_map(|node| {
        let position = node.inputs.iter().position(|input| *input == output)?;
        node.input_types().get(position)
    });
    wanted.map(|value| value.dtype).ok_or_else(|| {
        not_found!(
            "Op type not registered '{}' in binary running on tensorfleet: the type of the fed \
             tensor {name} is not known",
            graph.node(output.node).op
        )
    })
}

/// The names that TensorFlow gives to these nodes: they show in its error messages.
fn end_name(prefix: &str, graph: &Graph, output: Output) -> String {
    format!("{prefix}_{}_{}", graph.node(output.node).name, output.index)
}

fn end_attrs(dtype: DType, index: usize) -> Vec<(&'static str, AttrValue)> {
    vec![("T", AttrValue::Type(dtype)), ("index", AttrValue::Int(index as i64))]
}

/// Numbers the kept nodes from 0, in their old order.
fn number(kept: &[bool]) -> Vec<Option<NodeId>> {
    let mut next = 0;
    let number = |&keep: &bool| {
        keep.then(|| {
            next += 1;
            NodeId(next - 1)
        })
    };
    kept.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use crate::testing::{UNOPTIMISED, plan_spec, plan_text, print_plan};
    use crate::{Connection, StepSpec};

    const GRAPH: &str = "
        x = Placeholder
        s = Split(x)
        a = Neg(s)
        b = Neg(s:1)
        c = Add(a, b)
        d = Abs(c, ^x)
        v = VariableV2
        n = NoOp(^d)
        u = Unknown(x)
        w = Mysterious(u)
    ";

    fn check(feeds: &[&str], fetches: &[&str], targets: &[&str], expected: Expect) {
        let text = match plan_text(GRAPH, feeds, fetches, targets, &UNOPTIMISED) {
            Ok(plan) => print_plan(&plan),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn only_what_a_fetch_needs_is_kept() {
        check(
            &["x:0"],
            &["a"],
            &[],
            expect![[r#"
            w0:
              s = Split(_recv_x_0)
              a = Neg(s)
              _recv_x_0 = _Arg
              _send_a_0 = _Retval(a)
        "#]],
        );
    }

    #[test]
    fn feeding_an_intermediate_tensor_cuts_the_graph() {
        check(
            &["s:1"],
            &["b:0", "s:0"],
            &[],
            expect![[r#"
            w0:
              x = Placeholder
              s = Split(x)
              b = Neg(_recv_s_1)
              _recv_s_1 = _Arg
              _send_b_0 = _Retval(b)
              _send_s_0 = _Retval(s)
        "#]],
        );
        check(
            &["c:0"],
            &["c"],
            &[],
            expect![[r#"
            w0:
              x = Placeholder
              s = Split(x)
              a = Neg(s)
              b = Neg(s:1)
              c = Add(a, b)
              _send_c_0 = _Retval(c)
        "#]],
        );
    }

    #[test]
    fn a_tensor_takes_the_place_of_another() {
        let connected = |from: &str, to: &str| {
            let spec = StepSpec {
                feeds: vec!["x:0".to_owned()],
                fetches: vec!["d:0".to_owned()],
                connections: vec![Connection { from: from.to_owned(), to: to.to_owned() }],
                ..StepSpec::default()
            };
            match plan_spec(GRAPH, &spec, &UNOPTIMISED) {
                Ok(plan) => print_plan(&plan),
                Err(error) => error.to_string(),
            }
        };
        expect![[r#"
            w0:
              s = Split(_recv_x_0)
              b = Neg(s:1)
              d = Abs(b, ^_recv_x_0)
              _recv_x_0 = _Arg
              _send_d_0 = _Retval(d)
        "#]]
        .assert_eq(&connected("b:0", "c:0"));
        expect![[r#"
            w0:
              d = Abs(_recv_x_0, ^_recv_x_0)
              _recv_x_0 = _Arg
              _send_d_0 = _Retval(d)
        "#]]
        .assert_eq(&connected("x", "c"));
        expect![[r#"INVALID_ARGUMENT: Requested Tensor connection between nodes "s" and "d" would create a cycle."#]]
            .assert_eq(&connected("d", "s"));
        expect![[r#"INVALID_ARGUMENT: Requested tensor connection from unknown edge: "c" (actual number of outputs = 2)."#]]
            .assert_eq(&connected("s:2", "c"));
        expect![[r#"INVALID_ARGUMENT: Requested tensor connection from unknown node: "c"."#]]
            .assert_eq(&connected("nothing", "c"));
        expect!["INVALID_ARGUMENT: d:0 is both fed and fetched."].assert_eq(&connected("x", "d:0"));
        expect!["NOT_FOUND: FeedInputs: unable to find feed output nothing"]
            .assert_eq(&connected("x", "nothing"));
    }

    #[test]
    fn targets_run_and_fed_placeholders_are_not_waited_for() {
        check(
            &["x:0", "c:0"],
            &[],
            &["n", "d:0"],
            expect![[r#"
            w0:
              d = Abs(_recv_c_0, ^_recv_x_0)
              n = NoOp(^d)
              _recv_x_0 = _Arg
              _recv_c_0 = _Arg
        "#]],
        );
    }

    #[test]
    fn a_tensor_may_be_fetched_twice_and_a_reference_is_fetched_by_value() {
        check(
            &[],
            &["v:0", "v:0"],
            &[],
            expect![[r#"
            w0:
              v = VariableV2
              _send_v_0 = _Retval(v)
              _send_v_0_1 = _Retval(v)
        "#]],
        );
    }

    #[test]
    fn feeds_that_nothing_needs_are_left_out() {
        let plan =
            plan_text(GRAPH, &["x:0", "u:0", "v:0", "b:0", "a:0"], &["c"], &[], &UNOPTIMISED);
        let plan = plan.unwrap();
        expect![[r#"
            w0:
              c = Add(_recv_a_0, _recv_b_0)
              _recv_b_0 = _Arg
              _recv_a_0 = _Arg
              _send_c_0 = _Retval(c)
        "#]]
        .assert_eq(&print_plan(&plan));
        assert_eq!(plan.args.iter().map(|arg| arg.feed).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn wrong_names_are_refused_in_tensorflows_words() {
        check(
            &[],
            &[],
            &[],
            expect!["INVALID_ARGUMENT: Must specify at least one target to fetch or execute."],
        );
        check(
            &["no:0"],
            &["a:0"],
            &[],
            expect!["NOT_FOUND: FeedInputs: unable to find feed output no:0"],
        );
        check(
            &["x:0", "s:0", "x:0"],
            &["a:0"],
            &[],
            expect![[r#"INVALID_ARGUMENT: Endpoint "x:0" fed more than once."#]],
        );
        check(
            &["x:0", "a:0"],
            &["b:0", "a:0"],
            &[],
            expect!["INVALID_ARGUMENT: a:0 is both fed and fetched."],
        );
        check(
            &["x:5"],
            &["a:0"],
            &[],
            expect!["INVALID_ARGUMENT: FeedInputs: x:5 should have output index < 1"],
        );
        check(&[], &["no:0"], &[], expect!["NOT_FOUND: FetchOutputs node no:0: not found"]);
        check(
            &[],
            &["a:3"],
            &[],
            expect!["INVALID_ARGUMENT: FetchOutputs a:3: output index too large, must be < 1"],
        );
        check(
            &[],
            &["n:0"],
            &[],
            expect![
                "INVALID_ARGUMENT: Tried to fetch data for 'n:0', which produces no output.  To run to a node but not fetch any data, pass 'n:0' as an argument to the 'target_node_names' argument of the Session::Run API."
            ],
        );
        check(
            &[],
            &[],
            &["no1", "a", "no2"],
            expect!["NOT_FOUND: PruneForTargets: Some target nodes not found: no1 no2 "],
        );
    }

    #[test]
    fn unknown_ops_matter_only_to_a_step_that_runs_them() {
        check(
            &["x:0"],
            &["w:0", "a:0"],
            &[],
            expect![
                "NOT_FOUND: Op type not registered 'Mysterious', 'Unknown' in binary running on tensorfleet. Make sure the Op and Kernel are registered in the binary running in this process."
            ],
        );
        check(
            &["u:0"],
            &["w:0"],
            &[],
            expect![
                "NOT_FOUND: Op type not registered 'Unknown' in binary running on tensorfleet: the type of the fed tensor u:0 is not known"
            ],
        );
    }
}
