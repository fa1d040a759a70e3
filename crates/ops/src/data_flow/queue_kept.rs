//! Queues as a journal keeps them: elements have numbers, and what was put or taken is told by number.
//!
//! So an element that a step has taken which did not end is back in its place, and one that was put by
//! such a step is gone, also if it had been taken.

use std::sync::Arc;

use tensorfleet_framework::{Durable, DurableType, Event, Kept, Resource, Resources};
use tensorfleet_tensor::{Result, Tensor, data_loss};

use super::queue::{Element, Kind, Queue, Signature};
use crate::kept::{Numbers, Words, at, can_be_kept, unknown};

pub(crate) const QUEUES: DurableType = DurableType { type_name: Queue::TYPE_NAME, make };

/// What can happen to a queue.
pub(super) mod event {
    use tensorfleet_framework::Event;
    use tensorfleet_tensor::{Shape, Tensor};

    use super::super::queue::Element;

    pub(super) const PUT: u8 = 0;
    pub(super) const TOOK: u8 = 1;
    pub(super) const CLOSED: u8 = 2;
    /// In a snapshot: how many elements had been put.
    pub(super) const COUNTED: u8 = 3;

    /// An element is put, or comes back.
    pub(in super::super) fn put(element: &Element) -> Event {
        let mut tensors = vec![Tensor::scalar(element.number as i64)];
        tensors.extend(element.tuple.iter().cloned());
        Event { kind: PUT, tensors }
    }

    pub(in super::super) fn took(elements: &[Element]) -> Event {
        let numbers: Vec<i64> = elements.iter().map(|element| element.number as i64).collect();
        let numbers = Tensor::from_slice(Shape::vector(numbers.len()), &numbers);
        Event { kind: TOOK, tensors: vec![numbers.expect("a vector has the shape of one")] }
    }

    pub(in super::super) fn closed() -> Event {
        Event { kind: CLOSED, tensors: Vec::new() }
    }
}

impl Durable for Queue {
    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn description(&self) -> Result<Vec<Tensor>> {
        let Signature { kind, capacity, dtypes, shapes } = &self.signature;
        let numbers = Numbers::default().number((*capacity).into());
        let numbers = match *kind {
            Kind::Fifo => numbers.number(0),
            Kind::Padding => numbers.number(1),
            Kind::Shuffle { min_after_dequeue, seeds } => {
                numbers.number(2).number(min_after_dequeue as i64).number(seeds.0).number(seeds.1)
            }
            Kind::Priority => numbers.number(3),
        };
        let numbers = numbers.number(dtypes.len() as i64);
        let numbers = dtypes.iter().fold(numbers, |numbers, &dtype| numbers.dtype(dtype));
        let numbers = numbers.number(shapes.len() as i64);
        let numbers = shapes.iter().fold(numbers, Numbers::partial_shape);
        Ok(vec![numbers.tensor()?])
    }

    fn events(&self) -> Result<Vec<Event>> {
        let state = self.lock();
        let counted = Tensor::scalar(state.put as i64);
        let mut events = vec![Event { kind: event::COUNTED, tensors: vec![counted] }];
        events.extend(state.elements().into_iter().map(event::put));
        if state.closed {
            events.push(event::closed());
        }
        Ok(events)
    }

    fn replay(&self, event: &Event) -> Result<()> {
        let mut state = self.lock();
        match event.kind {
            event::PUT => {
                let number = Words::new(&event.tensors, 0)?.number()? as u64;
                let tuple = event.tensors[1..].to_vec();
                if !tuple.iter().map(Tensor::dtype).eq(self.signature.dtypes.iter().copied()) {
                    return Err(data_loss!("an element has other types than its queue"));
                }
                state.put = state.put.max(number);
                state.store.put_again(Element { number, tuple });
            }
            event::TOOK => {
                for &number in at(&event.tensors, 0)?.values::<i64>()? {
                    state.store.take_again(number as u64);
                }
            }
            event::CLOSED => state.closed = true,
            event::COUNTED => state.put = Words::new(&event.tensors, 0)?.number()? as u64,
            other => return Err(unknown("queue", other)),
        }
        Ok(())
    }

    fn install(self: Arc<Self>, resources: &Resources, place: &str, name: &str) -> Result<()> {
        resources.restore(place, name, self)
    }
}

fn make(name: &str, description: &[Tensor]) -> Result<Arc<dyn Durable>> {
    let mut words = Words::new(description, 0)?;
    let capacity = words.number()?;
    let capacity = i32::try_from(capacity).map_err(|_| data_loss!("{capacity} is no capacity"))?;
    let kind = match words.number()? {
        0 => Kind::Fifo,
        1 => Kind::Padding,
        2 => Kind::Shuffle {
            min_after_dequeue: words.count()?,
            seeds: (words.number()?, words.number()?),
        },
        3 => Kind::Priority,
        other => return Err(data_loss!("{other} is no kind of queue")),
    };
    let count = words.count()?;
    let dtypes = (0..count).map(|_| words.dtype()).collect::<Result<Vec<_>>>()?;
    if !dtypes.iter().all(|&dtype| can_be_kept(dtype)) {
        return Err(data_loss!("a queue of types that cannot be kept was kept"));
    }
    let count = words.count()?;
    let shapes = (0..count).map(|_| words.partial_shape()).collect::<Result<_>>()?;
    Ok(Arc::new(Queue::new(name, Signature { kind, capacity, dtypes, shapes })))
}
