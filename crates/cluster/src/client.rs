//! How a task speaks to workers, and a client to a master: to those of its own process by function
//! call, to others over the network.

use std::fmt;
use std::sync::Arc;

use tensorfleet_framework::{BoxFuture, DeviceName, Parcel, StepId};
use tensorfleet_graph::{FunctionLibrary, Graph, NodeDef};
use tensorfleet_planner::Device;
use tensorfleet_runtime::NodeRecord;
use tensorfleet_tensor::{Error, Result, Tensor};

use crate::collective::CollectivePeer;
use crate::coordination::LeaderClient;
use crate::debugger::Watches;
use crate::eager::{Item, Operation, Output, Reply};
use crate::owner::Owner;
use crate::session::{Callable, SessionOptions, StepCall, StepReply};
use crate::threads::Threads;
use tensorfleet_spec::ClusterSpec;

/// The calls that a master and other workers make. Dropping a future cancels the call.
pub trait WorkerClient: fmt::Debug + Send + Sync {
    /// The worker's devices.
    fn get_status(&self) -> BoxFuture<Result<Vec<Device>>>;

    /// Makes a session.
    fn create_session(&self, request: CreateWorkerSession) -> BoxFuture<Result<()>>;

    /// Ends a session.
    fn delete_session(&self, handle: String) -> BoxFuture<Result<()>>;

    /// Registers a partition, with what a debugger watches of it, and returns the handle to run it by.
    fn register_graph(
        &self,
        session: String,
        graph: Arc<Graph>,
        watches: Option<Arc<Watches>>,
    ) -> BoxFuture<Result<String>>;

    /// Forgets a registered partition.
    fn deregister_graph(&self, session: String, graph: String) -> BoxFuture<Result<()>>;

    /// Runs a registered partition.
    fn run_graph(&self, request: RunGraph) -> BoxFuture<Result<RunGraphReply>>;

    /// Sees to it that a partition that was run stays so, as long as other parts of its step go on: a
    /// durable worker that dies forgets what it has sent and nobody has fetched. Ends with a failure only.
    fn stay_run(&self, _: RunGraph) -> Option<BoxFuture<Error>> {
        None
    }

    /// Ends a step.
    fn cleanup_graph(&self, step: StepId) -> BoxFuture<Result<()>>;

    /// Forgets the resources in containers.
    fn cleanup_all(&self, containers: Vec<String>) -> BoxFuture<Result<()>>;

    /// Fetches a tensor that the worker makes in a step.
    fn recv_tensor(&self, step: StepId, key: String) -> BoxFuture<Result<Parcel>>;

    /// Has things done in an eager context of the worker's task.
    fn enqueue(&self, context: u64, items: Vec<Item>) -> BoxFuture<Result<Vec<Reply>>>;

    /// Runs the part of an eager context's function that belongs to the worker's task.
    fn run_component(
        &self,
        context: u64,
        operation: Operation,
        outputs: Vec<i32>,
    ) -> BoxFuture<Result<Vec<Output>>>;

    /// What the members of collectives ask of each other.
    fn collectives(&self) -> Option<&dyn CollectivePeer> {
        None
    }

    /// What the members of coordinated clusters ask of their leader.
    fn coordination(&self) -> Option<&dyn LeaderClient> {
        None
    }
}

/// The calls that a client makes to a master. Dropping a future cancels the call.
pub trait MasterClient: fmt::Debug + Send + Sync {
    /// Opens a session with a graph.
    fn create_session(
        &self,
        nodes: Vec<NodeDef>,
        library: FunctionLibrary,
        options: SessionOptions,
    ) -> BoxFuture<Result<Arc<dyn SessionClient>>>;
}

/// The calls that a client makes in a session that it has opened.
pub trait SessionClient: fmt::Debug + Send + Sync {
    /// Adds nodes and functions to the graph. Only one call of this at a time.
    fn extend(&self, nodes: Vec<NodeDef>, library: FunctionLibrary) -> BoxFuture<Result<()>>;

    /// Runs a step.
    fn run(&self, call: StepCall) -> BoxFuture<Result<StepReply>>;

    /// Prepares a step to be run many times; returns by which number it is known.
    fn make_callable(&self, callable: Callable) -> BoxFuture<Result<i64>>;

    /// Runs a prepared step with values for its feeds.
    fn run_callable(&self, callable: i64, feeds: Vec<Tensor>) -> BoxFuture<Result<StepReply>>;

    /// Forgets a prepared step.
    fn release_callable(&self, callable: i64) -> BoxFuture<Result<()>>;

    /// The devices of the session.
    fn devices(&self) -> BoxFuture<Result<Vec<Device>>>;

    /// Closes the session.
    fn close(&self) -> BoxFuture<Result<()>>;
}

/// What a worker must know of a new session.
#[derive(Clone, Debug)]
pub struct CreateWorkerSession {
    pub handle: String,
    /// The name under which the session knows the worker.
    pub task_name: DeviceName,
    /// The session's cluster, where it is not the one that the worker booted with.
    pub cluster: Option<ClusterSpec>,
    pub isolate_session_state: bool,
    pub master_task: String,
    pub master_incarnation: u64,
    pub threads: Threads,
    /// Whose the session is.
    pub owner: Owner,
    /// Tasks that come back as the same ones when they die, and are waited for.
    pub durable: Vec<DeviceName>,
}

/// One run of a partition.
#[derive(Clone, Debug, Default)]
pub struct RunGraph {
    pub session: String,
    pub graph: String,
    pub step: i64,
    /// Values of the partition's `_Arg` nodes; only the master's own task has any.
    pub args: Vec<Tensor>,
    /// Values to leave at the step's rendezvous before the run, by key.
    pub sends: Vec<(String, Tensor)>,
    /// Keys to fetch from the step's rendezvous after the run.
    pub recv_keys: Vec<String>,
    pub trace: bool,
    /// How many nodes run at once, where the step says otherwise than its session.
    pub inter_op: Option<usize>,
}

/// What a run of a partition returns.
#[derive(Clone, Debug, Default)]
pub struct RunGraphReply {
    /// Values of the partition's `_Retval` nodes.
    pub retvals: Vec<Tensor>,
    pub recvs: Vec<(String, Tensor)>,
    /// For a traced step, by device.
    pub trace: Vec<(String, Vec<NodeRecord>)>,
}

/// The other tasks of a cluster.
pub trait Peers: fmt::Debug + Send + Sync {
    /// All tasks with their addresses.
    fn tasks(&self) -> Vec<(DeviceName, String)>;

    /// A client of a task.
    fn worker(&self, task: &DeviceName) -> Result<Arc<dyn WorkerClient>>;

    /// The peers of another cluster, for sessions that bring their own.
    fn with_cluster(&self, cluster: &ClusterSpec) -> Result<Arc<dyn Peers>>;
}
