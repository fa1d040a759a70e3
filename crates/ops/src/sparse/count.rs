//! How often integers occur in the rows of sparse and ragged tensors: `SparseBincount`,
//! `RaggedBincount` into dense tensors, `DenseCountSparseOutput` and its kin into sparse ones.

use std::collections::BTreeMap;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, internal, invalid_argument};

use super::number::Number;
use super::rearrange::index_matrix;

const WEIGHTS: &[DType] = &[DType::Int32, DType::Int64, DType::Float, DType::Double];
const BINS: &[KernelDef] = &[cpu::<Bins>().types("T", WEIGHTS)];
const COUNTS: &[KernelDef] = &[cpu::<Counts>().types("output_type", WEIGHTS)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DenseCountSparseOutput",
        inputs: &["values: T", "weights: output_type"],
        outputs: &[
            "output_indices: int64",
            "output_values: output_type",
            "output_dense_shape: int64",
        ],
        attrs: &[
            "T: {int32, int64}",
            "minlength: int >= -1 = -1",
            "maxlength: int >= -1 = -1",
            "binary_output: bool",
            "output_type: {int32, int64, float, double}",
        ],
        kernels: COUNTS,
        ..Op::DEFAULT
    },
    Op {
        name: "RaggedBincount",
        inputs: &["splits: int64", "values: Tidx", "size: Tidx", "weights: T"],
        outputs: &["output: T"],
        attrs: &[
            "Tidx: {int32, int64}",
            "T: {int32, int64, float, double}",
            "binary_output: bool = false",
        ],
        kernels: BINS,
        ..Op::DEFAULT
    },
    Op {
        name: "RaggedCountSparseOutput",
        inputs: &["splits: int64", "values: T", "weights: output_type"],
        outputs: &[
            "output_indices: int64",
            "output_values: output_type",
            "output_dense_shape: int64",
        ],
        attrs: &[
            "T: {int32, int64}",
            "minlength: int >= -1 = -1",
            "maxlength: int >= -1 = -1",
            "binary_output: bool",
            "output_type: {int32, int64, float, double}",
        ],
        kernels: COUNTS,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseBincount",
        inputs: &[
            "indices: int64",
            "values: Tidx",
            "dense_shape: int64",
            "size: Tidx",
            "weights: T",
        ],
        outputs: &["output: T"],
        attrs: &[
            "Tidx: {int32, int64}",
            "T: {int32, int64, float, double}",
            "binary_output: bool = false",
        ],
        kernels: BINS,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseCountSparseOutput",
        inputs: &["indices: int64", "values: T", "dense_shape: int64", "weights: output_type"],
        outputs: &[
            "output_indices: int64",
            "output_values: output_type",
            "output_dense_shape: int64",
        ],
        attrs: &[
            "T: {int32, int64}",
            "minlength: int >= -1 = -1",
            "maxlength: int >= -1 = -1",
            "binary_output: bool",
            "output_type: {int32, int64, float, double}",
        ],
        kernels: COUNTS,
        ..Op::DEFAULT
    },
];

/// The row of each value of a ragged tensor.
fn rows_of_splits(splits: &Tensor, values: usize) -> Result<Vec<usize>> {
    let splits = splits.values::<i64>()?;
    let (Some(&first), Some(&last)) = (splits.first(), splits.last()) else {
        return Err(invalid_argument!("Splits must be non-empty"));
    };
    if first != 0 {
        return Err(invalid_argument!("Splits must start with 0, not with {first}"));
    }
    if last != values as i64 {
        return Err(invalid_argument!(
            "Splits must end with the number of values, got {last} instead of {values}"
        ));
    }
    // The last split stops the search, so that even splits that decrease give rows that exist.
    let mut next = 0;
    let rows = (0..values as i64).map(|at| {
        next += splits[next..].iter().take_while(|&&split| split <= at).count();
        next - 1
    });
    Ok(rows.collect())
}

