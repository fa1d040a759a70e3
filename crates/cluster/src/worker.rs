//! The worker of a task: runs partitions for any master.

use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::try_join_all;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{
    BoxFuture, Delivery, DeviceName, Parcel, ParsedKey, Rendezvous, StepContext, StepId,
};
use tensorfleet_graph::Graph;
use tensorfleet_planner::Device;
use tensorfleet_runtime::{Executable, Run, Trace};
use tensorfleet_tensor::{Result, Tensor, aborted, invalid_argument};

use crate::client::{CreateWorkerSession, Peers, RunGraph, RunGraphReply, WorkerClient};
use crate::functions::SessionFunctions;
use crate::random::random_handle;
use crate::steps::StepState;
use crate::task::{LocalDevice, Task};
use crate::worker_session::{SessionRendezvous, WorkerSession};

/// Runs partitions on the devices of a task.
#[derive(Debug)]
pub struct Worker {
    task: Arc<Task>,
    peers: Arc<dyn Peers>,
    sessions: Mutex<FxHashMap<String, Arc<SessionEntry>>>,
}

#[derive(Debug)]
struct SessionEntry {
    session: Arc<WorkerSession>,
    graphs: Mutex<FxHashMap<String, Arc<RegisteredGraph>>>,
}

/// A partition of a session's graph, compiled for each of the task's devices that it uses.
#[derive(Debug)]
struct RegisteredGraph {
    parts: Vec<(LocalDevice, Arc<Executable>)>,
    functions: Arc<SessionFunctions>,
}

/// What a partition is run in.
struct Place<'a> {
    session: &'a Arc<WorkerSession>,
    graph: &'a RegisteredGraph,
    state: &'a StepState,
    step: StepId,
}

