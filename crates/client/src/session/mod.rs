//! Sessions: run graphs in this process or on a cluster.

mod backend;
mod callable;
mod feed;
mod fetch;
pub mod monitored;
mod options;
mod patience;
mod tuples;

use std::fmt;
use std::future::Future;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tensorfleet_cluster::client::MasterClient;
use tensorfleet_cluster::{LocalMaster, StepCall, StepReply};
use tensorfleet_planner::Device;
use tensorfleet_rpc::RemoteMaster;
use tensorfleet_server::Host;
use tensorfleet_tensor::{Error, Result, Tensor, cancelled, unavailable};
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio::task::JoinHandle;

pub use self::callable::{Callable, Values};
pub use self::feed::{Feed, Feeds};
use self::fetch::Wanted;
pub use self::fetch::{Fetch, FetchedAs, Fetches, Reply, Typed};
pub use self::monitored::MonitoredSession;
pub use self::options::{NodeTrace, RunMetadata, RunOptions, SessionOptions};

use self::backend::Backend;
use self::patience::Search;
use crate::graph::Graph;
use crate::output::Operation;

/// Runs steps of a graph. Nodes that the graph gains later are sent along with the next step.
///
/// Dropping a session closes it. What it has put into variables stays on the servers.
///
/// ```
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([]);
/// let session = Session::new(&graph)?;
/// // The session learns of this node with its next step.
/// let y = &x + 1.0;
/// assert_eq!(session.run((&x, 2.0f32), y.value::<f32>())?, 3.0);
/// # Ok(())
/// # }
/// ```
pub struct Session {
    backend: Arc<Backend>,
    graph: Graph,
    threads: Threads,
}