/// The rows of a matrix, or the only one of a vector: that of each entry, and how many there are.
fn rows_of_entries(indices: &[i64], shape: &[i64]) -> Result<(Vec<usize>, usize)> {
    if shape.len() < 2 {
        return Ok((vec![0; indices.len() / shape.len().max(1)], 1));
    }
    let rows = usize::try_from(shape[0])
        .map_err(|_| invalid_argument!("a shape has no negative dimension, got {}", shape[0]))?;
    Ok((indices.chunks_exact(shape.len()).map(|index| index[0] as usize).collect(), rows))
}

/// The first entry that has an index outside of the shape, and the dimension of that index.
fn first_outside(indices: &[i64], shape: &[i64]) -> Option<(usize, usize)> {
    let outside = |index: &[i64]| {
        index.iter().zip(shape).position(|(&index, &size)| !(0..size).contains(&index))
    };
    let entries = indices.chunks_exact(shape.len().max(1)).enumerate();
    entries.into_iter().find_map(|(at, index)| outside(index).map(|dim| (at, dim)))
}

/// The rows of the entries of what `SparseBincount` takes.
fn rows_for_bins(indices: &Tensor, values: &Tensor, shape: &Tensor) -> Result<(Vec<usize>, usize)> {
    for (name, part, rank) in [("indices", indices, 2), ("values", values, 1), ("shape", shape, 1)]
    {
        if part.rank() != rank {
            return Err(invalid_argument!(
                "Sparse {name} must be rank {rank} but is rank {}",
                part.rank()
            ));
        }
    }
    let [entries, rank] = [indices.dims()[0], indices.dims()[1]];
    if entries != values.num_elements() {
        return Err(invalid_argument!(
            "Number of elements in indices ({entries}) and values ({}) do not match",
            values.num_elements()
        ));
    }
    if rank != shape.num_elements() {
        return Err(invalid_argument!(
            "Index rank ({rank}) and shape rank ({}) do not match",
            shape.num_elements()
        ));
    }
    let (indices, shape) = (indices.values::<i64>()?, shape.values::<i64>()?);
    if let Some((at, _)) = first_outside(indices, shape) {
        let index: Vec<_> =
            indices[at * rank..(at + 1) * rank].iter().map(ToString::to_string).collect();
        return Err(invalid_argument!(
            "Sparse index tuple indices[{at}, :] = [{}] is out of bounds",
            index.join(", ")
        ));
    }
    if rank == 0 {
        return Ok((vec![0; entries], 1));
    }
    rows_of_entries(indices, shape)
}

/// The rows of the entries of what `SparseCountSparseOutput` takes.
fn rows_for_counts(
    indices: &Tensor,
    values: &Tensor,
    shape: &Tensor,
) -> Result<(Vec<usize>, usize)> {
    if indices.rank() != 2 {
        return Err(invalid_argument!(
            "Input indices must be a 2-dimensional tensor. Got: {}",
            indices.shape()
        ));
    }
    for (name, part) in [("values", values), ("shape", shape)] {
        if part.rank() != 1 {
            return Err(invalid_argument!("Input {name} must be a vector. Got: {}", part.shape()));
        }
    }
    if indices.dims()[0] != values.num_elements() {
        return Err(invalid_argument!(
            "Number of values must match first dimension of indices.Got {} values, indices shape: \
             {}",
            values.num_elements(),
            indices.shape()
        ));
    }
    if indices.dims()[1] != shape.num_elements() {
        return Err(invalid_argument!(
            "Number of dimensions must match second dimension of indices.Got {} dimensions, \
             indices shape: {}",
            shape.num_elements(),
            indices.shape()
        ));
    }
    if shape.num_elements() == 0 {
        return Err(invalid_argument!("The shape argument requires at least one element."));
    }
    let (indices, shape) = (indices.values::<i64>()?, shape.values::<i64>()?);
    if let Some((at, dim)) = first_outside(indices, shape) {
        let sizes: Vec<_> = shape.iter().map(ToString::to_string).collect();
        return Err(invalid_argument!(
            "Invalid index value at {at}: dimension {dim} has value {} which is not in [0, {}) (as \
             given by dense shape Tensor<type: int64 shape: [{}] values: {}>",
            indices[at * shape.len() + dim],
            shape[dim],
            shape.len(),
            sizes.join(" ")
        ));
    }
    rows_of_entries(indices, shape)
}

