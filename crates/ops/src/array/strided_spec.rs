//! The language of Python's `x[1:3, ..., ::-1, None, 4]`, as the strided slice ops spell it.

use smallvec::SmallVec;
use tensorfleet_framework::Attrs;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::view::{Axis, View};

/// More entries than this do not fit in the bit masks.
const MOST_ENTRIES: usize = 32;

/// What the bits of the masks say about the entries of `begin`, `end` and `strides`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Masks {
    begin: i64,
    end: i64,
    ellipsis: i64,
    new_axis: i64,
    shrink_axis: i64,
}

/// The part of a tensor that a slice selects.
#[derive(Debug)]
pub(super) struct Selection {
    /// One entry for each axis of the tensor.
    axes: SmallVec<[Range; 6]>,
    /// For each axis of the result, the axis of the tensor that it comes from; new ones have none.
    kept: SmallVec<[Option<usize>; 6]>,
    /// The shape of the result.
    pub(super) shape: Shape,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: usize,
    step: i64,
    len: usize,
}

/// An entry for one axis.
#[derive(Clone, Copy, Debug)]
struct Entry {
    begin: i64,
    end: i64,
    stride: i64,
    begin_masked: bool,
    end_masked: bool,
    shrink: bool,
}

impl Entry {
    const EVERYTHING: Entry =
        Entry { begin: 0, end: 0, stride: 1, begin_masked: true, end_masked: true, shrink: false };
}

impl Masks {
    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Masks> {
        let masks = Masks {
            begin: attrs.int("begin_mask")?,
            end: attrs.int("end_mask")?,
            ellipsis: attrs.int("ellipsis_mask")?,
            new_axis: attrs.int("new_axis_mask")?,
            shrink_axis: attrs.int("shrink_axis_mask")?,
        };
        if masks.ellipsis.count_ones() > 1 {
            return Err(invalid_argument!("Multiple ellipses in slice spec not allowed"));
        }
        Ok(masks)
    }

    /// Works out what is selected of a tensor with dimensions `dims`.
    pub(super) fn select(
        &self,
        dims: &[usize],
        begin: &Tensor,
        end: &Tensor,
        strides: &Tensor,
    ) -> Result<Selection> {
        let same = begin.shape() == end.shape() && begin.shape() == strides.shape();
        if !same || begin.rank() != 1 || begin.num_elements() >= MOST_ENTRIES {
            return Err(invalid_argument!(
                "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {}, \
                 {}, and {} instead.",
                begin.shape(),
                end.shape(),
                strides.shape()
            ));
        }
        let (begin, end, strides) = (begin.to_i64_vec()?, end.to_i64_vec()?, strides.to_i64_vec()?);
        let count = begin.len();
        let is = |mask: i64, i: usize| mask >> i & 1 == 1;
        // Without an ellipsis there is one at the end.
        let ellipsis = (0..count).find(|&i| is(self.ellipsis, i)).unwrap_or(count);
        let after = (ellipsis + 1..count).filter(|&i| !is(self.new_axis, i)).count();

        let mut axes: SmallVec<[Range; 6]> = SmallVec::new();
        let mut kept: SmallVec<[Option<usize>; 6]> = SmallVec::new();
        for i in 0..=count {
            if i == ellipsis {
                let until = dims.len().saturating_sub(after).max(axes.len());
                for (axis, &dim) in dims.iter().enumerate().take(until).skip(axes.len()) {
                    let range = resolve(axis, dim, Entry::EVERYTHING)?;
                    kept.push(Some(axis));
                    axes.push(range);
                }
            } else if i < count && is(self.new_axis, i) {
                kept.push(None);
            } else if i < count {
                let axis = axes.len();
                let Some(&dim) = dims.get(axis) else {
                    return Err(invalid_argument!(
                        "Index out of range using input dim {axis}; input has only {} dims",
                        dims.len()
                    ));
                };
                let entry = Entry {
                    begin: begin[i],
                    end: end[i],
                    stride: strides[i],
                    begin_masked: is(self.begin, i),
                    end_masked: is(self.end, i),
                    shrink: is(self.shrink_axis, i),
                };
                let range = resolve(axis, dim, entry)?;
                if !entry.shrink {
                    kept.push(Some(axis));
                }
                axes.push(range);
            }
        }
        let lengths = kept.iter().map(|kept| kept.map_or(1, |axis| axes[axis].len));
        let shape = Shape::new(&lengths.collect::<SmallVec<[usize; 6]>>())?;
        Ok(Selection { axes, kept, shape })
    }
}

fn resolve(axis: usize, dim: usize, entry: Entry) -> Result<Range> {
    let Entry { begin, end, stride, begin_masked, end_masked, shrink } = entry;
    let size = dim as i64;
    if stride == 0 {
        return Err(invalid_argument!("strides[{axis}] must be non-zero"));
    }
    let from_start = |x: i64| if x < 0 { size + x } else { x };
    if shrink {
        if stride < 0 {
            return Err(invalid_argument!("only stride 1 allowed on non-range indexing."));
        }
        let start = from_start(begin);
        if !(0..size).contains(&start) {
            return Err(invalid_argument!(
                "slice index {start} of dimension {axis} out of bounds."
            ));
        }
        return Ok(Range { start: start as usize, step: 1, len: 1 });
    }
    // Backwards, the first position is the last one and the end is before the first.
    let (low, high) = if stride > 0 { (0, size) } else { (-1, size - 1) };
    let (first, last) = if stride > 0 { (low, high) } else { (high, low) };
    let begin = if begin_masked { first } else { from_start(begin).clamp(low, high) };
    let end = if end_masked { last } else { from_start(end).clamp(low, high) };
    let distance = end - begin;
    let len = if (distance < 0) == (stride < 0) {
        distance.unsigned_abs().div_ceil(stride.unsigned_abs()) as usize
    } else {
        0
    };
    // Of nothing, the start may lie outside.
    Ok(Range { start: if len == 0 { 0 } else { begin as usize }, step: stride, len })
}

impl Selection {
    /// The selected elements of a tensor with dimensions `dims`, by the axes of the result.
    pub(super) fn view(&self, dims: &[usize]) -> View {
        let mut view = View::of(dims);
        for (axis, range) in self.axes.iter().enumerate() {
            view = view.stepped(axis, range.start, range.step as isize, range.len);
        }
        let new = Axis { len: 1, stride: 0 };
        let axes = self.kept.iter().map(|kept| kept.map_or(new, |axis| view.axes[axis]));
        View { offset: view.offset, axes: axes.collect() }
    }
}
