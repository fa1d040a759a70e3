//! Scopes: what the nodes that are made inside of a closure have in common.
//!
//! Scopes nest, and belong to the thread that opened them.

use std::panic::Location;
use std::sync::Arc;
use std::thread;

use tensorfleet_framework::{BuildScope, DeviceFn, DeviceName, NewNode};
use tensorfleet_graph::NodeId;

use crate::control::Branch;
use crate::graph::{Graph, State};
use crate::output::{Operation, Output};

/// One open scope.
pub(crate) enum Frame {
    Name(String),
    Device(Arc<DeviceFn>),
    Controls(Vec<NodeId>),
    /// Nodes inside no longer wait for what scopes around ask for.
    NoControls,
    Colocate(NodeId),
    /// The line of the program that called the function which builds inside.
    Caller(&'static Location<'static>),
    /// One side of a branch.
    Branch(Box<Branch>),
    /// The graph of a loop's body or condition, to which nodes go.
    Body(Graph),
}

/// Closes a scope, whichever way the closure ends.
struct Open(Graph);

impl Drop for Open {
    fn drop(&mut self) {
        let closed = {
            let mut state = self.0.lock();
            let thread = thread::current().id();
            let closed = state.frames.get_mut(&thread).and_then(Vec::pop);
            if state.frames.get(&thread).is_some_and(Vec::is_empty) {
                state.frames.remove(&thread);
            }
            closed
        };
        // What it held may be a graph, which must not be dropped under this one's lock.
        drop(closed);
    }
}

impl State {
    /// The scope of nodes that this thread makes now.
    pub(crate) fn scope(&self) -> BuildScope {
        let mut scope = BuildScope::default();
        for frame in self.open() {
            match frame {
                Frame::Name(name) => scope.name = name.clone(),
                Frame::Device(choose) => scope.devices.push(Arc::clone(choose)),
                Frame::Controls(nodes) => scope.control_inputs.extend(nodes),
                Frame::NoControls => scope.control_inputs.clear(),
                Frame::Colocate(node) => scope.colocate_with = vec![*node],
                Frame::Caller(_) | Frame::Branch(_) | Frame::Body(_) => {}
            }
        }
        scope
    }

    /// The open frames of this thread.
    fn open(&self) -> impl Iterator<Item = &Frame> {
        self.frames.get(&thread::current().id()).into_iter().flatten()
    }

    /// The graph of the loop's body that is being built on this thread.
    pub(crate) fn body(&self) -> Option<Graph> {
        self.open().find_map(|frame| match frame {
            Frame::Body(graph) => Some(graph.clone()),
            _ => None,
        })
    }

    /// The node that runs when the innermost open branch does.
    pub(crate) fn pivot(&self) -> Option<NodeId> {
        let mut pivots = self.open().filter_map(|frame| match frame {
            Frame::Branch(branch) => Some(branch.pivot),
            _ => None,
        });
        let first = pivots.next();
        pivots.last().or(first)
    }

    /// Counts a new node among those of the open branches.
    pub(crate) fn join_branches(&mut self, node: NodeId) {
        for frame in self.frames.get_mut(&thread::current().id()).into_iter().flatten() {
            if let Frame::Branch(branch) = frame {
                branch.members.insert(node);
            }
        }
    }

    /// The line of the program to be blamed for a mistake at `location`, which may be inside of a
    /// function of this crate.
    pub(crate) fn blamed(
        &self,
        location: &'static Location<'static>,
    ) -> &'static Location<'static> {
        let caller = self.open().find_map(|frame| match frame {
            Frame::Caller(caller) => Some(*caller),
            _ => None,
        });
        caller.unwrap_or(location)
    }
}

impl Graph {
    pub(crate) fn within<R>(&self, frame: Frame, build: impl FnOnce() -> R) -> R {
        let graph = self.innermost();
        graph.lock().frames.entry(thread::current().id()).or_default().push(frame);
        let _open = Open(graph);
        build()
    }

    /// A name scope for a function that builds on behalf of the line `caller`.
    pub(crate) fn layer<R>(
        &self,
        name: &str,
        caller: &'static Location<'static>,
        build: impl FnOnce() -> R,
    ) -> R {
        self.within(Frame::Caller(caller), || self.name_scope(name, build))
    }

    /// Has mistakes and failures of the nodes that a function makes blamed on a line of the program, as
    /// those of a layer are on who called it.
    ///
    /// ```
    /// use std::panic::Location;
    /// use tensorfleet_client::{Graph, Output};
    ///
    /// /// A layer of one's own.
    /// #[track_caller]
    /// fn scale(x: &Output) -> Output {
    ///     let graph = x.graph();
    ///     // Inside of a closure `track_caller` would end.
    ///     graph.on_behalf_of(Location::caller(), || {
    ///         graph.name_scope("scale", || x * graph.variable("by", [1.0f32, 2.0]).read())
    ///     })
    /// }
    ///
    /// let graph = Graph::new();
    /// let y = scale(&graph.constant([1.0f32, 2.0, 3.0]));
    /// assert!(graph.check().unwrap_err().message().contains("cannot be broadcast"));
    /// # drop(y);
    /// ```
    pub fn on_behalf_of<R>(
        &self,
        caller: &'static Location<'static>,
        build: impl FnOnce() -> R,
    ) -> R {
        self.within(Frame::Caller(caller), build)
    }

