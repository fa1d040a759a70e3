//! The world of a simulated task: the executor's clock, futures of its node, chance from the seed.

use std::time::{Duration, Instant};

use tensorfleet_cluster::World;
use tensorfleet_framework::BoxFuture;
use tensorfleet_runtime::ComputePool;

use crate::executor::{Handle, Life};

/// The surroundings of a node in one of its lives.
#[derive(Clone, Debug)]
pub(crate) struct NodeWorld {
    pub(crate) handle: Handle,
    pub(crate) life: Life,
}

/// How long work may take that blocks on a disk: mostly nothing, at times very long.
fn disk(handle: &Handle) -> Duration {
    handle.draw(|random| match random.below(20) {
        0 => Duration::from_millis(random.below(3_000)),
        1..=4 => Duration::from_millis(random.below(20)),
        _ => Duration::ZERO,
    })
}

impl World for NodeWorld {
    fn now(&self) -> Instant {
        self.handle.now()
    }

    fn sleep_until(&self, time: Instant) -> BoxFuture<()> {
        Box::pin(self.handle.sleep_until(time))
    }

    fn spawn(&self, future: BoxFuture<()>) {
        self.handle.spawn(self.life, future);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        let slow = self.handle.sleep(disk(&self.handle));
        self.spawn(Box::pin(async move {
            slow.await;
            work();
        }));
    }

    fn random(&self) -> u64 {
        self.handle.draw(|random| random.next())
    }
}

/// A pool whose jobs are futures of the node like all others.
pub(crate) fn pool(world: &NodeWorld) -> ComputePool {
    let world = world.clone();
    ComputePool::inline(move |job| world.spawn(Box::pin(async move { job() })))
}
