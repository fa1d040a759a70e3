//! Barriers as a journal keeps them: which components came, and which tuples left.

use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_framework::{Durable, DurableType, Event, Kept, Resource, Resources};
use tensorfleet_tensor::{Result, Tensor, data_loss};

use super::barrier::{Barrier, Begun, Element, Signature, State};
use crate::kept::{Numbers, Words, at, can_be_kept, unknown};

pub(crate) const BARRIERS: DurableType = DurableType { type_name: Barrier::TYPE_NAME, make };

/// What can happen to a barrier.
pub(super) mod event {
    use bytes::Bytes;
    use tensorfleet_framework::Event;
    use tensorfleet_tensor::{Shape, Tensor};

    use super::super::barrier::{Element, Inserted};

    pub(super) const PUT: u8 = 0;
    pub(super) const TOOK: u8 = 1;
    pub(super) const CLOSED: u8 = 2;
    /// In a snapshot: the number of the next insertion.
    pub(super) const NEXT: u8 = 3;
    /// In a snapshot: a whole tuple.
    pub(super) const READY: u8 = 4;

    pub(in super::super) fn put(index: usize, inserted: &Inserted) -> Event {
        let mut tensors = vec![Tensor::scalar(index as i64)];
        tensors.extend(names(inserted.batches.clone(), inserted.keys.clone()));
        tensors.extend(inserted.values.iter().cloned());
        Event { kind: PUT, tensors }
    }

    pub(in super::super) fn took(elements: impl Iterator<Item = (i64, Bytes)>) -> Event {
        let (batches, keys): (Vec<i64>, Vec<Bytes>) = elements.unzip();
        Event { kind: TOOK, tensors: names(batches, keys).into() }
    }

    pub(in super::super) fn closed(cancel: bool) -> Event {
        Event { kind: CLOSED, tensors: vec![Tensor::scalar(i64::from(cancel))] }
    }

    pub(super) fn ready(element: &Element) -> Event {
        let mut tensors = names(vec![element.batch], vec![element.key.clone()]).to_vec();
        tensors.extend(element.components.iter().cloned());
        Event { kind: READY, tensors }
    }

    fn names(batches: Vec<i64>, keys: Vec<Bytes>) -> [Tensor; 2] {
        let shape = Shape::vector(keys.len());
        let batches = Tensor::from_slice(shape.clone(), &batches);
        [batches, Tensor::from_strings(shape, keys)].map(|vector| vector.expect("it is a vector"))
    }
}

impl Durable for Barrier {
    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn description(&self) -> Result<Vec<Tensor>> {
        let Signature { dtypes, shapes } = &self.signature;
        let numbers = Numbers::default().number(dtypes.len() as i64);
        let pairs = dtypes.iter().zip(shapes);
        let numbers =
            pairs.fold(numbers, |numbers, (&dtype, shape)| numbers.dtype(dtype).shape(shape));
        Ok(vec![numbers.tensor()?])
    }

    fn events(&self) -> Result<Vec<Event>> {
        Ok(self.state.look(|state| {
            let next = Tensor::scalar(state.next_batch);
            let mut events = vec![Event { kind: event::NEXT, tensors: vec![next] }];
            events.extend(state.ready.values().flatten().map(event::ready));
            for (key, begun) in &state.incomplete {
                for (index, value) in begun.components.iter().enumerate() {
                    if let Some(value) = value {
                        let (batches, keys) = (vec![begun.batch], vec![key.clone()]);
                        let (values, lost) = (vec![value.clone()], None);
                        let inserted = super::barrier::Inserted { batches, keys, values, lost };
                        events.push(event::put(index, &inserted));
                    }
                }
            }
            if state.closed {
                events.push(event::closed(state.cancelled));
            }
            events
        }))
    }

