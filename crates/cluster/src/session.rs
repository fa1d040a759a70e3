//! A client's session on its master: one graph, the plans of its steps, and their runs.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{BoxFuture, DeviceName, StepId};
use tensorfleet_graph::{FunctionLibrary, Graph, NodeDef};
use tensorfleet_planner::{Arg, Connection, Device, Devices, Placement, Plan, StepSpec};
use tensorfleet_runtime::NodeRecord;
use tensorfleet_tensor::{
    Error, Result, Tensor, aborted, cancelled, deadline_exceeded, internal, invalid_argument,
};
use tokio::sync::watch;

use crate::client::{RunGraph, RunGraphReply, WorkerClient};
use crate::collective::{SharedStep, graph_key};
use crate::debugger::Watches;
use crate::engine::Folding;
use crate::members::Members;
use crate::owner::Owner;
use crate::partial_run::{PartialRun, through_rendezvous};
use crate::plans::Plans;
use crate::quota;
use crate::release::{STEP_TRIES, release};
use crate::task::Task;
use crate::threads::{Threads, chosen_pool};

/// What a client asked for when it opened the session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    pub device_filters: Vec<String>,
    pub isolate_session_state: bool,
    /// Whose the session is.
    pub owner: Owner,
    /// How long calls of this session may take.
    pub timeout: Option<Duration>,
    pub plan: tensorfleet_planner::Options,
    /// A cluster that replaces the one that the servers booted with.
    pub cluster: Option<tensorfleet_spec::ClusterSpec>,
    /// Where the client has opened the session, as `grpc://host:port`: finds its master in `cluster`.
    pub target: String,
    pub threads: Threads,
    /// For each pool among which steps may choose, how many threads it has.
    pub thread_pools: Vec<Option<usize>>,
    /// Which steps of a kind tell what their nodes cost, if any.
    pub costs: Option<CostModel>,
    /// From where it was opened, for operators.
    pub client: String,
}

/// Which steps tell what their nodes cost.
#[derive(Clone, Copy, Debug)]
pub struct CostModel {
    /// Each step of so many.
    pub every: i64,
    /// How many come before.
    pub after: i64,
}

impl CostModel {
    /// Whether a step tells its costs that so many of its kind came before.
    fn covers(self, before: i64) -> bool {
        (before + 1).wrapping_sub(self.after) % self.every == 0
    }
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
    /// Those of the others that come back as the same ones when they die, and are waited for.
    pub(crate) durable: Vec<DeviceName>,
    graph: RwLock<Versioned>,
    placement: Arc<Mutex<Arc<Placement>>>,
    plans: Mutex<Plans>,
    callables: Mutex<FxHashMap<i64, Arc<Callable>>>,
    next_callable: AtomicI64,
    pub(crate) partial_runs: Mutex<FxHashMap<String, PartialRun>>,
    pub(crate) closed: watch::Sender<bool>,
    opened: Instant,
    /// When the last call came.
    used: Mutex<Instant>,
    /// How many steps have begun.
    steps: AtomicU64,
}

/// What an operator sees of a session.
#[derive(Clone, Debug)]
pub struct SessionSummary {
    pub handle: String,
    /// Whose it is.
    pub owner: Arc<str>,
    /// From where it was opened.
    pub client: String,
    pub age: Duration,
    /// How long no call has come.
    pub idle: Duration,
    /// How many steps have begun.
    pub steps: u64,
    /// How many nodes the graph has.
    pub nodes: usize,
    /// How many different steps are planned.
    pub plans: usize,
    /// How many tasks take part.
    pub tasks: usize,
}

/// A kind of step that a session has planned, and where its parts run.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    pub feeds: Vec<String>,
    pub fetches: Vec<String>,
    pub targets: Vec<String>,
    /// How often it has been run.
    pub runs: u64,
    /// The graph of each task.
    pub parts: Vec<(String, Arc<Graph>)>,
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
    /// What a debugger watches.
    pub watches: Option<Arc<Watches>>,
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
    /// The partitions with what their nodes took, if the step tells its costs.
    pub costs: Vec<(Arc<Graph>, Vec<NodeRecord>)>,
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
    task: Arc<Task>,
    /// The arguments of the master's own part.
    pub(crate) args: Vec<Arg>,
    parts: Vec<PlanPart>,
    /// What names the step for other masters that run the same collectives.
    collective_key: Option<i64>,
    /// How often it has been run.
    runs: AtomicI64,
}

#[derive(Debug)]
struct PlanPart {
    task: DeviceName,
    client: Arc<dyn WorkerClient>,
    registration: Registration,
    graph: Arc<Graph>,
    is_client_part: bool,
}

