//! Handles to what nodes make, and to nodes.

use std::fmt;
use std::panic::Location;

use tensorfleet_graph as graph;
use tensorfleet_graph::NodeId;
use tensorfleet_tensor::{DType, PartialShape, Tensor, invalid_argument};

use crate::graph::Graph;
use crate::session::Typed;

/// A tensor that a node of a graph computes in every step.
///
/// Outputs are cheap handles. Arithmetic on them adds nodes to their graph.
#[derive(Clone)]
pub struct Output {
    pub(crate) graph: Graph,
    /// Absent if the node could not be made.
    pub(crate) at: Option<graph::Output>,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output({} {} {})", self.name(), self.dtype(), self.shape())
    }
}

impl Output {
    pub(crate) fn new(graph: &Graph, at: Option<graph::Output>) -> Output {
        Output { graph: graph.clone(), at }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The name, as `MatMul:0`; empty if the node could not be made.
    pub fn name(&self) -> String {
        self.at.map_or(String::new(), |at| self.graph.lock().builder.describe(at))
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.at.map_or(DType::Float, |at| self.graph.lock().builder.dtype(at))
    }

    /// What is known of the shape.
    pub fn shape(&self) -> PartialShape {
        let Some(at) = self.at else { return PartialShape::UNKNOWN };
        self.graph.lock().builder.shape(at).clone()
    }

    /// The number of dimensions, if it is known.
    pub fn rank(&self) -> Option<usize> {
        self.shape().rank()
    }

    /// The device asked for; empty if the session may choose.
    pub fn device(&self) -> String {
        let Some(at) = self.at else { return String::new() };
        self.graph.lock().builder.graph().node(at.node).device.to_string()
    }

    /// The node, as something to run or to wait for.
    pub fn operation(&self) -> Operation {
        Operation { graph: self.graph.clone(), node: self.at.map(|at| at.node) }
    }

    /// Wants the value as a Rust type: `loss.value::<f32>()`, `names.value::<Vec<String>>()`.
    pub fn value<T>(&self) -> Typed<T> {
        Typed::new(self)
    }

    /// The value, if it does not depend on anything that a step computes.
    pub fn constant_value(&self) -> Option<Tensor> {
        self.graph.lock().builder.constant_value(self.at?)
    }

    /// Says what the shape is, where the program knows more than the graph.
    #[must_use]
    #[track_caller]
    pub fn with_shape(self, shape: impl IntoIterator<Item = Option<usize>>) -> Output {
        let Some(at) = self.at else { return self };
        let known = PartialShape::known(shape);
        let merged = tensorfleet_framework::shape::merge(&self.shape(), &known);
        match merged {
            Ok(merged) => {
                self.graph.lock().builder.set_shape(at, merged);
                self
            }
            Err(error) => {
                self.graph.record(error, Location::caller());
                self
            }
        }
    }
}

/// A node as something to run or to wait for.
#[derive(Clone)]
pub struct Operation {
    pub(crate) graph: Graph,
    /// Absent if the node could not be made.
    pub(crate) node: Option<NodeId>,
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operation({})", self.name())
    }
}

impl Operation {
    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The name; empty if the node could not be made.
    pub fn name(&self) -> String {
        self.node.map_or(String::new(), |node| {
            self.graph.lock().builder.graph().node(node).name.to_string()
        })
    }

    /// One of the outputs.
    pub fn output(&self, index: usize) -> Output {
        let at = self.node.map(|node| graph::Output { node, index: index as u32 });
        Output::new(&self.graph, at)
    }

    /// All outputs.
    pub fn outputs(&self) -> Vec<Output> {
        let Some(node) = self.node else { return Vec::new() };
        let count = self.graph.lock().builder.graph().node(node).output_types().len();
        (0..count).map(|index| self.output(index)).collect()
    }
}

impl From<&Output> for Operation {
    fn from(output: &Output) -> Operation {
        output.operation()
    }
}

/// What can stand where an op takes a tensor: outputs, variables, numbers, arrays.
pub trait Operand {
    /// The tensor as an output of `graph`. A number takes the type `like`, if one is given.
    #[track_caller]
    fn to_output(&self, graph: &Graph, like: Option<DType>) -> Output;
}

impl Operand for Output {
    fn to_output(&self, _: &Graph, _: Option<DType>) -> Output {
        self.clone()
    }
}

impl<O: Operand + ?Sized> Operand for &O {
    #[track_caller]
    fn to_output(&self, graph: &Graph, like: Option<DType>) -> Output {
        (**self).to_output(graph, like)
    }
}

macro_rules! numbers {
    ($($number:ty)+) => {$(
        impl Operand for $number {
            #[track_caller]
            fn to_output(&self, graph: &Graph, like: Option<DType>) -> Output {
                let tensor = match like {
                    // A number that would be cut is a mistake, not a zero.
                    Some(dtype) if dtype.is_integer() && (*self as f64).fract() != 0.0 => {
                        Err(invalid_argument!("{self} is no value of type {dtype}"))
                    }
                    Some(dtype) => tensorfleet_framework::number(*self as f64, dtype),
                    None => Ok(Tensor::scalar(*self)),
                };
                match tensor {
                    Ok(tensor) => graph.constant(tensor),
                    Err(error) => graph.failed(error),
                }
            }
        }
    )+};
}

numbers!(f32 f64 i8 i16 i32 i64 u8 u16 u32 u64);

impl Operand for bool {
    #[track_caller]
    fn to_output(&self, graph: &Graph, _: Option<DType>) -> Output {
        graph.constant(*self)
    }
}

impl Operand for Tensor {
    #[track_caller]
    fn to_output(&self, graph: &Graph, _: Option<DType>) -> Output {
        graph.constant(self.clone())
    }
}

impl Operand for str {
    #[track_caller]
    fn to_output(&self, graph: &Graph, _: Option<DType>) -> Output {
        graph.constant(self)
    }
}

impl<T: Clone, const N: usize> Operand for [T; N]
where
    [T; N]: crate::IntoTensor,
{
    #[track_caller]
    fn to_output(&self, graph: &Graph, _: Option<DType>) -> Output {
        graph.constant(self.clone())
    }
}

impl<T: Clone> Operand for Vec<T>
where
    Vec<T>: crate::IntoTensor,
{
    #[track_caller]
    fn to_output(&self, graph: &Graph, _: Option<DType>) -> Output {
        graph.constant(self.clone())
    }
}
