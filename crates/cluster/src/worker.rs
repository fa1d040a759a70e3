//! The worker of a task: runs partitions for any master.

use std::sync::{Arc, Mutex, MutexGuard};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Delivery, DeviceName, Parcel, ParsedKey, Rendezvous, StepId};
use tensorfleet_graph::Graph;
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Result, aborted, invalid_argument};

use crate::client::{CreateWorkerSession, Peers, RunGraph, RunGraphReply};
use crate::debugger::Watches;
use crate::eager::Contexts;
use crate::engine::{Engine, Instance, RunLimits, RunOutcome, Step, ended};
use crate::remote_function::SessionFunctions;
use crate::session::lock;
use crate::task::Task;
use crate::view::View;

/// Runs partitions on the devices of a task.
#[derive(Debug)]
pub struct Worker {
    task: Arc<Task>,
    peers: Arc<dyn Peers>,
    sessions: Mutex<FxHashMap<String, Arc<WorkerSession>>>,
    contexts: Contexts,
}

/// What a master's session is on one worker: an engine, and the graphs that are registered.
#[derive(Debug)]
struct WorkerSession {
    /// Which master made the session, and in which of its lives.
    master: Option<(String, u64)>,
    engine: Engine,
    graphs: Mutex<FxHashMap<String, Arc<Instance>>>,
}

impl Worker {
    /// Makes the worker of a task.
    pub fn new(task: Arc<Task>, peers: Arc<dyn Peers>) -> Worker {
        task.collectives.know_peers(&peers);
        let contexts = Contexts::new(Arc::clone(&task), Arc::clone(&peers));
        Worker { task, peers, sessions: Mutex::default(), contexts }
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, Arc<WorkerSession>>> {
        lock(&self.sessions)
    }

    /// The contexts of TensorFlow 2 clients.
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// The name of the task, without a device.
    pub fn task_name(&self) -> &DeviceName {
        &self.task.name
    }

    /// The task.
    pub(crate) fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// How many sessions there are, and how many graphs are registered in them.
    pub fn held(&self) -> (usize, usize) {
        let sessions = self.lock();
        (sessions.len(), sessions.values().map(|session| lock(&session.graphs).len()).sum())
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
            sessions.retain(|handle, session| {
                let master = session.master.as_ref();
                let lives = master.is_none_or(|(t, i)| t != task || i == incarnation);
                if !lives {
                    self.task.steps.end_session(handle);
                }
                lives
            });
        }
        sessions.entry(request.handle).or_insert_with_key(|handle| {
            let isolate = request.isolate_session_state;
            let view =
                Arc::new(View::new(&self.task, request.task_name, peers, request.threads, isolate));
            let remote = SessionFunctions {
                session: handle.clone(),
                task: Arc::clone(&self.task),
                view: Arc::clone(&view),
            };
            let engine = Engine::new(Arc::clone(&self.task), view, Some(Arc::new(remote)));
            Arc::new(WorkerSession { master, engine, graphs: Mutex::default() })
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

    fn session(&self, handle: &str) -> Result<Arc<WorkerSession>> {
        self.lock().get(handle).cloned().ok_or_else(|| {
            aborted!(
                "Session handle is not found: {handle}. Possibly this worker (\"{}\") just restarted.",
                self.task.name
            )
            .worker_restarted()
        })
    }

    /// Compiles a partition, with what a debugger watches of it.
    pub fn register_graph(
        &self,
        session: &str,
        graph: &Graph,
        watches: Option<&Watches>,
    ) -> Result<String> {
        let session = self.session(session)?;
        let instance = match watches {
            None => session.engine.instantiate(graph)?,
            Some(watches) => {
                let watched = watches.watched(graph, &self.task.registry)?;
                watches.publish_graph(&watched)?;
                session.engine.instantiate(&watched)?
            }
        };
        let instance = Arc::new(instance);
        let handle = self.task.world.random_handle();
        lock(&session.graphs).insert(handle.clone(), instance);
        Ok(handle)
    }

    /// Forgets a partition.
    pub fn deregister_graph(&self, session: &str, graph: &str) -> Result<()> {
        let session = self.session(session)?;
        let removed = lock(&session.graphs).remove(graph);
        match removed {
            Some(_) => Ok(()),
            None => Err(graph_not_found(graph)),
        }
    }

    /// Runs a registered partition. Its failure is made known to whoever waits for its tensors.
    pub async fn run_graph(&self, request: RunGraph) -> Result<RunGraphReply> {
        let session = self.session(&request.session)?;
        let graph = lock(&session.graphs).get(&request.graph).cloned();
        let graph = graph.ok_or_else(|| graph_not_found(&request.graph))?;
        let id = StepId(request.step);
        let step = Step { id, state: self.task.steps.begin(id, &request.session) };
        let rendezvous = &step.state.rendezvous;
        for (key, tensor) in request.sends {
            rendezvous.send(&key, Parcel { tensor, is_dead: false })?;
        }
        let limits = RunLimits { inter_op: request.inter_op, trace: request.trace };
        let outcome = session
            .engine
            .run(&graph, &step, request.args, limits)
            .await
            .inspect_err(|error| rendezvous.abort(error.clone().derived()));
        let RunOutcome { retvals, trace } = outcome?;
        let mut reply = RunGraphReply { retvals, recvs: Vec::new(), trace };
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

    /// Ends a step.
    pub fn cleanup_graph(&self, step: StepId) {
        self.task.steps.end(step);
        self.task.collectives.end_step(step);
    }

    /// Forgets the resources in containers; no container means the default one.
    pub async fn cleanup_all(&self, containers: &[String]) -> Result<()> {
        let unit = self.task.devices.first().and_then(|local| local.resources.begin_unit());
        for local in &self.task.devices {
            if containers.is_empty() {
                local.resources.cleanup("", unit.as_deref())?;
            }
            for container in containers {
                local.resources.cleanup(container, unit.as_deref())?;
            }
        }
        ended(unit).await
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
