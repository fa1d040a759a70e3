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
        return Err(invalid_argument!("Must provide at least 2 elements for the splits argument"));
    };
    if first != 0 {
        return Err(invalid_argument!("Splits must start with 0, not with {first}"));
    }
    if last != values as i64 {
        return Err(invalid_argument!(
            "Splits must end with the number of values, got {last} instead of {values}"
        ));
    }
    let mut rows = Vec::with_capacity(values);
    for (row, pair) in splits.windows(2).enumerate() {
        if pair[1] < pair[0] {
            return Err(invalid_argument!(
                "Splits must not decrease, got {} and {}",
                pair[0],
                pair[1]
            ));
        }
        rows.resize(rows.len() + (pair[1] - pair[0]) as usize, row);
    }
    Ok(rows)
}

/// The row of each entry of a sparse vector or matrix, and how many rows there are.
fn rows_of_indices(
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
    if values.rank() != 1 || shape.rank() != 1 {
        return Err(invalid_argument!(
            "Input values and shape must be 1-dimensional tensors. Got: {} and {}",
            values.shape(),
            shape.shape()
        ));
    }
    if indices.dims()[0] != values.num_elements() {
        return Err(invalid_argument!(
            "Number of values must match first dimension of indices. Got {} values, indices shape: \
             {}",
            values.num_elements(),
            indices.shape()
        ));
    }
    if indices.dims()[1] != shape.num_elements() {
        return Err(invalid_argument!(
            "Number of dimensions must match second dimension of indices. Got {} dimensions, \
             indices shape: {}",
            shape.num_elements(),
            indices.shape()
        ));
    }
    let &[rows, _] = shape.values::<i64>()? else {
        return Ok((vec![0; values.num_elements()], 1));
    };
    let rows = usize::try_from(rows)
        .map_err(|_| invalid_argument!("a shape has no negative dimension, got {rows}"))?;
    let of = indices.values::<i64>()?.chunks_exact(2).map(|index| {
        usize::try_from(index[0]).ok().filter(|&row| row < rows).ok_or_else(|| {
            invalid_argument!(
                "Index out of bound. `batch` ({}) must be less than the dimension size ({rows}).",
                index[0]
            )
        })
    });
    Ok((of.collect::<Result<_>>()?, rows))
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
        if weights.num_elements() > 0 && weights.num_elements() != values.num_elements() {
            return Err(invalid_argument!(
                "weights must have as many elements as values, {}, or none, got {}",
                values.num_elements(),
                weights.num_elements()
            ));
        }
        let (rows, shape) = if self.is_ragged {
            let splits = ctx.input(0)?;
            let rows = rows_of_splits(splits, values.num_elements())?;
            (rows, Shape::new(&[splits.num_elements() - 1, size])?)
        } else {
            let dense_shape = ctx.input(2)?;
            let (rows, count) = rows_of_indices(ctx.input(0)?, values, dense_shape)?;
            let is_vector = dense_shape.num_elements() <= 1;
            (rows, if is_vector { Shape::new(&[size])? } else { Shape::new(&[count, size])? })
        };
        let values = values.to_i64_vec()?;
        if values.iter().any(|&value| value < 0) {
            return Err(invalid_argument!("Input must be non-negative"));
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
                        "Weights and values must have the same shape. Weight shape: {}; values \
                         shape: {}",
                        weights.shape(),
                        values.shape()
                    ));
                }
                (values, weights, values.rank() == 1, rows, count)
            }
            Layout::Ragged => {
                let (splits, values) = (ctx.input(0)?, ctx.input(1)?);
                let rows = rows_of_splits(splits, values.num_elements())?;
                (values, ctx.input(2)?, false, rows, splits.num_elements() - 1)
            }
            Layout::Sparse => {
                let (values, shape) = (ctx.input(1)?, ctx.input(2)?);
                let (rows, count) = rows_of_indices(ctx.input(0)?, values, shape)?;
                if shape.num_elements() == 0 {
                    return Err(invalid_argument!(
                        "The shape argument requires at least one element."
                    ));
                }
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
        let width =
            if self.max_length >= 0 { self.max_length } else { (seen + 1).max(self.min_length) };
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
