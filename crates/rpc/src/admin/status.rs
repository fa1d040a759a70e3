//! What a task knows of itself: the one model that status, metrics and health are read from.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tensorfleet_cluster::eager::ContextSummary;
use tensorfleet_cluster::{Event, Master, SessionSummary, Task, Worker};
use tensorfleet_framework::DeviceName;
use tensorfleet_journal::DurableJournal;
use tensorfleet_security::Credentials;
use tensorfleet_spec::ServerSpec;
use tensorfleet_tensor::account::Account;
use tensorfleet_tensor::pooled_bytes;
use tensorfleet_transport::Memory;
use tokio::sync::watch;

use super::inventory::{Inventory, ResourceStatus, Total};
use super::journal::JournalStatus;
use super::metrics::MetricsFormat;
use super::scalars::Curve;
use super::steps::{StepStatus, step_statuses};
use super::{LogTail, Scalars};
use crate::activity::{Activity, Work};
use crate::peers::ClusterPeers;
use crate::worker_client::PeerReport;

/// How many events a status has.
const EVENTS: usize = 64;

/// Looks into a running server.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) spec: Arc<ServerSpec>,
    pub(crate) task: Arc<Task>,
    pub(crate) worker: Arc<Worker>,
    pub(crate) master: Arc<Master>,
    pub(crate) activity: Arc<Activity>,
    pub(crate) peers: Arc<ClusterPeers>,
    /// What connections hold.
    pub(crate) connections: Arc<Memory>,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) logs: Arc<LogTail>,
    pub(crate) scalars: Arc<Scalars>,
    /// What keeps the task's state, if something does.
    pub(crate) journal: Weak<DurableJournal>,
    pub(crate) credentials: Option<Arc<Credentials>>,
}

/// A task at one moment.
#[derive(Debug, Serialize)]
pub(super) struct TaskStatus {
    pub(super) task: String,
    pub(super) state: &'static str,
    pub(super) version: &'static str,
    pub(super) process: u32,
    /// Since 1970.
    pub(super) started_seconds: f64,
    pub(super) uptime_seconds: f64,
    pub(super) memory_bytes: u64,
    pub(super) cluster: BTreeMap<String, BTreeMap<u32, String>>,
    pub(super) devices: Vec<DeviceStatus>,
    /// By kind: steps of own sessions, parts of others' steps, calls of eager contexts.
    pub(super) work: BTreeMap<&'static str, WorkStatus>,
    /// Failures by code.
    pub(super) errors: BTreeMap<&'static str, u64>,
    pub(super) sessions: Vec<SessionStatus>,
    pub(super) contexts: Vec<ContextStatus>,
    /// What masters, this one's included, keep here.
    pub(super) worker_sessions: usize,
    pub(super) graphs: usize,
    /// Steps that hold tensors here, or wait for some.
    pub(super) open_steps: usize,
    /// Those steps, the oldest first, up to a number.
    pub(super) steps: Vec<StepStatus>,
    /// Variables, tables, queues and others, by kind.
    pub(super) resources: BTreeMap<&'static str, Total>,
    /// The largest of them, and those that change most.
    pub(super) top_resources: Vec<ResourceStatus>,
    /// How far what is kept is kept, on a task with a data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) journal: Option<JournalStatus>,
    /// The other tasks of the cluster.
    pub(super) peers: Vec<PeerStatus>,
    pub(super) rendezvous: RendezvousStatus,
    pub(super) pools: PoolStatus,
    /// Bytes by what holds them; `resident` is the whole process.
    pub(super) memory: BTreeMap<&'static str, u64>,
    /// Memory of tensors by identity, and what all may hold together.
    pub(super) held: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory_limit_bytes: Option<u64>,
    /// When the first certificate or authority ends, since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) certificate_end_seconds: Option<f64>,
    /// The latest, the oldest first.
    pub(super) events: Vec<EventStatus>,
    /// What programs told of their training.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) scalars: BTreeMap<String, Curve>,
}

#[derive(Debug, Serialize)]
pub(super) struct ContextStatus {
    /// As text, in the digits that the log has.
    id: String,
    owner: String,
    /// From where it was opened.
    client: String,
    view: u64,
    age_seconds: f64,
    idle_seconds: f64,
    calls: u64,
    under_way: usize,
    pub(super) tensors: usize,
    pub(super) functions: usize,
    /// Parts of functions that run here for others.
    pub(super) components: usize,
}

/// Another task as this one knows it.
#[derive(Debug, Serialize)]
pub(super) struct PeerStatus {
    task: String,
    address: String,
    /// `unused`, `up`, `lost`, `awaited` for a durable one that is away, or `neighbour` for one in
    /// this process.
    pub(super) state: &'static str,
    /// For how long it has been waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    away_seconds: Option<f64>,
    /// Calls that wait for it.
    pub(super) waiting: usize,
    link: &'static str,
    link_sent_bytes: u64,
    link_received_bytes: u64,
}

