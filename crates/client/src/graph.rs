//! The graph under construction, shared by all handles to it.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;

use rustc_hash::FxHashMap;
use tensorfleet_framework::{GraphBuilder, NewNode};
use tensorfleet_graph::{FunctionLibrary, NodeDef, NodeId};
use tensorfleet_tensor::{DType, Element, Error, PartialShape, Result, Tensor, invalid_argument};

use crate::build::OpBuilder;
use crate::output::{Operand, Operation, Output};
use crate::scope::Frame;
use crate::variable::Variable;

/// A dataflow graph. Clones are handles to the same graph.
///
/// ```
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None]);
/// let y = (&x * 2.0 + 1.0).sum();
/// let session = Session::new(&graph)?;
/// assert_eq!(session.run((&x, [1.0f32, 2.0]), y.value::<f32>())?, 8.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Graph {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) builder: GraphBuilder,
    /// The open scopes of each thread, the outermost first.
    pub(crate) frames: FxHashMap<ThreadId, Vec<Frame>>,
    /// The first mistake made in building.
    pub(crate) error: Option<Error>,
    /// The line of the program that made each node.
    pub(crate) lines: FxHashMap<NodeId, &'static Location<'static>>,
    pub(crate) variables: Vec<Variable>,
    /// Operations to run with the initialisers of the variables.
    initializers: Vec<Operation>,
    /// Operations to run with each training step, as updates of moving averages.
    pub(crate) updates: Vec<Operation>,
    pub(crate) global_step: Option<Variable>,
    /// The graph around that of a loop's body.
    pub(crate) parent: Option<Parent>,
}

/// The graph around another, and what that uses of it.
pub(crate) struct Parent {
    pub(crate) graph: Graph,
    /// Tensors of the parent with the arguments that stand for them inside.
    pub(crate) captures: Vec<(tensorfleet_graph::Output, tensorfleet_graph::Output)>,
}

impl Default for Graph {
    fn default() -> Graph {
        Graph::new()
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let nodes = state.builder.graph().len();
        f.debug_struct("Graph").field("nodes", &nodes).field("error", &state.error).finish()
    }
}

impl Graph {
    /// Makes an empty graph.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert!(graph.is_empty());
    /// ```
    pub fn new() -> Graph {
        Graph::from_builder(GraphBuilder::new(tensorfleet_ops::library()))
    }

