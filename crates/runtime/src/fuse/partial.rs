//! Operands that are smaller than the output: their values repeat along it.

use tensorfleet_framework::Row;
use tensorfleet_tensor::{Element, Shape};

/// Elements that go through all functions before the next ones do.
pub(super) const BLOCK: usize = 512;

/// How values repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// The values one after the other, again and again: those of the output's last dimensions, as a
    /// bias is.
    Cycle,
    /// Each value so many times: one for every row of the output, as a mean is that keeps its
    /// dimension.
    Each(usize),
}

/// An operand whose values repeat.
#[derive(Debug)]
pub(super) struct Partial<T> {
    pattern: Pattern,
    len: usize,
    /// The values; of a cycle also as many of them again as a block may need.
    values: Vec<T>,
}

impl<T: Element> Partial<T> {
    /// The operand of one shape for an output of another, if its values repeat in a simple way.
    pub(super) fn new(values: &[T], shape: &Shape, output: &Shape) -> Option<Partial<T>> {
        let (dims, all) = (shape.dims(), output.dims());
        if all.ends_with(dims) {
            return Some(Partial::of(Pattern::Cycle, values));
        }
        let same = dims.iter().zip(all).take_while(|(a, b)| a == b).count();
        let is_column = dims.len() == all.len() && dims[same..].iter().all(|&dim| dim == 1);
        let span = all[same..].iter().product();
        is_column.then(|| Partial::of(Pattern::Each(span), values))
    }

    fn of(pattern: Pattern, values: &[T]) -> Partial<T> {
        let len = values.len();
        let values = match pattern {
            Pattern::Cycle => values.iter().cycle().take(len + BLOCK).copied().collect(),
            Pattern::Each(_) => values.to_vec(),
        };
        Partial { pattern, len, values }
    }

    /// Whether the values of two operands belong to the same elements of the output.
    pub(super) fn is_like(&self, other: &Partial<T>) -> bool {
        (self.pattern, self.len) == (other.pattern, other.len)
    }

    /// An operand that repeats as this one, with other values.
    pub(super) fn with_values(&self, compute: impl FnOnce(&mut [T])) -> Partial<T> {
        let mut values = vec![T::default(); self.len];
        compute(&mut values);
        Partial::of(self.pattern, &values)
    }

    /// The values once.
    pub(super) fn once(&self) -> &[T] {
        &self.values[..self.len]
    }

    /// What belongs to the elements of the output from `at` on, up to a block of them.
    pub(super) fn row<'a>(&'a self, at: usize, len: usize, space: &'a mut [T]) -> Row<'a, T> {
        let span = match self.pattern {
            Pattern::Cycle => return Row::Slice(&self.values[at % self.len..][..len]),
            Pattern::Each(span) => span,
        };
        let (first, mut rest) = (at / span, span - at % span);
        if len <= rest {
            return Row::Value(self.values[first]);
        }
        let mut space_left = &mut space[..len];
        for &value in &self.values[first..] {
            let (part, others) = space_left.split_at_mut(rest.min(space_left.len()));
            part.fill(value);
            (space_left, rest) = (others, span);
            if space_left.is_empty() {
                break;
            }
        }
        Row::Slice(&space[..len])
    }
}
