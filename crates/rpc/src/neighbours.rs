//! Tasks in this process: they call each other instead of sending messages.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use rustc_hash::FxHashMap;
use tensorfleet_cluster::{LocalWorker, Worker};
use tensorfleet_framework::DeviceName;

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
    pub(crate) fn find(&self, task: &DeviceName, address: &str) -> Option<LocalWorker> {
        let worker = self.lock().get(address)?.upgrade()?;
        Some(LocalWorker::new(&worker, task))
    }
}
