//! A client's session on its master: one graph, the plans of its steps, and their runs.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{DeviceName, StepId};
use tensorfleet_graph::{FunctionLibrary, Graph, NodeDef};
use tensorfleet_planner::{Connection, Device, Devices, Placement, Plan, StepSpec};
use tensorfleet_runtime::NodeRecord;
use tensorfleet_tensor::{
    Error, Result, Tensor, aborted, cancelled, deadline_exceeded, internal, invalid_argument,
};
use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;

use crate::client::{RunGraph, RunGraphReply, WorkerClient};
use crate::evaluate::Folding;
use crate::members::Members;
use crate::partial_run::PartialRun;
use crate::random::random_step_id;
use crate::task::Task;
use crate::threads::{Threads, chosen_pool};

/// What a client asked for when it opened the session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    pub device_filters: Vec<String>,
    pub isolate_session_state: bool,
    /// How long calls of this session may take.
    pub timeout: Option<Duration>,
    pub plan: tensorfleet_planner::Options,
    /// A cluster that replaces the one that the servers booted with.
    pub cluster: Option<crate::spec::ClusterSpec>,
    /// Where the client has opened the session, as `grpc://host:port`: finds its master in `cluster`.
    pub target: String,
    pub threads: Threads,
    /// For each pool among which steps may choose, how many threads it has.
    pub thread_pools: Vec<Option<usize>>,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    pub handle: String,
    pub options: SessionOptions,
    pub(crate) task: Arc<Task>,
    /// The master's own device, where feeds and fetches live.
    pub(crate) client_device: Device,
    /// All devices of the session, the master's own first.
    pub devices: Vec<Device>,
    /// The workers of the session by the name of their task, the master's own first.
    pub(crate) workers: Vec<(DeviceName, Arc<dyn WorkerClient>)>,
    graph: RwLock<Versioned>,
    placement: Mutex<Arc<Placement>>,
    plans: Mutex<FxHashMap<StepSpec, Arc<OnceCell<Arc<CompiledPlan>>>>>,
    callables: Mutex<FxHashMap<i64, Arc<Callable>>>,
    next_callable: AtomicI64,
    pub(crate) partial_runs: Mutex<FxHashMap<String, PartialRun>>,
    pub(crate) closed: watch::Sender<bool>,
    /// When the last call came.
    used: Mutex<Instant>,
}

#[derive(Debug)]
struct Versioned {
    graph: Arc<Graph>,
    version: i64,
}

/// A step as a client wants it run.
#[derive(Debug, Default)]
pub struct StepCall {
    pub feeds: Vec<(String, Tensor)>,
    pub fetches: Vec<String>,
    pub targets: Vec<String>,
    pub connections: Vec<Connection>,
    pub options: RunOptions,
}

/// How a client wants its step run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    pub trace: bool,
    pub partition_graphs: bool,
    pub timeout: Option<Duration>,
    /// Which of the session's pools of threads runs the step; -1 means the caller's thread.
    pub inter_op_thread_pool: i32,
}

/// What a step returned.
#[derive(Debug, Default)]
pub struct StepReply {
    /// The fetched tensors in the order of the fetches.
    pub tensors: Vec<Tensor>,
    /// For a traced step, the nodes that ran, by device.
    pub trace: Vec<(String, Vec<NodeRecord>)>,
    /// The graphs of the step's partitions, if asked for.
    pub partition_graphs: Vec<Arc<Graph>>,
}

/// A step prepared to be run many times.
#[derive(Clone, Debug)]
pub struct Callable {
    pub feeds: Vec<String>,
    pub fetches: Vec<String>,
    pub targets: Vec<String>,
    pub connections: Vec<Connection>,
    pub options: RunOptions,
}

/// A plan registered with the workers.
#[derive(Debug)]
pub(crate) struct CompiledPlan {
    parts: Vec<PlanPart>,
}

#[derive(Debug)]
struct PlanPart {
    task: DeviceName,
    client: Arc<dyn WorkerClient>,
    graph_handle: String,
    graph: Arc<Graph>,
    is_client_part: bool,
}

