//! A task: the devices and the running steps of one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tensorfleet_framework::{DeviceName, Registry, Resources};
use tensorfleet_planner::Device;
use tensorfleet_runtime::ComputePool;
use tensorfleet_tensor::{Error, aborted};

use crate::collective::CollectiveTable;
use crate::coordination::Coordination;
use crate::steps::Steps;
use crate::threads::Threads;
use crate::world::World;

/// One task of a cluster.
#[derive(Debug)]
pub struct Task {
    /// The name without a device, as `/job:ps/replica:0/task:0`.
    pub name: DeviceName,
    pub devices: Vec<LocalDevice>,
    pub registry: Arc<Registry>,
    pub pool: Arc<ComputePool>,
    pub steps: Steps,
    pub world: Arc<dyn World>,
    /// Limits of sessions that say nothing themselves.
    pub threads: Threads,
    pub collectives: CollectiveTable,
    pub coordination: Coordination,
    /// Whether the task has begun to stop.
    pub is_stopping: AtomicBool,
}

/// A device of this task with what lives on it.
#[derive(Clone, Debug)]
pub struct LocalDevice {
    pub device: Device,
    /// The name of the device, written out: every step needs it.
    pub name: Arc<str>,
    pub resources: Arc<Resources>,
}

impl LocalDevice {
    pub(crate) fn new(device: Device, resources: Arc<Resources>) -> LocalDevice {
        let name = device.name.to_string().into();
        LocalDevice { device, name, resources }
    }
}

impl Task {
    /// Makes a task with a number of CPU devices.
    pub fn new(
        job: &str,
        index: u32,
        cpus: u32,
        registry: Arc<Registry>,
        pool: Arc<ComputePool>,
        world: Arc<dyn World>,
    ) -> Task {
        let name = DeviceName {
            job: Some(job.to_owned()),
            replica: Some(0),
            task: Some(index),
            ..DeviceName::default()
        };
        let devices = (0..cpus.max(1))
            .map(|index| {
                let kind = Some("CPU".to_owned());
                let name = DeviceName { kind, index: Some(index), ..name.clone() };
                let device = Device { name, incarnation: world.random_nonzero() };
                LocalDevice::new(device, Arc::new(Resources::new(job)))
            })
            .collect();
        Task {
            name,
            devices,
            registry,
            pool,
            steps: Steps::default(),
            world,
            threads: Threads::default(),
            collectives: CollectiveTable::default(),
            coordination: Coordination::default(),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// What is told to whoever has a step here when the task stops. Clients that hear of an absence
    /// call again for a while, at an address where nobody is; this they take for the end of a session.
    pub(crate) fn stopped(&self) -> Option<Error> {
        let is_stopping = self.is_stopping.load(Ordering::Acquire);
        is_stopping.then(|| aborted!("{} has stopped", self.name))
    }
}

/// A device under the name that it has when its task is called `task`.
pub(crate) fn renamed(device: &Device, task: &DeviceName) -> Device {
    let DeviceName { kind, index, .. } = device.name.clone();
    Device { name: DeviceName { kind, index, ..task.clone() }, incarnation: device.incarnation }
}
