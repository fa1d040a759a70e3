//! Connections to the other tasks of a cluster.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tensorfleet_cluster::client::{Peers, WorkerClient};
use tensorfleet_cluster::spec::ClusterSpec;
use tensorfleet_framework::DeviceName;
use tensorfleet_tensor::{Result, invalid_argument};
use tokio::runtime::Handle;

use crate::link::{Introductions, Token};
use crate::neighbours::Neighbours;
use crate::worker_client::RemoteWorker;

/// The tasks of a cluster, connected when first spoken to.
#[derive(Debug)]
pub(crate) struct ClusterPeers {
    tasks: Vec<(DeviceName, String)>,
    runtime: Handle,
    neighbours: Arc<Neighbours>,
    /// How it asks for links, if it may.
    links: Option<Arc<Introductions>>,
    /// The tasks that this server was started with: others, which a client names, get no links.
    configured: Arc<Vec<(DeviceName, String)>>,
    /// How long a peer may be silent while somebody waits for it.
    silence: Duration,
    clients: Mutex<FxHashMap<DeviceName, Arc<RemoteWorker>>>,
}

impl ClusterPeers {
    pub(crate) fn new(
        cluster: &ClusterSpec,
        runtime: Handle,
        neighbours: Arc<Neighbours>,
        links: Option<Arc<Introductions>>,
        silence: Duration,
    ) -> ClusterPeers {
        let mut tasks = Vec::new();
        for job in cluster.jobs() {
            for (index, address) in cluster.tasks_of(job) {
                let name = DeviceName {
                    job: Some(job.to_owned()),
                    replica: Some(0),
                    task: Some(index),
                    ..DeviceName::default()
                };
                tasks.push((name, address.to_owned()));
            }
        }
        ClusterPeers {
            configured: Arc::new(tasks.clone()),
            tasks,
            runtime,
            neighbours,
            links,
            silence,
            clients: Mutex::default(),
        }
    }

    /// Whether a task of the cluster, by its name, says that a nonce is of its making.
    pub(crate) async fn has_asked(&self, task: &str, nonce: Token) -> bool {
        let known = self.tasks.iter().find(|(name, _)| name.to_string() == task);
        match known.map(|(name, address)| self.remote(name, address)) {
            Some(Ok(worker)) => worker.has_asked(nonce).await,
            _ => false,
        }
    }

    fn remote(&self, task: &DeviceName, address: &str) -> Result<Arc<RemoteWorker>> {
        let mut clients = self.clients.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(client) = clients.get(task) {
            return Ok(Arc::clone(client));
        }
        let is_configured =
            self.configured.iter().any(|known| (&known.0, &*known.1) == (task, address));
        let client = Arc::new(RemoteWorker::new(
            task.clone(),
            address,
            self.runtime.clone(),
            self.links.clone().filter(|_| is_configured),
            self.silence,
        )?);
        clients.insert(task.clone(), Arc::clone(&client));
        Ok(client)
    }
}

impl Peers for ClusterPeers {
    fn tasks(&self) -> Vec<(DeviceName, String)> {
        self.tasks.clone()
    }

    fn worker(&self, task: &DeviceName) -> Result<Arc<dyn WorkerClient>> {
        let Some((_, address)) = self.tasks.iter().find(|(name, _)| name == task) else {
            return Err(invalid_argument!("{task} is not a task of the cluster"));
        };
        if let Some(neighbour) = self.neighbours.find(task, address) {
            return Ok(Arc::new(neighbour));
        }
        Ok(self.remote(task, address)?)
    }

    fn with_cluster(&self, cluster: &ClusterSpec) -> Result<Arc<dyn Peers>> {
        let (neighbours, runtime) = (Arc::clone(&self.neighbours), self.runtime.clone());
        let links = self.links.clone();
        let peers = ClusterPeers::new(cluster, runtime, neighbours, links, self.silence);
        Ok(Arc::new(ClusterPeers { configured: Arc::clone(&self.configured), ..peers }))
    }
}
