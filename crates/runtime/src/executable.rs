//! A graph compiled for running: dense numbers instead of names, kernels made, fan-out resolved.

use std::num::NonZeroU32;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::{AsyncKernel, Attrs, ControlFlow, Implementation, Kernel, Registry};
use tensorfleet_graph::{Graph, Node, NodeId};
use tensorfleet_tensor::{DType, Result, invalid_argument};

use crate::frames::{self, Frames};
use crate::fuse::fuse;
use crate::sequence::{self, Sequence};
use crate::state::Spare;

/// A compiled graph. Any number of steps may run it at once.
#[derive(Debug)]
pub struct Executable {
    /// Memory of steps that are over, for those to come.
    pub(crate) spare: Spare,
    pub(crate) nodes: Vec<CompiledNode>,
    pub(crate) frames: Vec<FrameLayout>,
    /// Nodes that can run at once, those that wait for others first.
    pub(crate) roots: Vec<u32>,
    args: Vec<Option<DType>>,
    retvals: Vec<usize>,
}

impl Executable {
    /// The name of the node that the first input of a node comes from. Looks at all nodes.
    pub(crate) fn source(&self, node: u32) -> Option<Arc<str>> {
        let slot = self.nodes[node as usize].first_slot;
        let feeds = |edge: &Edge| edge.node == node && edge.slot == slot;
        let from = self.nodes.iter().find(|from| from.consumers.iter().any(feeds))?;
        Some(Arc::clone(&from.name))
    }
}

/// How much state one iteration of a frame has, and how it starts.
#[derive(Debug)]
pub(crate) struct FrameLayout {
    pub(crate) name: String,
    pub(crate) enters: usize,
    pub(crate) parallel_iterations: usize,
    /// For each node of the frame, for how many inputs it waits.
    pub(crate) pending: Vec<u32>,
    /// Inputs of all nodes of the frame.
    pub(crate) slots: usize,
    /// The order in which one thread can run the frame.
    pub(crate) sequence: Option<Sequence>,
}

#[derive(Debug)]
pub(crate) struct CompiledNode {
    pub(crate) name: Arc<str>,
    pub(crate) op: Arc<str>,
    pub(crate) kind: Kind,
    /// The node's number in its frame.
    pub(crate) local: u32,
    /// The node's first input among the slots of its frame.
    pub(crate) first_slot: u32,
    pub(crate) num_inputs: u32,
    pub(crate) num_outputs: u32,
    /// Which inputs take a reference as it is; others get the variable's value.
    pub(crate) takes_ref: Box<[bool]>,
    /// Who consumes the outputs, in the order of the outputs.
    pub(crate) consumers: Vec<Edge>,
    pub(crate) control_consumers: Vec<ControlEdge>,
}

/// Where a value goes, with what delivering it needs to know of the consumer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) output: u32,
    /// Whether no other edge takes the same output, so that it may be moved.
    pub(crate) is_last: bool,
    pub(crate) node: u32,
    /// The consumer's number in its frame.
    pub(crate) local: u32,
    /// The slot in the consumer's frame.
    pub(crate) slot: u32,
    /// For a `Merge`, the number of its inputs.
    pub(crate) merges: Option<NonZeroU32>,
}

/// A control edge, with what delivering it needs to know of the consumer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlEdge {
    pub(crate) node: u32,
    pub(crate) local: u32,
    pub(crate) merges: Option<NonZeroU32>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Compute {
        kernel: Arc<dyn Kernel>,
        takes_dead: bool,
    },
    Async(Arc<dyn AsyncKernel>),
    /// Runs where it may block.
    File(Arc<dyn Kernel>),
    Switch,
    SwitchN,
    Merge,
    Enter {
        frame: u32,
        is_constant: bool,
    },
    Exit,
    NextIteration,
    /// Passes its input on.
    LoopCond,
    ControlTrigger,
    Arg(usize),
    /// The position of the result among those that the graph has.
    Retval(usize),
}

impl Kind {
    /// Whether the node may have to wait for something.
    pub(crate) fn waits(&self) -> bool {
        matches!(self, Kind::Async(_) | Kind::File(_))
    }
}

/// Kernels of stateful nodes, which keep their state over all steps of a session, whatever the
/// steps fetch.
pub trait KernelCache {
    /// The kernel of a stateful node, made by `create` when it is new.
    fn get_or_create(
        &self,
        node: &Node,
        create: &mut dyn FnMut() -> Result<Implementation>,
    ) -> Result<Implementation>;
}

/// Makes every kernel anew: for graphs whose nodes belong to nobody else.
#[derive(Debug)]
pub struct NewKernels;

