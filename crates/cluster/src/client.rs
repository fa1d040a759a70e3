//! How a task speaks to workers: itself by function call, others over the network.

use std::fmt;
use std::sync::Arc;

use tensorfleet_framework::{BoxFuture, DeviceName, Parcel, StepId};
use tensorfleet_graph::Graph;
use tensorfleet_planner::Device;
use tensorfleet_runtime::NodeRecord;
use tensorfleet_tensor::{Result, Tensor};

use crate::spec::ClusterSpec;
use crate::threads::Threads;

/// The calls that a master and other workers make. Dropping a future cancels the call.
pub trait WorkerClient: fmt::Debug + Send + Sync {
    /// The worker's devices.
    fn get_status(&self) -> BoxFuture<Result<Vec<Device>>>;

    /// Makes a session.
    fn create_session(&self, request: CreateWorkerSession) -> BoxFuture<Result<()>>;

    /// Ends a session.
    fn delete_session(&self, handle: String) -> BoxFuture<Result<()>>;

    /// Registers a partition and returns the handle to run it by.
    fn register_graph(&self, session: String, graph: Arc<Graph>) -> BoxFuture<Result<String>>;

    /// Runs a registered partition.
    fn run_graph(&self, request: RunGraph) -> BoxFuture<Result<RunGraphReply>>;

    /// Ends a step.
    fn cleanup_graph(&self, step: StepId) -> BoxFuture<Result<()>>;

    /// Forgets the resources in containers.
    fn cleanup_all(&self, containers: Vec<String>) -> BoxFuture<Result<()>>;

    /// Fetches a tensor that the worker makes in a step.
    fn recv_tensor(&self, step: StepId, key: String) -> BoxFuture<Result<Parcel>>;
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
