//! Branches: nodes of which only one side runs.
//!
//! Tensors from outside go through a `Switch`, which lets them live on one side only; `Merge` takes
//! the result of the side that ran. Nodes on a side that use nothing from outside wait for its
//! pivot, so that they are dead when the side is.

use std::panic::Location;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::NewNode;
use tensorfleet_graph as graph;
use tensorfleet_graph::NodeId;
use tensorfleet_tensor::invalid_argument;

use super::Outputs;
use crate::graph::Graph;
use crate::output::{Operand, Output};
use crate::scope::Frame;

/// One side of a branch that is being built.
pub(crate) struct Branch {
    predicate: graph::Output,
    /// The output of a `Switch` that lives on this side.
    side: u32,
    /// A node that runs when this side does.
    pub(crate) pivot: NodeId,
    /// The nodes made on this side.
    pub(crate) members: FxHashSet<NodeId>,
    /// For tensors from outside, what stands for them on this side.
    captured: FxHashMap<graph::Output, graph::Output>,
}

impl Graph {
    /// What one of two closures builds, computed only on the side that a `bool` scalar chooses.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, gradients};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([]);
    /// let y = graph.cond(x.greater(0.0), || x.square(), || -&x);
    /// let dx = gradients(&y, [&x])[0].clone().expect("y depends on x").to_dense();
    ///
    /// let session = Session::new(&graph)?;
    /// let fetches = || (y.value::<f32>(), dx.value::<f32>());
    /// assert_eq!(session.run((&x, 3.0f32), fetches())?, (9.0, 6.0));
    /// assert_eq!(session.run((&x, -3.0f32), fetches())?, (3.0, -1.0));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn cond<R: Outputs>(
        &self,
        predicate: impl Operand,
        then: impl FnOnce() -> R,
        otherwise: impl FnOnce() -> R,
    ) -> R {
        let location = Location::caller();
        let graph = self.innermost();
        let predicate = graph.operand(&predicate, None);
        graph.layer("cond", location, || {
            let [no, yes] = graph.op("Switch").input(&predicate).input(&predicate).outputs();
            let no = graph.side(&predicate, 0, &no.identity(), || otherwise().into_outputs());
            let yes = graph.side(&predicate, 1, &yes.identity(), || then().into_outputs());
            if no.len() != yes.len() {
                graph.record(
                    invalid_argument!(
                        "one side of the branch returns {} tensors, the other {}",
                        yes.len(),
                        no.len()
                    ),
                    location,
                );
            }
            // The longer list stands in, so that the closure's type can be put together.
            let length = yes.len().max(no.len());
            let merged = (0..length).map(|index| match (no.get(index), yes.get(index)) {
                (Some(no), Some(yes)) => graph.op("Merge").inputs([no, yes]).output(),
                _ => Output::new(&graph, None),
            });
            R::from_outputs(merged.collect())
        })
    }

    #[track_caller]
    fn side(
        &self,
        predicate: &Output,
        side: u32,
        pivot: &Output,
        build: impl FnOnce() -> Vec<Output>,
    ) -> Vec<Output> {
        let (Some(predicate), Some(pivot)) = (predicate.at, pivot.at) else { return build() };
        let branch = Branch {
            predicate,
            side,
            pivot: pivot.node,
            members: FxHashSet::from_iter([pivot.node]),
            captured: FxHashMap::default(),
        };
        self.within(Frame::Branch(Box::new(branch)), || {
            // A result that comes from outside must live and die with this side.
            build().iter().map(|output| self.op("Identity").input(output).output()).collect()
        })
    }

    /// Brings a tensor of this graph into the branches that are open on this thread.
    pub(crate) fn enter_branches(
        &self,
        at: graph::Output,
    ) -> tensorfleet_tensor::Result<graph::Output> {
        let mut state = self.lock();
        let thread = std::thread::current().id();
        let frames = state.frames.get(&thread).map_or(0, Vec::len);
        let mut at = at;
        for index in 0..frames {
            let (predicate, side) = {
                let Some(Frame::Branch(branch)) =
                    state.frames.get(&thread).and_then(|frames| frames.get(index))
                else {
                    continue;
                };
                if branch.members.contains(&at.node) {
                    continue;
                }
                if let Some(known) = branch.captured.get(&at) {
                    at = *known;
                    continue;
                }
                (branch.predicate, branch.side)
            };
            let mut scope = state.scope();
            scope.control_inputs.clear();
            scope.colocate_with.clear();
            let switch = NewNode::new("Switch").input(at).input(predicate);
            let node = state.builder.add(&scope, switch)?;
            let inside = graph::Output { node, index: side };
            // The switch is on this side, and on the sides around that it comes from.
            let around = state.frames.get_mut(&thread).into_iter().flatten().take(index + 1);
            for frame in around {
                if let Frame::Branch(branch) = frame {
                    branch.members.insert(node);
                }
            }
            if let Some(Frame::Branch(branch)) =
                state.frames.get_mut(&thread).and_then(|frames| frames.get_mut(index))
            {
                branch.captured.insert(at, inside);
            }
            at = inside;
        }
        Ok(at)
    }
}
