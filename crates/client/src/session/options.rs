//! What a program asks of a session and of a step, and what a step tells about itself.

use std::time::Duration;

use tensorfleet_cluster as cluster;
use tensorfleet_cluster::spec::ClusterSpec;

/// What a program asks of a session.
///
/// ```
/// use std::time::Duration;
/// use tensorfleet_client::SessionOptions;
///
/// let options = SessionOptions::default()
///     .device_filter("/job:ps")
///     .device_filter("/job:worker/task:0")
///     .timeout(Duration::from_secs(10));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SessionOptions {
    device_filters: Vec<String>,
    timeout: Option<Duration>,
    isolate_state: bool,
    allow_soft_placement: bool,
    log_device_placement: bool,
    optimize: bool,
    threads: Option<usize>,
    cluster: Option<ClusterSpec>,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            device_filters: Vec::new(),
            timeout: None,
            isolate_state: false,
            allow_soft_placement: false,
            log_device_placement: false,
            optimize: true,
            threads: None,
            cluster: None,
        }
    }
}

impl SessionOptions {
    /// Lets the session see only the tasks that one of the filters names, as `/job:ps`. Tasks that
    /// it does not see are not waited for.
    pub fn device_filter(mut self, filter: impl Into<String>) -> SessionOptions {
        self.device_filters.push(filter.into());
        self
    }

    /// Limits how long opening the session, and each of its steps, may take.
    pub fn timeout(mut self, limit: Duration) -> SessionOptions {
        self.timeout = Some(limit);
        self
    }

    /// Keeps variables apart from those of other sessions, and forgets them with the session.
    pub fn isolate_state(mut self, isolate: bool) -> SessionOptions {
        self.isolate_state = isolate;
        self
    }

    /// Puts nodes on another device where the one asked for does not exist.
    pub fn allow_soft_placement(mut self, allow: bool) -> SessionOptions {
        self.allow_soft_placement = allow;
        self
    }

    /// Has the master write where it puts nodes into its log.
    pub fn log_device_placement(mut self, log: bool) -> SessionOptions {
        self.log_device_placement = log;
        self
    }

    /// Whether graphs may be rewritten to run faster; they may unless this says no.
    pub fn optimize(mut self, optimize: bool) -> SessionOptions {
        self.optimize = optimize;
        self
    }

    /// How many threads compute in a session in this process; as many as there are cores by default.
    pub fn threads(mut self, threads: usize) -> SessionOptions {
        self.threads = Some(threads);
        self
    }

    /// Replaces the cluster that the servers booted with.
    pub fn cluster(mut self, cluster: ClusterSpec) -> SessionOptions {
        self.cluster = Some(cluster);
        self
    }

    pub(super) fn num_threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(2, usize::from);
        self.threads.unwrap_or_else(all).max(1)
    }

    pub(super) fn to_cluster(&self) -> cluster::SessionOptions {
        let mut options = cluster::SessionOptions {
            device_filters: self.device_filters.clone(),
            isolate_session_state: self.isolate_state,
            timeout: self.timeout,
            cluster: self.cluster.clone(),
            ..cluster::SessionOptions::default()
        };
        options.plan.allow_soft_placement = self.allow_soft_placement;
        options.plan.log_device_placement = self.log_device_placement;
        options.plan.optimize = self.optimize;
        options
    }
}

/// How a program wants a step run.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RunOptions {
    trace: bool,
    timeout: Option<Duration>,
}

impl RunOptions {
    /// Records when each node ran, and for how long.
    pub fn trace(mut self, trace: bool) -> RunOptions {
        self.trace = trace;
        self
    }

    /// Limits how long the step may take.
    pub fn timeout(mut self, limit: Duration) -> RunOptions {
        self.timeout = Some(limit);
        self
    }

    pub(super) fn to_cluster(&self) -> cluster::RunOptions {
        cluster::RunOptions {
            trace: self.trace,
            timeout: self.timeout,
            ..cluster::RunOptions::default()
        }
    }
}

/// What a step recorded about itself.
#[derive(Clone, Debug, Default)]
pub struct RunMetadata {
    /// The nodes that ran, if the step was traced.
    pub nodes: Vec<NodeTrace>,
}

/// When and where a node ran.
#[derive(Clone, Debug)]
pub struct NodeTrace {
    /// The device.
    pub device: String,
    /// The node's name.
    pub name: String,
    /// Since the beginning of 1970.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
}

impl RunMetadata {
    pub(super) fn from_cluster(reply: &cluster::StepReply) -> RunMetadata {
        let nodes = reply.trace.iter().flat_map(|(device, records)| {
            records.iter().map(|record| NodeTrace {
                device: device.clone(),
                name: record.name.to_string(),
                start: record.start,
                duration: record.duration,
            })
        });
        RunMetadata { nodes: nodes.collect() }
    }
}
