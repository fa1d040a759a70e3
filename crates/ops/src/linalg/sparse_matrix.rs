//! Sparse matrices in variants: the rows of each one after the other (CSR), one matrix or a batch.

mod convert;
mod factor;
mod gradient;
mod ordering;
mod product;

use std::sync::Arc;

use num_complex::Complex;
use tensorfleet_framework::{KernelContext, Op};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, Variant, VariantValue, dispatch, internal, invalid_argument,
};

use super::scalar::Scalar;

pub(super) const CONVERSIONS: &[Op] = convert::OPS;
pub(super) const FACTORS: &[Op] = factor::OPS;
pub(super) const ORDERINGS: &[Op] = ordering::OPS;
pub(super) const PRODUCTS: &[Op] = product::OPS;

const TYPE_NAME: &str = "tensorflow::CSRSparseMatrix";

/// One matrix or a batch of them, all of the same size.
#[derive(Clone, Debug)]
struct SparseMatrix {
    /// Absent if there is a single matrix.
    batches: Option<usize>,
    rows: usize,
    columns: usize,
    /// For each matrix, where each of its rows starts among its own entries, and their number.
    row_starts: Vec<i32>,
    /// The column of each entry.
    entry_columns: Vec<i32>,
    values: Tensor,
}

impl VariantValue for SparseMatrix {
    fn type_name(&self) -> &str {
        TYPE_NAME
    }

    fn zeros_like(&self) -> Result<Variant> {
        Ok(Arc::new(SparseMatrix {
            row_starts: vec![0; self.row_starts.len()],
            entry_columns: Vec::new(),
            values: Tensor::zeros(self.values.dtype(), Shape::vector(0))?,
            ..*self
        }))
    }
}

/// One matrix of a batch.
#[derive(Clone, Copy)]
struct Part<'a, S> {
    row_starts: &'a [i32],
    entry_columns: &'a [i32],
    values: &'a [S],
}

impl<'a, S: Scalar> Part<'a, S> {
    /// The entries in their order: row, column and value.
    fn entries(self) -> impl Iterator<Item = (usize, usize, S)> + 'a {
        self.row_starts.windows(2).enumerate().flat_map(move |(row, ends)| {
            let range = ends[0] as usize..ends[1] as usize;
            let entries = self.entry_columns[range.clone()].iter().zip(&self.values[range]);
            entries.map(move |(&column, &value)| (row, column as usize, value))
        })
    }
}

impl SparseMatrix {
    /// Makes a matrix from entries that are sorted by matrix and row.
    fn from_entries(dims: &[usize], indices: &[i64], values: Tensor) -> Result<SparseMatrix> {
        let (batches, rows, columns) = sizes(dims)?;
        for &size in dims {
            if i32::try_from(size).is_err() {
                return Err(invalid_argument!("a dimension of {size} is too large"));
            }
        }
        let starts = Shape::new(&[batches.unwrap_or(1), rows + 1])?;
        let mut row_starts = Tensor::zeros(DType::Int32, starts)?.values::<i32>()?.to_vec();
        let mut entry_columns = Vec::with_capacity(values.num_elements());
        for (at, index) in indices.chunks_exact(dims.len()).enumerate() {
            let is_inside = |(&index, &size): (&i64, &usize)| (0..size as i64).contains(&index);
            if !index.iter().zip(dims).all(is_inside) {
                let words: Vec<_> = index.iter().map(ToString::to_string).collect();
                return Err(invalid_argument!(
                    "Sparse index tuple indices[{at}, :] = [{}] is out of bounds",
                    words.join(", ")
                ));
            }
            let (&column, outer) = index.split_last().expect("an index has two or three numbers");
            let (&row, batch) = outer.split_last().expect("an index has two or three numbers");
            let batch = batch.first().map_or(0, |&batch| batch as usize);
            row_starts[batch * (rows + 1) + row as usize + 1] += 1;
            entry_columns.push(column as i32);
        }
        for starts in row_starts.chunks_exact_mut(rows + 1) {
            for row in 0..rows {
                starts[row + 1] += starts[row];
            }
        }
        Ok(SparseMatrix { batches, rows, columns, row_starts, entry_columns, values })
    }

    fn dtype(&self) -> DType {
        self.values.dtype()
    }

    fn count(&self) -> usize {
        self.batches.unwrap_or(1)
    }

