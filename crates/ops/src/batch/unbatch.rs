//! `Unbatch`: every step gets its rows of a batch back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use rustc_hash::FxHashMap;
use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Op, Outcome, Resource, Started, cpu_async,
};
use tensorfleet_tensor::{
    Result, Tensor, already_exists, cancelled, deadline_exceeded, invalid_argument,
};

pub(super) const OPS: &[Op] = &[Op {
    name: "Unbatch",
    inputs: &["batched_tensor: T", "batch_index: int64", "id: int64"],
    outputs: &["unbatched_tensor: T"],
    attrs: &[
        "timeout_micros: int",
        "container: string = ''",
        "shared_name: string = ''",
        "T: type",
    ],
    kernels: &[cpu_async::<Unbatch>()],
    ..Op::DEFAULT
}];

/// Parts that wait for their steps, and steps that wait for their parts, by id.
#[derive(Debug, Default)]
struct Meeting {
    slots: Mutex<FxHashMap<i64, Slot>>,
}

#[derive(Debug)]
enum Slot {
    Part(Tensor),
    Step(oneshot::Sender<Tensor>),
}

impl Resource for Meeting {
    const TYPE_NAME: &'static str = "N10tensorflow15UnbatchResourceE";
}

impl Meeting {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<i64, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the part of a step that has come, or leaves word that it is wanted.
    fn want(&self, id: i64) -> Result<oneshot::Receiver<Tensor>> {
        let (reply, wait) = oneshot::channel();
        let mut slots = self.lock();
        match slots.remove(&id) {
            Some(Slot::Part(part)) => {
                let _ = reply.send(part);
            }
            Some(Slot::Step(waiter)) if !waiter.is_canceled() => {
                slots.insert(id, Slot::Step(waiter));
                return Err(already_exists!("Multiple session runs with the same batch key."));
            }
            _ => {
                slots.insert(id, Slot::Step(reply));
            }
        }
        Ok(wait)
    }

    /// Hands the parts of a batch to their steps.
    fn give(&self, parts: Vec<(i64, Tensor)>) -> Result<()> {
        let mut slots = self.lock();
        for (id, part) in parts {
            match slots.remove(&id) {
                Some(Slot::Step(waiter)) => {
                    let _ = waiter.send(part);
                }
                Some(known @ Slot::Part(_)) => {
                    slots.insert(id, known);
                    return Err(already_exists!("Multiple tensors returned for same batch key."));
                }
                None => {
                    slots.insert(id, Slot::Part(part));
                }
            }
        }
        Ok(())
    }

    fn forget(&self, id: i64) {
        self.lock().remove(&id);
    }

    /// Drops a part that nobody came for.
    fn forget_part(&self, id: i64) {
        let mut slots = self.lock();
        if matches!(slots.get(&id), Some(Slot::Part(_))) {
            slots.remove(&id);
        }
    }
}

#[derive(Debug)]
struct Unbatch {
    container: String,
    name: String,
    timeout: Duration,
}

impl AsyncKernel for Unbatch {
    fn new(attrs: &Attrs<'_>) -> Result<Unbatch> {
        let shared = attrs.string("shared_name")?;
        Ok(Unbatch {
            container: attrs.string("container")?.into_owned(),
            name: if shared.is_empty() { attrs.node_name().into() } else { shared.into_owned() },
            timeout: Duration::from_micros(attrs.int("timeout_micros")?.max(0) as u64),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let (data, index, id) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let parts = parts(data, index)?;
        if !id.shape().is_scalar() {
            return Err(invalid_argument!("Input id should be scalar; Got: shape {}.", id.shape()));
        }
        let id = id.scalar_value::<i64>()?;
        let resources = &ctx.step.resources;
        let meeting: Arc<Meeting> =
            resources.lookup_or_create(&self.container, &self.name, || Ok(Meeting::default()))?;
        let wait = meeting.want(id)?;
        let spawner = Arc::clone(&ctx.step.spawner);
        // A part whose step has given up is kept no longer than a step would wait.
        let given: Vec<i64> =
            parts.iter().map(|&(id, _)| id).filter(|&other| other != id).collect();
        meeting.give(parts)?;
        let timeout = self.timeout;
        if !given.is_empty() {
            let (meeting, timer) = (Arc::clone(&meeting), Arc::clone(&spawner));
            spawner.spawn(Box::pin(async move {
                timer.sleep(timeout).await;
                given.into_iter().for_each(|id| meeting.forget_part(id));
            }));
        }
        Ok(Started::Waiting(Box::pin(async move {
            match select(wait, spawner.sleep(timeout)).await {
                Either::Left((part, _)) => {
                    let part = part.map_err(|_| cancelled!("the batch was given up"))?;
                    Ok(Outcome::from(vec![part]))
                }
                Either::Right(((), _)) => {
                    meeting.forget(id);
                    Err(deadline_exceeded!("Batched data did not arrive within timeout window."))
                }
            }
        })))
    }
}

/// The parts of a batch by the ids of their steps.
fn parts(data: &Tensor, index: &Tensor) -> Result<Vec<(i64, Tensor)>> {
    let (&[count, width], Some(&rows)) = (index.dims(), data.dims().first()) else {
        return Err(invalid_argument!(
            "Wrong shape for index tensor. Expected a matrix and a batch with rows; Got: {} and {}.",
            index.shape(),
            data.shape()
        ));
    };
    if count > rows {
        return Err(invalid_argument!(
            "Wrong shape for index tensor. Expected 0th dimension size to be no greater than \
             {rows}; Got: {count}."
        ));
    }
    if width != 3 {
        return Err(invalid_argument!(
            "Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: {width}."
        ));
    }
    let mut start: usize = 0;
    let mut parts = Vec::with_capacity(count);
    for entry in index.values::<i64>()?.chunks_exact(3) {
        let size = usize::try_from(entry[2].saturating_sub(entry[1])).unwrap_or(usize::MAX);
        let Some(end) = start.checked_add(size).filter(|&end| end <= rows) else {
            return Err(invalid_argument!(
                "The index of a batch of {rows} rows asks for {size} rows from {start} on"
            ));
        };
        parts.push((entry[0], data.rows(start..end)?));
        start = end;
    }
    Ok(parts)
}
