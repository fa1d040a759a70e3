//! What all servers of a process share: threads, the op library, and the way to each other.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, mpsc};

use tensorfleet_cluster::client::{Peers, WorkerClient};
use tensorfleet_cluster::{Master, RealWorld, Task, Worker};
use tensorfleet_framework::{DeviceName, Registry};
use tensorfleet_rpc::Neighbours;
use tensorfleet_runtime::ComputePool;
use tensorfleet_spec::ClusterSpec;
use tensorfleet_tensor::{Result, internal, invalid_argument, unavailable};
use tokio::runtime::{Builder, Handle, Runtime};

/// The threads of servers. They stop with the last server that uses them.
///
/// ```
/// use tensorfleet_server::Config;
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let host = Config::default().threads(3).host()?;
/// assert_eq!(format!("{host:?}"), "Host { threads: 3, .. }");
/// # Ok(())
/// # }
/// ```
pub struct Host {
    /// Taken out by `drop` only.
    runtime: Option<Runtime>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) pool: Arc<ComputePool>,
    pub(crate) neighbours: Arc<Neighbours>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("threads", &self.pool.threads()).finish_non_exhaustive()
    }
}

impl Host {
    /// Starts threads; without a number as many to compute as the machine runs at once.
    pub(crate) fn new(registry: Arc<Registry>, threads: Option<usize>) -> Result<Host> {
        let at_once = std::thread::available_parallelism().map_or(2, usize::from);
        let threads = threads.unwrap_or(at_once).max(1);
        let no_threads = |error| unavailable!("threads cannot be started: {error}");
        // To serve a call is short work, and threads that look for some take time from computing.
        let serving =
            Builder::new_multi_thread().worker_threads(at_once.div_ceil(2)).enable_all().build();
        Ok(Host {
            runtime: Some(serving.map_err(no_threads)?),
            registry,
            pool: Arc::new(ComputePool::new(threads).map_err(no_threads)?),
            neighbours: Arc::default(),
        })
    }

    /// A master with a task of its own that no other reaches: what a session without servers runs on.
    ///
    /// ```
    /// use tensorfleet_server::Config;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let host = Config::default().host()?;
    /// let master = host.lone_master();
    /// # drop(master);
    /// # Ok(())
    /// # }
    /// ```
    pub fn lone_master(&self) -> Arc<Master> {
        let (registry, pool) = (Arc::clone(&self.registry), Arc::clone(&self.pool));
        let world = Arc::new(RealWorld(self.handle().clone()));
        let task = Arc::new(Task::new("localhost", 0, 1, registry, pool, world));
        let worker = Arc::new(Worker::new(Arc::clone(&task), Arc::new(Alone)));
        Arc::new(Master::new(task, worker, Arc::new(Alone)))
    }

    /// The threads on which the servers' calls are served.
    ///
    /// ```
    /// use tensorfleet_server::Config;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let host = Config::default().host()?;
    /// let answer = host.handle().block_on(async { 6 * 7 });
    /// assert_eq!(answer, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn handle(&self) -> &Handle {
        self.runtime.as_ref().expect("the runtime lives as long as its host").handle()
    }

    /// Runs a future on the servers' threads and waits for it, from whichever thread.
    ///
    /// ```
    /// use tensorfleet_server::Config;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let host = Config::default().host()?;
    /// assert_eq!(host.wait(async { 6 * 7 })?, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = mpsc::channel();
        self.handle().spawn(async move {
            // Nobody listens any more if the caller's thread has ended.
            let _ = sender.send(future.await);
        });
        receiver.recv().map_err(|_| internal!("the servers' threads have stopped"))
    }
}

/// The peers of a task that has none.
#[derive(Debug)]
struct Alone;

impl Peers for Alone {
    fn tasks(&self) -> Vec<(DeviceName, String)> {
        Vec::new()
    }

    fn worker(&self, task: &DeviceName) -> Result<Arc<dyn WorkerClient>> {
        Err(invalid_argument!("{task} is not a task of a session in this process"))
    }

    fn with_cluster(&self, _: &ClusterSpec) -> Result<Arc<dyn Peers>> {
        Err(invalid_argument!("a session in this process has no cluster"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Waiting for what still runs could wait for ever, and may not be done on an async thread.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
