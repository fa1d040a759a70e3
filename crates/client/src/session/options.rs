//! What a program asks of a session and of a step, and what a step tells about itself.

use std::time::Duration;

use tensorfleet_cluster as cluster;
use tensorfleet_cluster::spec::ClusterSpec;
use tensorfleet_server::Config;

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
    open_timeout: Option<Duration>,
    isolate_state: bool,
    allow_soft_placement: bool,
    log_device_placement: bool,
    optimize: bool,
    threads: Option<usize>,
    limits: cluster::Threads,
    pools: Vec<Option<usize>>,
    cluster: Option<ClusterSpec>,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            device_filters: Vec::new(),
            timeout: None,
            open_timeout: None,
            isolate_state: false,
            allow_soft_placement: false,
            log_device_placement: false,
            optimize: true,
            threads: None,
            limits: cluster::Threads::default(),
            pools: Vec::new(),
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

    /// Limits how long opening the session may take, in which servers that are not up yet are waited
    /// for.
    pub fn open_timeout(mut self, limit: Duration) -> SessionOptions {
        self.open_timeout = Some(limit);
        self
    }

    pub(super) fn open_limit(&self) -> Option<Duration> {
        self.open_timeout
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

    /// How many nodes of a step run at once, on each task; as many as it has threads by default.
    pub fn inter_op_threads(mut self, limit: usize) -> SessionOptions {
        self.limits.inter_op = Some(limit.max(1));
        self
    }

    /// How many threads one node computes on; all of its task's by default.
    pub fn intra_op_threads(mut self, limit: usize) -> SessionOptions {
        self.limits.intra_op = Some(limit.max(1));
        self
    }

    /// Adds a pool that steps may choose with [`RunOptions::thread_pool`], as small ones that shall
    /// not wait behind large ones. Pools count from 0 in the order in which they are added; `None`
    /// takes as many threads as there are.
    pub fn thread_pool(mut self, threads: impl Into<Option<usize>>) -> SessionOptions {
        self.pools.push(threads.into().map(|count| count.max(1)));
        self
    }

    /// Replaces the cluster that the servers booted with.
    pub fn cluster(mut self, cluster: ClusterSpec) -> SessionOptions {
        self.cluster = Some(cluster);
        self
    }

    /// The threads of a session in this process.
    pub(super) fn host_config(&self) -> Config {
        match self.threads {
            Some(count) => Config::default().threads(count),
            None => Config::default(),
        }
    }

    pub(super) fn to_cluster(&self) -> cluster::SessionOptions {
        let mut options = cluster::SessionOptions {
            device_filters: self.device_filters.clone(),
            isolate_session_state: self.isolate_state,
            timeout: self.timeout,
            cluster: self.cluster.clone(),
            threads: self.limits,
            thread_pools: self.pools.clone(),
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
    thread_pool: Option<u16>,
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

    /// Runs the step on one of the pools that [`SessionOptions::thread_pool`] has added; on the first
    /// by default.
    pub fn thread_pool(mut self, number: u16) -> RunOptions {
        self.thread_pool = Some(number);
        self
    }

    pub(super) fn to_cluster(&self) -> cluster::RunOptions {
        cluster::RunOptions {
            inter_op_thread_pool: self.thread_pool.map_or(0, i32::from),
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
