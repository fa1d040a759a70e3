//! Mutexes between steps, which `tf.CriticalSection` is made of.
//!
//! The lock travels as a variant and is released when its last copy is gone.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, Op, Outcome, Resource, Started, cpu,
    cpu_async,
};
use tensorfleet_tensor::{PartialShape, Result, Tensor, Variant, VariantValue, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ConsumeMutexLock",
        inputs: &["mutex_lock: variant"],
        stateful: true,
        kernels: &[cpu::<ConsumeMutexLock>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MutexLock",
        inputs: &["mutex: resource"],
        outputs: &["mutex_lock: variant"],
        stateful: true,
        kernels: &[cpu_async::<MutexLock>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MutexV2",
        outputs: &["resource: resource"],
        attrs: &["container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<MutexHandle>()],
        ..Op::DEFAULT
    },
];

/// A lock whose holders wait for each other without a thread, first come, first served.
#[derive(Debug, Default)]
struct Mutex {
    state: std::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    is_locked: bool,
    next_ticket: u64,
    waiting: VecDeque<(u64, Waker)>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "locked: {}, waiting: {}", self.is_locked, self.waiting.len())
    }
}

impl Resource for Mutex {
    const TYPE_NAME: &'static str = "N10tensorflow12_GLOBAL__N_15MutexE";
}

impl Mutex {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unlock(&self) {
        let mut state = self.state();
        state.is_locked = false;
        state.wake_first();
    }
}

impl State {
    fn wake_first(&self) {
        if let Some((_, waker)) = self.waiting.front() {
            waker.wake_by_ref();
        }
    }
}

/// Waits its turn.
struct Locking {
    mutex: Arc<Mutex>,
    /// The place in the queue, while there is one.
    ticket: Option<u64>,
}

impl Future for Locking {
    type Output = Lock;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Lock> {
        let mutex = Arc::clone(&self.mutex);
        let mut state = mutex.state();
        let is_first = match self.ticket {
            Some(ticket) => state.waiting.front().is_some_and(|(first, _)| *first == ticket),
            None => state.waiting.is_empty(),
        };
        if is_first && !state.is_locked {
            state.is_locked = true;
            if self.ticket.take().is_some() {
                state.waiting.pop_front();
            }
            return Poll::Ready(Lock(Arc::clone(&mutex)));
        }
        let waker = context.waker().clone();
        match self.ticket {
            Some(ticket) => {
                if let Some(place) = state.waiting.iter_mut().find(|(other, _)| *other == ticket) {
                    place.1 = waker;
                }
            }
            None => {
                let ticket = state.next_ticket;
                state.next_ticket += 1;
                state.waiting.push_back((ticket, waker));
                self.ticket = Some(ticket);
            }
        }
        Poll::Pending
    }
}

/// A step that is cancelled leaves the queue, and may have been the one that was just called.
impl Drop for Locking {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let mut state = self.mutex.state();
            state.waiting.retain(|(other, _)| *other != ticket);
            if !state.is_locked {
                state.wake_first();
            }
        }
    }
}

/// Holds a mutex.
struct Lock(Arc<Mutex>);

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

impl VariantValue for Lock {
    fn type_name(&self) -> &str {
        "tensorflow::Mutex::SharedLockReleaser"
    }
}

#[derive(Debug)]
struct MutexHandle {
    container: String,
    name: String,
}

impl Kernel for MutexHandle {
    fn new(attrs: &Attrs<'_>) -> Result<MutexHandle> {
        let shared_name = attrs.string("shared_name")?;
        let name = if shared_name.is_empty() { attrs.node_name().into() } else { shared_name };
        let container = attrs.string("container")?.into_owned();
        Ok(MutexHandle { container, name: name.into_owned() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let step = ctx.step();
        step.resources.lookup_or_create(&self.container, &self.name, || Ok(Mutex::default()))?;
        let handle = step.resources.handle::<Mutex>(
            &step.device,
            &self.container,
            &self.name,
            Vec::<(_, PartialShape)>::new(),
        );
        ctx.set_output(0, Tensor::resource(handle));
        Ok(())
    }
}

#[derive(Debug)]
struct MutexLock;

impl AsyncKernel for MutexLock {
    fn new(_: &Attrs<'_>) -> Result<MutexLock> {
        Ok(MutexLock)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let mutex = ctx.resource::<Mutex>(0)?;
        let locking = Locking { mutex, ticket: None };
        Ok(Started::Waiting(Box::pin(async move {
            let lock: Variant = Arc::new(locking.await);
            Ok(Outcome::from(vec![Tensor::variant(lock)]))
        })))
    }
}

/// Does nothing but being an end that the lock lives until.
#[derive(Debug)]
struct ConsumeMutexLock;

impl Kernel for ConsumeMutexLock {
    fn new(_: &Attrs<'_>) -> Result<ConsumeMutexLock> {
        Ok(ConsumeMutexLock)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        match input.variants()? {
            [lock] if lock.downcast_ref::<Lock>().is_some() => Ok(()),
            [other] => Err(invalid_argument!(
                "Expected input to be a SharedLockReleaser object, but saw variant: '{}'",
                other.type_name()
            )),
            _ => Err(invalid_argument!(
                "mutex_lock must be a scalar, but saw shape: {}",
                input.shape()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Calls(AtomicUsize);

    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn locking(mutex: &Arc<Mutex>) -> Locking {
        Locking { mutex: Arc::clone(mutex), ticket: None }
    }

    fn poll(locking: Pin<&mut Locking>, calls: &Arc<Calls>) -> Option<Lock> {
        let waker = Waker::from(Arc::clone(calls));
        match locking.poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(lock) => Some(lock),
            Poll::Pending => None,
        }
    }

    #[test]
    fn waiters_are_served_in_order_even_if_one_gives_up() {
        let mutex = Arc::new(Mutex::default());
        let calls: [Arc<Calls>; 3] = Default::default();
        let held = poll(pin!(locking(&mutex)), &calls[0]).unwrap();
        let mut second = Box::pin(locking(&mutex));
        let mut third = pin!(locking(&mutex));
        assert!(poll(second.as_mut(), &calls[1]).is_none());
        assert!(poll(third.as_mut(), &calls[2]).is_none());
        drop(held);
        assert_eq!(calls[1].0.load(Ordering::Relaxed), 1);
        // Not yet its turn, although the mutex is free.
        assert!(poll(third.as_mut(), &calls[2]).is_none());
        drop(second);
        assert_eq!(calls[2].0.load(Ordering::Relaxed), 1);
        assert!(poll(third.as_mut(), &calls[2]).is_some());
    }
}
