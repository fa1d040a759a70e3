//! Saving where an iterator is, and going there again.
//!
//! The state of an iterator is how many elements it gave and which seeds it drew:
//! an iteration with the same seeds gives the same elements. To restore is to iterate anew and pass
//! over the elements that were given, as cheaply as each dataset can.

use std::sync::Arc;

use tensorfleet_framework::{AsyncContext, AsyncKernel, Attrs, Op, Outcome, Started, cpu_async};
use tensorfleet_tensor::{
    EncodedVariant, Result, Shape, Tensor, Variant, failed_precondition, internal, invalid_argument,
};

use super::resource::{Iteration, lookup};
use crate::dataset::checkpoint;
use crate::dataset::seed::Position;
use crate::dataset::to_graph::FAIL;

pub(in crate::dataset) const OPS: &[Op] = &[
    Op {
        name: "DeserializeIterator",
        inputs: &["resource_handle: resource", "serialized: variant"],
        stateful: true,
        kernels: &[cpu_async::<Deserialize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SerializeIterator",
        inputs: &["resource_handle: resource"],
        outputs: &["serialized: variant"],
        attrs: &["external_state_policy: int = 0"],
        stateful: true,
        kernels: &[cpu_async::<Serialize>()],
        ..Op::DEFAULT
    },
];

const TYPE_NAME: &str = "tensorflow::IteratorStateVariant";

#[derive(Debug)]
struct Serialize {
    allows_state: bool,
}

impl AsyncKernel for Serialize {
    fn new(attrs: &Attrs<'_>) -> Result<Serialize> {
        Ok(Serialize { allows_state: attrs.int("external_state_policy")? != FAIL })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let iterator = lookup(&ctx.step, ctx.input(0)?)?;
        let Some(iteration) = iterator.current() else {
            return Err(failed_precondition!(
                "Save() failed because the iterator has not been initialized. Ensure that you have \
                 run the initializer operation for this iterator before saving it."
            ));
        };
        checkpoint::check(&iteration.dataset, self.allows_state)?;
        Ok(Started::Waiting(Box::pin(async move {
            let progress = iteration.progress.lock().await;
            let draws: Vec<u64> = iteration
                .scope
                .drawn()
                .into_iter()
                .flat_map(|Position { seeds: (seed, seed2), given }| [seed, seed2, given])
                .collect();
            let state = EncodedVariant {
                type_name: TYPE_NAME.to_owned(),
                metadata: Vec::new(),
                tensors: vec![Tensor::scalar(progress.given), Tensor::vector(&draws)?],
            };
            let state: Variant = Arc::new(state);
            Ok(Outcome::from(vec![Tensor::from_variants(Shape::vector(1), vec![state])?]))
        })))
    }
}

#[derive(Debug)]
struct Deserialize;

impl AsyncKernel for Deserialize {
    fn new(_: &Attrs<'_>) -> Result<Deserialize> {
        Ok(Deserialize)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let iterator = lookup(&ctx.step, ctx.input(0)?)?;
        let (given, draws) = decode(ctx.input(1)?)?;
        let Some(current) = iterator.current() else {
            return Err(failed_precondition!(
                "Restore() failed because the iterator has not been initialized. Ensure that you \
                 have run the initializer operation for this iterator before restoring it."
            ));
        };
        // Not the functions of this step: its graph may lack those that the dataset calls.
        let scope = current.scope.again(draws);
        let dataset = Arc::clone(&current.dataset);
        drop(current);
        let skipping = scope.clone();
        let task = scope.spawn(async move {
            let mut elements = skipping.iterate(&*dataset)?;
            let passed = elements.skip(given).await?;
            if passed != given {
                return Err(internal!(
                    "the iterator was saved after {given} elements, but there are only {passed}"
                ));
            }
            Ok(Iteration::new(dataset, skipping, elements, given))
        });
        Ok(Started::Waiting(Box::pin(async move {
            iterator.replace(task.await??);
            Ok(Outcome::from(Vec::new()))
        })))
    }
}

/// The number of elements given, and the seeds drawn.
type State = (u64, Vec<Position>);

fn decode(serialized: &Tensor) -> Result<State> {
    let wrong = || {
        invalid_argument!("Restore() failed because the serialized iterator could not be parsed.")
    };
    let [state] = serialized.variants()? else { return Err(wrong()) };
    let state = state.encode()?;
    let [given, draws] = &state.tensors[..] else { return Err(wrong()) };
    if state.type_name != TYPE_NAME {
        return Err(wrong());
    }
    let draws = draws
        .values::<u64>()?
        .chunks_exact(3)
        .map(|draw| Position { seeds: (draw[0], draw[1]), given: draw[2] })
        .collect();
    Ok((given.scalar_value()?, draws))
}
