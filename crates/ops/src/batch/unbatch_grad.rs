//! `UnbatchGrad`: the gradients of the parts of a batch, put together again.

use std::sync::{Arc, Mutex, PoisonError};

use futures_channel::oneshot;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Op, Outcome, Resource, Started, cpu_async,
};
use tensorfleet_tensor::{Result, Tensor, cancelled, internal, invalid_argument};

use crate::data_flow::join::{join, prepend, without_first};

pub(super) const OPS: &[Op] = &[Op {
    name: "UnbatchGrad",
    inputs: &["original_input: T", "batch_index: int64", "grad: T", "id: int64"],
    outputs: &["batched_grad: T"],
    attrs: &["container: string = ''", "shared_name: string = ''", "T: type"],
    kernels: &[cpu_async::<UnbatchGrad>()],
    ..Op::DEFAULT
}];

/// Gradients that have come, by id, and batches that wait for some.
#[derive(Debug, Default)]
struct Collection {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    parts: FxHashMap<i64, Tensor>,
    batches: Vec<Batch>,
}

/// A batch that waits for the gradients of its parts, in this order.
#[derive(Debug)]
struct Batch {
    ids: Vec<i64>,
    reply: oneshot::Sender<Result<Tensor>>,
}

impl Resource for Collection {
    const TYPE_NAME: &'static str = "N10tensorflow19UnbatchGradResourceE";
}

impl Collection {
    /// Adds a gradient, and a batch that is to be put together, if the call has one.
    fn add(&self, id: i64, grad: Tensor, batch: Option<Batch>) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.batches.retain(|batch| !batch.reply.is_canceled());
        if state.parts.insert(id, grad).is_some() {
            return Err(invalid_argument!("Two runs with the same batch key."));
        }
        if let Some(batch) = &batch {
            let wanted = |other: &Batch| other.ids.iter().any(|id| batch.ids.contains(id));
            if state.batches.iter().any(wanted) {
                return Err(invalid_argument!("Missing tensor wanted by more than one batch."));
            }
        }
        state.batches.extend(batch);
        let State { parts, batches } = &mut *state;
        let complete = |batch: &mut Batch| batch.ids.iter().all(|id| parts.contains_key(id));
        let ready: Vec<Batch> = batches.extract_if(.., complete).collect();
        for batch in ready {
            let found: Vec<Tensor> = batch.ids.iter().filter_map(|id| parts.remove(id)).collect();
            let _ = batch.reply.send(together(&found));
        }
        Ok(())
    }
}

fn together(parts: &[Tensor]) -> Result<Tensor> {
    let first = parts.first().ok_or_else(|| internal!("bad bookkeeping of available tensors."))?;
    let rest = without_first(first.shape())?;
    let mut rows = 0;
    for part in parts {
        if without_first(part.shape())? != rest {
            return Err(invalid_argument!(
                "gradients of one batch have shapes {} and {}",
                first.shape(),
                part.shape()
            ));
        }
        rows += part.dims()[0];
    }
    join(first.dtype(), prepend(rows, &rest)?, parts)
}

#[derive(Debug)]
struct UnbatchGrad {
    container: String,
    name: String,
}

impl AsyncKernel for UnbatchGrad {
    fn new(attrs: &Attrs<'_>) -> Result<UnbatchGrad> {
        let shared = attrs.string("shared_name")?;
        Ok(UnbatchGrad {
            container: attrs.string("container")?.into_owned(),
            name: if shared.is_empty() { attrs.node_name().into() } else { shared.into_owned() },
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let (data, index, grad, id) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
        if !id.shape().is_scalar() {
            return Err(invalid_argument!(
                "Expected `id` to be scalar. Received shape {}",
                id.shape()
            ));
        }
        if grad.rank() == 0 {
            return Err(invalid_argument!("grad must have at least one dimension"));
        }
        let id = id.scalar_value::<i64>()?;
        let resources = &ctx.step.resources;
        let collection: Arc<Collection> = resources.lookup_or_create(
            &self.container,
            &self.name,
            || Ok(Collection::default()),
        )?;
        if data.num_elements() == 0 {
            let nothing = grad.rows(0..0)?;
            collection.add(id, grad.clone(), None)?;
            return Ok(Started::Done(Outcome::from(vec![nothing])));
        }
        let (reply, wait) = oneshot::channel();
        collection.add(id, grad.clone(), Some(Batch { ids: ids(index)?, reply }))?;
        Ok(Started::Waiting(Box::pin(async move {
            let batch = wait.await.map_err(|_| cancelled!("the batch was given up"))??;
            Ok(Outcome::from(vec![batch]))
        })))
    }
}

/// The ids of the parts of a batch.
fn ids(index: &Tensor) -> Result<Vec<i64>> {
    let values = index.values::<i64>()?;
    if values.is_empty() {
        return Err(invalid_argument!("batch_index is empty while the tensor isn't."));
    }
    let count = index.dims().first().copied().unwrap_or_default();
    if values.len() != 3 * count {
        return Err(invalid_argument!(
            "batch_index should contain {} elements. Received {}",
            3 * count,
            values.len()
        ));
    }
    Ok(values.chunks_exact(3).map(|entry| entry[0]).collect())
}