/// How long a session that is dropped waits for the servers to say goodbye.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Session {
    /// Opens a session in this process, with no server and no network.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let hello = graph.constant("hello");
    /// assert_eq!(Session::new(&graph)?.run((), hello.value::<String>())?, "hello");
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(graph: &Graph) -> Result<Session> {
        Session::in_process(graph, &SessionOptions::default())
    }

    /// Opens a session in this process.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, SessionOptions};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let sum = graph.constant([1.0f32, 2.0]).sum();
    /// let session = Session::in_process(&graph, &SessionOptions::default().threads(1))?;
    /// assert_eq!(session.run((), sum.value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_process(graph: &Graph, options: &SessionOptions) -> Result<Session> {
        graph.check()?;
        let host = options.host_config().host()?;
        let master = Arc::new(LocalMaster(host.lone_master()));
        Session::open(graph, master, "in this process", Threads::Host(host), options)
    }

    /// Opens a session on a tensorfleet or TensorFlow server, as `grpc://localhost:2222`, or over TLS,
    /// as `grpcs://trainer.example:2222`. A server that is not up yet is waited for, a minute at most;
    /// after two seconds a [`notice`](crate::notice) says for whom.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// let graph = Graph::new();
    /// let hello = graph.constant("hello");
    /// let session = Session::connect(&server.target(), &graph)?;
    /// assert_eq!(session.run((), hello.value::<String>())?, "hello");
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(target: &str, graph: &Graph) -> Result<Session> {
        Session::connect_with(target, graph, &SessionOptions::default())
    }

    /// Opens a session on a tensorfleet or TensorFlow server.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::{Code, Graph, Session, SessionOptions};
    ///
    /// let graph = Graph::new();
    /// // Nobody listens there, and this program does not wait for ever.
    /// let options = SessionOptions::default().open_timeout(Duration::from_millis(10));
    /// let error = Session::connect_with("grpc://localhost:1", &graph, &options).unwrap_err();
    /// assert_eq!(error.code(), Code::DeadlineExceeded);
    /// ```
    pub fn connect_with(target: &str, graph: &Graph, options: &SessionOptions) -> Result<Session> {
        graph.check()?;
        // A runtime of its own: the program may have none, or one that must not be blocked.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("tensorfleet-session")
            .enable_all()
            .build()
            .map_err(|error| unavailable!("threads cannot be started: {error}"))?;
        let master = RemoteMaster::new(target, options.credentials.as_ref(), runtime.handle())?;
        Session::open(graph, Arc::new(master), target, Threads::Own(Some(runtime)), options)
    }

    fn open(
        graph: &Graph,
        master: Arc<dyn MasterClient>,
        place: &str,
        threads: Threads,
        options: &SessionOptions,
    ) -> Result<Session> {
        let search = Search {
            master: Arc::clone(&master),
            place: place.to_owned(),
            options: options.to_cluster(),
            listener: options.listener.clone(),
            handle: threads.handle().clone(),
        };
        let opening = Backend::open(&*master, graph, options.to_cluster());
        let backend =
            wait(threads.handle(), patience::within(options.open_limit(), opening, search))?;
        options.listener.forget();
        Ok(Session { backend: Arc::new(backend), graph: graph.clone(), threads })
    }

    fn handle(&self) -> &Handle {
        self.threads.handle()
    }

    /// The graph.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// assert!(Session::new(&graph)?.graph().is_same(&graph));
    /// # Ok(())
    /// # }
    /// ```
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Runs a step: feeds tensors, computes what is fetched, and returns it.
    ///
    /// Feeds are `()`, a pair of an output and a value, or several of those in a tuple, an array or
    /// a vector. Fetches are outputs (fetched as tensors), `output.value::<T>()` (as a Rust type),
    /// variables, operations (only run), and tuples, arrays, slices and vectors of these.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([]);
    /// let y = graph.placeholder::<f32>([]);
    /// let (sum, product) = (&x + &y, &x * &y);
    /// let session = Session::new(&graph)?;
    /// let feeds = ((&x, 3.0f32), (&y, 4.0f32));
    /// let fetches = (sum.value::<f32>(), product.value::<f32>());
    /// assert_eq!(session.run(feeds, fetches)?, (7.0, 12.0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn run<F: Fetch>(&self, feeds: impl Feed, fetches: F) -> Result<F::Value> {
        Ok(self.run_with(&RunOptions::default(), feeds, fetches)?.0)
    }

    /// Runs a step with options, and returns what it recorded about itself too.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, RunOptions, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let y = graph.placeholder::<f32>([]);
    /// let sum = &y + 1.0;
    /// let session = Session::new(&graph)?;
    /// let options = RunOptions::default().trace(true);
    /// let (value, metadata) = session.run_with(&options, (&y, 2.0f32), sum.value::<f32>())?;
    /// assert_eq!(value, 3.0);
    /// assert!(metadata.nodes.iter().any(|node| sum.name().starts_with(&node.name)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn run_with<F: Fetch>(
        &self,
        options: &RunOptions,
        feeds: impl Feed,
        fetches: F,
    ) -> Result<(F::Value, RunMetadata)> {
        let Prepared { call, order, fed } = self.prepare(options, feeds, &fetches)?;
        let mut reply = match call {
            None => StepReply::default(),
            Some(call) => self.step(call)?,
        };
        reply.tensors.extend(fed);
        finish(&fetches, order, reply)
    }

    fn step(&self, call: StepCall) -> Result<StepReply> {
        let reply = wait(self.handle(), self.backend.run(&self.graph, call));
        reply.map_err(|error| self.graph.with_line(error))
    }

    /// As [`Session::run`], for async programs on any executor.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<i64>([]);
    /// let double = &x * 2;
    /// let session = Session::new(&graph)?;
    /// let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it starts");
    /// // Two steps at once.
    /// let (a, b) = runtime.block_on(async {
    ///     tokio::join!(
    ///         session.run_async((&x, 1i64), double.value::<i64>()),
    ///         session.run_async((&x, 2i64), double.value::<i64>()),
    ///     )
    /// });
    /// assert_eq!((a?, b?), (2, 4));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run_async<F: Fetch>(&self, feeds: impl Feed, fetches: F) -> Result<F::Value> {
        let Prepared { call, order, fed } =
            self.prepare(&RunOptions::default(), feeds, &fetches)?;
        let (backend, graph) = (Arc::clone(&self.backend), self.graph.clone());
        let step = self.handle().spawn(async move {
            match call {
                None => Ok(StepReply::default()),
                Some(call) => backend.run(&graph, call).await,
            }
        });
        let mut reply = AbortOnDrop(step).await.map_err(|error| self.graph.with_line(error))?;
        reply.tensors.extend(fed);
        Ok(finish(&fetches, order, reply)?.0)
    }

    /// Starts a step and does not wait for it.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let session = Session::new(&graph)?;
    /// let started = session.start((), &graph.initializer())?;
    /// // Other work is done meanwhile.
    /// started.wait()?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn start(&self, feeds: impl Feed, target: &Operation) -> Result<StartedStep> {
        let Prepared { call, .. } = self.prepare(&RunOptions::default(), feeds, &target)?;
        let (backend, graph) = (Arc::clone(&self.backend), self.graph.clone());
        let (sender, receiver) = mpsc::channel();
        self.handle().spawn(async move {
            let outcome = match call {
                None => Ok(()),
                Some(call) => backend.run(&graph, call).await.map(drop),
            };
            // Nobody may wait for it.
            let _ = sender.send(outcome.map_err(|error| graph.with_line(error)));
        });
        Ok(StartedStep { outcome: receiver })
    }

    fn prepare(
        &self,
        options: &RunOptions,
        feeds: impl Feed,
        fetches: &impl Fetch,
    ) -> Result<Prepared> {
        self.graph.check()?;
        let mut fed = Feeds::new(&self.graph);
        feeds.add_to(&mut fed)?;
        let feeds = fed.into_named();
        let mut wanted = Fetches::new(&self.graph);
        fetches.request(&mut wanted)?;
        let wanted = wanted.beside(feeds.iter().map(|(name, _)| name));
        let is_known = wanted.is_known();
        let Wanted { names: fetches, targets, fed, order } = wanted;
        let fed = fed.into_iter().map(|feed| feeds[feed].1.clone()).collect();
        let (connections, options) = (Vec::new(), options.to_cluster());
        let call = StepCall { feeds, fetches, targets, connections, options };
        Ok(Prepared { call: (!is_known).then_some(call), order, fed })
    }

    /// All devices that the session can use.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let devices = Session::new(&Graph::new())?.devices()?;
    /// assert_eq!(devices[0].name.to_string(), "/job:localhost/replica:0/task:0/device:CPU:0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn devices(&self) -> Result<Vec<Device>> {
        wait(self.handle(), self.backend.devices())
    }

    /// Closes the session: steps that are under way fail with `CANCELLED`.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant(1.0f32);
    /// let session = Session::new(&graph)?;
    /// session.close()?;
    /// assert!(session.run((), &x).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn close(&self) -> Result<()> {
        wait(self.handle(), self.backend.close())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A server that is gone has forgotten the session already.
        let _ = wait(self.handle(), async {
            let closed = tokio::time::timeout(CLOSE_TIMEOUT, self.backend.close()).await;
            closed.unwrap_or(Ok(()))
        });
    }
}

