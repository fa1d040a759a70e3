//! A batcher: where calls wait until they are enough, or have waited for long enough.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{BoxFuture, Resource, Spawn};
use tensorfleet_tensor::{Error, Result, Tensor, invalid_argument, unavailable};

use super::settings::Settings;

/// One call, or a part of one, with as many rows in every tensor.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: i64,
    pub(super) rows: usize,
    pub(super) tensors: Vec<Tensor>,
    pub(super) work: Arc<dyn Work>,
    /// Where the results go.
    pub(super) reply: oneshot::Sender<Result<Vec<Tensor>>>,
}

/// What is done with a batch; that of its last call is.
pub(super) trait Work: fmt::Debug + Send + Sync {
    /// Computes the results of all calls, filled up to so many rows, and replies to them.
    fn run(&self, calls: Vec<Call>, filled: usize) -> BoxFuture<()>;

    /// Where batches are run.
    fn spawner(&self) -> Arc<dyn Spawn>;
}

/// The batches of one op, or of several that share a name.
#[derive(Debug)]
pub(super) struct Batcher {
    settings: Settings,
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    by_name: FxHashMap<String, Queue>,
    running: usize,
    /// How many batches were opened, to tell them apart.
    opened: u64,
}

#[derive(Debug, Default)]
struct Queue {
    open: Option<Batch>,
    /// Batches that wait for others to end.
    ready: VecDeque<Batch>,
}

#[derive(Debug)]
struct Batch {
    number: u64,
    rows: usize,
    calls: Vec<Call>,
}

impl Resource for Batcher {
    const TYPE_NAME: &'static str = "N10tensorflow13BatchResourceE";
}

impl Batcher {
    pub(super) fn new(settings: Settings) -> Batcher {
        Batcher { settings, queues: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the rows of a call are spread over batches.
    pub(super) fn parts(&self, queue: &str, rows: usize) -> Result<Vec<usize>> {
        let Settings { most_rows, batch_rows, splits, .. } = self.settings;
        if rows > most_rows {
            return Err(invalid_argument!(
                "Task size {rows} is larger than maximum input batch size {most_rows}"
            ));
        }
        if !splits {
            return Ok(vec![rows]);
        }
        let queues = self.lock();
        let open = queues.by_name.get(queue).and_then(|queue| queue.open.as_ref());
        let room = open.map_or(batch_rows, |batch| batch_rows - batch.rows.min(batch_rows));
        let mut parts = vec![rows.min(room)];
        let mut left = rows - parts[0];
        while left > 0 {
            parts.push(left.min(batch_rows));
            left -= left.min(batch_rows);
        }
        if parts.len() > 1 {
            parts.retain(|&rows| rows > 0);
        }
        Ok(parts)
    }

    /// Adds a call to the batch that is open, or to a new one.
    pub(super) fn add(self: &Arc<Batcher>, name: &str, call: Call) -> Result<()> {
        let spawner = call.work.spawner();
        let mut wait = None;
        {
            let mut queues = self.lock();
            let Queues { by_name, opened, .. } = &mut *queues;
            let queue = by_name.entry(name.to_owned()).or_default();
            let most = self.settings.batch_rows;
            if let Some(open) = queue.open.take_if(|open| open.rows + call.rows > most) {
                queue.ready.push_back(open);
            }
            if queue.open.is_none() {
                if queue.ready.len() >= self.settings.most_waiting {
                    return Err(full());
                }
                *opened += 1;
                wait = Some(*opened);
                queue.open = Some(Batch { number: *opened, rows: 0, calls: Vec::new() });
            }
            let is_full = queue.open.as_mut().is_some_and(|open| {
                open.rows += call.rows;
                open.calls.push(call);
                open.rows >= most
            });
            if is_full {
                queue.ready.extend(queue.open.take());
            }
        }
        self.start(&*spawner);
        if let Some(number) = wait {
            let (batcher, name) = (Arc::clone(self), name.to_owned());
            let timeout = self.settings.timeout;
            let waiting = Arc::clone(&spawner);
            spawner.spawn(Box::pin(async move {
                if !timeout.is_zero() {
                    waiting.sleep(timeout).await;
                }
                batcher.close(&name, number);
                batcher.start(&*waiting);
            }));
        }
        Ok(())
    }

    /// Ends the wait of a batch that is still open.
    fn close(&self, name: &str, number: u64) {
        if let Some(queue) = self.lock().by_name.get_mut(name) {
            let late = queue.open.take_if(|open| open.number == number);
            queue.ready.extend(late);
        }
    }

    /// Runs batches that wait, as many at once as may.
    fn start(self: &Arc<Batcher>, spawner: &dyn Spawn) {
        loop {
            let batch = {
                let mut queues = self.lock();
                if queues.running >= self.settings.at_once {
                    return;
                }
                let next = queues.by_name.values_mut().find_map(|queue| queue.ready.pop_front());
                let Some(batch) = next else { return };
                queues.running += 1;
                batch
            };
            let Some(last) = batch.calls.last() else { continue };
            let work = Arc::clone(&last.work);
            let running = work.run(batch.calls, self.settings.filled(batch.rows));
            let batcher = Arc::clone(self);
            spawner.spawn(Box::pin(async move {
                running.await;
                batcher.lock().running -= 1;
                batcher.start(&*work.spawner());
            }));
        }
    }
}

fn full() -> Error {
    unavailable!("The batch scheduling queue to which this task was submitted is full")
}
