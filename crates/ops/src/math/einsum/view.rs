//! Tensors seen through labels: every dimension has a name, a size and a stride.

use tensorfleet_tensor::{Element, Error, Result, Shape, Tensor, invalid_argument};

use super::equation::Label;

/// A named dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dim {
    pub(super) label: Label,
    pub(super) size: usize,
    pub(super) stride: usize,
}

/// A tensor in which the position of an element is a sum of indices times strides.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) tensor: Tensor,
    pub(super) dims: Vec<Dim>,
}

impl View {
    /// A dense tensor; a label that occurs twice walks along the diagonal.
    pub(super) fn new(tensor: &Tensor, labels: &[Label]) -> Result<View> {
        let sizes = tensor.dims();
        let mut strides = vec![1usize; sizes.len()];
        for axis in (1..sizes.len()).rev() {
            // Only the strides of an empty tensor can overflow, and nobody follows those.
            strides[axis - 1] = strides[axis].wrapping_mul(sizes[axis]);
        }
        let mut dims: Vec<Dim> = Vec::new();
        for (axis, (&label, &stride)) in labels.iter().zip(&strides).enumerate() {
            let size = sizes[axis];
            match dims.iter_mut().find(|dim| dim.label == label) {
                Some(dim) if dim.size == size => dim.stride = dim.stride.wrapping_add(stride),
                Some(dim) => return Err(wrong_size(dim.size, axis, tensor)),
                None => dims.push(Dim { label, size, stride }),
            }
        }
        Ok(View { tensor: tensor.clone(), dims })
    }

    /// A dense tensor with these dimensions.
    pub(super) fn packed(tensor: Tensor, dims: &[Dim]) -> View {
        View { tensor, dims: packed(dims) }
    }

    /// The labels of all dimensions.
    pub(super) fn labels(&self) -> Vec<Label> {
        self.dims.iter().map(|dim| dim.label).collect()
    }

    /// The size of a label's dimension.
    pub(super) fn size(&self, label: Label) -> Option<usize> {
        self.dims.iter().find(|dim| dim.label == label).map(|dim| dim.size)
    }

    /// The dimensions with these labels, in their order.
    pub(super) fn pick(&self, labels: &[Label]) -> Vec<Dim> {
        let find = |label: &Label| self.dims.iter().find(|dim| dim.label == *label).copied();
        labels.iter().filter_map(find).collect()
    }

    /// A dense tensor with its dimensions in the given order: this one, if it is already so.
    pub(super) fn dense<T: Element>(self, order: &[Label]) -> Result<View> {
        let dims = self.pick(order);
        let packed = packed(&dims);
        if packed == dims && self.tensor.num_elements() == len(&dims) {
            return Ok(View { tensor: self.tensor, dims });
        }
        let values = self.tensor.values::<T>()?;
        let copy = Tensor::build(Shape::vector(len(&dims)), |out: &mut [T]| {
            let mut at = 0;
            walk(&dims, &mut |start, size, stride| {
                let out = &mut out[at..at + size];
                if stride == 1 {
                    out.copy_from_slice(&values[start..start + size]);
                } else {
                    let strided = values[start..].iter().step_by(stride.max(1));
                    out.iter_mut().zip(strided).for_each(|(out, value)| *out = *value);
                }
                at += size;
            });
        })?;
        Ok(View { tensor: copy, dims: packed })
    }
}

/// A label's dimension does not have the size that it had before.
pub(super) fn wrong_size(want: usize, axis: usize, tensor: &Tensor) -> Error {
    invalid_argument!(
        "Expected dimension {want} at axis {axis} of the input shaped {} but got dimension {}",
        tensor.shape(),
        tensor.dims()[axis]
    )
}

/// The number of positions.
pub(super) fn len(dims: &[Dim]) -> usize {
    // A product that overflows belongs to an empty tensor, whose other sizes do not matter.
    dims.iter().fold(1, |product: usize, dim| product.wrapping_mul(dim.size))
}

/// The same dimensions with the strides of a dense tensor.
pub(super) fn packed(dims: &[Dim]) -> Vec<Dim> {
    let mut stride: usize = 1;
    let mut packed = dims.to_vec();
    for dim in packed.iter_mut().rev() {
        dim.stride = stride;
        stride = dim.size.wrapping_mul(stride);
    }
    packed
}

/// The dimensions as a single one of this size and stride, if that is possible.
pub(super) fn merged(dims: &[Dim]) -> Option<(usize, usize)> {
    let mut merged: Option<(usize, usize)> = None;
    for dim in dims.iter().rev().filter(|dim| dim.size != 1) {
        merged = Some(match merged {
            None => (dim.size, dim.stride),
            Some((size, stride)) if dim.stride == size * stride => (size * dim.size, stride),
            Some(_) => return None,
        });
    }
    Some(merged.unwrap_or((1, 1)))
}

/// Calls `f` with the start, size and stride of every run along the last dimension.
pub(super) fn walk(dims: &[Dim], f: &mut impl FnMut(usize, usize, usize)) {
    if len(dims) == 0 {
        return;
    }
    let Some((last, outer)) = dims.split_last() else { return f(0, 1, 1) };
    let mut index = vec![0; outer.len()];
    let mut start = 0;
    loop {
        f(start, last.size, last.stride);
        let mut axis = outer.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            start += outer[axis].stride;
            if index[axis] < outer[axis].size {
                break;
            }
            start -= outer[axis].stride * outer[axis].size;
            index[axis] = 0;
        }
    }
}

/// The start of every position of some dimensions.
pub(super) fn offsets(dims: &[Dim]) -> Vec<usize> {
    let mut offsets = Vec::with_capacity(len(dims));
    walk(dims, &mut |start, size, stride| offsets.extend((0..size).map(|i| start + i * stride)));
    offsets
}
