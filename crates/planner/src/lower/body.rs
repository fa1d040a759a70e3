//! Putting the nodes of a function's body into the graph around a call.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::DeviceName;
use tensorfleet_graph::{
    AttrList, AttrMap, AttrValue, ControlFlow, Func, Graph, Node, NodeId, Output,
};
use tensorfleet_tensor::Result;

use super::{Effects, Expansion, Lowering, Pending, is_call, is_loop};
use crate::edit::string_attr;
use crate::function::{FunctionBody, instantiate_function};
use crate::gradient::SYMBOLIC_GRADIENT;

/// Where a body is put.
pub(super) struct Site<'a> {
    /// What its nodes' names start with.
    pub(super) prefix: &'a str,
    /// The device of nodes that do not say more.
    pub(super) device: &'a str,
    /// What stands for the arguments. It must be dead, or wait, when the body must.
    pub(super) args: &'a [Output],
    /// What nodes without inputs wait for.
    pub(super) entry: &'a [NodeId],
}

/// What a body became.
pub(super) struct Inlined {
    pub(super) returns: Vec<Output>,
    /// The nodes that have run when the body has run.
    pub(super) done: Vec<NodeId>,
    /// Those of them that have effects, or if there are none, what lets the body begin.
    pub(super) effects: Vec<NodeId>,
}

impl Lowering<'_> {
    /// The body of a function, unless it is being replaced already or is called from too deep:
    /// recursion stays a call.
    pub(super) fn body(&self, func: &Func, pending: &Pending) -> Result<Option<FunctionBody>> {
        let function = identity(func);
        let mut within = pending.within;
        let mut depth = 0;
        while let Some(index) = within {
            depth += 1;
            if depth > MAX_DEPTH || self.expansions[index].function == function {
                return Ok(None);
            }
            within = self.expansions[index].within;
        }
        instantiate_function(func, self.graph.library(), self.ops).map(Some)
    }

    /// Notes that the calls in the body of `func` come from the call `pending`.
    pub(super) fn enter(&mut self, func: &Func, pending: &Pending) -> usize {
        self.expansions.push(Expansion { function: identity(func), within: pending.within });
        self.expansions.len() - 1
    }

    /// Copies a body into the graph.
    pub(super) fn inline(
        &mut self,
        body: &FunctionBody,
        site: &Site<'_>,
        expansion: usize,
    ) -> Result<Inlined> {
        let moved = Moved::new(body, self.graph.len(), site);
        let mut effects = Vec::new();
        for (id, node) in body.graph.iter().filter(|(id, _)| moved.ids[id.index()].is_some()) {
            let copy = Node {
                name: self.graph.unique_name(&format!("{}/{}", site.prefix, node.name)).into(),
                device: merged_device(&node.device, site.device),
                attrs: renamed_attrs(node, &body.graph, site.prefix),
                inputs: node.inputs.iter().map(|&input| moved.output(input)).collect(),
                control_inputs: moved.control_inputs(node),
                ..node.clone()
            };
            self.awaited.extend(&copy.control_inputs);
            self.take(&body.graph, &node.inputs, &moved);
            let new_id = self.graph.add(copy)?;
            debug_assert_eq!(Some(new_id), moved.ids[id.index()]);
            if is_call(&body.graph, node) {
                self.pending.push(Pending { id: new_id, within: Some(expansion) });
            }
            if node.is_stateful() {
                effects.push(new_id);
            }
        }
        let returned: Vec<Output> =
            body.returns.iter().map(|&id| body.graph.node(id).inputs[0]).collect();
        self.take(&body.graph, &returned, &moved);
        let returns: Vec<Output> =
            returned.into_iter().map(|output| moved.output(output)).collect();
        let control_returns: Vec<NodeId> =
            body.control_returns.iter().flat_map(|&id| moved.controls(id)).collect();
        let mut done: Vec<NodeId> = Vec::new();
        if self.effects == Effects::Always {
            self.roots.extend(effects.iter().chain(&control_returns));
            done.extend(returns.iter().map(|output| output.node));
        } else {
            effects.clear();
        }
        let mut ran = Vec::new();
        if !control_returns.is_empty() {
            ran = control_returns;
        } else if !has_control_flow(&body.graph) {
            ran = effects;
        } else if !effects.is_empty() {
            ran.clone_from(&done);
        }
        done.extend(&ran);
        for nodes in [&mut done, &mut ran] {
            if nodes.is_empty() {
                nodes.extend(site.entry);
            }
            nodes.sort_unstable();
            nodes.dedup();
        }
        Ok(Inlined { returns, done, effects: ran })
    }

    /// Notes which results of loops are among the `outputs` of a body.
    fn take(&mut self, body: &Graph, outputs: &[Output], moved: &Moved<'_>) {
        let of_loops = outputs.iter().filter(|output| is_loop(body.node(output.node)));
        self.taken.extend(of_loops.map(|&output| moved.output(output)));
    }
}

