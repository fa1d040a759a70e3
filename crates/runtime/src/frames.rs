//! Which loop each node belongs to.
//!
//! `Enter` nodes open a frame, named by their attribute, inside the frame they stand in; `Exit`
//! nodes lead back out. Everything between belongs to the frame.

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Attrs, ControlFlow};
use tensorfleet_graph::{Graph, NodeId};
use tensorfleet_tensor::{Result, invalid_argument};

/// The frame of every node, and the tree of frames. Frame 0 is the graph outside of all loops.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) frame_of: Vec<u32>,
    /// For an `Enter` node, the frame that it opens.
    pub(crate) entered: FxHashMap<u32, u32>,
    pub(crate) frames: Vec<StaticFrame>,
}

#[derive(Debug)]
pub(crate) struct StaticFrame {
    pub(crate) parent: u32,
    pub(crate) name: String,
    pub(crate) enters: usize,
    pub(crate) parallel_iterations: usize,
}

/// Assigns frames. `kind` tells what steers the executor.
pub(crate) fn assign(
    graph: &Graph,
    kind: &[Option<ControlFlow>],
    consumers: &[Vec<NodeId>],
) -> Result<Frames> {
    const UNSEEN: u32 = u32::MAX;
    let mut frame_of = vec![UNSEEN; graph.len()];
    let mut entered = FxHashMap::default();
    let mut frames =
        vec![StaticFrame { parent: 0, name: String::new(), enters: 0, parallel_iterations: 1 }];
    let mut by_name: FxHashMap<(u32, String), u32> = FxHashMap::default();
    let mut waiting: Vec<NodeId> = Vec::new();
    for (id, node) in graph.iter() {
        if node.inputs.is_empty() && node.control_inputs.is_empty() {
            frame_of[id.index()] = 0;
            waiting.push(id);
        }
    }
    while let Some(id) = waiting.pop() {
        let frame = frame_of[id.index()];
        let outputs_in = match kind[id.index()] {
            Some(ControlFlow::Enter) => {
                let attrs = Attrs::new(graph.node(id));
                let name = attrs.string("frame_name")?.into_owned();
                let parallel =
                    usize::try_from(attrs.int("parallel_iterations")?).unwrap_or(1).max(1);
                let child = *by_name.entry((frame, name.clone())).or_insert_with(|| {
                    frames.push(StaticFrame {
                        parent: frame,
                        name,
                        enters: 0,
                        parallel_iterations: parallel,
                    });
                    (frames.len() - 1) as u32
                });
                frames[child as usize].enters += 1;
                entered.insert(id.0, child);
                child
            }
            Some(ControlFlow::Exit) if frame == 0 => {
                return Err(invalid_argument!(
                    "Exit node {} is not inside a frame",
                    graph.node(id).name
                ));
            }
            Some(ControlFlow::Exit) => frames[frame as usize].parent,
            _ => frame,
        };
        for &consumer in &consumers[id.index()] {
            let known = &mut frame_of[consumer.index()];
            if *known == UNSEEN {
                *known = outputs_in;
                waiting.push(consumer);
            } else if *known != outputs_in {
                let name = |frame: u32| frames[frame as usize].name.as_str();
                return Err(invalid_argument!(
                    "{{{{node {}}}}} has inputs from different frames. The input {{{{node {}}}}} is in \
                     frame '{}'. Another input is in frame '{}'.",
                    graph.node(consumer).name,
                    graph.node(id).name,
                    name(outputs_in),
                    name(*known)
                ));
            }
        }
    }
    if let Some(index) = frame_of.iter().position(|&frame| frame == UNSEEN) {
        return Err(invalid_argument!(
            "{{{{node {}}}}} can never run: it is on a cycle without an entry",
            graph.nodes()[index].name
        ));
    }
    Ok(Frames { frame_of, entered, frames })
}
