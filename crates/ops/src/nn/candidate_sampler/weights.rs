//! Integer weights from which one is drawn in proportion, and which may grow.

use tensorfleet_kernels::random::Words;
use tensorfleet_tensor::{Result, invalid_argument, resource_exhausted};

/// A weight for each class, one at first, as the leaves of a binary tree of sums.
#[derive(Debug)]
pub(super) struct Weights {
    /// The root is at 1; the children of `i` are at `2 * i` and `2 * i + 1`.
    tree: Vec<i32>,
    leaves: usize,
}

impl Weights {
    pub(super) fn new(classes: i64) -> Result<Weights> {
        let leaves = match usize::try_from(classes) {
            Ok(count) if classes < i32::MAX.into() => count.next_power_of_two(),
            _ => {
                return Err(invalid_argument!(
                    "range_max must be less than {} for unigram samplers, got {classes}",
                    i32::MAX
                ));
            }
        };
        let mut tree = Vec::new();
        tree.try_reserve_exact(2 * leaves)
            .map_err(|_| resource_exhausted!("no memory for the weights of {classes} classes"))?;
        tree.resize(2 * leaves, 0);
        tree[leaves..leaves + classes as usize].fill(1);
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node] + tree[2 * node + 1];
        }
        Ok(Weights { tree, leaves })
    }

    fn total(&self) -> i32 {
        self.tree[1]
    }

    /// Draws a class with a chance in proportion to its weight.
    pub(super) fn draw(&self, words: &mut Words) -> i64 {
        let mut position = words.below(self.total() as u32) as i32;
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if position >= self.tree[node] {
                position -= self.tree[node];
                node += 1;
            }
        }
        (node - self.leaves) as i64
    }

    /// The chance of a class.
    pub(super) fn probability(&self, class: i64) -> f32 {
        self.tree[self.leaves + class as usize] as f32 / self.total() as f32
    }

    /// Adds one to the weight of each of these classes, until the sum would overflow.
    pub(super) fn count(&mut self, classes: &[i64]) {
        let room = (i32::MAX - self.total()) as usize;
        for &class in classes.iter().take(room) {
            let mut node = self.leaves + class as usize;
            while node > 0 {
                self.tree[node] += 1;
                node /= 2;
            }
        }
    }
}
