//! Ragged tensors: rows of different lengths, as values and the places where rows end.

mod fill;
mod gather;
mod range;
mod to_sparse;
mod to_tensor;
pub(crate) mod variant;

use tensorfleet_framework::Op;
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

pub(super) const FILL: &[Op] = fill::OPS;
pub(super) const GATHER: &[Op] = gather::OPS;
pub(super) const RANGE: &[Op] = range::OPS;
pub(super) const TO_SPARSE: &[Op] = to_sparse::OPS;
pub(super) const TO_TENSOR: &[Op] = to_tensor::OPS;
pub(super) const VARIANT: &[Op] = variant::OPS;

/// Reads where rows of `values` things begin and end.
pub(super) fn read_splits(splits: &Tensor, values: usize) -> Result<Vec<usize>> {
    let splits = splits.to_i64_vec()?;
    let (Some(&first), Some(&last)) = (splits.first(), splits.last()) else {
        return Err(invalid_argument!("Ragged splits may not be empty."));
    };
    if first != 0 {
        return Err(invalid_argument!("First value of ragged splits must be 0."));
    }
    if let Some(pair) = splits.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(invalid_argument!(
            "Ragged splits should be non decreasing, but we got {} followed by {}",
            pair[0],
            pair[1]
        ));
    }
    if last != values as i64 {
        return Err(invalid_argument!(
            "Final value of ragged splits must match the length the corresponding ragged values."
        ));
    }
    Ok(splits.into_iter().map(|split| split as usize).collect())
}

/// Reads nested splits from the outside in; the innermost are of `values` things.
fn read_nested(tensors: &[&Tensor], values: usize) -> Result<Vec<Vec<usize>>> {
    let mut nested = Vec::with_capacity(tensors.len());
    for (at, splits) in tensors.iter().enumerate() {
        let inner = tensors.get(at + 1).map_or(Ok(values), |next| {
            next.num_elements()
                .checked_sub(1)
                .ok_or_else(|| invalid_argument!("Ragged splits may not be empty."))
        })?;
        nested.push(read_splits(splits, inner)?);
    }
    Ok(nested)
}

/// Splits as a tensor of their type.
pub(super) fn splits_tensor(dtype: DType, splits: &[i64]) -> Result<Tensor> {
    if dtype == DType::Int64 {
        return Tensor::vector(splits);
    }
    let narrow = splits.iter().map(|&split| {
        i32::try_from(split)
            .map_err(|_| invalid_argument!("the split {split} does not fit 32 bits"))
    });
    Tensor::vector(&narrow.collect::<Result<Vec<i32>>>()?)
}
