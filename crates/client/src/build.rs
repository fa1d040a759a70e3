//! Nodes of any op, one argument and attribute after the other.

use std::panic::Location;

use tensorfleet_framework::{Input, NewNode};
use tensorfleet_graph::AttrValue;
use tensorfleet_tensor::{Context, DType};

use crate::graph::Graph;
use crate::output::{Operand, Operation, Output};

/// A node to be added to a graph, made by [`Graph::op`].
///
/// Arguments come in the order of the op's definition. Attributes that follow from the arguments
/// (element types, numbers of tensors) need not be given.
#[derive(Debug)]
#[must_use = "a node is added by `build`, `output` or `outputs`"]
pub struct OpBuilder {
    graph: Graph,
    node: NewNode,
    location: &'static Location<'static>,
    /// Whether an argument could not be made; its mistake is already on record.
    is_failed: bool,
}

impl OpBuilder {
    pub(crate) fn new(
        graph: &Graph,
        node: NewNode,
        location: &'static Location<'static>,
    ) -> OpBuilder {
        OpBuilder { graph: graph.clone(), node, location, is_failed: false }
    }

    /// Adds an argument. A number takes the type that the op wants at this place, where that is
    /// known.
    #[track_caller]
    pub fn input(self, operand: impl Operand) -> OpBuilder {
        let like = self.next_type();
        self.input_like(operand, like)
    }

    /// Adds an argument; a number takes the type `like`.
    #[track_caller]
    pub fn input_like(mut self, operand: impl Operand, like: Option<DType>) -> OpBuilder {
        match self.graph.operand(&operand, like).at {
            Some(at) => self.node = self.node.input(at),
            None => self.is_failed = true,
        }
        self
    }

    /// Adds an argument that is a list of tensors.
    #[track_caller]
    pub fn inputs<O: Operand>(mut self, operands: impl IntoIterator<Item = O>) -> OpBuilder {
        let mut list = Vec::new();
        for operand in operands {
            match self.graph.operand(&operand, None).at {
                Some(at) => list.push(at),
                None => self.is_failed = true,
            }
        }
        self.node = self.node.list(&list);
        self
    }

    /// Waits for an operation.
    pub fn control(mut self, operation: &Operation) -> OpBuilder {
        match operation.node {
            Some(node) => self.node.control_inputs.push(node),
            None => self.is_failed = true,
        }
        self
    }

    /// Sets an attribute.
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> OpBuilder {
        self.node = self.node.attr(name, value);
        self
    }

    /// Asks for a name; a number is added if it is taken.
    pub fn named(mut self, name: &str) -> OpBuilder {
        self.node = self.node.named(name);
        self
    }

    /// The element type of the next argument, if the op or its earlier arguments say it.
    fn next_type(&self) -> Option<DType> {
        let state = self.graph.lock();
        let def = state.builder.op_def(&self.node.op).ok()?;
        let wanted = def.inputs.get(self.node.inputs.len())?;
        if wanted.dtype.is_some() {
            return wanted.dtype;
        }
        let attr = wanted.type_attr.as_ref()?;
        if let Some(AttrValue::Type(dtype)) = self.node.attrs.get(attr) {
            return Some(*dtype);
        }
        self.node.inputs.iter().zip(&def.inputs).find_map(|(input, arg)| match input {
            Input::One(at) if arg.type_attr.as_ref() == Some(attr) => {
                Some(state.builder.dtype(*at))
            }
            _ => None,
        })
    }

    /// Adds the node.
    pub fn build(self) -> Operation {
        if self.is_failed {
            return Operation { graph: self.graph, node: None };
        }
        let op = self.node.op.clone();
        let added = {
            let mut state = self.graph.lock();
            let scope = state.scope();
            let mut node = self.node;
            // What uses nothing of its branch must still die with it.
            if let (true, Some(pivot)) = (node.inputs.is_empty(), state.pivot()) {
                node.control_inputs.push(pivot);
            }
            let added = state.builder.add(&scope, node);
            if let Ok(node) = added {
                state.join_branches(node);
                let line = state.blamed(self.location);
                state.lines.insert(node, line);
            }
            added
        };
        match added.context(|| op) {
            Ok(node) => Operation { graph: self.graph, node: Some(node) },
            Err(error) => {
                self.graph.record(error, self.location);
                Operation { graph: self.graph, node: None }
            }
        }
    }

    /// Adds the node and returns its first output.
    pub fn output(self) -> Output {
        self.build().output(0)
    }

    /// Adds the node and returns its outputs.
    pub fn outputs<const N: usize>(self) -> [Output; N] {
        let operation = self.build();
        std::array::from_fn(|index| operation.output(index))
    }
}
