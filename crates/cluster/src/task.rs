//! A task: the devices and the running steps of one server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tensorfleet_framework::{DeviceName, Registry, Resources};
use tensorfleet_planner::Device;
use tensorfleet_runtime::ComputePool;
use tensorfleet_tensor::{Error, aborted};

use crate::absence::Absences;
use crate::collective::CollectiveTable;
use crate::coordination::Coordination;
use crate::events::{EventKind, Events};
use crate::owner::Separation;
use crate::quota::{Ledger, Quotas};
use crate::recorder::Recorder;
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
    /// What has happened here.
    pub events: Arc<Events>,
    /// What its steps do, while somebody wants to know.
    pub recorder: Recorder,
    /// How its clients are kept apart.
    pub separation: Separation,
    /// For each room, its part of each device.
    pub rooms: BTreeMap<String, Vec<Arc<Resources>>>,
    /// What its clients may take and have taken.
    pub ledger: Ledger,
    /// Whether the task has begun to stop.
    pub is_stopping: AtomicBool,
    /// Another number in each life of the task, even of one that is durable.
    pub life: u64,
    /// How long durable tasks that are away are waited for; nothing means that nobody waits for them.
    pub task_timeout: Duration,
    /// The tasks that are waited for.
    pub absences: Absences,
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
        let devices: Vec<LocalDevice> = (0..cpus.max(1))
            .map(|index| {
                let kind = Some("CPU".to_owned());
                let name = DeviceName { kind, index: Some(index), ..name.clone() };
                let incarnation = world.random_nonzero();
                let device = Device { name, incarnation, durable: false };
                LocalDevice::new(device, Arc::new(Resources::new(job)))
            })
            .collect();
        let life = devices[0].device.incarnation;
        Task {
            ledger: Ledger::new(&name.to_string(), Quotas::default()),
            name,
            devices,
            registry,
            pool,
            steps: Steps::default(),
            world,
            threads: Threads::default(),
            collectives: CollectiveTable::default(),
            coordination: Coordination::default(),
            events: Arc::default(),
            recorder: Recorder::default(),
            separation: Separation::default(),
            rooms: BTreeMap::new(),
            is_stopping: AtomicBool::new(false),
            life,
            task_timeout: Task::TIMEOUT,
            absences: Absences::default(),
        }
    }

    /// How long durable tasks that are away are waited for, if nobody says otherwise.
    pub const TIMEOUT: Duration = Duration::from_secs(60);

    /// The numbers by which others know its devices.
    pub fn incarnations(&self) -> Vec<u64> {
        self.devices.iter().map(|local| local.device.incarnation).collect()
    }

    /// The same task, which keeps what it has and was known by these numbers before.
    #[must_use]
    pub fn known_by(mut self, incarnations: &[u64]) -> Task {
        for (local, &incarnation) in self.devices.iter_mut().zip(incarnations) {
            (local.device.incarnation, local.device.durable) = (incarnation, true);
        }
        self
    }

    /// Tells of something that happened, in the log and to operators.
    pub fn tell(&self, kind: EventKind, text: String) {
        tracing::info!("{text}");
        self.events.keep(self.world.now(), kind, text);
    }

    /// The same task with its clients kept apart.
    #[must_use]
    pub fn separated(self, separation: Separation) -> Task {
        let inside = |room: &String| {
            let parts = self.devices.iter().map(|local| Arc::new(local.resources.room(room)));
            (room.clone(), parts.collect())
        };
        let rooms = separation.rooms.values().map(inside).collect();
        Task { separation, rooms, ..self }
    }

    /// The same task with limits for its clients.
    #[must_use]
    pub fn limited(self, quotas: Quotas) -> Task {
        Task { ledger: Ledger::new(&self.name.to_string(), quotas), ..self }
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
    let name = DeviceName { kind, index, ..task.clone() };
    Device { name, incarnation: device.incarnation, durable: device.durable }
}