impl KernelCache for NewKernels {
    fn get_or_create(
        &self,
        _: &Node,
        create: &mut dyn FnMut() -> Result<Implementation>,
    ) -> Result<Implementation> {
        create()
    }
}

/// Whether a node's kernel must be the same one in every step of a session. Nodes that planning
/// makes, as the ends of edges between devices, have underscores; they keep nothing, and their
/// names repeat from plan to plan.
fn keeps_state(node: &Node) -> bool {
    node.is_stateful() && !node.op.starts_with('_')
}

impl Executable {
    /// Compiles a graph for a device of the given kind.
    pub fn new(
        graph: &Graph,
        registry: &Registry,
        device_kind: &str,
        cache: &dyn KernelCache,
    ) -> Result<Executable> {
        let implementations: Vec<Implementation> = graph
            .nodes()
            .iter()
            .map(|node| {
                let mut create = || registry.create_kernel(node, device_kind);
                if keeps_state(node) { cache.get_or_create(node, &mut create) } else { create() }
            })
            .collect::<Result<_>>()?;
        let (graph, implementations) = fuse(graph, implementations)?;
        let graph = &*graph;
        let kinds: Vec<Option<ControlFlow>> = implementations
            .iter()
            .map(|implementation| match implementation {
                Implementation::ControlFlow(what) => Some(*what),
                _ => None,
            })
            .collect();
        let mut consumers: Vec<Vec<NodeId>> = vec![Vec::new(); graph.len()];
        for (id, node) in graph.iter() {
            let sources = node.inputs.iter().map(|input| input.node);
            for source in sources.chain(node.control_inputs.iter().copied()) {
                consumers[source.index()].push(id);
            }
        }
        let frames = frames::assign(graph, &kinds, &consumers)?;
        Compiler { graph, frames, executable: Executable::empty() }.compile(implementations)
    }

    fn empty() -> Executable {
        Executable {
            spare: Spare::default(),
            nodes: Vec::new(),
            frames: Vec::new(),
            roots: Vec::new(),
            args: Vec::new(),
            retvals: Vec::new(),
        }
    }

    /// The types of the arguments that a run is given; none for those that this graph does not use,
    /// as when it is only a part of one.
    pub fn args(&self) -> &[Option<DType>] {
        &self.args
    }

    /// Which results a run returns, in their order: all, or those that this part of a graph has.
    pub fn retvals(&self) -> &[usize] {
        &self.retvals
    }
}

struct Compiler<'a> {
    graph: &'a Graph,
    frames: Frames,
    executable: Executable,
}