    /// Names the nodes made inside as if no scope were open.
    pub(crate) fn at_root<R>(&self, build: impl FnOnce() -> R) -> R {
        self.within(Frame::Name(String::new()), build)
    }

    /// Puts `name/` before the names of the nodes made inside. A name that is taken gets a number.
    ///
    /// ```
    /// # let graph = tensorfleet_client::Graph::new();
    /// let x = graph.name_scope("model", || graph.constant(1.0f32));
    /// assert_eq!(x.name(), "model/Const:0");
    /// ```
    pub fn name_scope<R>(&self, name: &str, build: impl FnOnce() -> R) -> R {
        let full = {
            let graph = self.innermost();
            let mut state = graph.lock();
            let outer = state.scope().name;
            let wanted = if outer.is_empty() { name.to_owned() } else { format!("{outer}/{name}") };
            state.builder.unique_name(&wanted)
        };
        self.within(Frame::Name(full), build)
    }

    /// Puts the nodes made inside on a device, as `/job:ps/task:0`; parts that it leaves open come
    /// from the scope around.
    ///
    /// ```
    /// # let graph = tensorfleet_client::Graph::new();
    /// let x = graph.device("/job:ps/task:1", || graph.constant(1.0f32));
    /// assert_eq!(x.device(), "/job:ps/task:1");
    /// ```
    #[track_caller]
    pub fn device<R>(&self, device: impl Device, build: impl FnOnce() -> R) -> R {
        match device.into_device_fn() {
            Ok(choose) => self.within(Frame::Device(choose), build),
            Err(error) => {
                self.record(error, Location::caller());
                build()
            }
        }
    }

    /// Has the nodes made inside wait for others.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let count = graph.state("count", 0i64);
    /// let add = count.assign_add(1);
    /// let after = graph.control_dependencies([&add], || count.read());
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), after.value::<i64>())?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn control_dependencies<'a, R>(
        &self,
        operations: impl IntoIterator<Item = &'a Operation>,
        build: impl FnOnce() -> R,
    ) -> R {
        let nodes = operations.into_iter().filter_map(|operation| operation.node).collect();
        self.within(Frame::Controls(nodes), build)
    }

    /// Frees the nodes made inside from the control dependencies of the scopes around.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let count = graph.state("count", 0i64);
    /// let add = count.assign_add(1);
    /// let before = graph.control_dependencies([&add], || {
    ///     graph.no_control_dependencies(|| graph.constant(5))
    /// });
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &before)?;
    /// // The constant did not wait for the addition, so nobody asked for it.
    /// assert_eq!(session.run((), count.value::<i64>())?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn no_control_dependencies<R>(&self, build: impl FnOnce() -> R) -> R {
        self.within(Frame::NoControls, build)
    }

    /// Puts the nodes made inside where `output` is.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let w = graph.device("/job:ps/task:1", || graph.variable("w", [1.0f32, 2.0]));
    /// // The sum is taken where the variable lives; one number travels.
    /// let sum = graph.colocate_with(w.handle(), || w.read().sum());
    /// assert_eq!(sum.device(), "/job:ps/task:1");
    /// ```
    pub fn colocate_with<R>(&self, output: &Output, build: impl FnOnce() -> R) -> R {
        match output.at {
            Some(at) => self.within(Frame::Colocate(at.node), build),
            None => build(),
        }
    }
}

/// What says where nodes go: the name of a device, or a function that chooses one for each node.
///
/// ```
/// use tensorfleet_client::{Graph, ReplicaDevices};
///
/// let graph = Graph::new();
/// let task = 2;
/// // A name, or something that chooses for each node.
/// let x = graph.device(format!("/job:worker/task:{task}"), || graph.constant(1.0f32));
/// let w = graph.device(ReplicaDevices::new(1), || graph.variable("w", 1.0f32));
/// assert_eq!(x.device(), "/job:worker/task:2");
/// assert_eq!(w.device(), "/job:ps/task:0");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say where nodes go",
    label = "not a device",
    note = "give the name of a device, as \"/job:ps/task:0\", or `ReplicaDevices`"
)]
pub trait Device {
    /// The function that chooses.
    fn into_device_fn(self) -> tensorfleet_tensor::Result<Arc<DeviceFn>>;
}

impl Device for &str {
    fn into_device_fn(self) -> tensorfleet_tensor::Result<Arc<DeviceFn>> {
        let name = DeviceName::parse(self)?;
        Ok(Arc::new(move |_: &NewNode, outer: &str| match DeviceName::parse(outer) {
            Ok(outer) => name.or(&outer).to_string(),
            Err(_) => name.to_string(),
        }))
    }
}

impl Device for String {
    fn into_device_fn(self) -> tensorfleet_tensor::Result<Arc<DeviceFn>> {
        self.as_str().into_device_fn()
    }
}

impl Device for &String {
    fn into_device_fn(self) -> tensorfleet_tensor::Result<Arc<DeviceFn>> {
        self.as_str().into_device_fn()
    }
}

impl Device for Arc<DeviceFn> {
    fn into_device_fn(self) -> tensorfleet_tensor::Result<Arc<DeviceFn>> {
        Ok(self)
    }
}
