//! The barrier: tuples whose components come one by one under a key, and leave when they are whole.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{Durable, Kept, Resource};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, cancelled, invalid_argument, out_of_range};

use super::watched::Watched;
use crate::kept::can_be_kept;

/// TensorFlow keeps a barrier's tuples in a queue, behind the number of insertion and the key, and
/// its messages count those too.
const HIDDEN_COMPONENTS: usize = 2;

/// What a barrier was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) dtypes: Vec<DType>,
    pub(super) shapes: Vec<Shape>,
}

#[derive(Debug)]
pub(super) struct Barrier {
    pub(super) name: String,
    pub(super) signature: Signature,
    pub(super) kept: Kept,
    pub(super) state: Watched<State>,
}

impl Resource for Barrier {
    const TYPE_NAME: &'static str = "N10tensorflow7barrier7BarrierE";

    fn durable(&self) -> Option<&dyn Durable> {
        self.signature.dtypes.iter().all(|&dtype| can_be_kept(dtype)).then_some(self)
    }
}

/// What an insertion has put, also if it failed in the middle.
#[derive(Debug, Default)]
pub(super) struct Inserted {
    /// By whom the tuple of each key was begun.
    pub(super) batches: Vec<i64>,
    pub(super) keys: Vec<Bytes>,
    pub(super) values: Vec<Tensor>,
    /// A tuple that was whole and did not fit.
    pub(super) lost: Option<(i64, Bytes)>,
}

/// A whole tuple.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// The number of the insertion that began it.
    pub(super) batch: i64,
    pub(super) key: Bytes,
    pub(super) components: Vec<Tensor>,
}

/// A tuple that lacks components.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) batch: i64,
    pub(super) components: Vec<Option<Tensor>>,
}

#[derive(Debug)]
pub(super) struct State {
    name: String,
    pub(super) closed: bool,
    /// Whether the closing also refuses components of tuples that were begun.
    pub(super) cancelled: bool,
    pub(super) next_batch: i64,
    pub(super) incomplete: FxHashMap<Bytes, Begun>,
    /// By the insertion that began them, then in the order in which they became whole.
    pub(super) ready: BTreeMap<i64, VecDeque<Element>>,
}

impl Barrier {
    pub(super) fn new(name: &str, signature: Signature) -> Barrier {
        let state = State {
            name: name.to_owned(),
            closed: false,
            cancelled: false,
            next_batch: i64::MIN,
            incomplete: FxHashMap::default(),
            ready: BTreeMap::new(),
        };
        let (kept, state) = (Kept::default(), Watched::new(state));
        Barrier { name: name.to_owned(), signature, kept, state }
    }
}

impl State {
    pub(super) fn ready(&self) -> usize {
        self.ready.values().map(VecDeque::len).sum()
    }

    pub(super) fn incomplete(&self) -> usize {
        self.incomplete.len()
    }

    /// Puts one component of many tuples. Those before a bad one stay put.
    pub(super) fn insert(
        &mut self,
        keys: &[Bytes],
        values: Vec<Tensor>,
        index: usize,
        shapes: &[Shape],
        inserted: &mut Inserted,
    ) -> Result<()> {
        let name = &self.name;
        if self.closed {
            let new = keys.iter().filter(|key| !self.incomplete.contains_key(*key)).count();
            if self.cancelled || (new > 0 && self.incomplete.is_empty()) {
                return Err(cancelled!(
                    "Barrier {name} is closed.  Pending enqueues cancelled: {}.  Number of new \
                     insertions: {new}.  Number of incomplete keys: {}.",
                    u8::from(self.cancelled),
                    self.incomplete.len()
                ));
            }
        }
        // Only keys that are new make a batch.
        let batch = self.next_batch;
        let next_batch = &mut self.next_batch;
        for (at, (key, value)) in keys.iter().zip(values).enumerate() {
            if self.closed && !self.incomplete.contains_key(key) {
                return Err(cancelled!(
                    "Barrier {name} is closed, but attempted to insert a brand new key: {}.  \
                     Pending enqueues cancelled: {}.  Insertion index: {at}.  Number of incomplete \
                     keys: {}.",
                    String::from_utf8_lossy(key),
                    u8::from(self.cancelled),
                    self.incomplete.len()
                ));
            }
            let begun = self.incomplete.entry(key.clone()).or_insert_with(|| {
                *next_batch = batch.wrapping_add(1);
                Begun { batch, components: vec![None; shapes.len()] }
            });
            if begun.components[index].is_some() {
                return Err(invalid_argument!(
                    "Key {} already has a value for component {index} in barrier {name}",
                    String::from_utf8_lossy(key)
                ));
            }
            inserted.batches.push(begun.batch);
            inserted.keys.push(key.clone());
            inserted.values.push(value.clone());
            begun.components[index] = Some(value);
            if begun.components.iter().all(Option::is_some)
                && let Some(begun) = self.incomplete.remove(key)
            {
                let components: Vec<Tensor> = begun.components.into_iter().flatten().collect();
                // As in TensorFlow, what does not fit shows when its tuple is whole, which is lost.
                for (at, (value, shape)) in components.iter().zip(shapes).enumerate() {
                    if value.shape() != shape {
                        inserted.lost = Some((begun.batch, key.clone()));
                        return Err(invalid_argument!(
                            "Shape mismatch in tuple component {}. Expected {shape}, got {}",
                            at + HIDDEN_COMPONENTS,
                            value.shape()
                        ));
                    }
                }
                let element = Element { batch: begun.batch, key: key.clone(), components };
                self.ready.entry(begun.batch).or_default().push_back(element);
            }
        }
        Ok(())
    }

