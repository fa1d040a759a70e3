//! A session as a worker sees it: names, devices, peers, and the kernels that keep state.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{
    BoxFuture, Delivery, DeviceName, Implementation, Parcel, ParsedKey, Rendezvous, Resources,
    StepId,
};
use tensorfleet_graph::Node;
use tensorfleet_runtime::{KernelCache, LocalRendezvous};
use tensorfleet_tensor::{Error, Result, internal};

use crate::client::Peers;
use crate::task::{LocalDevice, Task, renamed};
use crate::threads::Threads;

/// What a master's session is on one worker.
#[derive(Debug)]
pub struct WorkerSession {
    pub handle: String,
    /// The name of this task in the session; with a propagated cluster not the one it booted with.
    pub task_name: DeviceName,
    /// The devices under their names in this session.
    pub devices: Vec<LocalDevice>,
    /// The other tasks of the session's cluster.
    pub peers: Arc<dyn Peers>,
    /// Which master made the session, and in which of its lives.
    pub master: Option<(String, u64)>,
    pub threads: Threads,
    kernels: Mutex<Kernels>,
}

/// Kernels with state, by the names of node and op.
type Kernels = FxHashMap<(Arc<str>, Arc<str>), Implementation>;

impl WorkerSession {
    /// Makes a session on `task`. An isolated one has resources of its own.
    pub fn new(
        handle: String,
        task: &Task,
        task_name: DeviceName,
        peers: Arc<dyn Peers>,
        isolate: bool,
        master: Option<(String, u64)>,
        threads: Threads,
    ) -> WorkerSession {
        let job = task_name.job.clone().unwrap_or_default();
        let devices = task
            .devices
            .iter()
            .map(|local| {
                let resources = if isolate {
                    Arc::new(Resources::new(job.clone()))
                } else {
                    Arc::clone(&local.resources)
                };
                LocalDevice::new(renamed(&local.device, &task_name), resources)
            })
            .collect();
        let kernels = Mutex::default();
        WorkerSession { handle, task_name, devices, peers, master, threads, kernels }
    }

    /// The device with this full name.
    pub fn device(&self, name: &DeviceName) -> Result<&LocalDevice> {
        self.devices
            .iter()
            .find(|local| name.matches(&local.device.name))
            .ok_or_else(|| internal!("{name} is not a device of {}", self.task_name))
    }
}

impl KernelCache for WorkerSession {
    fn get_or_create(
        &self,
        node: &Node,
        create: &mut dyn FnMut() -> Result<Implementation>,
    ) -> Result<Implementation> {
        let key = (Arc::clone(&node.name), Arc::clone(&node.op));
        let known = |kernels: &Kernels| kernels.get(&key).cloned();
        if let Some(kernel) = known(&self.kernels.lock().unwrap_or_else(|p| p.into_inner())) {
            return Ok(kernel);
        }
        let created = create()?;
        let mut kernels = self.kernels.lock().unwrap_or_else(|p| p.into_inner());
        Ok(kernels.entry(key).or_insert(created).clone())
    }
}

/// The rendezvous of a step in a session: what other tasks send is fetched from them.
#[derive(Debug)]
pub(crate) struct SessionRendezvous {
    pub(crate) step: StepId,
    pub(crate) local: Arc<LocalRendezvous>,
    pub(crate) session: Arc<WorkerSession>,
}

impl Rendezvous for SessionRendezvous {
    fn send(&self, key: &str, parcel: Parcel) -> Result<()> {
        self.local.send(key, parcel)
    }

    fn recv(&self, key: &str) -> Result<Delivery> {
        let source = DeviceName::parse(ParsedKey::parse(key)?.src_device)?;
        if self.session.task_name.matches(&source) {
            return self.local.recv(key);
        }
        let client = self.session.peers.worker(&source.task_name())?;
        let parcel: BoxFuture<Result<Parcel>> = client.recv_tensor(self.step, key.to_owned());
        Ok(Delivery::Later(parcel))
    }

    fn abort(&self, error: Error) {
        self.local.abort(error);
    }
}