/// Calls that are this deep in other calls stay calls: names of nodes, which tell where they come
/// from, would have no end.
const MAX_DEPTH: usize = 100;

/// What tells functions apart: the name, and for a gradient of what it is one.
fn identity(func: &Func) -> String {
    match func.attrs.get("f") {
        Some(AttrValue::Func(of)) if func.name == SYMBOLIC_GRADIENT => {
            format!("{SYMBOLIC_GRADIENT}({})", identity(of))
        }
        _ => func.name.clone(),
    }
}

/// Where the nodes of a body went.
struct Moved<'a> {
    /// The new id of each node that is not an end.
    ids: Vec<Option<NodeId>>,
    args: FxHashMap<NodeId, Output>,
    entry: &'a [NodeId],
}

impl<'a> Moved<'a> {
    fn new(body: &FunctionBody, first: usize, site: &Site<'a>) -> Moved<'a> {
        let args: FxHashMap<NodeId, Output> =
            body.args.iter().copied().zip(site.args.iter().copied()).collect();
        let mut next = first as u32;
        let ids = body.graph.nodes().iter().map(|node| {
            (!node.is_end()).then(|| {
                next += 1;
                NodeId(next - 1)
            })
        });
        Moved { ids: ids.collect(), args, entry: site.entry }
    }

    fn output(&self, output: Output) -> Output {
        match self.args.get(&output.node) {
            Some(&arg) => arg,
            None => {
                let node = self.ids[output.node.index()].expect("a result has no consumers");
                Output { node, index: output.index }
            }
        }
    }

    /// What to wait for in place of the node `id`.
    fn controls(&self, id: NodeId) -> Vec<NodeId> {
        match self.ids[id.index()] {
            Some(new) => vec![new],
            // The producer of an argument may run where the body must not, so it is not enough.
            None => {
                let producer = self.args.get(&id).map(|arg| arg.node);
                self.entry.iter().copied().chain(producer).collect()
            }
        }
    }

    fn control_inputs(&self, node: &Node) -> Vec<NodeId> {
        if node.inputs.is_empty() && node.control_inputs.is_empty() {
            return self.entry.to_vec();
        }
        let mut controls: Vec<NodeId> =
            node.control_inputs.iter().flat_map(|&id| self.controls(id)).collect();
        controls.sort_unstable();
        controls.dedup();
        controls
    }
}

/// What a node of the body asks for; what it leaves open is as the call asks for it.
///
/// Part by part, as TensorFlow does it: `/job:ps` inside a call on `/job:worker/task:1` is task 1 of
/// the job `ps`, whether there is one or not.
fn merged_device(own: &Arc<str>, call: &str) -> Arc<str> {
    if own.is_empty() {
        return call.into();
    }
    let (Ok(own_name), Ok(call)) = (DeviceName::parse(own), DeviceName::parse(call)) else {
        return Arc::clone(own);
    };
    let merged = DeviceName {
        job: own_name.job.or(call.job),
        replica: own_name.replica.or(call.replica),
        task: own_name.task.or(call.task),
        kind: own_name.kind.or(call.kind),
        index: own_name.index.or(call.index),
    };
    merged.to_string().into()
}

/// The attributes of a node, with the names of other nodes and of frames in them made unique.
fn renamed_attrs(node: &Node, body: &Graph, prefix: &str) -> Arc<AttrMap> {
    let class = match node.attrs.get("_class") {
        Some(AttrValue::List(AttrList::Strings(classes))) => Some(classes),
        _ => None,
    };
    let frame = match node.attrs.get("frame_name") {
        Some(AttrValue::String(name)) if node.steers(ControlFlow::Enter) => Some(name),
        _ => None,
    };
    if class.is_none() && frame.is_none() {
        return Arc::clone(&node.attrs);
    }
    let mut attrs = AttrMap::clone(&node.attrs);
    if let Some(frame) = frame {
        let name = format!("{prefix}/{}", String::from_utf8_lossy(frame));
        attrs.insert("frame_name".to_owned(), string_attr(&name));
    }
    if let Some(classes) = class {
        let renamed = classes.iter().map(|class| {
            let text = String::from_utf8_lossy(class);
            match text.strip_prefix("loc:@").filter(|name| body.find(name).is_some()) {
                Some(name) => format!("loc:@{prefix}/{name}").into_bytes().into(),
                None => class.clone(),
            }
        });
        let renamed = AttrList::Strings(renamed.collect());
        attrs.insert("_class".to_owned(), AttrValue::List(renamed));
    }
    Arc::new(attrs)
}

/// Whether some nodes may be dead, or run in a frame of their own, so that nobody may wait for them.
pub(super) fn has_control_flow(graph: &Graph) -> bool {
    graph.nodes().iter().any(|node| node.is_switch() || node.steers(ControlFlow::Enter))
}
