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
///
/// ```
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([3.0f32, 1.0, 2.0]);
/// let top = graph.op("TopKV2").input(&x).input(2i32).attr("sorted", true).named("best");
/// let [values, indices] = top.outputs();
/// assert_eq!(values.name(), "best:0");
/// let indices = Session::new(&graph)?.run((), indices.value::<Vec<i32>>())?;
/// assert_eq!(indices, [0, 2]);
/// # Ok(())
/// # }
/// ```
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
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant([1.0f64, 2.0]);
    /// // The number becomes a `double`, as the argument before it is one.
    /// let y = graph.op("Maximum").input(&x).input(1.5).output();
    /// assert_eq!(Session::new(&graph)?.run((), y.value::<Vec<f64>>())?, [1.5, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn input(self, operand: impl Operand) -> OpBuilder {
        let like = self.next_type();
        self.input_like(operand, like)
    }

    /// Adds an argument; a number takes the type `like`.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph};
    ///
    /// let graph = Graph::new();
    /// let y = graph.op("Neg").input_like(3, Some(DType::Half)).output();
    /// assert_eq!(y.dtype(), DType::Half);
    /// ```
    #[track_caller]
    pub fn input_like(mut self, operand: impl Operand, like: Option<DType>) -> OpBuilder {
        match self.graph.operand(&operand, like).at {
            Some(at) => self.node = self.node.input(at),
            None => self.is_failed = true,
        }
        self
    }

    /// Adds an argument that is a list of tensors.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let parts = [graph.constant([1i32, 2]), graph.constant([3i32])];
    /// let joined = graph.op("ConcatV2").inputs(&parts).input(0i32).output();
    /// assert_eq!(Session::new(&graph)?.run((), joined.value::<Vec<i32>>())?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
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
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let count = graph.state("count", 0i64);
    /// let add = count.assign_add(1i64);
    /// let after = graph.op("ReadVariableOp").input(count.handle()).attr("dtype", DType::Int64);
    /// let after = after.control(&add).output();
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), after.value::<i64>())?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn control(mut self, operation: &Operation) -> OpBuilder {
        match operation.node {
            Some(node) => self.node.control_inputs.push(node),
            None => self.is_failed = true,
        }
        self
    }

    /// Sets an attribute.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph};
    ///
    /// let graph = Graph::new();
    /// let x = graph.constant([1.0f32, 2.0]);
    /// let y = graph.op("Cast").input(&x).attr("DstT", DType::Int32).output();
    /// assert_eq!(y.dtype(), DType::Int32);
    /// ```
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> OpBuilder {
        self.node = self.node.attr(name, value);
        self
    }

    /// Asks for a name; a number is added if it is taken.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let zero = |graph: &Graph| graph.op("Neg").input(0i32).named("zero").output().name();
    /// assert_eq!(zero(&graph), "zero:0");
    /// assert_eq!(zero(&graph), "zero_1:0");
    /// ```
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
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let nothing = graph.op("NoOp").build();
    /// Session::new(&graph)?.run((), &nothing)?;
    /// # Ok(())
    /// # }
    /// ```
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
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let y = graph.op("Square").input(3i32).output();
    /// assert_eq!(Session::new(&graph)?.run((), y.value::<i32>())?, 9);
    /// # Ok(())
    /// # }
    /// ```
    pub fn output(self) -> Output {
        self.build().output(0)
    }

    /// Adds the node and returns its outputs.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let [values, places] = graph.op("Unique").input([7i32, 9, 7]).outputs();
    /// let unique = (values.value::<Vec<i32>>(), places.value::<Vec<i32>>());
    /// assert_eq!(Session::new(&graph)?.run((), unique)?, (vec![7, 9], vec![0, 1, 0]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn outputs<const N: usize>(self) -> [Output; N] {
        let operation = self.build();
        std::array::from_fn(|index| operation.output(index))
    }
}