/// A graph that a worker keeps until this is dropped, or the session is closed.
#[derive(Debug)]
struct Registration {
    session: String,
    graph: String,
    client: Arc<dyn WorkerClient>,
    task: Arc<Task>,
    closed: watch::Receiver<bool>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        // A closed session takes its graphs with it.
        if *self.closed.borrow() {
            return;
        }
        let (session, graph) = (std::mem::take(&mut self.session), std::mem::take(&mut self.graph));
        let client = Arc::clone(&self.client);
        let forget = move || client.deregister_graph(session.clone(), graph.clone());
        release(&self.task, forget(), STEP_TRIES, forget);
    }
}

impl Session {
    pub(crate) fn new(
        handle: String,
        options: SessionOptions,
        task: Arc<Task>,
        members: Members,
    ) -> Session {
        let (devices, workers, durable) = members.held(&task);
        let now = task.world.now();
        Session {
            handle,
            options,
            task,
            client_device: devices[0].clone(),
            devices,
            workers,
            durable,
            graph: RwLock::new(Versioned { graph: Arc::default(), version: 0 }),
            placement: Arc::default(),
            plans: Mutex::default(),
            callables: Mutex::default(),
            next_callable: AtomicI64::new(0),
            partial_runs: Mutex::default(),
            closed: watch::Sender::new(false),
            opened: now,
            used: Mutex::new(now),
            steps: AtomicU64::new(0),
        }
    }

    /// What an operator sees of it.
    pub(crate) fn summary(&self) -> SessionSummary {
        SessionSummary {
            handle: self.handle.clone(),
            owner: Arc::clone(&self.options.owner.name),
            client: self.options.client.clone(),
            age: self.task.world.now().saturating_duration_since(self.opened),
            idle: self.idle(),
            steps: self.steps.load(Ordering::Relaxed),
            nodes: self.graph().len(),
            plans: lock(&self.plans).len(),
            tasks: self.workers.len(),
        }
    }

    /// The steps that are planned, in the order of what they fetch.
    pub fn planned(&self) -> Vec<PlannedStep> {
        let plans = lock(&self.plans);
        let made = plans.iter().filter_map(|((spec, _), plan)| Some((spec, plan.get()?)));
        let mut planned: Vec<PlannedStep> = made
            .map(|(spec, plan)| PlannedStep {
                feeds: spec.feeds.clone(),
                fetches: spec.fetches.clone(),
                targets: spec.targets.clone(),
                runs: u64::try_from(plan.runs.load(Ordering::Relaxed)).unwrap_or(0),
                parts: plan
                    .parts
                    .iter()
                    .map(|part| (part.task.to_string(), Arc::clone(&part.graph)))
                    .collect(),
            })
            .collect();
        drop(plans);
        planned.sort_by(|a, b| (&a.fetches, &a.targets).cmp(&(&b.fetches, &b.targets)));
        planned
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
        *lock(&self.used) = self.task.world.now();
    }

    /// How long no call has come.
    pub(crate) fn idle(&self) -> Duration {
        self.task.world.now().saturating_duration_since(*lock(&self.used))
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
        let in_functions = library.iter().map(|function| function.nodes.len()).sum::<usize>();
        quota::check(
            (current.graph.nodes().len() + nodes.len() + in_functions).saturating_sub(1),
            self.task.ledger.quotas.graph_nodes,
            "nodes in the graph of a session",
            "max-graph-nodes",
        )?;
        // A graph that no step is being planned of grows in its place.
        let graph = Arc::make_mut(&mut current.graph);
        let functions_before = Arc::clone(graph.library());
        if !library.is_empty() {
            let mut all = FunctionLibrary::clone(graph.library());
            all.merge(&library);
            graph.set_library(Arc::new(all));
        }
        if let Err(error) = graph.extend(nodes, &*self.task.registry) {
            graph.set_library(functions_before);
            return Err(error);
        }
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
        self.steps.fetch_add(1, Ordering::Relaxed);
        let timeout = call.options.timeout.or(self.options.timeout);
        let mut closed = self.closed.subscribe();
        let step = self.run_to_end(call);
        let limited = async {
            match timeout {
                None => step.await,
                Some(limit) => self.task.world.within(limit, step).await.unwrap_or_else(|| {
                    Err(deadline_exceeded!("the step took longer than {} ms", limit.as_millis()))
                }),
            }
        };
        tokio::select! {
            biased;
            outcome = limited => outcome,
            _ = closed.wait_for(|closed| *closed) => Err(closed_error(&self.task)),
        }
    }

