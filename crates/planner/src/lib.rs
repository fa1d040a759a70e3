//! Turns a client's graph into one graph for each device that takes part in a step.
//!
//! Pure functions: no IO, no clock, no randomness, so equal input gives an equal plan.
//!
//! `place` chooses a device for every node of the *whole* graph, so that a variable is in the same
//! place in every step. A step's graph then passes through
//!
//! 1. `prune`, which keeps what the fetches and targets need and turns feeds and fetches into
//!    nodes;
//! 2. `lower`, which puts the bodies of functions in place of calls, but for those on a side of a
//!    branch that a constant rules out (`optimise::decide`), after which the new nodes are
//!    placed;
//! 3. `optimise`, which rewrites the graph into a faster one;
//! 4. `partition`, which cuts the graph along devices and joins the pieces by `_Send` and
//!    `_Recv`.
//!
//! In debug builds the graph is validated after each pass.

mod calls;
mod edit;
mod function;
mod gradient;
mod lower;
mod multi_device;
mod optimise;
mod order;
mod partition;
mod place;
mod prune;
mod reads;
mod redirect;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::Arc;

use place::Calls;
use tensorfleet_framework::{DeviceName, Registry};
use tensorfleet_graph::{AttrValue, Func, FunctionLibrary, Graph, Node, NodeId};
use tensorfleet_tensor::{DType, Result, Tensor};

pub use function::{FunctionBody, instantiate_function};
pub use lower::{Origin, origin};
pub use multi_device::{FunctionPart, FunctionPlan, as_function, plan_multi_device_function};
pub use partition::partition;
pub use place::Placement;
pub use watch::{Watch, watch};

/// A device that can take part in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The full name.
    pub name: DeviceName,
    /// The number that its task drew when it started.
    pub incarnation: u64,
    /// Whether its task keeps what it has: when it dies it comes back as the same one.
    pub durable: bool,
}

/// The devices of a session.
#[derive(Clone, Copy, Debug)]
pub struct Devices<'a> {
    pub all: &'a [Device],
    /// The one where feeds and fetches live, and whatever asks for no other.
    pub client: &'a Device,
}

/// What one kind of step feeds, fetches and runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StepSpec {
    /// Names of tensors, `x:0` or `x`.
    pub feeds: Vec<String>,
    /// Names of tensors, `x:0` or `x`.
    pub fetches: Vec<String>,
    /// Names of nodes.
    pub targets: Vec<String>,
    /// Tensors that take the place of others.
    pub connections: Vec<Connection>,
}

/// A tensor of the graph that is fed in the place of another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    pub from: String,
    pub to: String,
}

/// What a session's configuration says about planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether a node whose device does not exist may go elsewhere.
    pub allow_soft_placement: bool,
    /// Whether the plan reports the device of every node.
    pub log_device_placement: bool,
    /// Whether to rewrite the graph into a faster one with the same results.
    pub optimize: bool,
    /// Whether to replace calls by the bodies of the functions.
    pub inline_functions: bool,
    /// Whether functions that ask not to be inlined stay calls. A call is on one device, so one whose
    /// body may be on several has to be replaced.
    pub keep_noinline: bool,
    /// Whether control flow of a session's graph that asks for it becomes switches and merges.
    pub lower_control_flow: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            allow_soft_placement: false,
            log_device_placement: false,
            optimize: true,
            inline_functions: true,
            keep_noinline: true,
            lower_control_flow: true,
        }
    }
}

/// How to run one kind of step.
#[derive(Debug)]
pub struct Plan {
    /// The graphs, each for another device, in the order of the given devices. Every `_Arg` and
    /// `_Retval` is in the client's.
    pub partitions: Vec<Partition>,
    /// The `_Arg` nodes, in the order of their indices. A feed that nothing needs has none.
    pub args: Vec<Arg>,
    /// For each node its device, when [`Options::log_device_placement`] asks for it.
    pub placement: Vec<NodePlacement>,
}

/// A feed that a step needs.
#[derive(Clone, Debug)]
pub struct Arg {
    /// The position among all feeds.
    pub feed: usize,
    pub dtype: DType,
    pub node: Arc<str>,
}

/// The part of a step that one device runs.
#[derive(Debug)]
pub struct Partition {
    pub device: Device,
    pub graph: Graph,
}

/// Where a node was placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlacement {
    pub node: String,
    pub op: String,
    pub device: String,
}

/// Computes nodes at planning time, so that the planner needs no kernels.
pub trait Evaluate {
    /// Fails when nobody waits for the plan any more: asked between passes, and before each node that is
    /// computed.
    fn go_on(&self) -> Result<()> {
        Ok(())
    }

