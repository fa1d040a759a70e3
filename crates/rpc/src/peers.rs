//! Connections to the other tasks of a cluster.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_cluster::client::{Peers, WorkerClient};
use tensorfleet_cluster::spec::ClusterSpec;
use tensorfleet_framework::DeviceName;
use tensorfleet_tensor::{Result, invalid_argument};
use tokio::runtime::Handle;

use crate::neighbours::Neighbours;
use crate::worker_client::RemoteWorker;

/// The tasks of a cluster, connected when first spoken to.
#[derive(Debug)]
pub(crate) struct ClusterPeers {
    tasks: Vec<(DeviceName, String)>,
    runtime: Handle,
    neighbours: Arc<Neighbours>,
    links: bool,
    clients: Mutex<FxHashMap<DeviceName, Arc<RemoteWorker>>>,
}

impl ClusterPeers {
    pub(crate) fn new(
        cluster: &ClusterSpec,
        runtime: Handle,
        neighbours: Arc<Neighbours>,
        links: bool,
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
        ClusterPeers { tasks, runtime, neighbours, links, clients: Mutex::default() }
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
        let mut clients = self.clients.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(client) = clients.get(task) {
            return Ok(Arc::clone(client) as _);
        }
        let client =
            Arc::new(RemoteWorker::new(task.clone(), address, self.runtime.clone(), self.links)?);
        clients.insert(task.clone(), Arc::clone(&client));
        Ok(client)
    }

    fn with_cluster(&self, cluster: &ClusterSpec) -> Result<Arc<dyn Peers>> {
        let neighbours = Arc::clone(&self.neighbours);
        Ok(Arc::new(ClusterPeers::new(cluster, self.runtime.clone(), neighbours, self.links)))
    }
}
