//! Accumulators as a journal keeps them: which gradients were added, and when their sum was taken.

use std::sync::Arc;

use tensorfleet_framework::{Durable, DurableType, Event, Kept, Resource, Resources};
use tensorfleet_tensor::{Result, Tensor, data_loss};

use super::accumulator::{Accumulator, Gradient, Rows, Signature, Sum};
use crate::kept::{Numbers, Words, at, unknown};

pub(crate) const ACCUMULATORS: DurableType =
    DurableType { type_name: Accumulator::TYPE_NAME, make };

/// What can happen to an accumulator.
pub(super) mod event {
    use tensorfleet_framework::Event;
    use tensorfleet_tensor::{Shape, Tensor};

    use super::super::accumulator::{Gradient, Rows};

    pub(super) const ADDED: u8 = 0;
    pub(super) const TOOK: u8 = 1;
    pub(super) const SET_STEP: u8 = 2;
    /// In a snapshot: how many gradients there are, and their sum.
    pub(super) const SUM: u8 = 3;

    pub(in super::super) fn added(gradient: &Gradient) -> Event {
        let tensors = match gradient {
            Gradient::Dense(tensor) => vec![tensor.clone()],
            Gradient::Sparse(Rows { indices, values }) => vec![vector(indices), values.clone()],
        };
        Event { kind: ADDED, tensors }
    }

    pub(in super::super) fn took() -> Event {
        Event { kind: TOOK, tensors: Vec::new() }
    }

    pub(in super::super) fn set_step(step: i64) -> Event {
        Event { kind: SET_STEP, tensors: vec![Tensor::scalar(step)] }
    }

    pub(super) fn vector(numbers: &[i64]) -> Tensor {
        let vector = Tensor::from_slice(Shape::vector(numbers.len()), numbers);
        vector.expect("a vector has the shape of one")
    }
}

impl Durable for Accumulator {
    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn description(&self) -> Result<Vec<Tensor>> {
        let Signature { sparse, dtype, shape, mean } = &self.signature;
        let numbers = Numbers::default()
            .number((*sparse).into())
            .number((*mean).into())
            .dtype(*dtype)
            .partial_shape(shape);
        Ok(vec![numbers.tensor()?])
    }

    fn events(&self) -> Result<Vec<Event>> {
        let state = self.lock();
        let mut events = vec![event::set_step(state.global_step)];
        if let Some(sum) = &state.sum {
            let mut tensors = vec![Tensor::scalar(state.count as i64)];
            match sum {
                Sum::Dense(sum) => tensors.push(sum.clone()),
                Sum::Sparse { .. } => {
                    let (indices, counts, values) = sum.rows(self.signature.dtype)?;
                    tensors.extend([event::vector(&indices), event::vector(&counts), values]);
                }
            }
            events.push(Event { kind: event::SUM, tensors });
        }
        Ok(events)
    }

    fn replay(&self, event: &Event) -> Result<()> {
        let tensor = |index| {
            let tensor = at(&event.tensors, index)?;
            match tensor.dtype() == self.signature.dtype {
                true => Ok(tensor.clone()),
                false => Err(data_loss!("a gradient has another type than its accumulator")),
            }
        };
        let indices = |index| Ok(at(&event.tensors, index)?.values::<i64>()?.to_vec());
        let sparse = self.signature.sparse;
        match event.kind {
            event::ADDED => self.add(match sparse {
                true => Gradient::Sparse(Rows { indices: indices(0)?, values: tensor(1)? }),
                false => Gradient::Dense(tensor(0)?),
            })?,
            event::TOOK => {
                let mut state = self.lock();
                (state.sum, state.count) = (None, 0);
                state.global_step = state.global_step.wrapping_add(1);
            }
            event::SET_STEP => {
                self.lock().global_step = Words::new(&event.tensors, 0)?.number()?;
            }
            event::SUM => {
                let sum = match sparse {
                    true => Sum::of_rows(&indices(1)?, &indices(2)?, &tensor(3)?)?,
                    false => Sum::Dense(tensor(1)?),
                };
                let mut state = self.lock();
                state.sum = Some(sum);
                state.count = Words::new(&event.tensors, 0)?.count()?;
            }
            other => return Err(unknown("accumulator", other)),
        }
        Ok(())
    }

    fn install(self: Arc<Self>, resources: &Resources, place: &str, name: &str) -> Result<()> {
        resources.restore(place, name, self)
    }
}

fn make(name: &str, description: &[Tensor]) -> Result<Arc<dyn Durable>> {
    let mut words = Words::new(description, 0)?;
    let (sparse, mean) = (words.number()? != 0, words.number()? != 0);
    let (dtype, shape) = (words.dtype()?, words.partial_shape()?);
    Ok(Arc::new(Accumulator::new(name, Signature { sparse, dtype, shape, mean })))
}