    fn dims(&self) -> Vec<usize> {
        self.batches.into_iter().chain([self.rows, self.columns]).collect()
    }

    /// How many entries each matrix has.
    fn entry_counts(&self) -> impl Iterator<Item = i32> {
        self.row_starts.chunks_exact(self.rows + 1).map(|starts| starts[self.rows])
    }

    fn parts<S: Scalar>(&self) -> Result<Vec<Part<'_, S>>> {
        let (mut columns, mut values) = (&self.entry_columns[..], self.values.values::<S>()?);
        let mut parts = Vec::with_capacity(self.count());
        for row_starts in self.row_starts.chunks_exact(self.rows + 1) {
            let count = row_starts[self.rows] as usize;
            let (own_columns, own_values);
            (own_columns, columns) = columns.split_at(count);
            (own_values, values) = values.split_at(count);
            parts.push(Part { row_starts, entry_columns: own_columns, values: own_values });
        }
        Ok(parts)
    }

    /// Rows for columns; conjugates if asked to.
    fn transposed(&self, conjugate: bool) -> Result<SparseMatrix> {
        dispatch!(
            self.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.transposed_as::<S>(conjugate),
            else => Err(unsupported(self.dtype()))
        )
    }

    fn transposed_as<S: Scalar>(&self, conjugate: bool) -> Result<SparseMatrix> {
        let mut entries = Vec::with_capacity(self.entry_columns.len());
        for (batch, part) in self.parts::<S>()?.into_iter().enumerate() {
            entries.extend(part.entries().map(|(row, column, value)| {
                (batch, column, row, if conjugate { value.conjugate() } else { value })
            }));
        }
        entries.sort_by_key(|&(batch, row, column, _)| (batch, row, column));
        let dims: Vec<usize> = self.batches.into_iter().chain([self.columns, self.rows]).collect();
        let mut indices = Vec::with_capacity(entries.len() * dims.len());
        for &(batch, row, column, _) in &entries {
            indices.extend(self.batches.map(|_| batch as i64));
            indices.extend([row as i64, column as i64]);
        }
        let values: Vec<S> = entries.iter().map(|&(.., value)| value).collect();
        SparseMatrix::from_entries(&dims, &indices, Tensor::vector(&values)?)
    }
}

/// Splits the dimensions of a matrix or a batch of matrices.
fn sizes(dims: &[usize]) -> Result<(Option<usize>, usize, usize)> {
    match *dims {
        [rows, columns] => Ok((None, rows, columns)),
        [batches, rows, columns] => Ok((Some(batches), rows, columns)),
        _ => Err(invalid_argument!(
            "SparseTensor must have rank 2 or 3; but indices has rank: {}",
            dims.len()
        )),
    }
}

/// Reads the matrix that is an input.
fn matrix_input<'a>(ctx: &'a KernelContext<'_>, index: usize) -> Result<&'a SparseMatrix> {
    let [variant] = ctx.input(index)?.variants()? else {
        return Err(invalid_argument!("a sparse matrix is a scalar variant"));
    };
    variant.downcast_ref().ok_or_else(|| {
        invalid_argument!(
            "Could not retrieve CSRSparseMatrix from input {index}: found a variant of type {}",
            variant.type_name()
        )
    })
}

fn set_matrix(ctx: &mut KernelContext<'_>, matrix: SparseMatrix) -> Result<()> {
    let variant: Variant = Arc::new(matrix);
    ctx.set_output(0, Tensor::from_variants(Shape::SCALAR, vec![variant])?);
    Ok(())
}

fn check_type(matrix: &SparseMatrix, dtype: DType) -> Result<()> {
    if matrix.dtype() == dtype {
        return Ok(());
    }
    Err(invalid_argument!(
        "Asked for a CSRSparseMatrix of type {dtype} but saw dtype: {}",
        matrix.dtype()
    ))
}

fn check_square(matrix: &SparseMatrix) -> Result<()> {
    if matrix.rows == matrix.columns {
        return Ok(());
    }
    Err(invalid_argument!(
        "sparse matrix must be square; got: {} != {}",
        matrix.rows,
        matrix.columns
    ))
}

fn unsupported(dtype: DType) -> tensorfleet_tensor::Error {
    internal!("no sparse matrices of type {dtype}")
}