impl Session {
    pub(crate) fn new(
        handle: String,
        options: SessionOptions,
        task: Arc<Task>,
        members: Members,
    ) -> Session {
        let Members { devices, workers } = members;
        Session {
            handle,
            options,
            task,
            client_device: devices[0].clone(),
            devices,
            workers,
            graph: RwLock::new(Versioned { graph: Arc::default(), version: 0 }),
            placement: Mutex::default(),
            plans: Mutex::default(),
            callables: Mutex::default(),
            next_callable: AtomicI64::new(0),
            partial_runs: Mutex::default(),
            closed: watch::Sender::new(false),
            used: Mutex::new(Instant::now()),
        }
    }

    /// Who the session's master is for the workers, which forget the sessions of its former lives.
    ///
    /// In the clusters that clients bring, several masters may have one name; their addresses differ.
    pub(crate) fn master_name(&self) -> String {
        let name = &self.workers[0].0;
        match &self.options.cluster {
            None => name.to_string(),
            Some(_) => format!("{name} at {}", self.options.target),
        }
    }

    /// Notes that a call came.
    pub(crate) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// How long no call has come.
    pub(crate) fn idle(&self) -> Duration {
        lock(&self.used).elapsed()
    }

    /// Adds nodes and functions to the graph. `version` is the one that the client thinks it has.
    pub fn extend(
        &self,
        nodes: Vec<NodeDef>,
        library: FunctionLibrary,
        version: Option<i64>,
    ) -> Result<i64> {
        let mut current = self.graph.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(expected) = version
            && expected != current.version
        {
            return Err(aborted!(
                "Current version is {} but caller expected {expected}.",
                current.version
            ));
        }
        if let Some(known) = nodes.iter().find(|node| current.graph.find(&node.name).is_some()) {
            return Err(invalid_argument!(
                "GraphDef argument to Extend includes node '{}', which was created by a previous call to \
                 Create or Extend .",
                known.name
            ));
        }
        let mut graph = Graph::clone(&current.graph);
        if !library.is_empty() {
            let mut all = FunctionLibrary::clone(graph.library());
            all.merge(&library);
            graph.set_library(Arc::new(all));
        }
        graph.extend(nodes, &*self.task.registry)?;
        current.graph = Arc::new(graph);
        if version.is_some() {
            current.version += 1;
        }
        Ok(current.version)
    }

    pub(crate) fn graph(&self) -> Arc<Graph> {
        Arc::clone(&self.graph.read().unwrap_or_else(|poisoned| poisoned.into_inner()).graph)
    }

    /// Runs a step.
    pub async fn run(&self, call: StepCall) -> Result<StepReply> {
        let timeout = call.options.timeout.or(self.options.timeout);
        let mut closed = self.closed.subscribe();
        let step = self.run_to_end(call);
        let limited = async {
            match timeout {
                None => step.await,
                Some(limit) => tokio::time::timeout(limit, step).await.unwrap_or_else(|_| {
                    Err(deadline_exceeded!("the step took longer than {} ms", limit.as_millis()))
                }),
            }
        };
        tokio::select! {
            biased;
            outcome = limited => outcome,
            _ = closed.wait_for(|closed| *closed) => Err(closed_error()),
        }
    }

    async fn run_to_end(&self, call: StepCall) -> Result<StepReply> {
        let (feeds, args): (Vec<String>, Vec<Tensor>) = call.feeds.into_iter().unzip();
        let (fetches, targets, connections) = (call.fetches, call.targets, call.connections);
        let spec = StepSpec { feeds, fetches, targets, connections };
        let inter_op = chosen_pool(call.options.inter_op_thread_pool, &self.options.thread_pools)?;
        let plan = self.plan(spec).await?;
        let step = StepGuard { plan: Arc::clone(&plan), id: random_step_id() };
        let mut reply = StepReply::default();
        let mut absorb = |part: RunGraphReply| {
            if !part.retvals.is_empty() {
                reply.tensors = part.retvals;
            }
            reply.trace.extend(part.trace);
        };
        for part in plan.run(&self.handle, step.id, args, inter_op, call.options.trace).await? {
            absorb(part);
        }
        if call.options.partition_graphs {
            reply.partition_graphs =
                plan.parts.iter().map(|part| Arc::clone(&part.graph)).collect();
        }
        Ok(reply)
    }