    async fn run_to_end(&self, call: StepCall) -> Result<StepReply> {
        let (feeds, values): (Vec<String>, Vec<Tensor>) = call.feeds.into_iter().unzip();
        let (fetches, targets, connections) = (call.fetches, call.targets, call.connections);
        let spec = StepSpec { feeds, fetches, targets, connections };
        let inter_op = chosen_pool(call.options.inter_op_thread_pool, &self.options.thread_pools)?;
        let plan = match call.options.watches {
            None => self.plan(spec, Route::Arguments).await?,
            // What is watched and where it goes changes from step to step.
            Some(watches) => self.compile(&spec, Route::Arguments, Some(watches)).await?,
        };
        let before = plan.runs.fetch_add(1, Ordering::Relaxed);
        let tells_costs = self.options.costs.is_some_and(|costs| costs.covers(before));
        let mut args = Vec::with_capacity(plan.args.len());
        for arg in &plan.args {
            check_type(arg, &values[arg.feed]).map_err(|error| blame(error, &self.workers[0].0))?;
            args.push(values[arg.feed].clone());
        }
        drop(values);
        let shared = match plan.collective_key {
            Some(key) => SharedStep::next(&self.task, key).await?,
            None => None,
        };
        let drawn = || self.task.world.random_step_id();
        let id = shared.as_ref().map_or_else(drawn, |shared| shared.id);
        let step = StepGuard { plan: Arc::clone(&plan), id };
        let mut reply = StepReply::default();
        let mut absorb = |part: RunGraphReply| {
            if !part.retvals.is_empty() {
                reply.tensors = part.retvals;
            }
            reply.trace.extend(part.trace);
        };
        let trace = call.options.trace || tells_costs;
        for part in plan.run(&self.handle, step.id, args, inter_op, trace).await? {
            absorb(part);
        }
        if tells_costs {
            reply.costs = plan.costs(&reply.trace);
        }
        if !call.options.trace {
            reply.trace.clear();
        }
        if call.options.partition_graphs {
            reply.partition_graphs =
                plan.parts.iter().map(|part| Arc::clone(&part.graph)).collect();
        }
        Ok(reply)
    }

    /// The plan of a step, made and registered with the workers by the first who asks.
    pub(crate) async fn plan(&self, spec: StepSpec, route: Route) -> Result<Arc<CompiledPlan>> {
        let key = (spec, route);
        let cell = {
            let mut plans = lock(&self.plans);
            plans.find_or_insert(&key, self.task.ledger.quotas.signatures)
        };
        let plan = cell.get_or_try_init(|| self.compile(&key.0, route, None)).await;
        if plan.is_err() {
            // A step that cannot be planned must not keep its memory.
            lock(&self.plans).remove(&key);
        }
        plan.map(Arc::clone)
    }

    /// Makes a plan and registers it.
    async fn compile(
        &self,
        spec: &StepSpec,
        route: Route,
        watches: Option<Arc<Watches>>,
    ) -> Result<Arc<CompiledPlan>> {
        let planned = self.plan_aside(spec.clone(), watches.clone()).await?;
        let Plan { partitions, args, placement } = planned;
        for node in &placement {
            // TensorFlow's words, which people search their logs for.
            tracing::info!("{}: ({}): {}", node.node, node.op, node.device);
        }
        let watches = watches.as_ref();
        let registrations = partitions.into_iter().map(|partition| async move {
            let task = partition.device.name.task_name();
            let client = self.worker(&task)?;
            let is_client_part = partition.device.name == self.client_device.name;
            let graph = match route {
                Route::Rendezvous if is_client_part => {
                    through_rendezvous(&partition.graph, &self.client_device, &self.task.registry)?
                }
                _ => partition.graph,
            };
            let graph = Arc::new(graph);
            let registered = client
                .register_graph(self.handle.clone(), Arc::clone(&graph), watches.cloned())
                .await;
            let graph_handle = registered.map_err(|error| blame(error, &task))?;
            let registration = Registration {
                session: self.handle.clone(),
                graph: graph_handle,
                client: Arc::clone(&client),
                task: Arc::clone(&self.task),
                closed: self.closed.subscribe(),
            };
            let graph = match watches {
                None => graph,
                Some(watches) => Arc::new(watches.watched(&graph, &self.task.registry)?),
            };
            Ok(PlanPart { task, client, registration, graph, is_client_part })
        });
        let parts = futures_util::future::try_join_all(registrations).await?;
        let task = Arc::clone(&self.task);
        let collective_key = graph_key(parts.iter().map(|part: &PlanPart| &*part.graph));
        let runs = AtomicI64::new(0);
        Ok(Arc::new(CompiledPlan { task, args, parts, collective_key, runs }))
    }

