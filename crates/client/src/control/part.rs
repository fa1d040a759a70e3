//! Parts: nodes that are built in a graph of their own and become a function.
//!
//! Tensors of the graph around are captured: an argument more stands for each of them inside.

use std::panic::Location;
use std::sync::Arc;

use tensorfleet_graph as graph;
use tensorfleet_graph::{Func, FunctionLibrary, NodeId};
use tensorfleet_tensor::{DType, PartialShape, Result, invalid_argument};

use super::function::{Return, add_arg, define};
use crate::graph::{Graph, Parent};
use crate::output::Output;
use crate::scope::Frame;

/// The body of a function, or the body or the condition of a loop, built in a graph of its own.
pub(super) struct Part {
    pub(super) graph: Graph,
    pub(super) args: Vec<NodeId>,
    pub(super) results: Vec<Output>,
}

impl Part {
    /// What the part uses from outside, with the arguments that stand for it.
    pub(super) fn captures(&self) -> Vec<(graph::Output, NodeId)> {
        let state = self.graph.lock();
        let captures = state.parent.as_ref().map(|parent| &parent.captures);
        captures.into_iter().flatten().map(|(outer, inner)| (*outer, inner.node)).collect()
    }

    /// What the part returns.
    pub(super) fn returns(&self) -> Result<Vec<(DType, Return)>> {
        let tensor = |output: &Output| {
            let at = output.at.ok_or_else(|| invalid_argument!("a result could not be made"))?;
            Ok((output.dtype(), Return::Tensor(at)))
        };
        self.results.iter().map(tensor).collect()
    }
}

impl Graph {
    /// Builds a part that takes arguments of the given types and shapes.
    pub(super) fn part(
        &self,
        arguments: &[(DType, PartialShape)],
        location: &'static Location<'static>,
        build: impl FnOnce(Vec<Output>) -> Vec<Output>,
    ) -> Part {
        let inner = Graph::within_parent(self);
        let mut args = Vec::new();
        {
            let mut state = inner.lock();
            for (number, (dtype, shape)) in arguments.iter().enumerate() {
                // The name never clashes, because the graph is empty.
                let arg = add_arg(&mut state.builder, number, *dtype, shape.clone());
                args.extend(arg.ok());
            }
        }
        let outputs = args.iter().map(|arg| Output::new(&inner, Some(*arg))).collect();
        let results = self.within(Frame::Caller(location), || {
            self.within(Frame::Body(inner.clone()), || {
                let results = build(outputs);
                results.iter().map(|result| inner.operand(result, None)).collect()
            })
        });
        Part { graph: inner, args: args.iter().map(|arg| arg.node).collect(), results }
    }

    /// Adds a part as a function; says how to call it and whether it has side effects.
    pub(super) fn add_function(
        &self,
        name: &str,
        part: &Part,
        args: &[(DType, Option<NodeId>)],
        returns: &[(DType, Return)],
    ) -> Result<(Func, bool)> {
        let name = self.root().lock().builder.unique_name(name);
        let mut library = FunctionLibrary::default();
        let is_stateful = {
            let state = part.graph.lock();
            let function = define(&name, state.builder.graph(), args, returns)?;
            library.merge(state.builder.graph().library());
            let is_stateful = function.signature.is_stateful;
            library.insert(Arc::new(function));
            is_stateful
        };
        self.lock().builder.add_functions(&library);
        Ok((Func { name, ..Func::default() }, is_stateful))
    }

    /// An empty graph whose nodes may use tensors of `parent`.
    fn within_parent(parent: &Graph) -> Graph {
        let inner = Graph::new();
        let mut state = inner.lock();
        state.builder.add_functions(parent.lock().builder.graph().library());
        state.parent = Some(Parent { graph: parent.clone(), captures: Vec::new() });
        drop(state);
        inner
    }

    /// Makes a tensor of the parent an argument of this graph.
    pub(crate) fn capture(&self, outer: graph::Output) -> Result<graph::Output> {
        let (dtype, shape) = {
            let state = self.lock();
            let parent = state.parent.as_ref().expect("only inner graphs capture");
            if let Some((_, inner)) = parent.captures.iter().find(|(known, _)| *known == outer) {
                return Ok(*inner);
            }
            let outer_state = parent.graph.lock();
            (outer_state.builder.dtype(outer), outer_state.builder.shape(outer).clone())
        };
        let mut state = self.lock();
        // A name that can be no other argument's.
        let number = 1_000_000 + state.builder.graph().len();
        let inner = add_arg(&mut state.builder, number, dtype, shape)?;
        if let Some(parent) = &mut state.parent {
            parent.captures.push((outer, inner));
        }
        Ok(inner)
    }
}
