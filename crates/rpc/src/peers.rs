//! Connections to the other tasks of a cluster.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tensorfleet_cluster::Events;
use tensorfleet_cluster::client::{Peers, WorkerClient};
use tensorfleet_framework::DeviceName;
use tensorfleet_security::Credentials;
use tensorfleet_spec::ClusterSpec;
use tensorfleet_tensor::{Result, invalid_argument, permission_denied};
use tokio::runtime::Handle;

use crate::link::{Introductions, Token};
use crate::neighbours::Neighbours;
use crate::transport::Place;
use crate::worker_client::{PeerReport, RemoteWorker};

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
    /// What is shown to the others; without it they are spoken to in plaintext.
    credentials: Option<Arc<Credentials>>,
    /// Where losses are told of.
    events: Arc<Events>,
    clients: Mutex<FxHashMap<DeviceName, Arc<RemoteWorker>>>,
}

impl ClusterPeers {
    pub(crate) fn new(
        cluster: &ClusterSpec,
        runtime: Handle,
        neighbours: Arc<Neighbours>,
        links: Option<Arc<Introductions>>,
        silence: Duration,
        credentials: Option<Arc<Credentials>>,
        events: Arc<Events>,
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
            credentials,
            events,
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

    /// The tasks with their addresses, and what is known of those that were spoken to.
    pub(crate) fn report(&self) -> Vec<(DeviceName, String, Option<PeerReport>)> {
        let clients = self.clients.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let report = |task: &DeviceName| clients.get(task).map(|client| client.report());
        let tasks = self.tasks.iter();
        tasks.map(|(task, address)| (task.clone(), address.clone(), report(task))).collect()
    }

    /// Whether the task at an address lives in this process.
    pub(crate) fn is_neighbour(&self, task: &DeviceName, address: &str) -> bool {
        self.neighbours.find(task, address).is_some()
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
            Place::new(address, self.credentials.clone()),
            self.runtime.clone(),
            self.links.clone().filter(|_| is_configured),
            self.silence,
            Arc::clone(&self.events),
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
        if self.credentials.is_some() && !self.configured.iter().any(|(name, _)| name == task) {
            return Err(permission_denied!(
                "{task} at {address} is no task of the cluster that this server was started with"
            ));
        }
        if let Some(neighbour) = self.neighbours.find(task, address) {
            return Ok(Arc::new(neighbour));
        }
        Ok(self.remote(task, address)?)
    }

    fn with_cluster(&self, cluster: &ClusterSpec) -> Result<Arc<dyn Peers>> {
        let (neighbours, runtime) = (Arc::clone(&self.neighbours), self.runtime.clone());
        let links = self.links.clone();
        let credentials = self.credentials.clone();
        let (silence, events) = (self.silence, Arc::clone(&self.events));
        let mut peers =
            ClusterPeers::new(cluster, runtime, neighbours, links, silence, credentials, events);
        peers.configured = Arc::clone(&self.configured);
        if self.credentials.is_some() {
            // A client says who takes part, and not where they are: it may know them by the address of
            // a proxy, and must not send us elsewhere.
            for (name, address) in &mut peers.tasks {
                if let Some(known) = self.configured.iter().find(|known| known.0 == *name) {
                    address.clone_from(&known.1);
                }
            }
        }
        Ok(Arc::new(peers))
    }
}