    fn replay(&self, event: &Event) -> Result<()> {
        let tensors = &event.tensors;
        self.state.change(|state| match event.kind {
            event::PUT => {
                let index = Words::new(tensors, 0)?.count()?;
                let (batches, keys) = names(tensors, 1)?;
                if index >= self.signature.dtypes.len() || tensors.len() != keys.len() + 3 {
                    return Err(data_loss!("an insertion has other components than its barrier"));
                }
                let components = self.signature.dtypes.len();
                for ((&batch, key), value) in batches.iter().zip(keys).zip(&tensors[3..]) {
                    state.put_again(batch, key, index, value.clone(), components);
                }
                Ok(())
            }
            event::TOOK => {
                let (batches, keys) = names(tensors, 0)?;
                batches.iter().zip(keys).for_each(|(&batch, key)| state.take_again(batch, key));
                Ok(())
            }
            event::CLOSED => {
                let cancel = Words::new(tensors, 0)?.number()? != 0;
                (state.closed, state.cancelled) = (true, cancel);
                if cancel {
                    state.incomplete.clear();
                }
                Ok(())
            }
            event::NEXT => {
                state.next_batch = Words::new(tensors, 0)?.number()?;
                Ok(())
            }
            event::READY => {
                let ([batch], [key]) = names(tensors, 0)? else {
                    return Err(data_loss!("a tuple has one key"));
                };
                let components = tensors[2..].to_vec();
                if !components.iter().map(Tensor::dtype).eq(self.signature.dtypes.iter().copied()) {
                    return Err(data_loss!("a tuple has other types than its barrier"));
                }
                let element = Element { batch: *batch, key: key.clone(), components };
                state.ready.entry(*batch).or_default().push_back(element);
                Ok(())
            }
            other => Err(unknown("barrier", other)),
        })
    }

    fn install(self: Arc<Self>, resources: &Resources, place: &str, name: &str) -> Result<()> {
        resources.restore(place, name, self)
    }
}

impl State {
    fn put_again(&mut self, batch: i64, key: &Bytes, index: usize, value: Tensor, count: usize) {
        self.next_batch = self.next_batch.max(batch.wrapping_add(1));
        let begun = self
            .incomplete
            .entry(key.clone())
            .or_insert_with(|| Begun { batch, components: vec![None; count] });
        begun.components[index] = Some(value);
        if begun.components.iter().all(Option::is_some)
            && let Some(begun) = self.incomplete.remove(key)
        {
            let components = begun.components.into_iter().flatten().collect();
            let element = Element { batch: begun.batch, key: key.clone(), components };
            self.ready.entry(begun.batch).or_default().push_back(element);
        }
    }

    /// Takes a tuple. If some of its components were put by steps that did not end, it lacks them, and
    /// goes all the same.
    fn take_again(&mut self, batch: i64, key: &Bytes) {
        if let Some(ready) = self.ready.get_mut(&batch) {
            ready.retain(|element| element.key != key);
            if ready.is_empty() {
                self.ready.remove(&batch);
            }
        }
        if self.incomplete.get(key).is_some_and(|begun| begun.batch == batch) {
            self.incomplete.remove(key);
        }
    }
}

fn names(tensors: &[Tensor], from: usize) -> Result<(&[i64], &[Bytes])> {
    let (batches, keys) = (at(tensors, from)?.values::<i64>()?, at(tensors, from + 1)?.strings()?);
    match batches.len() == keys.len() {
        true => Ok((batches, keys)),
        false => Err(data_loss!("{} keys belong to {} insertions", keys.len(), batches.len())),
    }
}

fn make(name: &str, description: &[Tensor]) -> Result<Arc<dyn Durable>> {
    let mut words = Words::new(description, 0)?;
    let (mut dtypes, mut shapes) = (Vec::new(), Vec::new());
    for _ in 0..words.count()? {
        dtypes.push(words.dtype()?);
        shapes.push(words.shape()?);
    }
    if !dtypes.iter().all(|&dtype| can_be_kept(dtype)) {
        return Err(data_loss!("a barrier of types that cannot be kept was kept"));
    }
    Ok(Arc::new(Barrier::new(name, Signature { dtypes, shapes })))
}