    pub(crate) fn from_builder(builder: GraphBuilder) -> Graph {
        let state = State {
            builder,
            frames: FxHashMap::default(),
            error: None,
            lines: FxHashMap::default(),
            variables: Vec::new(),
            initializers: Vec::new(),
            updates: Vec::new(),
            global_step: None,
            parent: None,
        };
        Graph { inner: Arc::new(Inner { state: Mutex::new(state) }) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether two handles are of one graph.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.constant(1);
    /// assert!(x.graph().is_same(&graph));
    /// assert!(!Graph::new().is_same(&graph));
    /// ```
    pub fn is_same(&self, other: &Graph) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Reports the first mistake made in building, with the line that made it.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.constant([1.0f32, 2.0]);
    /// let y = graph.constant([1.0f32, 2.0, 3.0]);
    /// let _ = x + y;
    /// let error = graph.check().unwrap_err().to_string();
    /// assert!(error.contains("cannot be broadcast"), "{error}");
    /// ```
    pub fn check(&self) -> Result<()> {
        match &self.lock().error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Keeps a mistake for [`Graph::check`], unless there was one before.
    pub(crate) fn record(&self, error: Error, location: &'static Location<'static>) {
        if let Some(parent) = self.parent() {
            return parent.record(error, location);
        }
        let mut state = self.lock();
        if state.error.is_none() {
            let location = state.blamed(location);
            state.error = Some(error.prefixed(format_args!("{location}: ")));
        }
    }

    /// Puts the line of the program that made it before the error of a node, which the message of a
    /// step's error names as `{{node name}}`.
    pub(crate) fn with_line(&self, error: Error) -> Error {
        let named =
            error.message().split_once("{{node ").and_then(|(_, rest)| rest.split_once("}}"));
        let Some((name, _)) = named else { return error };
        let state = self.lock();
        let node = state.builder.graph().find(name);
        match node.and_then(|node| state.lines.get(&node)) {
            Some(location) => error.prefixed(format_args!("{location}: ")),
            None => error,
        }
    }

    /// Starts a node of any registered op.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let a = graph.constant([[1.0f32, 2.0], [3.0, 4.0]]);
    /// let b = graph.op("MatMul").input(&a).input(&a).attr("transpose_b", true).output();
    /// let b = Session::new(&graph)?.run((), b.value::<Vec<f32>>())?;
    /// assert_eq!(b, [5.0, 11.0, 11.0, 25.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn op(&self, name: &str) -> OpBuilder {
        OpBuilder::new(&self.innermost(), NewNode::new(name), Location::caller())
    }

    /// A constant: a number, a string, an array, a vector, a tensor.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph};
    ///
    /// let graph = Graph::new();
    /// assert_eq!(graph.constant(1.5f32).shape().to_string(), "[]");
    /// assert_eq!(graph.constant([[1i64, 2, 3], [4, 5, 6]]).shape().to_string(), "[2,3]");
    /// assert_eq!(graph.constant(["a", "b"]).dtype(), DType::String);
    /// assert_eq!(graph.constant(([2, 2], vec![1u8, 2, 3, 4])).shape().to_string(), "[2,2]");
    /// ```
    #[track_caller]
    pub fn constant(&self, value: impl crate::IntoTensor) -> Output {
        match value.into_tensor() {
            Ok(tensor) => {
                self.op("Const").attr("dtype", tensor.dtype()).attr("value", tensor).output()
            }
            Err(error) => self.failed(error),
        }
    }

    /// A tensor that every step is fed with. `None` stands for any size.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([None, Some(3)]);
    /// let rows = x.sum_along(1, false);
    /// let session = Session::new(&graph)?;
    /// let sums = session.run((&x, [[1.0f32, 2.0, 3.0]]), rows.value::<Vec<f32>>())?;
    /// assert_eq!(sums, [6.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn placeholder<T: Element>(
        &self,
        shape: impl IntoIterator<Item = Option<usize>>,
    ) -> Output {
        self.placeholder_of(T::DTYPE, PartialShape::known(shape))
    }

    /// A tensor of a type known at run time only that every step is fed with.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, PartialShape, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let text = graph.placeholder_of(DType::String, PartialShape::UNKNOWN);
    /// let length = graph.op("StringLength").input(&text).output();
    /// let session = Session::new(&graph)?;
    /// assert_eq!(session.run((&text, ["a", "abc"]), length.value::<Vec<i32>>())?, [1, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn placeholder_of(&self, dtype: DType, shape: PartialShape) -> Output {
        self.op("Placeholder")
            .named("Placeholder")
            .attr("dtype", dtype)
            .attr("shape", shape)
            .output()
    }

