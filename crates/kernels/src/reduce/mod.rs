//! Reductions: sums, products, extremes and their kind over some dimensions of a tensor.
//!
//! [`Axes`] merges neighbouring dimensions that are both reduced or both kept. Any reduction is then
//! a few passes, last reduced group first, over data seen as `outer x reduced x inner`; a pass folds
//! rows (`inner` is one) or adds rows up column by column. Floating-point sums run in many lanes and
//! in blocks, so that their error grows slowly, and half-precision types are summed in `f32`.

mod arg;
mod kinds;
mod pass;
#[cfg(test)]
mod tests;

pub use arg::{Ordered, argmax, argmin};
pub use kinds::{All, Any, Max, Mean, Min, Prod, Sum, l2_loss};

use crate::Parallel;

/// What is computed from the values that meet in one output position.
pub trait Reduction<T: Copy + Send + Sync>: Sync + 'static {
    /// The type values are gathered in.
    type Acc: Copy + Send + Sync;

    /// The result of gathering nothing.
    fn empty() -> Self::Acc;
    /// A value by itself.
    fn lift(x: T) -> Self::Acc;
    /// Two partial results as one.
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The output, given how many values were gathered.
    fn finish(acc: Self::Acc, count: usize) -> T;

    /// Gathers a few thousand adjacent values at most.
    fn fold(x: &[T]) -> Self::Acc {
        pass::fold_lanes::<Self, T>(x)
    }

    /// Adds a value to each of a row of results.
    fn fold_into(accs: &mut [Self::Acc], x: &[T]) {
        for (acc, &x) in accs.iter_mut().zip(x) {
            *acc = Self::combine(*acc, Self::lift(x));
        }
    }
}

/// Which dimensions of a shape are reduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    /// Alternately kept and reduced, outermost first; dimensions of length one are left out.
    groups: Vec<Group>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    len: usize,
    reduced: bool,
}

impl Axes {
    /// The dimensions of `shape` for which `reduced` holds.
    pub fn new(shape: &[usize], reduced: impl Fn(usize) -> bool) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for (axis, &len) in shape.iter().enumerate().filter(|(_, len)| **len != 1) {
            let reduced = reduced(axis);
            match groups.last_mut() {
                Some(group) if group.reduced == reduced => group.len *= len,
                _ => groups.push(Group { len, reduced }),
            }
        }
        Self { groups }
    }

    /// The middle one of three dimensions.
    pub fn middle(outer: usize, reduced: usize, inner: usize) -> Self {
        Self::new(&[outer, reduced, inner], |axis| axis == 1)
    }

    /// All of `len` values.
    pub fn all(len: usize) -> Self {
        Self::new(&[len], |_| true)
    }

    /// The number of values reduced to one.
    pub fn count(&self) -> usize {
        self.product(true)
    }

    /// The number of output values.
    pub fn outputs(&self) -> usize {
        self.product(false)
    }

    fn product(&self, reduced: bool) -> usize {
        self.groups.iter().filter(|group| group.reduced == reduced).map(|group| group.len).product()
    }

    /// The last reduced group as the middle of three dimensions, and the axes without it.
    fn split_last(&self) -> Option<([usize; 3], Self)> {
        let last = self.groups.iter().rposition(|group| group.reduced)?;
        let len = |groups: &[Group]| groups.iter().map(|group| group.len).product();
        let (before, after) = (&self.groups[..last], &self.groups[last + 1..]);
        let mut rest = Self { groups: before.to_vec() };
        for &group in after {
            match rest.groups.last_mut() {
                Some(previous) if previous.reduced == group.reduced => previous.len *= group.len,
                _ => rest.groups.push(group),
            }
        }
        Some(([len(before), self.groups[last].len, len(after)], rest))
    }
}

/// Reduces `x` over `axes` into `out`.
///
/// # Panics
/// If `x` or `out` has not the length that `axes` says.
pub fn reduce<R: Reduction<T>, T: Copy + Send + Sync>(
    par: Parallel,
    x: &[T],
    axes: &Axes,
    out: &mut [T],
) {
    let count = axes.count();
    assert_eq!(out.len(), axes.outputs(), "the output has not the kept dimensions");
    assert_eq!(x.len(), count * out.len(), "the input has not the shape of the axes");
    let finish = |accs: &[R::Acc], out: &mut [T]| {
        out.iter_mut().zip(accs).for_each(|(out, &acc)| *out = R::finish(acc, count));
    };
    let Some((dims, mut rest)) = axes.split_last() else {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = R::finish(R::lift(x), count));
        return;
    };
    let mut accs = pass::pass(par, x, dims, R::empty(), R::combine, R::fold, R::fold_into);
    while let Some((dims, next)) = rest.split_last() {
        accs = pass::combine_pass::<R, T>(par, &accs, dims);
        rest = next;
    }
    finish(&accs, out);
}
