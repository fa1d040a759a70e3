//! Variables: tensors that live on a device from step to step.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use tensorfleet_graph::AttrMap;
use tensorfleet_tensor::{DType, PartialShape, invalid_argument};

use crate::graph::Graph;
use crate::output::{Operand, Operation, Output};

/// A tensor that keeps its value from step to step, on the device on which it was made.
///
/// It can stand wherever an op takes a tensor; it is then read.
///
/// ```
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", [1.0f32, 2.0]);
/// let doubled = &w * 2.0;
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), doubled.value::<Vec<f32>>())?, [2.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Variable {
    name: String,
    dtype: DType,
    shape: PartialShape,
    trainable: bool,
    handle: Output,
    initializer: Operation,
    snapshot: Output,
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variable({} {} {})", self.name, self.dtype, self.shape)
    }
}

impl Graph {
    /// Makes a variable that is trained, with an initial value.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", [1.0f32, 2.0]);
    /// let add = w.assign_add([1.0f32, 1.0]);
    ///
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &add)?;
    /// assert_eq!(session.run((), w.value::<Vec<f32>>())?, [2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn variable(&self, name: &str, initial: impl Operand) -> Variable {
        self.make_variable(name, initial, true)
    }

    /// Makes a variable that optimisers leave alone.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let count = graph.state("count", 0i64);
    /// assert!(!count.is_trainable());
    /// ```
    #[track_caller]
    pub fn state(&self, name: &str, initial: impl Operand) -> Variable {
        self.make_variable(name, initial, false)
    }

    #[track_caller]
    fn make_variable(&self, name: &str, initial: impl Operand, trainable: bool) -> Variable {
        let location = Location::caller();
        // Of a layer that is called in a loop, `self` is the graph of the loop's body.
        if !self.innermost().is_same(self) || !self.root().is_same(self) {
            self.record(
                invalid_argument!("the variable {name} must be made outside of loops"),
                location,
            );
        }
        let make = || {
            let initial = self.operand(&initial, None);
            let (dtype, shape) = (initial.dtype(), initial.shape());
            let handle = self
                .op("VarHandleOp")
                .named(name)
                .attr("dtype", dtype)
                .attr("shape", shape.clone())
                .output();
            let full = self.share_by_name(&handle);
            let (initializer, snapshot) = self.colocate_with(&handle, || {
                let initializer = self
                    .op("AssignVariableOp")
                    .named(&format!("{name}/Assign"))
                    .input(&handle)
                    .input(&initial)
                    .attr("dtype", dtype)
                    .build();
                (initializer, read(&handle, &full, dtype, &shape))
            });
            Variable { name: full, dtype, shape, trainable, handle, initializer, snapshot }
        };
        let variable = self.on_behalf_of(location, || self.no_control_dependencies(make));
        let Variable { name, shape, .. } = &variable;
        if shape.to_shape().is_none() && variable.handle.at.is_some() {
            self.record(
                invalid_argument!(
                    "the variable {name} needs an initial value whose shape is known, not {shape}"
                ),
                location,
            );
        }
        self.lock().variables.push(variable.clone());
        variable
    }

    /// Names the resource after its node, so that other sessions find it by that name.
    fn share_by_name(&self, handle: &Output) -> String {
        let Some(at) = handle.at else { return String::new() };
        let mut state = self.lock();
        let node = state.builder.graph_mut().node_mut(at.node);
        let mut attrs = AttrMap::clone(&node.attrs);
        attrs.insert("shared_name".to_owned(), (&*node.name).into());
        node.attrs = Arc::new(attrs);
        node.name.to_string()
    }
}

impl Variable {
    /// The name, by which servers and checkpoints know it.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let w = graph.name_scope("layer", || graph.variable("w", 1.0f32));
    /// assert_eq!(w.name(), "layer/w");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The graph.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert!(graph.variable("w", 1.0f32).graph().is_same(&graph));
    /// ```
    pub fn graph(&self) -> &Graph {
        self.handle.graph()
    }

    /// The element type.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph};
    ///
    /// let graph = Graph::new();
    /// assert_eq!(graph.variable("w", [1.0f64]).dtype(), DType::Double);
    /// ```
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert_eq!(graph.variable("w", [[1.0f32, 2.0]]).shape().to_string(), "[1,2]");
    /// ```
    pub fn shape(&self) -> &PartialShape {
        &self.shape
    }

    /// The number of elements.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert_eq!(graph.variable("w", [[1.0f32, 2.0], [3.0, 4.0]]).num_elements(), 4);
    /// ```
    pub fn num_elements(&self) -> usize {
        self.shape.to_shape().map_or(0, |shape| shape.num_elements())
    }

    /// Whether optimisers train it.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// assert!(graph.variable("w", 1.0f32).is_trainable());
    /// ```
    pub fn is_trainable(&self) -> bool {
        self.trainable
    }

