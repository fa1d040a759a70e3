//! A heap of the best `k` of many candidates.
//!
//! It moves its elements as TensorFlow's does, which is the C++ standard library's: the order in
//! which an unsorted `TopK` returns its values is the order in which that heap holds them.

/// The best candidates so far; once there were too many, the worst of them is first.
#[derive(Debug)]
pub(super) struct Heap<'a, F> {
    elements: &'a mut Vec<usize>,
    limit: usize,
    is_full: bool,
    /// Whether the first argument is better.
    better: F,
}

impl<'a, F: Fn(usize, usize) -> bool> Heap<'a, F> {
    /// Starts with no candidate, in `elements`, for at least one.
    pub(super) fn new(elements: &'a mut Vec<usize>, limit: usize, better: F) -> Self {
        elements.clear();
        Heap { elements, limit, is_full: false, better }
    }

    /// Takes a candidate if it is among the best.
    pub(super) fn offer(&mut self, candidate: usize) {
        if !self.is_full {
            self.elements.push(candidate);
            if self.elements.len() > self.limit {
                self.arrange();
                self.drop_worst();
                self.is_full = true;
            }
        } else if (self.better)(candidate, self.elements[0]) {
            self.drop_worst();
            self.elements.push(candidate);
            rise(self.elements, 0, self.limit - 1, candidate, &self.better);
        }
    }

    /// Puts the best first.
    pub(super) fn sort(self) {
        for len in (1..self.elements.len()).rev() {
            let last = self.elements[len];
            self.elements[len] = self.elements[0];
            sink(&mut self.elements[..len], 0, last, &self.better);
        }
    }

    /// Makes a heap of elements in any order.
    fn arrange(&mut self) {
        for at in (0..self.elements.len() / 2).rev() {
            let value = self.elements[at];
            sink(self.elements, at, value, &self.better);
        }
    }

    fn drop_worst(&mut self) {
        if let Some(last) = self.elements.pop()
            && !self.elements.is_empty()
        {
            sink(self.elements, 0, last, &self.better);
        }
    }
}

/// Puts `value` into the heap at or below `top`: the hole sinks to a leaf, then the value rises.
fn sink(heap: &mut [usize], top: usize, value: usize, better: &impl Fn(usize, usize) -> bool) {
    let mut hole = top;
    while let Some(&left) = heap.get(2 * hole + 1) {
        let is_left = heap.get(2 * hole + 2).is_none_or(|&right| better(right, left));
        let child = 2 * hole + if is_left { 1 } else { 2 };
        heap[hole] = heap[child];
        hole = child;
    }
    rise(heap, top, hole, value, better);
}

/// Puts `value` into the hole or above it, up to `top`.
fn rise(
    heap: &mut [usize],
    top: usize,
    mut hole: usize,
    value: usize,
    better: &impl Fn(usize, usize) -> bool,
) {
    while hole > top {
        let parent = (hole - 1) / 2;
        if !better(heap[parent], value) {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = value;
}
