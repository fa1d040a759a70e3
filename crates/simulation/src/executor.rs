//! The only thread of a simulation: it polls what is ready in an order that the seed chooses, and
//! moves the clock when nothing is.
//!
//! Every future belongs to a node in one of its lives. A frozen node's futures are not polled; when a
//! node dies they are dropped, wherever they await something. Two runs of one seed do the same, and
//! a digest of all that was done proves it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tensorfleet_framework::BoxFuture;

use crate::random::Random;

/// The number of a node: a task of the cluster or a client.
pub(crate) type NodeId = usize;

/// A node in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) node: NodeId,
    pub(crate) number: u64,
}

/// What futures know of the executor that polls them.
#[derive(Clone)]
pub(crate) struct Handle(Arc<Mutex<State>>);

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}

struct State {
    /// When the simulation began, in the words of the world outside; nothing depends on it.
    origin: Instant,
    now: Duration,
    random: Random,
    /// Futures that are to be polled. In which order they were woken does not matter: a channel that
    /// wakes all its receivers does so in an order that no seed decides.
    ready: BTreeSet<u64>,
    spawned: Vec<(u64, Life, BoxFuture<()>)>,
    next_task: u64,
    timers: BinaryHeap<Reverse<(Duration, u64)>>,
    sleeping: BTreeMap<u64, Waker>,
    next_timer: u64,
    lives: BTreeMap<NodeId, NodeState>,
    /// Nodes that have died, whose futures are still to be dropped.
    died: Vec<Life>,
    digest: u64,
    polls: u64,
    log: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct NodeState {
    life: u64,
    is_up: bool,
    is_frozen: bool,
}

/// Why a simulation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing is left that could happen.
    Quiet,
    /// Something goes on and on.
    TooLong,
}

/// No simulation takes so many turns.
const MAX_POLLS: u64 = 3_000_000;