    /// The handle that ops on variables take.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", [1.0f32, 2.0]);
    /// let shape = graph.op("VariableShape").input(w.handle()).output();
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), shape.value::<Vec<i32>>())?, [2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn handle(&self) -> &Output {
        &self.handle
    }

    /// The device asked for; empty if the session may choose.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let w = graph.device("/job:ps/task:0", || graph.variable("w", 1.0f32));
    /// assert_eq!(w.device(), "/job:ps/task:0");
    /// ```
    pub fn device(&self) -> String {
        self.handle.device()
    }

    /// The operation that sets the initial value.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let session = Session::new(&graph)?;
    /// session.run((), w.initializer())?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 1.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn initializer(&self) -> &Operation {
        &self.initializer
    }

    /// The value at the time of the read.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let changed = w.assign(2.0);
    /// let after = graph.control_dependencies([&changed], || w.read());
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), after.value::<f32>())?, 2.0);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn read(&self) -> Output {
        read(&self.handle, &self.name, self.dtype, &self.shape)
    }

    /// Wants the value as a Rust type, as [`Output::value`].
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", [1.0f32, 2.0]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), w.value::<Vec<f32>>())?, [1.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn value<T>(&self) -> crate::Typed<T> {
        self.snapshot.value()
    }

    /// The value when a step fetches it, at whatever moment of the step.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// assert_eq!(w.snapshot().shape().to_string(), "[]");
    /// ```
    pub fn snapshot(&self) -> &Output {
        &self.snapshot
    }

    /// Sets the value.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let change = w.assign(5.0);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &change)?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn assign(&self, value: impl Operand) -> Operation {
        self.update("AssignVariableOp", value)
    }

    /// Adds to the value.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let change = w.assign_add(5.0);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &change)?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 6.0);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn assign_add(&self, value: impl Operand) -> Operation {
        self.update("AssignAddVariableOp", value)
    }

    /// Subtracts from the value.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let change = w.assign_sub(5.0);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &change)?;
    /// assert_eq!(session.run((), w.value::<f32>())?, -4.0);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn assign_sub(&self, value: impl Operand) -> Operation {
        self.update("AssignSubVariableOp", value)
    }

    #[track_caller]
    fn update(&self, op: &str, value: impl Operand) -> Operation {
        let graph = self.graph();
        let value = graph.operand(&value, Some(self.dtype));
        graph.colocate_with(&self.handle, || {
            graph.op(op).input(&self.handle).input(&value).attr("dtype", self.dtype).build()
        })
    }

    /// The rows with the given numbers. Their gradient is sparse.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let table = graph.variable("table", [[1.0f32, 2.0], [3.0, 4.0]]);
    /// let rows = table.gather([1i64, 1]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), rows.value::<Vec<f32>>())?, [3.0, 4.0, 3.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn gather(&self, indices: impl Operand) -> Output {
        let graph = self.graph();
        let indices = graph.operand(&indices, None);
        let rows = graph.colocate_with(&self.handle, || {
            graph
                .op("ResourceGather")
                .input(&self.handle)
                .input(&indices)
                .attr("dtype", self.dtype)
                .output()
        });
        match (indices.shape().dims, &self.shape.dims) {
            (Some(outer), Some(own)) => {
                rows.with_shape(outer.into_iter().chain(own.iter().skip(1).copied()))
            }
            _ => rows,
        }
    }

    /// Whether it has been given a value.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let is_there = w.is_initialized();
    /// let session = Session::new(&graph)?;
    /// assert!(!session.run((), is_there.value::<bool>())?);
    /// session.run((), &graph.initializer())?;
    /// assert!(session.run((), is_there.value::<bool>())?);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn is_initialized(&self) -> Output {
        self.graph().op("VarIsInitializedOp").input(&self.handle).output()
    }
}

impl Variable {
    /// Whether two handles are of one variable of one graph.
    pub(crate) fn is_same(&self, other: &Variable) -> bool {
        self.handle.graph.is_same(&other.handle.graph) && self.handle.at == other.handle.at
    }
}

impl Operand for Variable {
    #[track_caller]
    fn to_output(&self, _: &Graph, _: Option<DType>) -> Output {
        self.read()
    }
}

#[track_caller]
fn read(handle: &Output, name: &str, dtype: DType, shape: &PartialShape) -> Output {
    // The scope's part of the name comes from where the read is made.
    let short = name.rsplit('/').next().unwrap_or(name);
    let value = handle
        .graph()
        .op("ReadVariableOp")
        .named(&format!("{short}/Read"))
        .input(handle)
        .attr("dtype", dtype)
        .output();
    match &shape.dims {
        Some(dims) => value.with_shape(dims.iter().copied()),
        None => value,
    }
}
