//! Clusters in one process, for tests and for trying things out.

use tensorfleet_rpc::Listener;
use tensorfleet_spec::{Address, ClusterSpec, ServerSpec, Task};
use tensorfleet_tensor::Result;

use crate::{Config, Server};

/// The running servers of a cluster in this process. Dropping it stops them.
///
/// ```
/// use tensorfleet_server::{Config, LocalCluster, create_local_cluster};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let config = Config::default();
/// let LocalCluster { workers, ps } = create_local_cluster(2, 1, "grpc", &config, &config)?;
/// assert_eq!((workers.len(), ps.len()), (2, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LocalCluster {
    /// The tasks of the job `worker`.
    pub workers: Vec<Server>,
    /// The tasks of the job `ps`.
    pub ps: Vec<Server>,
}

impl LocalCluster {
    /// The tasks of both jobs, the parameter servers first.
    ///
    /// ```
    /// use tensorfleet_server::{Config, create_local_cluster};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default();
    /// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
    /// let jobs: Vec<&str> =
    ///     cluster.servers().map(|server| server.server_def().task().job.as_str()).collect();
    /// assert_eq!(jobs, ["ps", "worker", "worker"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.ps.iter().chain(&self.workers)
    }
}

/// Starts a cluster of workers and parameter servers on free ports of this machine. The only
/// protocol is `"grpc"`. Give clones of one configuration, so that all servers share threads.
///
/// ```
/// use tensorfleet_server::{Config, create_local_cluster};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let config = Config::default();
/// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
/// let spec = cluster.ps[0].server_def().cluster();
/// assert_eq!(format!("grpc://{}", spec.task_address("worker", 1)?), cluster.workers[1].target());
/// # Ok(())
/// # }
/// ```
pub fn create_local_cluster(
    num_workers: u32,
    num_ps: u32,
    protocol: &str,
    worker_config: &Config,
    ps_config: &Config,
) -> Result<LocalCluster> {
    ServerSpec::check_protocol(protocol)?;
    let jobs = [("worker", num_workers, worker_config), ("ps", num_ps, ps_config)];
    // All ports are taken before any task is told of the cluster.
    let mut cluster = ClusterSpec::default();
    let mut listeners = Vec::new();
    for (job, count, config) in jobs {
        for index in 0..count {
            let any = Address { host: "localhost".to_owned(), port: 0 };
            let listener = config.host()?.wait(async move { Listener::bind(&any).await })??;
            let task = Task::new(job, index);
            cluster.insert(task.clone(), format!("localhost:{}", listener.address().port()))?;
            listeners.push((task, listener, config));
        }
    }
    let mut local = LocalCluster { workers: Vec::new(), ps: Vec::new() };
    for (task, listener, config) in listeners {
        let spec = ServerSpec::new(cluster.clone(), task)?;
        let is_worker = spec.task().job == "worker";
        let server = Server::with_listener(spec, listener, config)?;
        server.start()?;
        if is_worker { &mut local.workers } else { &mut local.ps }.push(server);
    }
    Ok(local)
}