    /// The plan of a step, made and registered with the workers by the first who asks.
    async fn plan(&self, spec: StepSpec) -> Result<Arc<CompiledPlan>> {
        let cell = {
            let mut plans = lock(&self.plans);
            match plans.get(&spec) {
                Some(cell) => Arc::clone(cell),
                None => {
                    let cell = Arc::new(OnceCell::new());
                    plans.insert(spec.clone(), Arc::clone(&cell));
                    cell
                }
            }
        };
        let plan = cell.get_or_try_init(|| self.compile(&spec, &|graph| Ok(graph.clone()))).await;
        if plan.is_err() {
            // A step that cannot be planned must not keep its memory.
            lock(&self.plans).remove(&spec);
        }
        plan.map(Arc::clone)
    }

    /// Makes a plan and registers it. `rewrite` may change the master's own part before.
    pub(crate) async fn compile(
        &self,
        spec: &StepSpec,
        rewrite: &(dyn Fn(&Graph) -> Result<Graph> + Sync),
    ) -> Result<Arc<CompiledPlan>> {
        let plan = self.plan_aside(spec.clone()).await?;
        for node in &plan.placement {
            // TensorFlow's words, which people search their logs for.
            tracing::info!("{}: ({}): {}", node.node, node.op, node.device);
        }
        let registrations = plan.partitions.into_iter().map(|partition| async move {
            let task = partition.device.name.task_name();
            let client = self.worker(&task)?;
            let is_client_part = partition.device.name == self.client_device.name;
            let graph = if is_client_part { rewrite(&partition.graph)? } else { partition.graph };
            let graph = Arc::new(graph);
            let registered = client.register_graph(self.handle.clone(), Arc::clone(&graph)).await;
            let graph_handle = registered.map_err(|error| blame(error, &task))?;
            Ok(PlanPart { task, client, graph_handle, graph, is_client_part })
        });
        let parts = futures_util::future::try_join_all(registrations).await?;
        Ok(Arc::new(CompiledPlan { parts }))
    }

    /// Plans a step on a thread that others do not wait for: a graph may be large.
    async fn plan_aside(&self, spec: StepSpec) -> Result<Plan> {
        let graph = self.graph();
        let (all, client) = (self.devices.clone(), self.client_device.clone());
        let placement = self.placement(&graph, &Devices { all: &all, client: &client });
        let (registry, options) = (Arc::clone(&self.task.registry), self.options.plan.clone());
        let planned = tokio::task::spawn_blocking(move || {
            let devices = Devices { all: &all, client: &client };
            let folding = Folding::new(&registry);
            tensorfleet_planner::plan(
                &graph, &placement, &spec, &devices, &registry, &folding, &options,
            )
        });
        planned.await.map_err(|error| internal!("the step cannot be planned: {error}"))?
    }

    /// Where the nodes of the graph are. When it has grown, state stays where it is.
    fn placement(&self, graph: &Graph, devices: &Devices<'_>) -> Arc<Placement> {
        let mut known = lock(&self.placement);
        if !known.covers(graph) {
            *known = Arc::new(known.extend(graph, devices, &self.options.plan));
        }
        Arc::clone(&known)
    }

    fn worker(&self, task: &DeviceName) -> Result<Arc<dyn WorkerClient>> {
        self.workers
            .iter()
            .find(|(name, _)| name == task)
            .map(|(_, client)| Arc::clone(client))
            .ok_or_else(|| invalid_argument!("{task} is not a task of this session"))
    }

    /// Prepares a step and returns its handle.
    pub async fn make_callable(&self, callable: Callable) -> Result<i64> {
        let spec = StepSpec {
            feeds: callable.feeds.clone(),
            fetches: callable.fetches.clone(),
            targets: callable.targets.clone(),
            connections: callable.connections.clone(),
        };
        self.plan(spec).await?;
        let handle = self.next_callable.fetch_add(1, Ordering::Relaxed);
        lock(&self.callables).insert(handle, Arc::new(callable));
        Ok(handle)
    }