    /// Takes whole tuples, if there are enough of them or no more will come.
    pub(super) fn take(
        &mut self,
        wanted: usize,
        small_batch: bool,
    ) -> Result<Option<Vec<Element>>> {
        let ready = self.ready();
        let mut count = wanted;
        if self.closed {
            let available = if small_batch {
                count = count.min(ready);
                ready
            } else {
                ready + self.incomplete.len()
            };
            if available < count.max(1) && wanted > 0 {
                return Err(out_of_range!(
                    "Barrier '{}' is closed and has insufficient elements (requested {count}, \
                     total size {available})",
                    self.name
                ));
            }
        }
        if ready < count {
            return Ok(None);
        }
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count
            && let Some(mut first) = self.ready.first_entry()
        {
            taken.extend(first.get_mut().pop_front());
            if first.get().is_empty() {
                first.remove();
            }
        }
        Ok(Some(taken))
    }

    /// Closes. Twice only if the second time refuses more.
    pub(super) fn close(&mut self, cancel: bool) -> Result<()> {
        if self.closed && (self.cancelled || !cancel) {
            return Err(cancelled!("Barrier '{}' is already closed.", self.name));
        }
        (self.closed, self.cancelled) = (true, cancel);
        if cancel {
            self.incomplete.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(barrier: &Barrier, keys: &[&'static str], index: usize) -> Result<()> {
        let keys: Vec<Bytes> = keys.iter().map(|key| Bytes::from_static(key.as_bytes())).collect();
        let values = keys.iter().map(|_| Tensor::scalar(1f32)).collect();
        barrier.state.change(|state| {
            let shapes = [Shape::SCALAR, Shape::SCALAR];
            state.insert(&keys, values, index, &shapes, &mut Inserted::default())
        })
    }

    fn take(barrier: &Barrier, count: usize, small: bool) -> Result<Option<Vec<Bytes>>> {
        let taken = barrier.state.change(|state| state.take(count, small))?;
        Ok(taken.map(|taken| taken.into_iter().map(|element| element.key).collect()))
    }

    #[test]
    fn tuples_leave_when_they_are_whole() {
        let signature = Signature { dtypes: vec![DType::Float; 2], shapes: Vec::new() };
        let barrier = Barrier::new("b", signature);
        insert(&barrier, &["x", "y", "z"], 0).unwrap();
        assert_eq!(take(&barrier, 1, false).unwrap(), None);
        insert(&barrier, &["z", "x"], 1).unwrap();
        assert_eq!(take(&barrier, 2, false).unwrap().unwrap(), ["z", "x"]);
        insert(&barrier, &["w"], 0).unwrap();
        let twice = insert(&barrier, &["w"], 0).unwrap_err();
        assert!(twice.message().contains("already has a value"), "{twice}");
    }

    #[test]
    fn what_does_not_fit_shows_when_its_tuple_is_whole() {
        let signature = Signature { dtypes: vec![DType::Float; 2], shapes: Vec::new() };
        let barrier = Barrier::new("b", signature);
        let keys = [Bytes::from_static(b"x")];
        let pair = Tensor::vector(&[1f32, 2.]).unwrap();
        let shapes = [Shape::SCALAR, Shape::SCALAR];
        let mut inserted = Inserted::default();
        barrier
            .state
            .change(|state| state.insert(&keys, vec![pair], 0, &shapes, &mut inserted))
            .unwrap();
        assert_eq!(inserted.keys, keys);
        let error = insert(&barrier, &["x"], 1).unwrap_err();
        assert_eq!(error.message(), "Shape mismatch in tuple component 2. Expected [], got [2]");
    }

    #[test]
    fn a_closed_barrier_still_completes_what_was_begun() {
        let signature = Signature { dtypes: vec![DType::Float; 2], shapes: Vec::new() };
        let barrier = Barrier::new("b", signature);
        insert(&barrier, &["x"], 0).unwrap();
        barrier.state.change(|state| state.close(false)).unwrap();
        assert!(insert(&barrier, &["y"], 0).is_err());
        assert_eq!(take(&barrier, 1, false).unwrap(), None);
        insert(&barrier, &["x"], 1).unwrap();
        assert_eq!(take(&barrier, 9, true).unwrap().unwrap(), ["x"]);
        assert!(take(&barrier, 1, true).is_err());
        assert!(barrier.state.change(|state| state.close(false)).is_err());
    }
}
