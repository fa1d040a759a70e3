//! A task: the devices and the running steps of one server.

use std::sync::{Arc, Mutex, MutexGuard};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{DeviceName, Registry, Rendezvous, Resources, StepId};
use tensorfleet_planner::Device;
use tensorfleet_runtime::{ComputePool, LocalRendezvous};
use tensorfleet_tensor::{Error, aborted};

use crate::random::random_nonzero;

/// One task of a cluster.
#[derive(Debug)]
pub struct Task {
    /// The name without a device, as `/job:ps/replica:0/task:0`.
    pub name: DeviceName,
    pub devices: Vec<LocalDevice>,
    pub registry: Arc<Registry>,
    pub pool: Arc<ComputePool>,
    pub steps: Steps,
}

/// A device of this task with what lives on it.
#[derive(Clone, Debug)]
pub struct LocalDevice {
    pub device: Device,
    pub resources: Arc<Resources>,
}

impl Task {
    /// Makes a task with a number of CPU devices.
    pub fn new(
        job: &str,
        index: u32,
        cpus: u32,
        registry: Arc<Registry>,
        pool: Arc<ComputePool>,
    ) -> Task {
        let name = DeviceName {
            job: Some(job.to_owned()),
            replica: Some(0),
            task: Some(index),
            ..DeviceName::default()
        };
        let devices = (0..cpus.max(1))
            .map(|index| LocalDevice {
                device: Device {
                    name: DeviceName {
                        kind: Some("CPU".to_owned()),
                        index: Some(index),
                        ..name.clone()
                    },
                    incarnation: random_nonzero(),
                },
                resources: Arc::new(Resources::new(job)),
            })
            .collect();
        Task { name, devices, registry, pool, steps: Steps::default() }
    }
}

/// The running steps of a task: sessions and masters share one table, because step ids are unique
/// in the cluster and a tensor may be asked for before its step has begun here.
#[derive(Debug, Default)]
pub struct Steps {
    table: Mutex<FxHashMap<StepId, Arc<StepState>>>,
}

/// What the partitions of one step share on this task.
#[derive(Debug)]
pub struct StepState {
    pub rendezvous: Arc<LocalRendezvous>,
    pub resources: Arc<Resources>,
}

/// The container of resources that end with their step.
const STEP_CONTAINER: &str = "_step";

impl Steps {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<StepId, Arc<StepState>>> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The state of a step, made by whoever comes first.
    pub fn get_or_create(&self, step: StepId) -> Arc<StepState> {
        let mut table = self.lock();
        let state = table.entry(step).or_insert_with(|| {
            Arc::new(StepState {
                rendezvous: Arc::default(),
                resources: Arc::new(Resources::new(STEP_CONTAINER)),
            })
        });
        Arc::clone(state)
    }

    /// Ends a step: whoever still waits for one of its tensors gets an error.
    pub fn remove(&self, step: StepId) {
        let removed = self.lock().remove(&step);
        if let Some(state) = removed {
            state.rendezvous.abort(aborted!("Cleanup {}", step.0).derived());
        }
    }

    /// Fails whatever waits in any step, because the task stops.
    pub fn abort_all(&self, error: &Error) {
        let steps: Vec<_> = self.lock().values().cloned().collect();
        for state in steps {
            state.rendezvous.abort(error.clone());
        }
    }

    /// The number of steps that are known.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether no step is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
