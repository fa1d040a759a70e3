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
///
/// ```
/// use tensorfleet_client::Graph;
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(2)]);
/// let w = graph.constant([[1.0f32], [10.0]]);
/// let y = (x.matmul(&w) + 0.5).relu();
/// assert_eq!(format!("{y:?}"), "Output(Relu:0 float [?,1])");
/// ```
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
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert!(graph.constant(1.0f32).graph().is_same(&graph));
    /// ```
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The name, as `MatMul:0`; empty if the node could not be made.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.name_scope("model", || graph.constant(1.0f32).square());
    /// assert_eq!(x.name(), "model/Square:0");
    /// ```
    pub fn name(&self) -> String {
        self.at.map_or(String::new(), |at| self.graph.lock().builder.describe(at))
    }

    /// The element type.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph};
    ///
    /// let graph = Graph::new();
    /// assert_eq!(graph.constant([1.0f64]).greater(0.0).dtype(), DType::Bool);
    /// ```
    pub fn dtype(&self) -> DType {
        self.at.map_or(DType::Float, |at| self.graph.lock().builder.dtype(at))
    }

    /// What is known of the shape.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([None, Some(3)]);
    /// assert_eq!(x.sum_along(0, false).shape().to_string(), "[3]");
    /// ```
    pub fn shape(&self) -> PartialShape {
        let Some(at) = self.at else { return PartialShape::UNKNOWN };
        self.graph.lock().builder.shape(at).clone()
    }

    /// The number of dimensions, if it is known.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert_eq!(graph.placeholder::<f32>([None, Some(3)]).rank(), Some(2));
    /// ```
    pub fn rank(&self) -> Option<usize> {
        self.shape().rank()
    }

    /// The device asked for; empty if the session may choose.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.device("/job:ps/task:0", || graph.constant(1.0f32));
    /// assert_eq!(x.device(), "/job:ps/task:0");
    /// assert_eq!(graph.constant(1.0f32).device(), "");
    /// ```
    pub fn device(&self) -> String {
        let Some(at) = self.at else { return String::new() };
        self.graph.lock().builder.graph().node(at.node).device.to_string()
    }

    /// The node, as something to run or to wait for.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let checked = graph.constant([1.0f32, 2.0]).ln();
    /// // Computes it, but does not return it.
    /// Session::new(&graph)?.run((), checked.operation())?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn operation(&self) -> Operation {
        Operation { graph: self.graph.clone(), node: self.at.map(|at| at.node) }
    }

    /// Wants the value as a Rust type: `loss.value::<f32>()`, `names.value::<Vec<String>>()`.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let (number, names) = (graph.constant(1.5f32), graph.constant(["a", "b"]));
    /// let session = Session::new(&graph)?;
    /// let fetches = (number.value::<f32>(), names.value::<Vec<String>>());
    /// let (number, names) = session.run((), fetches)?;
    /// assert_eq!((number, names), (1.5, vec!["a".to_owned(), "b".to_owned()]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn value<T>(&self) -> Typed<T> {
        Typed::new(self)
    }

    /// The value, if it does not depend on anything that a step computes.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let size = graph.zeros(DType::Float, &[2, 3]).size_tensor();
    /// let value = size.constant_value().expect("the shape is known");
    /// assert_eq!(value.scalar_value::<i32>()?, 6);
    /// assert!(graph.placeholder::<f32>([]).constant_value().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn constant_value(&self) -> Option<Tensor> {
        self.graph.lock().builder.constant_value(self.at?)
    }

    /// Says what the shape is, where the program knows more than the graph.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([None, None]).with_shape([None, Some(3)]);
    /// assert_eq!(x.shape().to_string(), "[?,3]");
    /// ```
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
///
/// ```
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let count = graph.state("count", 0i64);
/// let add = count.assign_add(1);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// // Several operations may be run in one step.
/// session.run((), (&add, &graph.op("NoOp").build()))?;
/// assert_eq!(session.run((), count.value::<i64>())?, 1);
/// # Ok(())
/// # }
/// ```
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
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert!(graph.op("NoOp").build().graph().is_same(&graph));
    /// ```
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The name; empty if the node could not be made.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert_eq!(graph.op("NoOp").named("wait").build().name(), "wait");
    /// ```
    pub fn name(&self) -> String {
        self.node.map_or(String::new(), |node| {
            self.graph.lock().builder.graph().node(node).name.to_string()
        })
    }

    /// One of the outputs.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let split = graph.op("Split").input(0i32).input([1i32, 2]).attr("num_split", 2).build();
    /// assert_eq!(Session::new(&graph)?.run((), split.output(1).value::<Vec<i32>>())?, [2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn output(&self, index: usize) -> Output {
        let at = self.node.map(|node| graph::Output { node, index: index as u32 });
        Output::new(&self.graph, at)
    }

    /// All outputs.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let split = graph.op("Split").input(0i32).input([1i32, 2]).attr("num_split", 2).build();
    /// assert_eq!(split.outputs().len(), 2);
    /// ```
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
///
/// ```
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let (x, w) = (graph.constant([1.0f32, 2.0]), graph.variable("w", 3.0f32));
/// // An output, a variable, a number and an array.
/// let y = x.maximum(&x).maximum(&w).maximum(2.5).maximum([0.0f32, 4.0]);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), y.value::<Vec<f32>>())?, [3.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand where an op takes a tensor",
    label = "not a tensor of the graph",
    note = "operands are outputs and variables, by value or reference, numbers, arrays and vectors"
)]
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
