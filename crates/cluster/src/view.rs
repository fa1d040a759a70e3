//! A task's view of its cluster: under which name it is a member, with which devices and peers.
//!
//! A session or an eager context may bring a cluster of its own, in which the task has another
//! name than the one it booted with; so there are as many views as there are such clusters.

use std::sync::Arc;

use tensorfleet_framework::{DeviceName, Resources};
use tensorfleet_tensor::{Result, internal};

use crate::client::Peers;
use crate::task::{LocalDevice, Task, renamed};
use crate::threads::Threads;

/// What a task is and sees in one cluster.
#[derive(Debug)]
pub struct View {
    /// The name of this task in the cluster, without a device.
    pub name: DeviceName,
    /// The task's devices under their names in the cluster.
    pub devices: Vec<LocalDevice>,
    /// The other tasks of the cluster.
    pub peers: Arc<dyn Peers>,
    /// How much of the task's threads steps may take.
    pub threads: Threads,
}

impl View {
    /// The view of a task that is called `name`. An isolated one has resources of its own.
    pub fn new(
        task: &Task,
        name: DeviceName,
        peers: Arc<dyn Peers>,
        threads: Threads,
        isolate: bool,
    ) -> View {
        let job = name.job.clone().unwrap_or_default();
        let devices = task
            .devices
            .iter()
            .map(|local| {
                let resources = if isolate {
                    Arc::new(Resources::new(job.clone()))
                } else {
                    Arc::clone(&local.resources)
                };
                LocalDevice::new(renamed(&local.device, &name), resources)
            })
            .collect();
        View { name, devices, peers, threads: threads.or(task.threads) }
    }

    /// The device of this task with this name.
    pub fn device(&self, name: &DeviceName) -> Result<&LocalDevice> {
        self.devices
            .iter()
            .find(|local| name.matches(&local.device.name))
            .ok_or_else(|| internal!("{name} is not a device of {}", self.name))
    }
}
