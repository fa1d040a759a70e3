//! A sparse tensor as three tensors state it: indices, values and shape.

use tensorfleet_framework::KernelContext;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

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

    pub(super) fn new(
        indices: &'a Tensor,
        values: &'a Tensor,
        shape: &'a Tensor,
    ) -> Result<Sparse<'a>> {
        for (what, part, rank, kind) in [
            ("indices", indices, 2, "matrix"),
            ("values", values, 1, "vector"),
            ("shape", shape, 1, "vector"),
        ] {
            if part.rank() != rank {
                return Err(invalid_argument!(
                    "Input {what} should be a {kind} but received shape {}",
                    part.shape()
                ));
            }
        }
        let (count, rank) = (indices.dims()[0], indices.dims()[1]);
        if count != values.num_elements() {
            return Err(invalid_argument!(
                "Number of elements in indices ({count}) and values ({}) do not match",
                values.num_elements()
            ));
        }
        if rank != shape.num_elements() {
            return Err(invalid_argument!(
                "Index rank ({rank}) and shape rank ({}) do not match",
                shape.num_elements()
            ));
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

    /// Refuses an entry that lies outside.
    pub(super) fn check_inside(&self, at: usize) -> Result<()> {
        let index = self.index(at);
        if index.iter().zip(self.dims).any(|(&index, &dim)| index < 0 || index >= dim) {
            return Err(invalid_argument!(
                "indices[{at}] = {} is out of bounds: need 0 <= index < {}",
                bracketed(index),
                bracketed(self.dims)
            ));
        }
        Ok(())
    }
}

pub(super) fn bracketed(values: &[i64]) -> String {
    let words: Vec<String> = values.iter().map(i64::to_string).collect();
    format!("[{}]", words.join(","))
}
