//! The elements of a queue, and in which order they leave.

use std::collections::VecDeque;

use tensorfleet_kernels::random::{Philox, Words, entropy};
use tensorfleet_tensor::Tensor;

use super::queue::{Element, Kind};

#[derive(Debug)]
pub(super) enum Store {
    InOrder(VecDeque<Element>),
    Shuffled { elements: Vec<Element>, min_after_dequeue: usize, random: Words },
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
                Store::Shuffled { elements: Vec::new(), min_after_dequeue, random }
            }
            Kind::Priority => Store::ByPriority(Heap::default()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Store::InOrder(elements) => elements.len(),
            Store::Shuffled { elements, .. } => elements.len(),
            Store::ByPriority(heap) => heap.0.len(),
        }
    }

    /// The bytes of all elements.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |element: &Element| element.tuple.iter().map(Tensor::byte_len).sum::<usize>();
        match self {
            Store::InOrder(elements) => elements.iter().map(bytes).sum(),
            Store::Shuffled { elements, .. } => elements.iter().map(bytes).sum(),
            Store::ByPriority(heap) => heap.0.iter().map(|(_, element)| bytes(element)).sum(),
        }
    }

    /// How many may leave.
    pub(super) fn available(&self, closed: bool) -> usize {
        match self {
            Store::Shuffled { elements, min_after_dequeue, .. } if !closed => {
                elements.len().saturating_sub(*min_after_dequeue)
            }
            _ => self.len(),
        }
    }

    pub(super) fn put(&mut self, element: Element) {
        match self {
            Store::InOrder(elements) => elements.push_back(element),
            Store::Shuffled { elements, .. } => elements.push(element),
            Store::ByPriority(heap) => {
                let first = element.tuple.first();
                let priority =
                    first.and_then(|first| first.scalar_value().ok()).unwrap_or_default();
                heap.push(priority, element);
            }
        }
    }

    pub(super) fn take(&mut self) -> Option<Element> {
        match self {
            Store::InOrder(elements) => elements.pop_front(),
            Store::Shuffled { elements, random, .. } if !elements.is_empty() => {
                let index = random.next_u32() as usize % elements.len();
                Some(elements.swap_remove(index))
            }
            Store::Shuffled { .. } => None,
            Store::ByPriority(heap) => heap.pop(),
        }
    }

    /// Takes elements back as if they had not left.
    pub(super) fn restore(&mut self, back: Vec<Element>) {
        match self {
            Store::InOrder(elements) => {
                for element in back.into_iter().rev() {
                    elements.push_front(element);
                }
            }
            // The last first: the order in which they leave again follows from it.
            _ => back.into_iter().rev().for_each(|element| self.put(element)),
        }
    }

    /// All elements, in an order in which they can be put again.
    pub(super) fn elements(&self) -> Vec<&Element> {
        match self {
            Store::InOrder(elements) => elements.iter().collect(),
            Store::Shuffled { elements, .. } => elements.iter().collect(),
            // Each has its parent before it, so that none rises.
            Store::ByPriority(heap) => heap.0.iter().map(|(_, element)| element).collect(),
        }
    }

    /// Puts an element where its number says: also one that comes back.
    pub(super) fn put_again(&mut self, element: Element) {
        match self {
            Store::InOrder(elements) => {
                let place = elements.partition_point(|other| other.number < element.number);
                elements.insert(place, element);
            }
            _ => self.put(element),
        }
    }

    /// Takes the element of a number, if it is there.
    pub(super) fn take_again(&mut self, number: u64) {
        match self {
            Store::InOrder(elements) => {
                let place = elements.partition_point(|other| other.number < number);
                if elements.get(place).is_some_and(|element| element.number == number) {
                    elements.remove(place);
                }
            }
            Store::Shuffled { elements, .. } => {
                if let Some(place) = elements.iter().position(|element| element.number == number) {
                    elements.swap_remove(place);
                }
            }
            Store::ByPriority(heap) => heap.remove(number),
        }
    }
}

/// A binary heap, lowest priority first.
///
/// Elements of equal priority leave in the order in which the heap of TensorFlow's standard library
/// gives them, which `std::collections::BinaryHeap` does not.
#[derive(Debug, Default)]
pub(super) struct Heap(Vec<(i64, Element)>);

impl Heap {
    fn push(&mut self, priority: i64, element: Element) {
        self.0.push((priority, element));
        self.rise(self.0.len() - 1);
    }

    fn pop(&mut self) -> Option<Element> {
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

    /// Removes the element of a number: mostly the first, otherwise the others are put anew.
    fn remove(&mut self, number: u64) {
        if self.0.first().is_some_and(|(_, first)| first.number == number) {
            self.pop();
        } else if self.0.iter().any(|(_, element)| element.number == number) {
            for (priority, element) in std::mem::take(&mut self.0) {
                if element.number != number {
                    self.push(priority, element);
                }
            }
        }
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
                let tuple = vec![Tensor::scalar::<i64>(priority), Tensor::scalar(index)];
                store.put(Element { number: index as u64, tuple });
            }
            let left: Vec<i64> = std::iter::from_fn(|| store.take())
                .map(|element| element.tuple[1].scalar_value().unwrap())
                .collect();
            assert_eq!(left, order);
        }
    }
}
