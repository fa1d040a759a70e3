//! The elements of a queue, and in which order they leave.

use std::collections::VecDeque;

use tensorfleet_kernels::random::{Philox, Words, entropy};

use super::queue::{Kind, Tuple};

#[derive(Debug)]
pub(super) enum Store {
    InOrder(VecDeque<Tuple>),
    Shuffled { tuples: Vec<Tuple>, min_after_dequeue: usize, random: Words },
    ByPriority(Heap),
}

impl Store {
    pub(super) fn new(kind: Kind) -> Store {
        match kind {
            Kind::Fifo | Kind::Padding => Store::InOrder(VecDeque::new()),
            Kind::Shuffle { min_after_dequeue, seeds } => {
                let (first, second) = match seeds {
                    // No seed asks for another order in every run.
                    (0, 0) => (entropy(), entropy()),
                    (first, second) => (first as u64, second as u64),
                };
                let random = Philox::new(first, second).words();
                Store::Shuffled { tuples: Vec::new(), min_after_dequeue, random }
            }
            Kind::Priority => Store::ByPriority(Heap::default()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Store::InOrder(tuples) => tuples.len(),
            Store::Shuffled { tuples, .. } => tuples.len(),
            Store::ByPriority(heap) => heap.0.len(),
        }
    }

    /// How many may leave.
    pub(super) fn available(&self, closed: bool) -> usize {
        match self {
            Store::Shuffled { tuples, min_after_dequeue, .. } if !closed => {
                tuples.len().saturating_sub(*min_after_dequeue)
            }
            _ => self.len(),
        }
    }

    pub(super) fn put(&mut self, tuple: Tuple) {
        match self {
            Store::InOrder(tuples) => tuples.push_back(tuple),
            Store::Shuffled { tuples, .. } => tuples.push(tuple),
            Store::ByPriority(heap) => {
                let priority =
                    tuple.first().and_then(|first| first.scalar_value().ok()).unwrap_or_default();
                heap.push(priority, tuple);
            }
        }
    }

    pub(super) fn take(&mut self) -> Option<Tuple> {
        match self {
            Store::InOrder(tuples) => tuples.pop_front(),
            Store::Shuffled { tuples, random, .. } if !tuples.is_empty() => {
                let index = random.next_u32() as usize % tuples.len();
                Some(tuples.swap_remove(index))
            }
            Store::Shuffled { .. } => None,
            Store::ByPriority(heap) => heap.pop(),
        }
    }

    /// Takes elements back as if they had not left.
    pub(super) fn restore(&mut self, back: Vec<Tuple>) {
        match self {
            Store::InOrder(tuples) => {
                for tuple in back.into_iter().rev() {
                    tuples.push_front(tuple);
                }
            }
            // The last first: the order in which they leave again follows from it.
            _ => back.into_iter().rev().for_each(|tuple| self.put(tuple)),
        }
    }
}

/// A binary heap, lowest priority first.
///
/// Elements of equal priority leave in the order in which the heap of TensorFlow's standard library
/// gives them, which `std::collections::BinaryHeap` does not.
#[derive(Debug, Default)]
pub(super) struct Heap(Vec<(i64, Tuple)>);

impl Heap {
    fn push(&mut self, priority: i64, tuple: Tuple) {
        self.0.push((priority, tuple));
        self.rise(self.0.len() - 1);
    }

    fn pop(&mut self) -> Option<Tuple> {
        let last = self.0.len().checked_sub(1)?;
        self.0.swap(0, last);
        let (_, first) = self.0.pop()?;
        // What was last sinks to the bottom, whatever its priority, and rises from there.
        let mut at = 0;
        while 2 * at + 1 < self.0.len() {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let is_left = right == self.0.len() || self.0[right].0 > self.0[left].0;
            let child = if is_left { left } else { right };
            self.0.swap(at, child);
            at = child;
        }
        if !self.0.is_empty() {
            self.rise(at);
        }
        Some(first)
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.0[(at - 1) / 2].0 > self.0[at].0 {
            let parent = (at - 1) / 2;
            self.0.swap(at, parent);
            at = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::Tensor;

    use super::*;

    /// Recorded from TensorFlow.
    #[test]
    fn equal_priorities_leave_as_tensorflow_s() {
        for (priorities, order) in [
            (&[0, 0, 0, 0, 0, 0, 0][..], &[0, 2, 5, 6, 4, 1, 3][..]),
            (&[1, 1, 0, 0, 1, 1, 0, 0, 2, 2], &[2, 6, 3, 7, 0, 5, 4, 1, 8, 9]),
            (&[3, 1, 3, 1, 3, 1], &[1, 5, 3, 2, 0, 4]),
        ] {
            let mut store = Store::new(Kind::Priority);
            for (index, &priority) in (0i64..).zip(priorities) {
                store.put(vec![Tensor::scalar::<i64>(priority), Tensor::scalar(index)]);
            }
            let left: Vec<i64> = std::iter::from_fn(|| store.take())
                .map(|tuple| tuple[1].scalar_value().unwrap())
                .collect();
            assert_eq!(left, order);
        }
    }
}