/// All steps' tensors that wait for somebody, or that somebody waits for.
#[derive(Debug, Default, Serialize)]
pub(super) struct RendezvousStatus {
    pub(super) held: usize,
    pub(super) held_bytes: usize,
    pub(super) awaited: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct PoolStatus {
    pub(super) compute_threads: usize,
    pub(super) compute_waiting: usize,
    pub(super) files_running: usize,
    pub(super) files_waiting: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct EventStatus {
    number: u64,
    /// Since 1970.
    time_seconds: f64,
    kind: &'static str,
    text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct DeviceStatus {
    name: String,
    /// As text: JSON's readers have no integers of 64 bits.
    incarnation: String,
}

#[derive(Debug, Serialize)]
pub(super) struct WorkStatus {
    pub(super) running: u64,
    pub(super) done: u64,
    pub(super) failed: u64,
    pub(super) seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct SessionStatus {
    handle: String,
    owner: String,
    /// From where it was opened.
    client: String,
    age_seconds: f64,
    idle_seconds: f64,
    steps: u64,
    nodes: usize,
    plans: usize,
    tasks: usize,
}

impl From<SessionSummary> for SessionStatus {
    fn from(summary: SessionSummary) -> SessionStatus {
        let SessionSummary { handle, client, steps, nodes, plans, tasks, .. } = summary;
        SessionStatus {
            handle,
            owner: summary.owner.to_string(),
            client,
            age_seconds: summary.age.as_secs_f64(),
            idle_seconds: summary.idle.as_secs_f64(),
            steps,
            nodes,
            plans,
            tasks,
        }
    }
}

impl From<ContextSummary> for ContextStatus {
    fn from(summary: ContextSummary) -> ContextStatus {
        let ContextSummary { id, client, view, calls, under_way, tensors, functions, .. } = summary;
        ContextStatus {
            id: format!("{id:x}"),
            owner: summary.owner.to_string(),
            client,
            view,
            age_seconds: summary.age.as_secs_f64(),
            idle_seconds: summary.idle.as_secs_f64(),
            calls,
            under_way,
            tensors,
            functions,
            components: summary.components,
        }
    }
}

/// How a task is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uses {
    /// Work under way.
    pub running: u64,
    /// Work that has begun, and sessions and contexts that are open: it changes with every use.
    pub count: u64,
}

impl View {
    /// Whether the task takes new steps, and threads are there for them.
    pub fn is_ready(&self) -> bool {
        self.state() == "serving"
    }

    /// Whether the threads that compute make progress.
    pub fn makes_progress(&self) -> bool {
        !self.activity.is_stalled()
    }

    /// How the task is used.
    pub fn uses(&self) -> Uses {
        let (worker_sessions, graphs) = self.worker.held();
        let open = worker_sessions
            + graphs
            + self.master.sessions().len()
            + self.worker.contexts().summaries().len();
        Uses { running: self.activity.running(), count: self.activity.begun() + open as u64 }
    }

    fn state(&self) -> &'static str {
        if *self.stop.borrow() {
            "stopping"
        } else if self.activity.is_draining() {
            "draining"
        } else if self.activity.is_stalled() {
            "stalled"
        } else {
            "serving"
        }
    }

    /// The status as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.status())
            .unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))
    }

    /// The status for what watches servers.
    pub fn metrics(&self, format: MetricsFormat) -> String {
        super::metrics::render(&self.status(), format)
    }

    fn status(&self) -> TaskStatus {
        let (worker_sessions, graphs) = self.worker.held();
        let seconds = |duration: Result<Duration, _>| duration.unwrap_or_default().as_secs_f64();
        let running = self.task.steps.look();
        let rendezvous = RendezvousStatus {
            held: running.iter().map(|step| step.look.held).sum(),
            held_bytes: running.iter().map(|step| step.look.held_bytes).sum(),
            awaited: running.iter().map(|step| step.look.awaited.len()).sum(),
        };
        let inventory = Inventory::of(&self.task);
        let memory = self.memory(&inventory, rendezvous.held_bytes);
        let ledger = &self.task.ledger;
        let limit = ledger.quotas.memory;
        let identity = |account: &Arc<Account>| (account.name().to_owned(), account.used() as u64);
        let end = self.credentials.as_ref().and_then(|credentials| credentials.first_end());
        TaskStatus {
            task: self.task.name.to_string(),
            state: self.state(),
            version: env!("CARGO_PKG_VERSION"),
            process: std::process::id(),
            started_seconds: seconds(self.activity.started.duration_since(UNIX_EPOCH)),
            uptime_seconds: seconds(SystemTime::now().duration_since(self.activity.started)),
            memory_bytes: memory.get("resident").copied().unwrap_or(0),
            cluster: self.cluster(),
            devices: self.devices(),
            work: Work::ALL.iter().map(|&work| (work.name(), self.work(work))).collect(),
            errors: self.activity.errors().map(|(code, count)| (code.name(), count)).collect(),
            sessions: self.master.sessions().into_iter().map(SessionStatus::from).collect(),
            contexts: self
                .worker
                .contexts()
                .summaries()
                .into_iter()
                .map(ContextStatus::from)
                .collect(),
            worker_sessions,
            graphs,
            open_steps: running.len(),
            steps: step_statuses(running),
            resources: inventory.totals,
            top_resources: inventory.top,
            journal: JournalStatus::of(&self.journal),
            peers: self.peers(),
            rendezvous,
            pools: self.pools(),
            memory,
            held: ledger.task().members().iter().map(identity).collect(),
            memory_limit_bytes: (limit != usize::MAX).then_some(limit as u64),
            certificate_end_seconds: end.map(|end| seconds(end.duration_since(UNIX_EPOCH))),
            events: self.events(),
            scalars: self.scalars.curves(),
        }
    }

    fn memory(&self, inventory: &Inventory, rendezvous: usize) -> BTreeMap<&'static str, u64> {
        let mut memory = BTreeMap::from([
            ("resident", resident_bytes()),
            ("rendezvous", rendezvous as u64),
            // Of all servers of the process.
            ("free_blocks", pooled_bytes() as u64),
            ("connections", self.connections.used() as u64),
        ]);
        memory.extend(inventory.totals.iter().map(|(kind, total)| (*kind, total.bytes)));
        memory
    }

    fn peers(&self) -> Vec<PeerStatus> {
        let others = self.peers.report().into_iter().filter(|(task, ..)| *task != self.task.name);
        let (absent, now) = (self.task.absences.look(), self.task.world.now());
        let status = |(task, address, report): (DeviceName, String, Option<PeerReport>)| {
            let absence = absent.get(&task.to_string());
            let state = match &report {
                _ if absence.is_some() => "awaited",
                None if self.peers.is_neighbour(&task, &address) => "neighbour",
                None => "unused",
                Some(report) if report.is_lost => "lost",
                Some(_) => "up",
            };
            let link = report.as_ref().map(|report| &report.link);
            PeerStatus {
                task: task.to_string(),
                address,
                state,
                away_seconds: absence
                    .map(|absence| now.saturating_duration_since(absence.since).as_secs_f64()),
                waiting: report.as_ref().map_or(0, |report| report.waiting)
                    + absence.map_or(0, |absence| absence.waiting),
                link: link.map_or("unused", |link| link.state),
                link_sent_bytes: link.map_or(0, |link| link.sent),
                link_received_bytes: link.map_or(0, |link| link.received),
            }
        };
        others.map(status).collect()
    }

    fn pools(&self) -> PoolStatus {
        let files = self.task.pool.file_report();
        PoolStatus {
            compute_threads: self.task.pool.threads(),
            compute_waiting: self.task.pool.waiting(),
            files_running: files.running,
            files_waiting: files.waiting,
        }
    }

    fn events(&self) -> Vec<EventStatus> {
        let latest = self.task.events.latest();
        let skipped = latest.len().saturating_sub(EVENTS);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let status = |event: Event| EventStatus {
            number: event.number,
            time_seconds: now.saturating_sub(event.at.elapsed()).as_secs_f64(),
            kind: event.kind.name(),
            text: event.text,
        };
        latest.into_iter().skip(skipped).map(status).collect()
    }

    fn cluster(&self) -> BTreeMap<String, BTreeMap<u32, String>> {
        let cluster = self.spec.cluster();
        let tasks = |job| cluster.tasks_of(job).map(|(index, at)| (index, at.to_owned())).collect();
        cluster.jobs().map(|job| (job.to_owned(), tasks(job))).collect()
    }

    fn devices(&self) -> Vec<DeviceStatus> {
        let status = |device: tensorfleet_planner::Device| DeviceStatus {
            name: device.name.to_string(),
            incarnation: device.incarnation.to_string(),
        };
        self.worker.devices().into_iter().map(status).collect()
    }

    fn work(&self, work: Work) -> WorkStatus {
        let tally = self.activity.tally(work);
        let (running, done, failed, seconds) =
            (tally.running, tally.done, tally.failed, tally.seconds);
        WorkStatus { running, done, failed, seconds }
    }
}

/// The memory of the process that is not on disk; nothing where the system does not tell.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