    /// Runs a prepared step.
    pub async fn run_callable(&self, handle: i64, feeds: Vec<Tensor>) -> Result<StepReply> {
        let callable = lock(&self.callables).get(&handle).cloned().ok_or_else(|| {
            invalid_argument!("Attempted to run callable after handle was released: {handle}")
        })?;
        if feeds.len() != callable.feeds.len() {
            return Err(invalid_argument!(
                "Expected {} feed tensors, but got {}",
                callable.feeds.len(),
                feeds.len()
            ));
        }
        self.run(StepCall {
            feeds: callable.feeds.iter().cloned().zip(feeds).collect(),
            fetches: callable.fetches.clone(),
            targets: callable.targets.clone(),
            connections: callable.connections.clone(),
            options: callable.options.clone(),
        })
        .await
    }

    /// Forgets a prepared step; unknown ones are fine.
    pub fn release_callable(&self, handle: i64) {
        lock(&self.callables).remove(&handle);
    }

    /// Cancels all steps and refuses new ones.
    pub fn cancel_all(&self) {
        self.closed.send_replace(true);
    }
}

/// How long a consequence is held back for its cause to arrive.
const ROOT_CAUSE_WAIT: Duration = Duration::from_secs(1);

pub(crate) fn closed_error() -> Error {
    cancelled!("Step was cancelled by an explicit call to `Session::Close()`.")
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Says from which task an error came.
fn blame(error: Error, task: &DeviceName) -> Error {
    error.prefixed(format_args!("From {task}:\n"))
}

impl CompiledPlan {
    /// Runs all parts at once. The first root cause ends the step: the calls that are still under
    /// way are dropped, which cancels them.
    pub(crate) async fn run(
        &self,
        session: &str,
        step: StepId,
        args: Vec<Tensor>,
        inter_op: Option<usize>,
        trace: bool,
    ) -> Result<Vec<RunGraphReply>> {
        // One partition is by far the commonest, and needs no joining.
        if let [part] = &self.parts[..] {
            let outcome = part.run(session, step, args, inter_op, trace).await;
            return outcome.map(|reply| vec![reply]).map_err(|error| part.blame(error));
        }
        let mut runs: FuturesUnordered<_> = self
            .parts
            .iter()
            .map(|part| {
                let args = if part.is_client_part { args.clone() } else { Vec::new() };
                async move {
                    let outcome = part.run(session, step, args, inter_op, trace).await;
                    outcome.map_err(|error| part.blame(error))
                }
            })
            .collect();
        drop(args);
        let mut replies = Vec::with_capacity(self.parts.len());
        let mut derived: Option<Error> = None;
        loop {
            let next = match &derived {
                None => runs.next().await,
                // A consequence came first; its cause is on its way, if its task still lives.
                Some(_) => {
                    tokio::time::timeout(ROOT_CAUSE_WAIT, runs.next()).await.unwrap_or_default()
                }
            };
            match next {
                Some(Ok(reply)) => replies.push(reply),
                Some(Err(error)) if error.is_derived() => {
                    derived.get_or_insert(error);
                }
                Some(Err(error)) => return Err(error),
                None => break,
            }
        }
        match derived {
            Some(error) => Err(error),
            None => Ok(replies),
        }
    }
}

impl PlanPart {
    async fn run(
        &self,
        session: &str,
        step: StepId,
        args: Vec<Tensor>,
        inter_op: Option<usize>,
        trace: bool,
    ) -> Result<RunGraphReply> {
        self.client
            .run_graph(RunGraph {
                session: session.to_owned(),
                graph: self.graph_handle.clone(),
                step: step.0,
                args,
                inter_op,
                trace,
                ..RunGraph::default()
            })
            .await
    }

    fn blame(&self, error: Error) -> Error {
        blame(error, &self.task)
    }
}

/// Ends a step on all its workers, however it ended here.
pub(crate) struct StepGuard {
    pub(crate) plan: Arc<CompiledPlan>,
    pub(crate) id: StepId,
}

impl Drop for StepGuard {
    fn drop(&mut self) {
        let mut done: Vec<&DeviceName> = Vec::new();
        for part in &self.plan.parts {
            if done.contains(&&part.task) {
                continue;
            }
            done.push(&part.task);
            let cleanup = part.client.cleanup_graph(self.id);
            if part.is_client_part {
                // The local worker has cleaned up before it returned the future.
                continue;
            }
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                // A worker that cannot be reached has nothing left to clean up.
                runtime.spawn(async move {
                    let _ = cleanup.await;
                });
            }
        }
    }
}