#[derive(Debug)]
struct Bins {
    binary: bool,
    is_ragged: bool,
}

impl Kernel for Bins {
    fn new(attrs: &Attrs<'_>) -> Result<Bins> {
        let binary = attrs.bool("binary_output")?;
        Ok(Bins { binary, is_ragged: attrs.op() == "RaggedBincount" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (values, size) = (ctx.input(1)?, if self.is_ragged { 2 } else { 3 });
        let (size, weights) = (ctx.input(size)?, ctx.input(size + 1)?);
        if !size.shape().is_scalar() {
            return Err(invalid_argument!("Shape must be rank 0 but is rank {}", size.rank()));
        }
        let size = size.to_i64_vec()?[0];
        let size = usize::try_from(size)
            .map_err(|_| invalid_argument!("size ({size}) must be non-negative"))?;
        let (rows, shape) = if self.is_ragged {
            let splits = ctx.input(0)?;
            let rows = rows_of_splits(splits, values.num_elements())?;
            (rows, Shape::new(&[splits.num_elements() - 1, size])?)
        } else {
            let dense_shape = ctx.input(2)?;
            let (rows, count) = rows_for_bins(ctx.input(0)?, values, dense_shape)?;
            let is_vector = dense_shape.num_elements() <= 1;
            (rows, if is_vector { Shape::new(&[size])? } else { Shape::new(&[count, size])? })
        };
        if weights.num_elements() > 0 && weights.num_elements() != values.num_elements() {
            return Err(invalid_argument!(
                "weights must have as many elements as values, {}, or none, got {}",
                values.num_elements(),
                weights.num_elements()
            ));
        }
        let values = values.to_i64_vec()?;
        if values.iter().any(|&value| value < 0) {
            return Err(if !self.is_ragged && shape.rank() == 1 {
                invalid_argument!("Input arr must be non-negative!")
            } else {
                invalid_argument!("Input must be non-negative")
            });
        }
        let output = dispatch!(
            weights.dtype(),
            [i32, i64, f32, f64],
            T => {
                let weights = weights.values::<T>()?;
                Tensor::build(shape, |out: &mut [T]| {
                    out.fill(T::default());
                    for (at, (&row, &value)) in rows.iter().zip(&values).enumerate() {
                        if value < size as i64 {
                            let bin = &mut out[row * size + value as usize];
                            let weight = weights.get(at).copied().unwrap_or(T::ONE);
                            *bin = if self.binary { T::ONE } else { bin.plus(weight) };
                        }
                    }
                })
            },
            else => Err(internal!("no counts of type {}", weights.dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    Dense,
    Ragged,
    Sparse,
}

#[derive(Debug)]
struct Counts {
    binary: bool,
    layout: Layout,
    /// Values from here on are left out; negative for none.
    max_length: i64,
    min_length: i64,
}

impl Kernel for Counts {
    fn new(attrs: &Attrs<'_>) -> Result<Counts> {
        Ok(Counts {
            binary: attrs.bool("binary_output")?,
            layout: match attrs.op() {
                "DenseCountSparseOutput" => Layout::Dense,
                "RaggedCountSparseOutput" => Layout::Ragged,
                _ => Layout::Sparse,
            },
            max_length: attrs.int("maxlength")?,
            min_length: attrs.int("minlength")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        // Whether the result is a vector, the row of each value, and how many rows there are.
        let (values, weights, is_vector, rows, count) = match self.layout {
            Layout::Dense => {
                let values = ctx.input(0)?;
                let (rows, count) = match *values.dims() {
                    [len] => (vec![0; len], 1),
                    [rows, len] => {
                        ((0..rows).flat_map(|row| std::iter::repeat_n(row, len)).collect(), rows)
                    }
                    _ => {
                        return Err(invalid_argument!(
                            "Input must be a 1 or 2-dimensional tensor. Got: {}",
                            values.shape()
                        ));
                    }
                };
                let weights = ctx.input(1)?;
                if weights.num_elements() > 0 && weights.shape() != values.shape() {
                    return Err(invalid_argument!(
                        "Weights and data must have the same shape. Weight shape: {}; data shape: \
                         {}",
                        weights.shape(),
                        values.shape()
                    ));
                }
                (values, weights, values.rank() == 1, rows, count)
            }
            Layout::Ragged => {
                let (splits, values) = (ctx.input(0)?, ctx.input(1)?);
                if splits.num_elements() < 2 {
                    return Err(invalid_argument!(
                        "Must provide at least 2 elements for the splits argument"
                    ));
                }
                let rows = rows_of_splits(splits, values.num_elements())?;
                (values, ctx.input(2)?, false, rows, splits.num_elements() - 1)
            }
            Layout::Sparse => {
                let (values, shape) = (ctx.input(1)?, ctx.input(2)?);
                let (rows, count) = rows_for_counts(ctx.input(0)?, values, shape)?;
                (values, ctx.input(3)?, shape.num_elements() == 1, rows, count)
            }
        };
        if weights.num_elements() > 0 && weights.num_elements() != values.num_elements() {
            return Err(invalid_argument!(
                "Weights and values must have the same shape. Weight shape: {}; values shape: {}",
                weights.shape(),
                values.shape()
            ));
        }
        let values = values.to_i64_vec()?;
        if values.iter().any(|&value| value < 0) {
            return Err(invalid_argument!("Input values must all be non-negative"));
        }
        let (keys, counted) = dispatch!(
            weights.dtype(),
            [i32, i64, f32, f64],
            T => self.count::<T>(&rows, &values, weights),
            else => Err(internal!("no counts of type {}", weights.dtype()))
        )?;
        let largest =
            values.iter().copied().filter(|&v| self.max_length < 0 || v < self.max_length);
        let seen = largest.max().unwrap_or(0);
        let width = if self.max_length >= 0 {
            self.max_length
        } else {
            seen.saturating_add(1).max(self.min_length)
        };
        let rank = if is_vector { 1 } else { 2 };
        let indices: Vec<i64> = keys
            .iter()
            .flat_map(|&(row, value)| [row as i64, value].into_iter().skip(2 - rank))
            .collect();
        let dims = if is_vector { vec![width] } else { vec![count as i64, width] };
        let indices = index_matrix(&indices, rank, keys.len())?;
        ctx.set_output(0, indices);
        ctx.set_output(1, counted);
        ctx.set_output(2, Tensor::vector(&dims)?);
        Ok(())
    }
}

impl Counts {
    /// The values that occur in each row, and their counts.
    fn count<T: Number>(
        &self,
        rows: &[usize],
        values: &[i64],
        weights: &Tensor,
    ) -> Result<(Vec<(usize, i64)>, Tensor)> {
        let weights = weights.values::<T>()?;
        let mut counts: BTreeMap<(usize, i64), T> = BTreeMap::new();
        for (at, (&row, &value)) in rows.iter().zip(values).enumerate() {
            if self.max_length >= 0 && value >= self.max_length {
                continue;
            }
            let count = counts.entry((row, value)).or_default();
            let weight = weights.get(at).copied().unwrap_or(T::ONE);
            *count = if self.binary { T::ONE } else { count.plus(weight) };
        }
        let totals: Vec<T> = counts.values().copied().collect();
        Ok((counts.into_keys().collect(), Tensor::vector(&totals)?))
    }
}