    /// Zeros.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let zeros = graph.zeros(DType::Int64, &[2, 2]);
    /// assert_eq!(Session::new(&graph)?.run((), zeros.value::<Vec<i64>>())?, [0; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn zeros(&self, dtype: DType, shape: &[usize]) -> Output {
        let tensor = tensorfleet_tensor::Shape::new(shape).and_then(|s| Tensor::zeros(dtype, s));
        match tensor {
            Ok(tensor) => self.constant(tensor),
            Err(error) => self.failed(error),
        }
    }

    /// An operation that does nothing but wait for others.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let (a, b) = (graph.state("a", 0i64), graph.state("b", 0i64));
    /// let both = graph.group(&[a.assign_add(1), b.assign_add(2)]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &both)?;
    /// assert_eq!(session.run((), (a.value::<i64>(), b.value::<i64>()))?, (1, 2));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn group<'a>(&self, operations: impl IntoIterator<Item = &'a Operation>) -> Operation {
        let mut op = self.op("NoOp").named("group_deps");
        for operation in operations {
            op = op.control(operation);
        }
        op.build()
    }

    /// All variables, in the order in which they were made.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// graph.variable("w", [1.0f32, 2.0]);
    /// graph.state("count", 0i64);
    /// let names: Vec<String> = graph.variables().iter().map(|v| v.name().to_owned()).collect();
    /// assert_eq!(names, ["w", "count"]);
    /// ```
    pub fn variables(&self) -> Vec<Variable> {
        self.lock().variables.clone()
    }

    /// The variables that optimisers train.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// graph.variable("w", [1.0f32, 2.0]);
    /// graph.state("count", 0i64);
    /// assert_eq!(graph.trainable_variables().len(), 1);
    /// ```
    pub fn trainable_variables(&self) -> Vec<Variable> {
        self.variables().into_iter().filter(Variable::is_trainable).collect()
    }

    /// The counter of training steps, an `int64`. Once a program has asked for it, optimisers add
    /// one with every step.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let step = graph.global_step();
    /// let w = graph.variable("w", 1.0f32);
    /// let train = Sgd::new(0.1).minimize(&w.read().square());
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &train)?;
    /// session.run((), &train)?;
    /// assert_eq!(session.run((), step.value::<i64>())?, 2);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn global_step(&self) -> Variable {
        if let Some(step) = &self.lock().global_step {
            return step.clone();
        }
        let step = self.at_root(|| self.state("global_step", 0i64));
        self.lock().global_step = Some(step.clone());
        step
    }

    /// Has every training step run an operation too, as the update of a moving average.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let steps = graph.state("steps", 0i64);
    /// graph.add_update(&steps.assign_add(1));
    /// let train = Sgd::new(0.1).minimize(&w.read().square());
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &train)?;
    /// assert_eq!(session.run((), steps.value::<i64>())?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_update(&self, operation: &Operation) {
        self.lock().updates.push(operation.clone());
    }

    /// Has [`Graph::initializer`] run an operation too, for state that is not in variables.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let queue = graph.op("FIFOQueueV2").attr("component_types", vec![DType::Int32]).output();
    /// let fill = graph.op("QueueEnqueueV2").input(&queue).inputs([7i32]).build();
    /// graph.initialize_with(&fill);
    /// let size = graph.op("QueueSizeV2").input(&queue).output();
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), size.value::<i32>())?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn initialize_with(&self, operation: &Operation) {
        self.lock().initializers.push(operation.clone());
    }

    /// An operation that gives every variable its initial value, and all other state as well.
    ///
    /// ```
    /// use tensorfleet_client::{Code, Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", [1.0f32, 2.0]);
    /// let session = Session::new(&graph)?;
    /// assert_eq!(session.run((), &w).unwrap_err().code(), Code::FailedPrecondition);
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), w.value::<Vec<f32>>())?, [1.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn initializer(&self) -> Operation {
        let mut initializers = self.lock().initializers.clone();
        initializers.extend(self.variables().iter().map(|variable| variable.initializer().clone()));
        self.group(&initializers)
    }

    /// Finds an output by its name, `node` or `node:1`.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// graph.name_scope("model", || graph.op("Neg").input(2i32).named("y").output());
    /// let y = graph.find("model/y:0").expect("it was just made");
    /// assert_eq!(Session::new(&graph)?.run((), y.value::<i32>())?, -2);
    /// assert!(graph.find("model/z").is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, name: &str) -> Option<Output> {
        let (node, index) = tensorfleet_graph::parse_tensor_name(name);
        let id = self.lock().builder.graph().find(node)?;
        Some(Output::new(self, Some(tensorfleet_graph::Output { node: id, index })))
    }

    /// The number of nodes.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// graph.constant(1.0f32);
    /// assert_eq!(graph.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.lock().builder.graph().len()
    }

    /// Whether there are no nodes.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// assert!(Graph::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The nodes from number `first` on, and all functions, as a session sends them to its master.
    pub(crate) fn nodes_from(&self, first: usize) -> (Vec<NodeDef>, FunctionLibrary) {
        let state = self.lock();
        let graph = state.builder.graph();
        let nodes = (first..graph.len()).map(|index| graph.node_def(NodeId(index as u32)));
        (nodes.collect(), FunctionLibrary::clone(graph.library()))
    }

    /// An output that stands for one that could not be made.
    #[track_caller]
    pub(crate) fn failed(&self, error: Error) -> Output {
        self.record(error, Location::caller());
        Output::new(self, None)
    }

    /// The graph around this one, if this is a loop's body.
    fn parent(&self) -> Option<Graph> {
        self.lock().parent.as_ref().map(|parent| parent.graph.clone())
    }

    /// The outermost graph.
    pub(crate) fn root(&self) -> Graph {
        self.parent().map_or_else(|| self.clone(), |parent| parent.root())
    }

    /// The graph that nodes go to now: a loop's body, while that is being built on this thread.
    pub(crate) fn innermost(&self) -> Graph {
        let body = self.lock().body();
        body.map_or_else(|| self.clone(), |body| body.innermost())
    }

    /// Turns an operand into an output of this graph, inside of its open branches.
    #[track_caller]
    pub(crate) fn operand(&self, operand: &impl Operand, like: Option<DType>) -> Output {
        let output = operand.to_output(self, like);
        match self.import(&output) {
            Ok(at) => Output::new(self, at),
            Err(error) => self.failed(error),
        }
    }

    fn import(&self, output: &Output) -> Result<Option<tensorfleet_graph::Output>> {
        let Some(at) = output.at else { return Ok(None) };
        if output.graph.is_same(self) {
            return self.enter_branches(at).map(Some);
        }
        let Some(parent) = self.parent() else {
            return Err(invalid_argument!("{} belongs to another graph", output.name()));
        };
        match parent.import(output)? {
            Some(outer) => self.enter_branches(self.capture(outer)?).map(Some),
            None => Ok(None),
        }
    }
}
