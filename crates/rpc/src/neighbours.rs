//! Tasks in this process: they call each other instead of sending messages.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use rustc_hash::FxHashMap;
use tensorfleet_cluster::client::{CreateWorkerSession, RunGraph, RunGraphReply, WorkerClient};
use tensorfleet_cluster::{LocalWorker, Worker};
use tensorfleet_framework::{BoxFuture, DeviceName, Parcel, StepId};
use tensorfleet_graph::Graph;
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Result, unavailable};

/// The workers of one process, by the addresses that clusters know them under.
#[derive(Debug, Default)]
pub struct Neighbours {
    workers: Mutex<FxHashMap<String, Weak<Worker>>>,
}

impl Neighbours {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, Weak<Worker>>> {
        self.workers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn insert(&self, address: String, worker: &Arc<Worker>) {
        self.lock().insert(address, Arc::downgrade(worker));
    }

    pub(crate) fn remove(&self, address: &str) {
        self.lock().remove(address);
    }

    /// A client of the task at an address, if it lives in this process.
    pub(crate) fn find(&self, task: &DeviceName, address: &str) -> Option<Neighbour> {
        let worker = self.lock().get(address).cloned()?;
        worker.upgrade()?;
        Some(Neighbour { worker, task: task.clone() })
    }
}

/// A task of this process, which may stop while others still know it.
#[derive(Clone, Debug)]
pub(crate) struct Neighbour {
    worker: Weak<Worker>,
    task: DeviceName,
}

impl Neighbour {
    fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(LocalWorker) -> BoxFuture<Result<T>>,
    ) -> BoxFuture<Result<T>> {
        match self.worker.upgrade() {
            Some(worker) => call(LocalWorker(worker)),
            None => {
                let error = unavailable!("{} has stopped", self.task);
                Box::pin(async move { Err(error) })
            }
        }
    }
}

impl WorkerClient for Neighbour {
    fn get_status(&self) -> BoxFuture<Result<Vec<Device>>> {
        self.call(|worker| worker.get_status())
    }

    fn create_session(&self, request: CreateWorkerSession) -> BoxFuture<Result<()>> {
        self.call(|worker| worker.create_session(request))
    }

    fn delete_session(&self, handle: String) -> BoxFuture<Result<()>> {
        self.call(|worker| worker.delete_session(handle))
    }

    fn register_graph(&self, session: String, graph: Arc<Graph>) -> BoxFuture<Result<String>> {
        self.call(|worker| worker.register_graph(session, graph))
    }

    fn run_graph(&self, request: RunGraph) -> BoxFuture<Result<RunGraphReply>> {
        self.call(|worker| worker.run_graph(request))
    }

    fn cleanup_graph(&self, step: StepId) -> BoxFuture<Result<()>> {
        self.call(|worker| worker.cleanup_graph(step))
    }

    fn cleanup_all(&self, containers: Vec<String>) -> BoxFuture<Result<()>> {
        self.call(|worker| worker.cleanup_all(containers))
    }

    fn recv_tensor(&self, step: StepId, key: String) -> BoxFuture<Result<Parcel>> {
        self.call(|worker| worker.recv_tensor(step, key))
    }
}
