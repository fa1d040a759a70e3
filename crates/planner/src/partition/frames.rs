//! Which loop each node runs in.
//!
//! `Enter` brings values into a frame and `Exit` out of it; every other node runs in the frame of
//! its inputs.

use rustc_hash::FxHashMap;
use tensorfleet_graph::{AttrValue, ControlFlow, Graph, Node, NodeId};
use tensorfleet_tensor::{Result, invalid_argument};

use crate::order::{forward_sources, topological_order};

/// The index of a frame. The first is the graph outside of all loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrameId(usize);

impl FrameId {
    pub(super) const ROOT: FrameId = FrameId(0);
}

/// One loop.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) name: String,
    pub(super) parent: FrameId,
    pub(super) parallel_iterations: i64,
    /// The node that says whether the loop goes on.
    pub(super) condition: Option<NodeId>,
}

/// The loops of a graph.
#[derive(Debug)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    /// For each node the frame of its outputs.
    of_outputs: Vec<FrameId>,
}

impl Frames {
    /// Finds the loops of `graph`.
    pub(super) fn new(graph: &Graph) -> Result<Frames> {
        let root = Frame {
            name: String::new(),
            parent: FrameId::ROOT,
            parallel_iterations: 1,
            condition: None,
        };
        let mut frames =
            Frames { frames: vec![root], of_outputs: vec![FrameId::ROOT; graph.len()] };
        if graph.nodes().iter().any(|node| node.steers(ControlFlow::Enter)) {
            frames.visit(graph)?;
        }
        Ok(frames)
    }

    pub(super) fn get(&self, id: FrameId) -> &Frame {
        &self.frames[id.0]
    }

    /// The frame of a node's outputs.
    pub(super) fn of_outputs(&self, id: NodeId) -> FrameId {
        self.of_outputs[id.index()]
    }

    fn visit(&mut self, graph: &Graph) -> Result<()> {
        let mut children: FxHashMap<(FrameId, &[u8]), FrameId> = FxHashMap::default();
        for id in topological_order(graph) {
            let node = graph.node(id);
            let frame = self.frame_of_inputs(graph, node)?;
            self.of_outputs[id.index()] = if node.steers(ControlFlow::Enter) {
                let name = match node.attrs.get("frame_name") {
                    Some(AttrValue::String(name)) => &name[..],
                    _ => b"",
                };
                *children.entry((frame, name)).or_insert_with(|| {
                    self.frames.push(Frame {
                        name: String::from_utf8_lossy(name).into_owned(),
                        parent: frame,
                        parallel_iterations: parallel_iterations(node),
                        condition: None,
                    });
                    FrameId(self.frames.len() - 1)
                })
            } else if node.steers(ControlFlow::Exit) {
                self.frames[frame.0].parent
            } else {
                frame
            };
            if node.steers(ControlFlow::LoopCond) {
                self.frames[frame.0].condition = Some(id);
            }
        }
        Ok(())
    }

    fn frame_of_inputs(&self, graph: &Graph, node: &Node) -> Result<FrameId> {
        let mut found: Option<(FrameId, NodeId)> = None;
        for source in forward_sources(graph, node) {
            let frame = self.of_outputs[source.index()];
            match found {
                None => found = Some((frame, source)),
                Some((first, _)) if first == frame => {}
                Some((first, first_source)) => {
                    return Err(invalid_argument!(
                        "{{{{node {}}}}} has inputs from different frames. The input {{{{node {}}}}} \
                         is in frame '{}'. The input {{{{node {}}}}} is in frame '{}'.",
                        node.name,
                        graph.node(source).name,
                        self.get(frame).name,
                        graph.node(first_source).name,
                        self.get(first).name,
                    )
                    .at_node(&node.name));
                }
            }
        }
        Ok(found.map_or(FrameId::ROOT, |(frame, _)| frame))
    }
}

fn parallel_iterations(node: &Node) -> i64 {
    match node.attrs.get("parallel_iterations") {
        Some(AttrValue::Int(count)) => *count,
        _ => 10,
    }
}