impl Worker {
    /// Makes the worker of a task.
    pub fn new(task: Arc<Task>, peers: Arc<dyn Peers>) -> Worker {
        Worker { task, peers, sessions: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, Arc<SessionEntry>>> {
        self.sessions.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The name of the task, without a device.
    pub fn task_name(&self) -> &DeviceName {
        &self.task.name
    }

    /// The task's devices.
    pub fn devices(&self) -> Vec<Device> {
        self.task.devices.iter().map(|local| local.device.clone()).collect()
    }

    /// Makes a session; one that exists already stays.
    pub fn create_session(&self, request: CreateWorkerSession) -> Result<()> {
        if request.handle.is_empty() {
            return Err(invalid_argument!("Session must be non-empty."));
        }
        let peers = match &request.cluster {
            Some(cluster) => self.peers.with_cluster(cluster)?,
            None => Arc::clone(&self.peers),
        };
        let master = (!request.master_task.is_empty())
            .then(|| (request.master_task.clone(), request.master_incarnation));
        let mut sessions = self.lock();
        // A master that lives again has forgotten the sessions of its former life.
        if let Some((task, incarnation)) = &master {
            sessions.retain(|handle, entry| {
                let master = entry.session.master.as_ref();
                let lives = master.is_none_or(|(t, i)| t != task || i == incarnation);
                if !lives {
                    self.task.steps.end_session(handle);
                }
                lives
            });
        }
        sessions.entry(request.handle.clone()).or_insert_with(|| {
            let session = WorkerSession::new(
                request.handle,
                &self.task,
                request.task_name,
                peers,
                request.isolate_session_state,
                master,
                request.threads.or(self.task.threads),
            );
            Arc::new(SessionEntry { session: Arc::new(session), graphs: Mutex::default() })
        });
        Ok(())
    }

    /// Ends a session; unknown ones are fine.
    pub fn delete_session(&self, handle: &str) {
        let removed = self.lock().remove(handle);
        if removed.is_some() {
            self.task.steps.end_session(handle);
        }
    }

    fn session(&self, handle: &str) -> Result<Arc<SessionEntry>> {
        self.lock().get(handle).cloned().ok_or_else(|| {
            aborted!(
                "Session handle is not found: {handle}. Possibly this worker (\"{}\") just restarted.",
                self.task.name
            )
            .worker_restarted()
        })
    }

    /// Compiles a partition.
    pub fn register_graph(&self, session: &str, graph: &Graph) -> Result<String> {
        let entry = self.session(session)?;
        let session = &entry.session;
        let functions = Arc::new(SessionFunctions::new(graph.library(), &self.task, session));
        let mut parts = Vec::new();
        let devices: Vec<Device> =
            session.devices.iter().map(|local| local.device.clone()).collect();
        for partition in tensorfleet_planner::partition(graph, &devices, &*self.task.registry)? {
            let device = session.device(&partition.device.name)?.clone();
            let kind = partition.device.name.kind.as_deref().unwrap_or("CPU");
            let executable =
                Executable::new(&partition.graph, &self.task.registry, kind, &**session)?;
            parts.push((device, Arc::new(executable)));
        }
        let handle = random_handle();
        let registered = Arc::new(RegisteredGraph { parts, functions });
        let mut graphs = entry.graphs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        graphs.insert(handle.clone(), registered);
        Ok(handle)
    }

    /// Forgets a partition.
    pub fn deregister_graph(&self, session: &str, graph: &str) -> Result<()> {
        let entry = self.session(session)?;
        let removed =
            entry.graphs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(graph);
        match removed {
            Some(_) => Ok(()),
            None => Err(graph_not_found(graph)),
        }
    }

    /// Runs a registered partition. Its failure is made known to whoever waits for its tensors.
    pub async fn run_graph(&self, request: RunGraph) -> Result<RunGraphReply> {
        let entry = self.session(&request.session)?;
        let graph = entry
            .graphs
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .get(&request.graph)
            .cloned()
            .ok_or_else(|| graph_not_found(&request.graph))?;
        let step = StepId(request.step);
        let state = self.task.steps.begin(step, &request.session);
        let rendezvous = Arc::clone(&state.rendezvous);
        for (key, tensor) in request.sends {
            rendezvous.send(&key, Parcel { tensor, is_dead: false })?;
        }
        let inter_op = request.inter_op.or(entry.session.threads.inter_op);
        let place = Place { session: &entry.session, graph: &graph, state: &state, step };
        let outcome = self
            .run_parts(&place, request.args, inter_op, request.trace)
            .await
            .inspect_err(|error| rendezvous.abort(error.clone().derived()));
        let mut reply = outcome?;
        for key in request.recv_keys {
            let parcel = match rendezvous.recv(&key)? {
                Delivery::Now(parcel) => parcel,
                Delivery::Later(parcel) => parcel.await?,
            };
            if parcel.is_dead {
                return Err(invalid_argument!(
                    "The tensor returned for {} was not valid.",
                    edge(&key)
                ));
            }
            reply.recvs.push((key, parcel.tensor));
        }
        Ok(reply)
    }

    async fn run_parts(
        &self,
        place: &Place<'_>,
        args: Vec<Tensor>,
        inter_op: Option<usize>,
        trace: bool,
    ) -> Result<RunGraphReply> {
        let mut runs = Vec::with_capacity(place.graph.parts.len());
        let mut traces = Vec::new();
        for (device, executable) in &place.graph.parts {
            let context = self.step_context(place, device);
            let part_trace = trace.then(|| Arc::new(Trace::default()));
            if let Some(trace) = &part_trace {
                traces.push((device.name.to_string(), Arc::clone(trace)));
            }
            let args = if executable.args().is_empty() { Vec::new() } else { args.clone() };
            let mut run = Run::new(
                Arc::clone(executable),
                context,
                Arc::clone(&self.task.pool),
                args,
                part_trace,
            )?;
            if let Some(limit) = inter_op {
                run = run.at_most_at_once(limit);
            }
            runs.push(run);
        }
        drop(args);
        // One partition is by far the commonest, and needs no joining.
        let retvals = if runs.len() == 1 {
            runs.pop().expect("there is one").await?
        } else {
            try_join_all(runs)
                .await?
                .into_iter()
                .find(|values| !values.is_empty())
                .unwrap_or_default()
        };
        let trace = traces.into_iter().map(|(device, trace)| (device, trace.records())).collect();
        Ok(RunGraphReply { retvals, recvs: Vec::new(), trace })
    }

    fn step_context(&self, place: &Place<'_>, device: &LocalDevice) -> Arc<StepContext> {
        let &Place { session, graph, state, step } = place;
        let threads = self.task.pool.threads();
        Arc::new(StepContext {
            id: step,
            device: Arc::clone(&device.name),
            resources: Arc::clone(&device.resources),
            step_resources: Arc::clone(&state.resources),
            rendezvous: Arc::new(SessionRendezvous {
                step,
                local: Arc::clone(&state.rendezvous),
                session: Arc::clone(session),
            }),
            functions: Arc::clone(&graph.functions) as _,
            spawner: Arc::clone(&self.task.pool) as _,
            parallelism: session.threads.intra_op.map_or(threads, |limit| limit.min(threads)),
            depth: 0,
        })
    }

    /// Ends a step.
    pub fn cleanup_graph(&self, step: StepId) {
        self.task.steps.end(step);
    }

    /// Forgets the resources in containers; no container means the default one.
    pub fn cleanup_all(&self, containers: &[String]) {
        for local in &self.task.devices {
            if containers.is_empty() {
                local.resources.cleanup("");
            }
            for container in containers {
                local.resources.cleanup(container);
            }
        }
    }

    /// Waits for a tensor that a step makes here, for another task.
    pub async fn recv_tensor(&self, step: StepId, key: &str) -> Result<Parcel> {
        let parsed = ParsedKey::parse(key)?;
        let source = DeviceName::parse(parsed.src_device)?;
        let unknown = || invalid_argument!("{} unknown device.", parsed.src_device);
        let local = source.local().ok_or_else(unknown)?;
        let device = self
            .task
            .devices
            .iter()
            .find(|device| device.device.name.local().as_ref() == Some(&local))
            .ok_or_else(unknown)?;
        if device.device.incarnation != parsed.src_incarnation {
            return Err(aborted!(
                "RecvTensor expects a different device incarnation: {} vs. {}. Your worker job (\"{}\") was \
                 probably restarted. Check your worker job for the reason why it was restarted.",
                parsed.src_incarnation,
                device.device.incarnation,
                source.task_name()
            )
            .worker_restarted());
        }
        let visit = self.task.steps.visit(step);
        match visit.state.rendezvous.recv(key)? {
            Delivery::Now(parcel) => Ok(parcel),
            Delivery::Later(parcel) => parcel.await,
        }
    }
}

fn edge(key: &str) -> &str {
    ParsedKey::parse(key).map_or(key, |parsed| parsed.edge)
}

fn graph_not_found(handle: &str) -> tensorfleet_tensor::Error {
    aborted!("Graph handle is not found: {handle}")
}

/// The worker of the master's own task: calls, nothing encoded.
#[derive(Clone, Debug)]
pub struct LocalWorker(pub Arc<Worker>);

impl WorkerClient for LocalWorker {
    fn get_status(&self) -> BoxFuture<Result<Vec<Device>>> {
        let devices = self.0.devices();
        Box::pin(async move { Ok(devices) })
    }

    fn create_session(&self, request: CreateWorkerSession) -> BoxFuture<Result<()>> {
        let outcome = self.0.create_session(request);
        Box::pin(async move { outcome })
    }

    fn delete_session(&self, handle: String) -> BoxFuture<Result<()>> {
        self.0.delete_session(&handle);
        Box::pin(async { Ok(()) })
    }

    fn register_graph(&self, session: String, graph: Arc<Graph>) -> BoxFuture<Result<String>> {
        let worker = Arc::clone(&self.0);
        Box::pin(async move { worker.register_graph(&session, &graph) })
    }

    fn run_graph(&self, request: RunGraph) -> BoxFuture<Result<RunGraphReply>> {
        let worker = Arc::clone(&self.0);
        Box::pin(async move { worker.run_graph(request).await })
    }

    fn cleanup_graph(&self, step: StepId) -> BoxFuture<Result<()>> {
        self.0.cleanup_graph(step);
        Box::pin(async { Ok(()) })
    }

    fn cleanup_all(&self, containers: Vec<String>) -> BoxFuture<Result<()>> {
        self.0.cleanup_all(&containers);
        Box::pin(async { Ok(()) })
    }

    fn recv_tensor(&self, step: StepId, key: String) -> BoxFuture<Result<Parcel>> {
        let worker = Arc::clone(&self.0);
        Box::pin(async move { worker.recv_tensor(step, &key).await })
    }
}