impl Compiler<'_> {
    fn compile(mut self, implementations: Vec<Implementation>) -> Result<Executable> {
        self.executable.frames = self
            .frames
            .frames
            .iter()
            .map(|frame| FrameLayout {
                name: frame.name.clone(),
                enters: frame.enters,
                parallel_iterations: frame.parallel_iterations,
                pending: Vec::new(),
                slots: 0,
                sequence: None,
            })
            .collect();
        let mut args = FxHashMap::default();
        for (id, implementation) in (0u32..).map(NodeId).zip(implementations) {
            let node = self.graph.node(id);
            let kind = self.kind(id, implementation)?;
            match kind {
                Kind::Arg(index) => {
                    args.insert(
                        index,
                        node.output_types().first().map_or(DType::Float, |t| t.dtype),
                    );
                }
                Kind::Retval(index) => self.executable.retvals.push(index),
                _ => {}
            }
            self.add(id, node, kind);
        }
        let count = args.keys().max().map_or(0, |max| max + 1);
        if count > args.len() + MAX_UNUSED_ARGS {
            return Err(invalid_argument!("argument number {} is out of range", count - 1));
        }
        self.executable.args = (0..count).map(|index| args.get(&index).copied()).collect();
        self.number_retvals()?;
        self.connect();
        self.find_roots();
        self.find_sequences();
        Ok(self.executable)
    }

    /// Results are kept by their position among those that there are.
    fn number_retvals(&mut self) -> Result<()> {
        let Executable { retvals, nodes, .. } = &mut self.executable;
        retvals.sort_unstable();
        if let Some(twice) = retvals.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(invalid_argument!("result number {} is returned twice", twice[0]));
        }
        for node in nodes {
            if let Kind::Retval(index) = &mut node.kind {
                *index = retvals.partition_point(|&known| known < *index);
            }
        }
        Ok(())
    }

    fn kind(&self, id: NodeId, implementation: Implementation) -> Result<Kind> {
        let attrs = Attrs::new(self.graph.node(id));
        let index = || -> Result<usize> {
            usize::try_from(attrs.int("index")?)
                .ok()
                .filter(|index| *index < MAX_INDEX)
                .ok_or_else(|| invalid_argument!("the index of an argument is out of range"))
        };
        Ok(match implementation {
            Implementation::Compute(kernel) if kernel.blocks() => Kind::File(kernel),
            Implementation::Compute(kernel) => {
                let takes_dead = kernel.takes_dead_inputs();
                Kind::Compute { kernel, takes_dead }
            }
            Implementation::Async(kernel) => Kind::Async(kernel),
            Implementation::ControlFlow(what) => match what {
                ControlFlow::Switch => Kind::Switch,
                ControlFlow::SwitchN => Kind::SwitchN,
                ControlFlow::Merge => Kind::Merge,
                ControlFlow::Enter => Kind::Enter {
                    frame: self.frames.entered[&id.0],
                    is_constant: attrs.bool("is_constant")?,
                },
                ControlFlow::Exit => Kind::Exit,
                ControlFlow::NextIteration => Kind::NextIteration,
                ControlFlow::LoopCond => Kind::LoopCond,
                ControlFlow::ControlTrigger => Kind::ControlTrigger,
                ControlFlow::Arg => Kind::Arg(index()?),
                ControlFlow::Retval => Kind::Retval(index()?),
            },
        })
    }

    fn add(&mut self, id: NodeId, node: &Node, kind: Kind) {
        let passes_references = matches!(&kind, Kind::Compute { kernel, .. } | Kind::File(kernel) if kernel.passes_references());
        let layout = &mut self.executable.frames[self.frames.frame_of[id.index()] as usize];
        let (local, first_slot) = (layout.pending.len() as u32, layout.slots as u32);
        layout.pending.push(match kind {
            // Bit 0 waits for the first live input; the other bits count control inputs.
            Kind::Merge => 1 + 2 * node.control_inputs.len() as u32,
            _ => (node.inputs.len() + node.control_inputs.len()) as u32,
        });
        layout.slots += node.inputs.len();
        self.executable.nodes.push(CompiledNode {
            name: Arc::clone(&node.name),
            op: Arc::clone(&node.op),
            kind,
            local,
            first_slot,
            num_inputs: node.inputs.len() as u32,
            num_outputs: node.output_types().len() as u32,
            takes_ref: node
                .input_types()
                .iter()
                .map(|input| input.is_ref || passes_references)
                .collect(),
            consumers: Vec::new(),
            control_consumers: Vec::new(),
        });
    }

    fn connect(&mut self) {
        for (id, node) in self.graph.iter() {
            let consumer = &self.executable.nodes[id.index()];
            let (local, first_slot) = (consumer.local, consumer.first_slot);
            let is_merge = matches!(consumer.kind, Kind::Merge);
            let merges = NonZeroU32::new(consumer.num_inputs).filter(|_| is_merge);
            for (slot, input) in (first_slot..).zip(&node.inputs) {
                let output = input.index;
                let edge = Edge { output, is_last: false, node: id.0, local, slot, merges };
                self.executable.nodes[input.node.index()].consumers.push(edge);
            }
            for source in &node.control_inputs {
                let edge = ControlEdge { node: id.0, local, merges };
                self.executable.nodes[source.index()].control_consumers.push(edge);
            }
        }
        for node in &mut self.executable.nodes {
            node.consumers.sort_by_key(|edge| edge.output);
            for index in 0..node.consumers.len() {
                let next = node.consumers.get(index + 1).map(|edge| edge.output);
                node.consumers[index].is_last = next != Some(node.consumers[index].output);
            }
        }
    }

    fn find_sequences(&mut self) {
        let mut members = vec![Vec::new(); self.executable.frames.len()];
        for (node, frame) in (0u32..).zip(&self.frames.frame_of) {
            members[*frame as usize].push(node);
        }
        // Frame 0 is the graph outside of all loops.
        for (frame, members) in members.iter().enumerate().skip(1) {
            self.executable.frames[frame].sequence =
                sequence::find(self.graph, &self.executable.nodes, members);
        }
    }

    /// What waits for the outside world starts first, so that it waits while the rest computes.
    fn find_roots(&mut self) {
        let nodes = &self.executable.nodes;
        let mut roots: Vec<u32> = (0u32..)
            .zip(self.graph.nodes())
            .filter(|(_, node)| node.inputs.is_empty() && node.control_inputs.is_empty())
            .map(|(index, _)| index)
            .collect();
        roots.sort_by_key(|&index| !nodes[index as usize].kind.waits());
        self.executable.roots = roots;
    }
}

/// Bounds for numbers that come from a client's graph.
const MAX_INDEX: usize = 1 << 20;
const MAX_UNUSED_ARGS: usize = 1 << 16;
