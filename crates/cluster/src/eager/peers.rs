//! The peers of a context, which change when its cluster does.

use std::sync::{Arc, Mutex};

use tensorfleet_framework::DeviceName;
use tensorfleet_tensor::Result;

use crate::client::{Peers, WorkerClient};
use crate::session::lock;
use tensorfleet_spec::ClusterSpec;

/// The tasks of the cluster as it is now.
#[derive(Debug)]
pub(super) struct ChangingPeers {
    current: Mutex<Arc<dyn Peers>>,
}

impl ChangingPeers {
    pub(super) fn new(peers: Arc<dyn Peers>) -> ChangingPeers {
        ChangingPeers { current: Mutex::new(peers) }
    }

    pub(super) fn change(&self, peers: Arc<dyn Peers>) {
        *lock(&self.current) = peers;
    }

    fn current(&self) -> Arc<dyn Peers> {
        Arc::clone(&lock(&self.current))
    }
}

impl Peers for ChangingPeers {
    fn tasks(&self) -> Vec<(DeviceName, String)> {
        self.current().tasks()
    }

    fn worker(&self, task: &DeviceName) -> Result<Arc<dyn WorkerClient>> {
        self.current().worker(task)
    }

    fn with_cluster(&self, cluster: &ClusterSpec) -> Result<Arc<dyn Peers>> {
        self.current().with_cluster(cluster)
    }
}
