//! The worker of a task: runs partitions for any master.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard};

use rustc_hash::{FxBuildHasher, FxHashMap};
use tensorfleet_framework::{
    CallId, Delivery, DeviceName, Journal, Parcel, ParsedKey, Recalled, Rendezvous, Sent, StepId,
};
use tensorfleet_graph::Graph;
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Error, Result, aborted, internal, invalid_argument, unavailable};

use crate::client::{CreateWorkerSession, Peers, RunGraph, RunGraphReply};
use crate::debugger::Watches;
use crate::eager::Contexts;
use crate::engine::{Engine, Instance, RunLimits, RunOutcome, Step, ended};
use crate::kept::{Entry, cut_off};
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
        sessions.entry(request.handle.clone()).or_insert_with_key(|handle| {
            let isolate = request.isolate_session_state;
            let (name, threads) = (request.task_name.clone(), request.threads);
            let whose = (&request.owner, &*format!("session {handle}"));
            let mut view = View::new(&self.task, name, peers, threads, isolate, whose);
            view.durable.clone_from(&request.durable);
            let view = Arc::new(view);
            let remote = SessionFunctions {
                session: handle.clone(),
                made: request,
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
                watches.publish_graph(&watched, &self.task.registry)?;
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
        let journal = session.engine.journal();
        let call = journal.map(|_| CallId {
            session: FxBuildHasher.hash_one(&request.session),
            step: request.step,
            device: session.engine.device_of(&graph),
        });
        // A master that lost the answer of a durable task makes the call again.
        let entry = call.map(|call| step.state.calls.enter(call));
        let first = match entry {
            None => None,
            Some(Entry::First(first)) => Some(first),
            Some(Entry::Again(before)) => {
                before.done().await?;
                return match request.recv_keys.first() {
                    None => Ok(RunGraphReply::default()),
                    Some(key) => Err(self.not_kept(key)),
                };
            }
        };
        if let (Some(journal), Some(call), Some(first)) = (journal, call, &first)
            && let Some(recalled) = journal.recall(call)
        {
            let reply = self.recalled(&**journal, call, recalled, &request.recv_keys)?;
            first.is_done();
            return Ok(reply);
        }
        for (key, tensor) in request.sends {
            rendezvous.send(&key, Parcel { tensor, is_dead: false })?;
        }
        let RunGraph { inter_op, trace, .. } = request;
        let limits = RunLimits { inter_op, trace, is_fetched: true, call };
        let outcome = session
            .engine
            .run(&graph, &step, request.args, limits)
            .await
            .inspect_err(|error| rendezvous.abort(error.clone().derived()));
        let RunOutcome { retvals, trace } = outcome?;
        if let Some(first) = first {
            first.is_done();
        }
        let mut reply = RunGraphReply { retvals, recvs: Vec::new(), trace };
        for key in request.recv_keys {
            let parcel = match rendezvous.recv(&key)? {
                Delivery::Now(parcel) => parcel,
                Delivery::Later(parcel) => parcel.await?,
            };
            if parcel.is_dead {
                return Err(internal!(
                    "Failed to fetch outputs for step {}. (Original error message: The tensor returned for \
                     {} was not valid.)",
                    id.0,
                    edge(&key)
                ));
            }
            reply.recvs.push((key, parcel.tensor));
        }
        Ok(reply)
    }

    /// The answer of a call that was made in a former life of the task.
    fn recalled(
        &self,
        journal: &dyn Journal,
        call: CallId,
        recalled: Recalled,
        keys: &[String],
    ) -> Result<RunGraphReply> {
        if recalled == Recalled::Cut {
            return Err(cut_off());
        }
        tracing::info!("step {} was done before the restart, and is answered again", call.step);
        let mut reply = RunGraphReply::default();
        for key in keys {
            match journal.recall_sent(StepId(call.step), call.device, key) {
                Some(Sent::Kept(parcel)) => reply.recvs.push((key.clone(), parcel.tensor)),
                _ => return Err(self.not_kept(key)),
            }
        }
        Ok(reply)
    }

    fn not_kept(&self, key: &str) -> Error {
        aborted!(
            "the step was done on {} before that died, but the value of {} is lost: only small ones are \
             kept with the changes of their step",
            self.task.name,
            edge(key)
        )
    }

    /// Ends a step.
    pub fn cleanup_graph(&self, step: StepId) {
        if let Some(journal) = self.task.devices[0].resources.journal() {
            journal.forget_calls(step);
        }
        self.task.steps.end(step);
        self.task.collectives.end_step(step);
    }

    /// Forgets the resources in containers; no container means the default one. A container may be one
    /// of a room: see `in_room`.
    pub async fn cleanup_all(&self, containers: &[String]) -> Result<()> {
        let unit = self.task.devices.first().and_then(|local| local.resources.begin_unit());
        for (number, local) in self.task.devices.iter().enumerate() {
            if containers.is_empty() {
                local.resources.cleanup("", unit.as_deref())?;
            }
            for container in containers {
                match container.split_once(WALL) {
                    None => local.resources.cleanup(container, unit.as_deref())?,
                    // A task without the room has nothing in it.
                    Some((room, container)) => {
                        if let Some(parts) = self.task.rooms.get(room) {
                            parts[number].cleanup(container, unit.as_deref())?;
                        }
                    }
                }
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
        let number = self
            .task
            .devices
            .iter()
            .position(|device| device.device.name.local().as_ref() == Some(&local))
            .ok_or_else(unknown)?;
        let device = &self.task.devices[number];
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
        let sent = device.resources.journal().map(|j| j.recall_sent(step, number as u32, key));
        match sent.flatten() {
            None => {}
            Some(Sent::Kept(parcel)) => return Ok(parcel),
            Some(Sent::Lost(Recalled::Cut)) => return Err(cut_off()),
            Some(Sent::Lost(Recalled::Done)) => return Err(self.not_kept(key)),
        }
        let visit = self.task.steps.visit(step);
        if let Some(parcel) = visit.state.kept.get(key) {
            return Ok(parcel);
        }
        match visit.state.rendezvous.recv(key)? {
            Delivery::Now(parcel) => Ok(parcel),
            Delivery::Later(_) if visit.state.kept.is_sent(key) => Err(unavailable!(
                "{} was fetched from {} before, and lost on the way",
                edge(key),
                self.task.name
            )),
            Delivery::Later(parcel) => visit.state.kept.wait(key, parcel).await,
        }
    }
}

/// What stands between a room and a container when masters speak of both.
const WALL: char = '\0';

/// How masters call a container of a room.
pub(crate) fn in_room(room: &str, container: &str) -> String {
    format!("{room}{WALL}{container}")
}

fn edge(key: &str) -> &str {
    ParsedKey::parse(key).map_or(key, |parsed| parsed.edge)
}

fn graph_not_found(handle: &str) -> tensorfleet_tensor::Error {
    aborted!("Graph handle is not found: {handle}").worker_restarted()
}
