//! Views: which elements of a row-major tensor an op means, and in which order.
//!
//! Most ops of this family move elements without looking at them. Each says where its result comes
//! from by slicing, reversing, permuting or repeating the axes of its input's view, and [`copy`]
//! moves the elements. Views are arithmetic only: the caller has checked its arguments.
//!
//! [`copy`]: super::copy

use std::ops::Range;

use smallvec::SmallVec;

/// One axis of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) len: usize,
    /// How many elements apart neighbours are: negative backwards, zero for one element repeated.
    pub(crate) stride: isize,
}

/// Some elements of a tensor, arranged along axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// Where the first element is.
    pub(crate) offset: isize,
    pub(crate) axes: SmallVec<[Axis; 6]>,
}

impl View {
    /// All elements of a tensor with dimensions `dims`.
    pub(crate) fn of(dims: &[usize]) -> View {
        let mut stride = 1isize;
        let mut axes: SmallVec<[Axis; 6]> =
            dims.iter().map(|&len| Axis { len, stride: 0 }).collect();
        for axis in axes.iter_mut().rev() {
            axis.stride = stride;
            // Only an empty tensor can overflow here, and nothing of it is ever copied.
            stride = stride.wrapping_mul(axis.len as isize);
        }
        View { offset: 0, axes }
    }

    /// One element, repeated over all of `dims`.
    pub(crate) fn repeated(dims: &[usize]) -> View {
        View { offset: 0, axes: dims.iter().map(|&len| Axis { len, stride: 0 }).collect() }
    }

    /// A tensor with dimensions `dims` broadcast to `target`; nothing if it does not fit. Leading
    /// axes of length 1 may be left over.
    pub(crate) fn broadcast(dims: &[usize], target: &[usize]) -> Option<View> {
        let mut view = View::of(dims);
        while view.axes.len() > target.len() {
            if view.axes.remove(0).len != 1 {
                return None;
            }
        }
        let missing = target.len() - view.axes.len();
        view.axes.insert_many(0, std::iter::repeat_n(Axis { len: 1, stride: 0 }, missing));
        for (axis, &len) in view.axes.iter_mut().zip(target) {
            if axis.len != len {
                if axis.len != 1 {
                    return None;
                }
                *axis = Axis { len, stride: 0 };
            }
        }
        Some(view)
    }

    /// The length of each axis.
    pub(crate) fn dims(&self) -> SmallVec<[usize; 6]> {
        self.axes.iter().map(|axis| axis.len).collect()
    }

    /// The elements visited, if they are neighbours in their own order.
    pub(crate) fn contiguous(&self) -> Option<Range<usize>> {
        let mut len = 1;
        for axis in self.axes.iter().rev().filter(|axis| axis.len != 1) {
            if axis.stride != len as isize || axis.len == 0 {
                return None;
            }
            len *= axis.len;
        }
        let start = usize::try_from(self.offset).ok()?;
        Some(start..start + len)
    }

    /// Keeps `len` positions of an axis from `start`, each `step` after the one before.
    #[must_use]
    pub(crate) fn stepped(mut self, axis: usize, start: usize, step: isize, len: usize) -> View {
        let axis = &mut self.axes[axis];
        self.offset = self.offset.wrapping_add(axis.stride.wrapping_mul(start as isize));
        *axis = Axis { len, stride: axis.stride.wrapping_mul(step) };
        self
    }

    /// Keeps `len` neighbouring positions of an axis.
    #[must_use]
    pub(crate) fn slice(self, axis: usize, start: usize, len: usize) -> View {
        self.stepped(axis, start, 1, len)
    }

    /// Keeps one position of an axis, and the axis with it.
    #[must_use]
    pub(crate) fn at(self, axis: usize, index: usize) -> View {
        self.slice(axis, index, 1)
    }

    /// Turns an axis around.
    #[must_use]
    pub(crate) fn reversed(self, axis: usize) -> View {
        let len = self.axes[axis].len;
        self.stepped(axis, len.saturating_sub(1), -1, len)
    }

    /// Repeats what is there `len` times along a new axis.
    #[must_use]
    pub(crate) fn inserted(mut self, axis: usize, len: usize) -> View {
        self.axes.insert(axis, Axis { len, stride: 0 });
        self
    }

    /// Takes an axis away, of which the first position stays.
    #[must_use]
    pub(crate) fn removed(mut self, axis: usize) -> View {
        self.axes.remove(axis);
        self
    }

    /// Cuts an axis into pieces of `inner` positions, numbered by a new axis before it.
    #[must_use]
    pub(crate) fn split(mut self, axis: usize, inner: usize) -> View {
        let Axis { len, stride } = self.axes[axis];
        self.axes[axis] = Axis { len: inner, stride };
        let outer = Axis { len: len / inner.max(1), stride: stride.wrapping_mul(inner as isize) };
        self.axes.insert(axis, outer);
        self
    }

    /// Puts the axes in the order `order`.
    #[must_use]
    pub(crate) fn permuted(mut self, order: &[usize]) -> View {
        self.axes = order.iter().map(|&axis| self.axes[axis]).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions that a view visits.
    fn positions(view: &View) -> Vec<isize> {
        let mut positions = vec![view.offset];
        for axis in &view.axes {
            positions = positions
                .iter()
                .flat_map(|&at| (0..axis.len as isize).map(move |i| at + i * axis.stride))
                .collect();
        }
        positions
    }

    #[test]
    fn views_combine() {
        let all = View::of(&[2, 3]);
        assert_eq!(positions(&all), [0, 1, 2, 3, 4, 5]);
        assert_eq!(positions(&all.clone().permuted(&[1, 0])), [0, 3, 1, 4, 2, 5]);
        assert_eq!(positions(&all.clone().reversed(1)), [2, 1, 0, 5, 4, 3]);
        assert_eq!(positions(&all.clone().slice(1, 1, 2).reversed(0)), [4, 5, 1, 2]);
        assert_eq!(View::of(&[6]).split(0, 2), View::of(&[3, 2]));
        assert_eq!(all.clone().at(0, 1).slice(1, 1, 2).contiguous(), Some(4..6));
        assert_eq!(all.clone().slice(1, 1, 2).contiguous(), None);
        assert_eq!(positions(&all.inserted(0, 2).at(2, 1)), [1, 4, 1, 4]);
    }
}
