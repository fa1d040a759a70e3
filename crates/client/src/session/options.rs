//! What a program asks of a session and of a step, and what a step tells about itself.

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_cluster as cluster;
use tensorfleet_security::Credentials;
use tensorfleet_server::Config;
use tensorfleet_spec::ClusterSpec;

use super::patience::{self, Listener};

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
    pub(super) listener: Listener,
    isolate_state: bool,
    allow_soft_placement: bool,
    log_device_placement: bool,
    optimize: bool,
    threads: Option<usize>,
    limits: cluster::Threads,
    pools: Vec<Option<usize>>,
    cluster: Option<ClusterSpec>,
    pub(super) credentials: Option<Arc<Credentials>>,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            device_filters: Vec::new(),
            timeout: None,
            open_timeout: None,
            listener: Listener::default(),
            isolate_state: false,
            allow_soft_placement: false,
            log_device_placement: false,
            optimize: true,
            threads: None,
            limits: cluster::Threads::default(),
            pools: Vec::new(),
            cluster: None,
            credentials: None,
        }
    }
}

impl SessionOptions {
    /// Lets the session see only the tasks that one of the filters names, as `/job:ps`. Tasks that
    /// it does not see are not waited for.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    /// use tensorfleet_server::{Config, create_local_cluster};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let config = Config::default();
    /// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
    /// let options = SessionOptions::default()
    ///     .device_filter("/job:ps")
    ///     .device_filter("/job:worker/task:0");
    /// let session =
    ///     Session::connect_with(&cluster.workers[0].target(), &Graph::new(), &options)?;
    /// let devices = session.devices()?;
    /// // One device of each task that it sees.
    /// assert_eq!(devices.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn device_filter(mut self, filter: impl Into<String>) -> SessionOptions {
        self.device_filters.push(filter.into());
        self
    }

    /// Limits how long opening the session, and each of its steps, may take.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::{Code, DType, Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let queue = graph.op("FIFOQueueV2").attr("component_types", vec![DType::Int32]).output();
    /// let wait = graph.op("QueueDequeueV2").input(&queue);
    /// let wait = wait.attr("component_types", vec![DType::Int32]).build();
    /// let options = SessionOptions::default().timeout(Duration::from_millis(50));
    /// let session = Session::in_process(&graph, &options)?;
    /// assert_eq!(session.run((), &wait).unwrap_err().code(), Code::DeadlineExceeded);
    /// # Ok(())
    /// # }
    /// ```
    pub fn timeout(mut self, limit: Duration) -> SessionOptions {
        self.timeout = Some(limit);
        self
    }

    /// Limits how long opening the session may take, in which servers that are not up yet are waited
    /// for. By default the limit is that of [`SessionOptions::timeout`], or a minute.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::{Code, Graph, Session, SessionOptions};
    ///
    /// let options = SessionOptions::default().open_timeout(Duration::from_millis(10));
    /// let opened = Session::connect_with("grpc://localhost:1", &Graph::new(), &options);
    /// assert_eq!(opened.unwrap_err().code(), Code::DeadlineExceeded);
    /// ```
    pub fn open_timeout(mut self, limit: Duration) -> SessionOptions {
        self.open_timeout = Some(limit);
        self
    }

    pub(super) fn open_limit(&self) -> Duration {
        self.open_timeout.unwrap_or_else(|| match self.timeout {
            // The server was told of this one, and its answer says more.
            Some(timeout) => timeout.saturating_add(patience::WAY_BACK),
            None => patience::DEFAULT,
        })
    }

    /// Has a function told who is waited for while the session is opened, in place of
    /// [`notice`](crate::notice). Sessions that are opened with clones of these options tell each line
    /// once.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use std::time::Duration;
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    ///
    /// let told = Arc::new(Mutex::new(Vec::new()));
    /// let list = Arc::clone(&told);
    /// let options = SessionOptions::default()
    ///     .open_timeout(Duration::from_millis(10))
    ///     .on_wait(move |text| list.lock().expect("nobody panics").push(text.to_owned()));
    /// assert!(Session::connect_with("grpc://localhost:1", &Graph::new(), &options).is_err());
    /// // Ten milliseconds are not worth a word.
    /// assert!(told.lock().expect("nobody panics").is_empty());
    /// ```
    pub fn on_wait(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> SessionOptions {
        self.listener = Listener::new(listener);
        self
    }

    /// Keeps variables apart from those of other sessions, and forgets them with the session.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let own = SessionOptions::default().isolate_state(true);
    /// let alone = Session::connect_with(&server.target(), &graph, &own)?;
    /// alone.run((), &graph.initializer())?;
    /// // Others do not see its variables.
    /// let other = Session::connect(&server.target(), &graph)?;
    /// assert!(other.run((), &w).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn isolate_state(mut self, isolate: bool) -> SessionOptions {
        self.isolate_state = isolate;
        self
    }

    /// Puts nodes on another device where the one asked for does not exist.
    ///
    /// ```
    /// use tensorfleet_client::{Code, Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.device("/device:GPU:0", || graph.constant(1.0f32) + 1.0);
    /// let strict = Session::new(&graph)?;
    /// assert_eq!(strict.run((), &x).unwrap_err().code(), Code::InvalidArgument);
    /// let soft = SessionOptions::default().allow_soft_placement(true);
    /// assert_eq!(Session::in_process(&graph, &soft)?.run((), x.value::<f32>())?, 2.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn allow_soft_placement(mut self, allow: bool) -> SessionOptions {
        self.allow_soft_placement = allow;
        self
    }

    /// Has the master write where it puts nodes into its log.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let sum = graph.constant([1.0f32, 2.0]).sum();
    /// let options = SessionOptions::default().log_device_placement(true);
    /// let session = Session::in_process(&graph, &options)?;
    /// assert_eq!(session.run((), sum.value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn log_device_placement(mut self, log: bool) -> SessionOptions {
        self.log_device_placement = log;
        self
    }

    /// Whether graphs may be rewritten to run faster; they may unless this says no.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// // As when looking for which node a number comes from.
    /// let graph = Graph::new();
    /// let sum = graph.constant([1.0f32, 2.0]).sum();
    /// let options = SessionOptions::default().optimize(false);
    /// let session = Session::in_process(&graph, &options)?;
    /// assert_eq!(session.run((), sum.value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn optimize(mut self, optimize: bool) -> SessionOptions {
        self.optimize = optimize;
        self
    }

    /// How many threads compute in a session in this process; as many as there are cores by default.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let sum = graph.constant([1.0f32, 2.0]).sum();
    /// let options = SessionOptions::default().threads(2);
    /// let session = Session::in_process(&graph, &options)?;
    /// assert_eq!(session.run((), sum.value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn threads(mut self, threads: usize) -> SessionOptions {
        self.threads = Some(threads);
        self
    }

    /// How many nodes of a step run at once, on each task; as many as it has threads by default.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let sum = graph.constant([1.0f32, 2.0]).sum();
    /// let options = SessionOptions::default().inter_op_threads(1);
    /// let session = Session::in_process(&graph, &options)?;
    /// assert_eq!(session.run((), sum.value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn inter_op_threads(mut self, limit: usize) -> SessionOptions {
        self.limits.inter_op = Some(limit.max(1));
        self
    }

    /// How many threads one node computes on; all of its task's by default.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let sum = graph.constant([1.0f32, 2.0]).sum();
    /// let options = SessionOptions::default().intra_op_threads(1);
    /// let session = Session::in_process(&graph, &options)?;
    /// assert_eq!(session.run((), sum.value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn intra_op_threads(mut self, limit: usize) -> SessionOptions {
        self.limits.intra_op = Some(limit.max(1));
        self
    }

    /// Adds a pool that steps may choose with [`RunOptions::thread_pool`], as small ones that shall
    /// not wait behind large ones. Pools count from 0 in the order in which they are added; `None`
    /// takes as many threads as there are.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, RunOptions, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let sum = graph.constant([1.0f32, 2.0]).sum();
    /// // Pool 0 with all threads, pool 1 with one.
    /// let options = SessionOptions::default().thread_pool(None).thread_pool(1);
    /// let session = Session::in_process(&graph, &options)?;
    /// let small = RunOptions::default().thread_pool(1);
    /// assert_eq!(session.run_with(&small, (), sum.value::<f32>())?.0, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn thread_pool(mut self, threads: impl Into<Option<usize>>) -> SessionOptions {
        self.pools.push(threads.into().map(|count| count.max(1)));
        self
    }

    /// Replaces the cluster that the servers booted with.
    ///
    /// ```
    /// use tensorfleet_client::{ClusterSpec, Graph, Session, SessionOptions};
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// let address = server.target().replace("grpc://", "");
    /// let cluster = ClusterSpec::from_lists([("worker", vec![address])])?;
    /// let options = SessionOptions::default().cluster(cluster);
    /// let session = Session::connect_with(&server.target(), &Graph::new(), &options)?;
    /// assert!(session.devices()?[0].name.to_string().starts_with("/job:worker/replica:0/task:0"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn cluster(mut self, cluster: ClusterSpec) -> SessionOptions {
        self.cluster = Some(cluster);
        self
    }

    /// Shows these credentials to a server of a `grpcs://` target. Without them they come from the files
    /// that the environment variables `TENSORFLEET_TLS_CA`, `TENSORFLEET_TLS_CERT`,
    /// `TENSORFLEET_TLS_KEY` and `TENSORFLEET_TOKEN_FILE` name.
    ///
    /// ```no_run
    /// use tensorfleet_client::{Credentials, Files, Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let files = Files {
    ///     authorities: "certs/ca.pem".into(),
    ///     token: Some("alice.token".into()),
    ///     ..Files::default()
    /// };
    /// let options = SessionOptions::default().credentials(Credentials::load(files)?);
    /// let session =
    ///     Session::connect_with("grpcs://trainer.example:2222", &Graph::new(), &options)?;
    /// # drop(session);
    /// # Ok(())
    /// # }
    /// ```
    pub fn credentials(mut self, credentials: Arc<Credentials>) -> SessionOptions {
        self.credentials = Some(credentials);
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
///
/// ```
/// use std::time::Duration;
/// use tensorfleet_client::{Graph, RunOptions, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let sum = graph.constant([1.0f32, 2.0]).sum();
/// let session = Session::new(&graph)?;
/// let options = RunOptions::default().trace(true).timeout(Duration::from_secs(60));
/// let (value, metadata) = session.run_with(&options, (), sum.value::<f32>())?;
/// assert_eq!(value, 3.0);
/// # drop(metadata);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RunOptions {
    trace: bool,
    timeout: Option<Duration>,
    thread_pool: Option<u16>,
}

