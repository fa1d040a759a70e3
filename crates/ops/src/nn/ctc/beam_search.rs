//! The most probable label sequences, searched with a beam.

use rustc_hash::FxHashMap;
use tensorfleet_kernels::Wide;
use tensorfleet_tensor::{Result, invalid_argument};

use super::add_logs;

/// Logarithms of the probability of a sequence: of all alignments, of those that end in a blank,
/// and of those that end in its last label.
#[derive(Clone, Copy, Debug)]
struct Probability<T> {
    total: T,
    blank: T,
    label: T,
}

impl<T: Wide> Probability<T> {
    fn zero() -> Probability<T> {
        let zero = T::neg_infinity();
        Probability { total: zero, blank: zero, label: zero }
    }
}

/// A sequence: that of its parent and one label more.
#[derive(Debug)]
struct Entry<T> {
    /// Nothing for the empty sequence.
    parent: Option<usize>,
    label: usize,
    children: FxHashMap<usize, usize>,
    old: Probability<T>,
    new: Probability<T>,
}

/// A search in progress.
#[derive(Debug)]
pub(super) struct BeamSearch<T> {
    width: usize,
    classes: usize,
    /// All sequences looked at so far; the empty one is first.
    entries: Vec<Entry<T>>,
    /// The most probable sequences.
    leaves: Vec<usize>,
    /// The place of the least probable leaf, once it is needed.
    bottom: Option<usize>,
}

impl<T: Wide> BeamSearch<T> {
    pub(super) fn new(width: usize, classes: usize) -> BeamSearch<T> {
        let one = Probability { total: T::zero(), blank: T::zero(), label: T::neg_infinity() };
        let root = Entry {
            parent: None,
            label: usize::MAX,
            children: FxHashMap::default(),
            old: Probability::zero(),
            new: one,
        };
        BeamSearch { width, classes, entries: vec![root], leaves: vec![0], bottom: None }
    }

    /// Takes the input of one time step.
    pub(super) fn step(&mut self, input: &[T]) {
        let blank = self.classes - 1;
        let max = input.iter().fold(T::neg_infinity(), |a, &b| if b > a { b } else { a });
        let sum = input.iter().fold(T::zero(), |sum, &x| sum + (x - max).exp());
        let norm = max + sum.ln();
        let branches = self.sorted_leaves();
        self.leaves.clear();
        self.bottom = None;
        for &at in &branches {
            self.entries[at].old = self.entries[at].new;
        }
        for &at in &branches {
            let Entry { parent, label, old, mut new, .. } = self.entries[at];
            if let Some(parent) = parent {
                let parent = &self.entries[parent];
                if parent.new.total != T::neg_infinity() {
                    // A repeated label needs a blank between.
                    let before =
                        if parent.label == label { parent.old.blank } else { parent.old.total };
                    new.label = add_logs(new.label, before);
                }
                new.label = new.label + (input[label] - norm);
            }
            new.blank = old.total + input[blank] - norm;
            new.total = add_logs(new.blank, new.label);
            self.entries[at].new = new;
            self.leaves.push(at);
        }
        for at in branches {
            if !self.is_candidate(self.entries[at].old.total) {
                continue;
            }
            for (label, &logit) in input[..blank].iter().enumerate() {
                self.grow(at, label, logit - norm);
            }
        }
    }

    /// Tries a sequence longer by a label.
    fn grow(&mut self, at: usize, label: usize, log_share: T) {
        let next = self.entries.len();
        let child = *self.entries[at].children.entry(label).or_insert(next);
        if child == next {
            self.entries.push(Entry {
                parent: Some(at),
                label,
                children: FxHashMap::default(),
                old: Probability::zero(),
                new: Probability::zero(),
            });
        }
        if self.entries[child].new.total != T::neg_infinity() {
            return;
        }
        let parent = &self.entries[at];
        let before = if parent.label == label { parent.old.blank } else { parent.old.total };
        let total = log_share + before;
        if !self.is_candidate(total) {
            self.entries[child].old = Probability::zero();
            self.entries[child].new = Probability::zero();
            return;
        }
        self.entries[child].new = Probability { total, blank: T::neg_infinity(), label: total };
        if self.leaves.len() == self.width {
            let bottom = self.bottom();
            let dropped = self.leaves[bottom];
            self.entries[dropped].new = Probability::zero();
            self.leaves[bottom] = child;
        } else {
            self.leaves.push(child);
        }
        self.bottom = None;
    }

    /// Whether something so probable is possible at all and among the best.
    fn is_candidate(&mut self, total: T) -> bool {
        if total <= T::neg_infinity() || total.is_nan() {
            return false;
        }
        if self.leaves.len() < self.width {
            return true;
        }
        let bottom = self.bottom();
        total > self.entries[self.leaves[bottom]].new.total
    }

    /// The place of the least probable leaf.
    fn bottom(&mut self) -> usize {
        if let Some(bottom) = self.bottom {
            return bottom;
        }
        let total = |place: usize| self.entries[self.leaves[place]].new.total;
        let bottom = (1..self.leaves.len())
            .fold(0, |low, place| if total(place) < total(low) { place } else { low });
        self.bottom = Some(bottom);
        bottom
    }

    fn sorted_leaves(&self) -> Vec<usize> {
        let mut leaves = self.leaves.clone();
        leaves.sort_by(|&a, &b| {
            super::super::nan_last(&self.entries[b].new.total, &self.entries[a].new.total)
        });
        leaves
    }

    /// The best sequences and the logarithms of their probabilities.
    pub(super) fn top_paths(
        &self,
        count: usize,
        merge_repeated: bool,
    ) -> Result<Vec<(Vec<i64>, T)>> {
        if count > self.width {
            return Err(invalid_argument!("requested more paths than the beam width."));
        }
        if count > self.leaves.len() {
            return Err(invalid_argument!("Less leaves in the beam search than requested."));
        }
        let best = self.sorted_leaves().into_iter().take(count);
        Ok(best.map(|at| (self.labels(at, merge_repeated), self.entries[at].new.total)).collect())
    }

    fn labels(&self, mut at: usize, merge_repeated: bool) -> Vec<i64> {
        let mut labels = Vec::new();
        let mut after = None;
        while let Some(parent) = self.entries[at].parent {
            let label = self.entries[at].label;
            if !merge_repeated || after != Some(label) {
                labels.push(label as i64);
            }
            after = Some(label);
            at = parent;
        }
        labels.reverse();
        labels
    }
}
