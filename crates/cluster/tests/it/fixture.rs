//! A task that is alone in its cluster.

use std::sync::Arc;
use std::time::Instant;

use tensorfleet_cluster::client::{Peers, WorkerClient};
use tensorfleet_cluster::{Engine, Owner, Step, Task, Threads, View, World};
use tensorfleet_framework::{BoxFuture, DeviceName, StepId};
use tensorfleet_runtime::ComputePool;
use tensorfleet_spec::ClusterSpec;
use tensorfleet_tensor::{Result, unimplemented_error};

/// No other tasks.
#[derive(Debug)]
struct Alone;

impl Peers for Alone {
    fn tasks(&self) -> Vec<(DeviceName, String)> {
        Vec::new()
    }

    fn worker(&self, task: &DeviceName) -> Result<Arc<dyn WorkerClient>> {
        Err(unimplemented_error!("there is no {task}"))
    }

    fn with_cluster(&self, _: &ClusterSpec) -> Result<Arc<dyn Peers>> {
        Err(unimplemented_error!("there is no other cluster"))
    }
}

/// Nothing goes on by itself.
#[derive(Debug)]
struct NoWorld;

impl World for NoWorld {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, _: Instant) -> BoxFuture<()> {
        Box::pin(std::future::pending())
    }

    fn spawn(&self, _: BoxFuture<()>) {}

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }

    fn random(&self) -> u64 {
        7
    }
}

/// The name of a device of the task.
pub(crate) fn device(index: u32) -> String {
    format!("/job:test/replica:0/task:0/device:CPU:{index}")
}

/// An engine over a task with two devices.
pub(crate) struct Fixture {
    pub(crate) task: Arc<Task>,
    pub(crate) engine: Engine,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let registry = Arc::new(tensorfleet_ops::registry().unwrap());
        let pool = Arc::new(ComputePool::new(2).unwrap());
        let task = Arc::new(Task::new("test", 0, 2, registry, pool, Arc::new(NoWorld)));
        let (name, owner) = (task.name.clone(), Owner::default());
        let view =
            View::new(&task, name, Arc::new(Alone), Threads::default(), false, (&owner, "test"));
        let engine = Engine::new(Arc::clone(&task), Arc::new(view), None);
        Fixture { task, engine }
    }

    /// A step of a context.
    pub(crate) fn step(&self, id: i64) -> Step {
        let id = StepId(id);
        Step { id, state: self.task.steps.begin(id, "context") }
    }
}