impl RunOptions {
    /// Records when each node ran, and for how long.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, RunOptions, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([]);
    /// let y = x.square();
    /// let session = Session::new(&graph)?;
    /// let options = RunOptions::default().trace(true);
    /// let metadata = session.run_with(&options, (&x, 2.0f32), &y)?.1;
    /// assert!(metadata.nodes.iter().any(|node| node.name == "Square"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn trace(mut self, trace: bool) -> RunOptions {
        self.trace = trace;
        self
    }

    /// Limits how long the step may take.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::{Code, DType, Graph, RunOptions, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let queue = graph.op("FIFOQueueV2").attr("component_types", vec![DType::Int32]).output();
    /// let wait = graph.op("QueueDequeueV2").input(&queue);
    /// let wait = wait.attr("component_types", vec![DType::Int32]).build();
    /// let session = Session::new(&graph)?;
    /// let options = RunOptions::default().timeout(Duration::from_millis(50));
    /// let error = session.run_with(&options, (), &wait).unwrap_err();
    /// assert_eq!(error.code(), Code::DeadlineExceeded);
    /// # Ok(())
    /// # }
    /// ```
    pub fn timeout(mut self, limit: Duration) -> RunOptions {
        self.timeout = Some(limit);
        self
    }

    /// Runs the step on one of the pools that [`SessionOptions::thread_pool`] has added; on the first
    /// by default.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, RunOptions, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let sum = graph.constant([1.0f32, 2.0]).sum();
    /// let options = SessionOptions::default().thread_pool(None).thread_pool(1);
    /// let session = Session::in_process(&graph, &options)?;
    /// let small = RunOptions::default().thread_pool(1);
    /// assert_eq!(session.run_with(&small, (), sum.value::<f32>())?.0, 3.0);
    /// # Ok(())
    /// # }
    /// ```
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
///
/// ```
/// use tensorfleet_client::{Graph, RunMetadata, RunOptions, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([]);
/// let y = x.square();
/// let session = Session::new(&graph)?;
/// let options = RunOptions::default().trace(true);
/// let metadata: RunMetadata = session.run_with(&options, (&x, 2.0f32), &y)?.1;
/// let longest = metadata.nodes.iter().max_by_key(|node| node.duration);
/// assert!(longest.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunMetadata {
    /// The nodes that ran, if the step was traced.
    pub nodes: Vec<NodeTrace>,
}

/// When and where a node ran.
///
/// ```
/// use tensorfleet_client::{Graph, NodeTrace, RunMetadata, RunOptions, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([]);
/// let y = x.square();
/// let session = Session::new(&graph)?;
/// let options = RunOptions::default().trace(true);
/// let metadata: RunMetadata = session.run_with(&options, (&x, 2.0f32), &y)?.1;
/// for NodeTrace { device, name, duration, .. } in &metadata.nodes {
///     println!("{name} took {duration:?} on {device}");
/// }
/// # assert!(!metadata.nodes.is_empty());
/// # Ok(())
/// # }
/// ```
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
