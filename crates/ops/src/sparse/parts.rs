//! A sparse tensor as three tensors state it: indices, values and shape.

use tensorfleet_framework::KernelContext;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

/// A sparse tensor whose parts fit together. Its indices may lie outside, unless checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sparse<'a> {
    indices: &'a [i64],
    pub(super) values: &'a Tensor,
    pub(super) dims: &'a [i64],
}

impl<'a> Sparse<'a> {
    /// Reads three inputs from `first` on.
    pub(super) fn input(ctx: &'a KernelContext<'_>, first: usize) -> Result<Sparse<'a>> {
        Sparse::new(ctx.input(first)?, ctx.input(first + 1)?, ctx.input(first + 2)?)
    }

    /// Checks three parts against each other.
    pub(super) fn new(
        indices: &'a Tensor,
        values: &'a Tensor,
        shape: &'a Tensor,
    ) -> Result<Sparse<'a>> {
        check_parts(indices, values, shape)?;
        Ok(Sparse { indices: indices.values()?, values, dims: shape.values()? })
    }

    /// As `new`, in the words of the ops that make TensorFlow's own sparse tensor of the parts,
    /// whose shape has to be that of some dense tensor too. The caller has looked at the ranks of
    /// what it names otherwise.
    pub(super) fn created(
        indices: &'a Tensor,
        values: &'a Tensor,
        shape: &'a Tensor,
    ) -> Result<Sparse<'a>> {
        let [count, rank] = match *indices.dims() {
            [count, rank] => [count, rank],
            [count] => [count, 1],
            _ => {
                return Err(invalid_argument!(
                    "indices must be a matrix, but got: {}",
                    indices.shape()
                ));
            }
        };
        if values.rank() != 1 {
            return Err(invalid_argument!("vals must be a vec, but got: {}", values.shape()));
        }
        if count != values.num_elements() {
            return Err(invalid_argument!(
                "indices and values rows (indexing dimension) must match. (indices = {count}, \
                 values = {})",
                values.num_elements()
            ));
        }
        dense_shape(shape.values()?)?;
        if rank != shape.num_elements() {
            return Err(invalid_argument!("Order length must be SparseTensor rank."));
        }
        Ok(Sparse { indices: indices.values()?, values, dims: shape.values()? })
    }

    pub(super) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.values.num_elements()
    }

    /// The index of an entry.
    pub(super) fn index(&self, at: usize) -> &'a [i64] {
        &self.indices[at * self.rank()..(at + 1) * self.rank()]
    }

    /// Refuses indices that lie outside, that are out of order, or that occur twice.
    pub(super) fn check_order(&self) -> Result<()> {
        for at in 0..self.len() {
            self.check_inside(at)?;
            if at > 0 && self.index(at - 1) >= self.index(at) {
                let here = format!("indices[{at}] = {}", bracketed(self.index(at)));
                return Err(if self.index(at - 1) == self.index(at) {
                    invalid_argument!("{here} is repeated")
                } else {
                    invalid_argument!(
                        "{here} is out of order. Many sparse ops require sorted indices.\n    Use \
                         `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
                    )
                });
            }
        }
        Ok(())
    }

    /// Refuses a tensor of which an entry lies outside.
    pub(super) fn check_bounds(&self) -> Result<()> {
        let outside = (0..self.len()).find(|&at| !self.is_inside(at));
        outside.map_or(Ok(()), |at| {
            let index: Vec<String> = self.index(at).iter().map(i64::to_string).collect();
            Err(invalid_argument!(
                "Sparse index tuple indices[{at}, :] = [{}] is out of bounds",
                index.join(", ")
            ))
        })
    }

    /// Whether an entry lies inside.
    pub(super) fn is_inside(&self, at: usize) -> bool {
        let mut index = self.index(at).iter().zip(self.dims);
        index.all(|(&index, &dim)| (0..dim).contains(&index))
    }

    /// Refuses an entry that lies outside.
    pub(super) fn check_inside(&self, at: usize) -> Result<()> {
        if !self.is_inside(at) {
            return Err(invalid_argument!(
                "indices[{at}] = {} is out of bounds: need 0 <= index < {}",
                bracketed(self.index(at)),
                bracketed(self.dims)
            ));
        }
        Ok(())
    }
}

/// Refuses parts of which no sparse tensor is made.
pub(super) fn check_parts(indices: &Tensor, values: &Tensor, shape: &Tensor) -> Result<()> {
    for (what, part, rank) in [("indices", indices, 2), ("values", values, 1), ("shape", shape, 1)]
    {
        if part.rank() != rank {
            return Err(invalid_argument!(
                "Sparse {what} must be rank {rank} but is rank {}",
                part.rank()
            ));
        }
    }
    if indices.dims()[0] != values.num_elements() {
        return Err(invalid_argument!(
            "Number of elements in indices ({}) and values ({}) do not match",
            indices.dims()[0],
            values.num_elements()
        ));
    }
    if indices.dims()[1] != shape.num_elements() {
        return Err(invalid_argument!(
            "Index rank ({}) and shape rank ({}) do not match",
            indices.dims()[1],
            shape.num_elements()
        ));
    }
    Ok(())
}

/// Refuses parts of other ranks, in the words of the ops whose inputs start with `prefix`.
pub(super) fn check_ranks(
    prefix: &str,
    indices: &Tensor,
    values: &Tensor,
    shape: &Tensor,
) -> Result<()> {
    if indices.rank() != 2 {
        return Err(invalid_argument!(
            "Input {prefix}_indices should be a matrix but received shape: {}",
            indices.shape()
        ));
    }
    if values.rank() != 1 || shape.rank() != 1 {
        return Err(invalid_argument!(
            "Inputs {prefix}_values and {prefix}_shape should be vectors but received shapes: {} \
             and {}",
            values.shape(),
            shape.shape()
        ));
    }
    Ok(())
}

/// The shape of the dense tensor, which has to have a number of elements.
pub(super) fn dense_shape(dims: &[i64]) -> Result<Shape> {
    let mut elements = 1i64;
    for &dim in dims {
        if dim < 0 {
            return Err(invalid_argument!(
                "Expected shape dimensions to be non-negative, got {dim}"
            ));
        }
        elements = elements.checked_mul(dim).ok_or_else(|| {
            // What does not fit into 64 bits with a sign may do so without one.
            let wrapped = u64::try_from(elements)
                .ok()
                .zip(u64::try_from(dim).ok())
                .and_then(|(a, b)| a.checked_mul(b));
            invalid_argument!(
                "Encountered overflow when multiplying {elements} with {dim}, result: {}",
                wrapped.map_or(-1, |product| product as i64)
            )
        })?;
    }
    Shape::from_signed(dims)
}

/// Sizes as TensorFlow writes those that are no shape.
pub(super) fn spaced(values: &[i64]) -> String {
    let words: Vec<String> = values.iter().map(i64::to_string).collect();
    words.join(" ")
}

pub(super) fn bracketed(values: &[i64]) -> String {
    let words: Vec<String> = values.iter().map(i64::to_string).collect();
    format!("[{}]", words.join(","))
}
