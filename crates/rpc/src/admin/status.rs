//! What a task knows of itself: the one model that status, metrics and health are read from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tensorfleet_cluster::spec::ServerSpec;
use tensorfleet_cluster::{Master, SessionSummary, Task, Worker};
use tokio::sync::watch;

use crate::activity::{Activity, Work};

/// Looks into a running server.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) spec: Arc<ServerSpec>,
    pub(crate) task: Arc<Task>,
    pub(crate) worker: Arc<Worker>,
    pub(crate) master: Arc<Master>,
    pub(crate) activity: Arc<Activity>,
    pub(crate) stop: watch::Receiver<bool>,
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
    pub(super) contexts: Vec<String>,
    /// What masters, this one's included, keep here.
    pub(super) worker_sessions: usize,
    pub(super) graphs: usize,
    /// Steps that hold tensors here, or wait for some.
    pub(super) open_steps: usize,
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
    age_seconds: f64,
    idle_seconds: f64,
    steps: u64,
    nodes: usize,
    plans: usize,
    tasks: usize,
}

impl From<SessionSummary> for SessionStatus {
    fn from(summary: SessionSummary) -> SessionStatus {
        let SessionSummary { handle, age, idle, steps, nodes, plans, tasks } = summary;
        let (age_seconds, idle_seconds) = (age.as_secs_f64(), idle.as_secs_f64());
        SessionStatus { handle, age_seconds, idle_seconds, steps, nodes, plans, tasks }
    }
}

impl View {
    /// Whether the task takes new steps.
    pub fn is_ready(&self) -> bool {
        self.state() == "serving"
    }

    fn state(&self) -> &'static str {
        if *self.stop.borrow() {
            "stopping"
        } else if self.activity.is_draining() {
            "draining"
        } else {
            "serving"
        }
    }

    /// The status as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.status())
            .unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))
    }

    /// The status for Prometheus.
    pub fn metrics(&self) -> String {
        super::metrics::render(&self.status())
    }

    fn status(&self) -> TaskStatus {
        let (worker_sessions, graphs) = self.worker.held();
        let seconds = |duration: Result<Duration, _>| duration.unwrap_or_default().as_secs_f64();
        TaskStatus {
            task: self.task.name.to_string(),
            state: self.state(),
            version: env!("CARGO_PKG_VERSION"),
            process: std::process::id(),
            started_seconds: seconds(self.activity.started.duration_since(UNIX_EPOCH)),
            uptime_seconds: seconds(SystemTime::now().duration_since(self.activity.started)),
            memory_bytes: resident_bytes(),
            cluster: self.cluster(),
            devices: self.devices(),
            work: Work::ALL.iter().map(|&work| (work.name(), self.work(work))).collect(),
            errors: self.activity.errors().map(|(code, count)| (code.name(), count)).collect(),
            sessions: self.master.sessions().into_iter().map(SessionStatus::from).collect(),
            contexts: self.worker.contexts().ids().iter().map(|id| format!("{id:x}")).collect(),
            worker_sessions,
            graphs,
            open_steps: self.task.steps.len(),
        }
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
