//! A task's view of its cluster: under which name it is a member, with which devices and peers.
//!
//! A session or an eager context may bring a cluster of its own, in which the task has another
//! name than the one it booted with; so there are as many views as there are such clusters.

use std::sync::Arc;

use tensorfleet_framework::{DeviceName, Resources};
use tensorfleet_tensor::account::Account;
use tensorfleet_tensor::{Result, internal};

use crate::client::Peers;
use crate::owner::Owner;
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
    /// Whom memory is charged to.
    pub account: Arc<Account>,
    /// Tasks that come back as the same ones when they die, and are waited for.
    pub durable: Vec<DeviceName>,
}

impl View {
    /// The view that somebody's session or context has of a task that is called `name`. An isolated one has
    /// resources of its own.
    pub fn new(
        task: &Task,
        name: DeviceName,
        peers: Arc<dyn Peers>,
        threads: Threads,
        isolate: bool,
        whose: (&Owner, &str),
    ) -> View {
        let (owner, session) = whose;
        let job = name.job.clone().unwrap_or_default();
        let isolate = isolate || task.separation.isolate;
        let room = task.separation.room_of(owner).and_then(|room| task.rooms.get(room));
        let devices = task
            .devices
            .iter()
            .enumerate()
            .map(|(number, local)| {
                let resources = match room {
                    _ if isolate => Arc::new(Resources::new(job.clone())),
                    Some(parts) => Arc::clone(&parts[number]),
                    None => Arc::clone(&local.resources),
                };
                LocalDevice::new(renamed(&local.device, &name), resources)
            })
            .collect();
        let account = task.ledger.account(owner, session);
        let threads = threads.or(task.threads);
        View { name, devices, peers, threads, account, durable: Vec::new() }
    }

    /// The device of this task with this name.
    pub fn device(&self, name: &DeviceName) -> Result<&LocalDevice> {
        self.devices
            .iter()
            .find(|local| name.matches(&local.device.name))
            .ok_or_else(|| internal!("{name} is not a device of {}", self.name))
    }
}