impl Handle {
    pub(crate) fn new(seed: u64, with_log: bool) -> Handle {
        Handle(Arc::new(Mutex::new(State {
            origin: Instant::now(),
            now: Duration::ZERO,
            random: Random::new(seed),
            ready: BTreeSet::new(),
            spawned: Vec::new(),
            next_task: 0,
            timers: BinaryHeap::new(),
            sleeping: BTreeMap::new(),
            next_timer: 0,
            lives: BTreeMap::new(),
            died: Vec::new(),
            digest: seed,
            polls: 0,
            log: with_log.then(Vec::new),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The time since the simulation began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.lock().now
    }

    pub(crate) fn now(&self) -> Instant {
        let state = self.lock();
        state.origin + state.now
    }

    /// Draws from the seed.
    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.lock().random)
    }

    /// Notes what happened, for people and for the digest. Two runs must say the same.
    pub(crate) fn note(&self, text: impl FnOnce() -> String) {
        let text = text();
        let mut state = self.lock();
        for byte in text.bytes() {
            state.digest = mix(state.digest, u64::from(byte));
        }
        let now = state.now;
        if let Some(log) = &mut state.log {
            log.push(format!("{:>10.3} s  {text}", now.as_secs_f64()));
        }
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.lock().log.clone().unwrap_or_default()
    }

    /// A number that two runs share only if they did the same.
    pub(crate) fn digest(&self) -> u64 {
        let state = self.lock();
        mix(mix(state.digest, state.polls), state.now.as_nanos() as u64)
    }

    pub(crate) fn sleep(&self, duration: Duration) -> Sleep {
        Sleep { handle: self.clone(), until: self.elapsed() + duration, timer: None }
    }

    pub(crate) fn sleep_until(&self, until: Instant) -> Sleep {
        let until = until.saturating_duration_since(self.lock().origin);
        Sleep { handle: self.clone(), until, timer: None }
    }

    /// Begins a new life of a node.
    pub(crate) fn boot(&self, node: NodeId) -> Life {
        let mut state = self.lock();
        let known = state.lives.entry(node).or_default();
        *known = NodeState { life: known.life + 1, is_up: true, is_frozen: false };
        Life { node, number: known.life }
    }

    /// Ends the life of a node: whatever it does is dropped.
    pub(crate) fn kill(&self, node: NodeId) {
        let mut state = self.lock();
        let Some(known) = state.lives.get_mut(&node) else { return };
        known.is_up = false;
        let life = Life { node, number: known.life };
        state.died.push(life);
    }

    pub(crate) fn freeze(&self, node: NodeId, is_frozen: bool) {
        if let Some(known) = self.lock().lives.get_mut(&node) {
            known.is_frozen = is_frozen;
        }
    }

    pub(crate) fn is_frozen(&self, node: NodeId) -> bool {
        self.lock().lives.get(&node).is_some_and(|known| known.is_frozen)
    }

    pub(crate) fn lives(&self, life: Life) -> bool {
        self.lock().is_current(life)
    }

    /// Lets a node work on a future. Nothing happens if that life is over.
    pub(crate) fn spawn(&self, life: Life, future: BoxFuture<()>) {
        let mut state = self.lock();
        if !state.is_current(life) {
            drop(state);
            drop(future);
            return;
        }
        let id = state.next_task;
        state.next_task += 1;
        state.spawned.push((id, life, future));
        state.ready.insert(id);
    }
}

impl State {
    fn is_current(&self, life: Life) -> bool {
        self.lives.get(&life.node).is_some_and(|known| known.is_up && known.life == life.number)
    }
}

fn mix(digest: u64, value: u64) -> u64 {
    (digest ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
}

/// Polls everything until nothing more can happen.
pub(crate) fn run(handle: &Handle) -> Stop {
    let mut tasks: BTreeMap<u64, (Life, BoxFuture<()>)> = BTreeMap::new();
    loop {
        let died = std::mem::take(&mut handle.lock().died);
        for life in died {
            let ended: Vec<u64> =
                tasks.iter().filter(|(_, task)| task.0 == life).map(|(id, _)| *id).collect();
            // One after the other: a destructor may do anything.
            for id in ended {
                drop(tasks.remove(&id));
            }
        }
        let spawned = std::mem::take(&mut handle.lock().spawned);
        let mut stillborn = Vec::new();
        for (id, life, future) in spawned {
            if handle.lives(life) {
                tasks.insert(id, (life, future));
            } else {
                stillborn.push(future);
            }
        }
        drop(stillborn);
        let Some(id) = next(handle, &tasks) else {
            let woken = {
                let mut state = handle.lock();
                if !state.died.is_empty() || !state.spawned.is_empty() {
                    continue;
                }
                let Some(Reverse((until, timer))) = state.timers.pop() else { return Stop::Quiet };
                state.now = state.now.max(until);
                state.sleeping.remove(&timer)
            };
            if let Some(waker) = woken {
                waker.wake();
            }
            continue;
        };
        let Some((_, future)) = tasks.get_mut(&id) else { continue };
        let waker = Waker::from(Arc::new(TaskWaker { handle: handle.clone(), task: id }));
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            drop(tasks.remove(&id));
        }
        let mut state = handle.lock();
        state.polls += 1;
        state.digest = mix(state.digest, id);
        if state.polls > MAX_POLLS {
            return Stop::TooLong;
        }
    }
}

/// One of the futures that can go on, by chance.
fn next(handle: &Handle, tasks: &BTreeMap<u64, (Life, BoxFuture<()>)>) -> Option<u64> {
    let mut state = handle.lock();
    let State { ready, lives, random, .. } = &mut *state;
    ready.retain(|id| tasks.contains_key(id));
    let is_frozen = |id: &u64| {
        let life = tasks[id].0;
        lives.get(&life.node).is_some_and(|known| known.is_frozen)
    };
    let able: Vec<u64> = ready.iter().copied().filter(|id| !is_frozen(id)).collect();
    if able.is_empty() {
        return None;
    }
    let id = able[random.below(able.len() as u64) as usize];
    ready.remove(&id);
    Some(id)
}

struct TaskWaker {
    handle: Handle,
    task: u64,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.handle.lock().ready.insert(self.task);
    }
}

/// Ends at a time of the simulation.
#[derive(Debug)]
pub(crate) struct Sleep {
    handle: Handle,
    until: Duration,
    timer: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let until = self.until;
        let handle = self.handle.clone();
        let mut state = handle.lock();
        if state.now >= until {
            return Poll::Ready(());
        }
        let timer = *self.timer.get_or_insert_with(|| {
            let timer = state.next_timer;
            state.next_timer += 1;
            state.timers.push(Reverse((until, timer)));
            timer
        });
        state.sleeping.insert(timer, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            // The waker may own what owns the sleep; it is dropped outside of the lock.
            let waker = self.handle.lock().sleeping.remove(&timer);
            drop(waker);
        }
    }
}