    /// The outputs of a stateless node for constant inputs; nothing if it cannot be computed.
    fn evaluate(&self, node: &Node, inputs: Vec<Tensor>) -> Option<Vec<Tensor>>;
}

/// Plans a step of a graph whose nodes are placed.
pub fn plan(
    graph: &Graph,
    placement: &Placement,
    spec: &StepSpec,
    devices: &Devices<'_>,
    ops: &Arc<Registry>,
    evaluate: &dyn Evaluate,
    options: &Options,
) -> Result<Plan> {
    let mut step = prune::prune(graph, spec, devices.client, &**ops)?;
    validate(&step.graph)?;
    placement.check()?;
    placement.apply(graph, &mut step.graph)?;
    evaluate.go_on()?;
    let (mut step, had_control_flow) = lower::lower_control_flow(step, ops, options)?;
    if options.optimize {
        step = optimise::decide(step, ops, evaluate)?;
    }
    let (mut step, had_calls) = lower::lower_calls(step, ops, options)?;
    if had_control_flow || had_calls {
        validate(&step.graph)?;
        let unplaced = step.graph.clone();
        let placement = place::place(&unplaced, None, Calls::Final, devices, options);
        placement.apply(&unplaced, &mut step.graph)?;
    }
    evaluate.go_on()?;
    let placement = if options.log_device_placement { report(&step.graph) } else { Vec::new() };
    if options.optimize {
        step = optimise::optimise(step, ops, evaluate)?;
    }
    reads::read_in_place(&mut step.graph, &**ops)?;
    evaluate.go_on()?;
    let args = number_args(&mut step.graph);
    let partitions = partition(&step.graph, devices.all, &**ops)?;
    for partition in &partitions {
        validate(&partition.graph)?;
    }
    Ok(Plan { partitions, args, placement })
}

/// The body of a function as a graph that one device runs: calls in it are replaced where possible,
/// and it is rewritten like the graph of a step.
pub fn plan_function(
    func: &Func,
    library: &Arc<FunctionLibrary>,
    ops: &Arc<Registry>,
    evaluate: &dyn Evaluate,
    options: &Options,
) -> Result<Graph> {
    let FunctionBody { graph, control_returns, .. } = instantiate_function(func, library, ops)?;
    plan_body(graph, control_returns, ops, evaluate, options)
}

/// Plans a graph that runs as a whole on one device, as the body of a function does: what its
/// `_Retval` nodes need, and every side effect.
pub fn plan_body(
    mut graph: Graph,
    control_returns: Vec<NodeId>,
    ops: &Arc<Registry>,
    evaluate: &dyn Evaluate,
    options: &Options,
) -> Result<Graph> {
    for index in 0..graph.len() {
        graph.node_mut(NodeId(index as u32)).device = "".into();
    }
    let effects = graph.iter().filter(|(_, node)| node.is_stateful()).map(|(id, _)| id);
    let roots = effects.chain(control_returns).collect();
    let (mut step, _) = lower::lower(Step { graph, roots }, ops, options)?;
    validate(&step.graph)?;
    if options.optimize {
        step = optimise::optimise(step, ops, evaluate)?;
    }
    Ok(step.graph)
}

/// A graph on its way through the passes.
#[derive(Clone, Debug)]
struct Step {
    graph: Graph,
    /// The nodes for whose sake the others are there: fetches, targets and side effects.
    roots: Vec<NodeId>,
}

/// Numbers the arguments that are left from 0.
fn number_args(graph: &mut Graph) -> Vec<Arg> {
    let arg = |(id, node): (NodeId, &Node)| match (&*node.op, node.attrs.get("index")) {
        ("_Arg", Some(&AttrValue::Int(feed))) => Some((feed as usize, id)),
        _ => None,
    };
    let mut args: Vec<(usize, NodeId)> = graph.iter().filter_map(arg).collect();
    args.sort_unstable();
    let mut number = |(index, (feed, id)): (usize, (usize, NodeId))| {
        let node = graph.node_mut(id);
        Arc::make_mut(&mut node.attrs).insert("index".to_owned(), AttrValue::Int(index as i64));
        Arg { feed, dtype: node.output_types()[0].dtype, node: Arc::clone(&node.name) }
    };
    args.into_iter().enumerate().map(&mut number).collect()
}

fn report(graph: &Graph) -> Vec<NodePlacement> {
    let place = |node: &Node| NodePlacement {
        node: node.name.to_string(),
        op: node.op.to_string(),
        device: node.device.to_string(),
    };
    graph.nodes().iter().map(place).collect()
}

/// Checks a pass's result, in debug builds only.
fn validate(graph: &Graph) -> Result<()> {
    if cfg!(debug_assertions) { graph.validate() } else { Ok(()) }
}