    /// Plans a step on a thread that others do not wait for: a graph may be large.
    async fn plan_aside(&self, spec: StepSpec, watches: Option<Arc<Watches>>) -> Result<Plan> {
        let graph = self.graph();
        let (all, client) = (self.devices.clone(), self.client_device.clone());
        let known = Arc::clone(&self.placement);
        let (registry, mut options) = (Arc::clone(&self.task.registry), self.options.plan.clone());
        // Who watches a tensor wants to see it.
        options.optimize &= watches.is_none();
        let planned = self.task.world.aside(move |given_up| {
            let devices = Devices { all: &all, client: &client };
            let placement = placed(&known, &graph, &devices, &options);
            let folding = Folding::new(&registry).until(given_up);
            if let Some(watches) = watches {
                watches.publish_step(&spec, &registry)?;
            }
            tensorfleet_planner::plan(
                &graph, &placement, &spec, &devices, &registry, &folding, &options,
            )
        });
        planned.await
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
        self.plan(spec, Route::Arguments).await?;
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

/// Where the nodes of the graph are. When it has grown, state stays where it is.
fn placed(
    known: &Mutex<Arc<Placement>>,
    graph: &Graph,
    devices: &Devices<'_>,
    options: &tensorfleet_planner::Options,
) -> Arc<Placement> {
    let mut known = lock(known);
    if !known.covers(graph) {
        *known = Arc::new(known.extend(graph, devices, options));
    }
    Arc::clone(&known)
}

/// How feeds reach a step and how fetches leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Route {
    /// All at once, with the call that runs the step.
    Arguments,
    /// In several calls, by way of the step's rendezvous.
    Rendezvous,
}

/// How long a consequence is held back for its cause to arrive.
const ROOT_CAUSE_WAIT: Duration = Duration::from_secs(1);

pub(crate) fn closed_error(task: &Task) -> Error {
    task.stopped().unwrap_or_else(|| {
        cancelled!("Step was cancelled by an explicit call to `Session::Close()`.")
    })
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Fails if a value is not of the type of the tensor that it is fed for.
pub(crate) fn check_type(arg: &Arg, value: &Tensor) -> Result<()> {
    if value.dtype() == arg.dtype {
        return Ok(());
    }
    Err(internal!(
        "Output 0 of type {} does not match declared output type {} for node {{{{node {}}}}}",
        value.dtype(),
        arg.dtype,
        arg.node
    ))
}

/// Says from which task an error came.
pub(crate) fn blame(error: Error, task: &DeviceName) -> Error {
    error.prefixed(format_args!("From {task}:\n"))
}

impl CompiledPlan {
    /// The partitions with what a traced run recorded of them.
    fn costs(&self, trace: &[(String, Vec<NodeRecord>)]) -> Vec<(Arc<Graph>, Vec<NodeRecord>)> {
        let records = |graph: &Graph| {
            let device = &graph.nodes().first()?.device;
            trace.iter().find(|(name, _)| **name == **device).map(|(_, records)| records.clone())
        };
        let graphs = self.parts.iter().map(|part| &part.graph);
        graphs.map(|graph| (Arc::clone(graph), records(graph).unwrap_or_default())).collect()
    }

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
                    outcome.map(|reply| (part, reply)).map_err(|error| part.blame(error))
                }
            })
            .collect();
        drop(args);
        // Parts that have ended and may be forgotten while others go on.
        let mut ended: FuturesUnordered<BoxFuture<Error>> = FuturesUnordered::new();
        let mut replies = Vec::with_capacity(self.parts.len());
        let mut derived: Option<Error> = None;
        loop {
            let next = match &derived {
                None if ended.is_empty() => runs.next().await,
                None => tokio::select! {
                    biased;
                    next = runs.next() => next,
                    Some(error) = ended.next() => Some(Err(error)),
                },
                // A consequence came first; its cause is on its way, if its task still lives.
                Some(_) => {
                    self.task.world.within(ROOT_CAUSE_WAIT, runs.next()).await.unwrap_or_default()
                }
            };
            match next {
                Some(Ok((part, reply))) => {
                    replies.push(reply);
                    if !runs.is_empty() {
                        let request = part.request(session, step, Vec::new(), inter_op, trace);
                        ended.extend(part.client.stay_run(request));
                    }
                }
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
        self.client.run_graph(self.request(session, step, args, inter_op, trace)).await
    }

    fn request(
        &self,
        session: &str,
        step: StepId,
        args: Vec<Tensor>,
        inter_op: Option<usize>,
        trace: bool,
    ) -> RunGraph {
        RunGraph {
            session: session.to_owned(),
            graph: self.registration.graph.clone(),
            step: step.0,
            args,
            inter_op,
            trace,
            ..RunGraph::default()
        }
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
            let (client, id) = (Arc::clone(&part.client), self.id);
            release(&self.plan.task, cleanup, STEP_TRIES, move || client.cleanup_graph(id));
        }
    }
}