/// A step that was started; made by [`Session::start`].
///
/// As in the example of [`Session::start`].
#[derive(Debug)]
#[must_use = "whether the step succeeds is known when it has been waited for"]
pub struct StartedStep {
    outcome: mpsc::Receiver<Result<()>>,
}

impl StartedStep {
    /// Waits for its end. A step whose session is dropped before that fails.
    ///
    /// As in the example of [`Session::start`].
    pub fn wait(self) -> Result<()> {
        self.outcome.recv().unwrap_or_else(|_| Err(lost()))
    }
}

/// Where a session's futures run.
enum Threads {
    /// The host of a session in this process, which computes too.
    Host(Arc<Host>),
    /// A runtime that waits for a server's replies; taken out by `drop` only.
    Own(Option<Runtime>),
}

impl Threads {
    fn handle(&self) -> &Handle {
        match self {
            Threads::Host(host) => host.handle(),
            Threads::Own(runtime) => {
                runtime.as_ref().expect("a session has its runtime until it is dropped").handle()
            }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Waiting for what still runs may not be done on an async thread.
        if let Threads::Own(runtime) = self
            && let Some(runtime) = runtime.take()
        {
            runtime.shutdown_background();
        }
    }
}

/// A step that can be run.
struct Prepared {
    /// What the backend has to run, if anything.
    call: Option<StepCall>,
    /// For each request, the position of its tensor among those that the step returns and, after
    /// them, `fed`.
    order: Vec<usize>,
    /// The fetched tensors that are fed.
    fed: Vec<Tensor>,
}

fn finish<F: Fetch>(
    fetches: &F,
    order: Vec<usize>,
    reply: StepReply,
) -> Result<(F::Value, RunMetadata)> {
    let metadata = RunMetadata::from_cluster(&reply);
    let value = fetches.collect(&mut Reply::new(reply.tensors, order))?;
    Ok((value, metadata))
}

/// Waits for a future, from inside of another runtime too.
fn wait<T: Send>(runtime: &Handle, future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    match Handle::try_current().map(|outer| outer.runtime_flavor()) {
        Err(_) => runtime.block_on(future),
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| runtime.block_on(future)),
        // The only thread of that runtime waits here; the future must run on another.
        Ok(_) => std::thread::scope(|scope| {
            let waiting = scope.spawn(|| runtime.block_on(future));
            waiting.join().unwrap_or_else(|_| Err(lost()))
        }),
    }
}

fn lost() -> Error {
    cancelled!("the step was lost")
}

/// A step that is cancelled when nobody waits for it any more.
struct AbortOnDrop<T>(JoinHandle<Result<T>>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<T>> {
        let outcome = std::pin::Pin::new(&mut self.0).poll(cx);
        outcome.map(|outcome| outcome.unwrap_or_else(|_| Err(lost())))
    }
}
