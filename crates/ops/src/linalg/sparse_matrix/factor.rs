//! `SparseMatrixSparseCholesky`: the lower triangle whose product with its adjoint is a sparse matrix.
//!
//! Row by row: the entries that a row will have follow from the tree of eliminations, so nothing is searched.

use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, invalid_argument, resource_exhausted};

use super::super::scalar::Scalar;
use super::{Part, SparseMatrix, check_square, check_type, matrix_input, set_matrix, unsupported};

pub(super) const OPS: &[Op] = &[Op {
    name: "SparseMatrixSparseCholesky",
    inputs: &["input: variant", "permutation: int32"],
    outputs: &["output: variant"],
    attrs: &["type: {float, double, complex64, complex128}"],
    kernels: &[cpu::<Cholesky>()],
    ..Op::DEFAULT
}];

/// The most entries that the triangles of a batch may have.
const MOST_ENTRIES: usize = 1 << 28;

#[derive(Debug)]
struct Cholesky {
    dtype: DType,
}

impl Kernel for Cholesky {
    fn new(attrs: &Attrs<'_>) -> Result<Cholesky> {
        Ok(Cholesky { dtype: attrs.dtype("type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (matrix, permutation) = (matrix_input(ctx, 0)?, ctx.input(1)?);
        check_type(matrix, self.dtype)?;
        check_square(matrix)?;
        let rank = matrix.dims().len();
        if rank != permutation.rank() + 1 {
            return Err(invalid_argument!(
                "sparse matrix must have the same rank as permutation; got: {rank} != {} + 1.",
                permutation.rank()
            ));
        }
        let [batches @ .., len] = permutation.dims() else {
            return Err(invalid_argument!("a permutation has one or two dimensions"));
        };
        if *len != matrix.rows {
            return Err(invalid_argument!(
                "permutation must have the same number of elements in each batch as the number of rows in \
                 sparse matrix; got: {len} != {}",
                matrix.rows
            ));
        }
        if batches.first().copied() != matrix.batches {
            return Err(invalid_argument!(
                "permutation must have the same batch size as sparse matrix; got: {} != {}",
                batches.first().copied().unwrap_or(1),
                matrix.count()
            ));
        }
        let order = permutation.values::<i32>()?;
        let factor = dispatch!(
            self.dtype,
            [f32, f64, Complex<f32>, Complex<f64>],
            S => factorize::<S>(matrix, order),
            else => Err(unsupported(self.dtype))
        )?;
        set_matrix(ctx, factor)
    }
}

fn factorize<S: Scalar>(matrix: &SparseMatrix, order: &[i32]) -> Result<SparseMatrix> {
    let size = matrix.rows;
    let mut triangle =
        Triangle { row_starts: Vec::new(), columns: Vec::new(), values: Vec::<S>::new() };
    for (batch, part) in matrix.parts::<S>()?.into_iter().enumerate() {
        let order = &order[batch * size..(batch + 1) * size];
        let rows = inverse(order).map(|place| permuted(part, &place));
        if !triangle.factorize(rows.as_deref())? {
            return Err(invalid_argument!(
                "Sparse Cholesky factorization failed for batch index {batch}. The input might not be valid."
            ));
        }
    }
    Ok(SparseMatrix {
        row_starts: triangle.row_starts,
        entry_columns: triangle.columns,
        values: Tensor::vector(&triangle.values)?,
        ..*matrix
    })
}

/// Where each row goes; nothing if the order is none.
fn inverse(order: &[i32]) -> Option<Vec<usize>> {
    let mut places = vec![usize::MAX; order.len()];
    for (place, &row) in order.iter().enumerate() {
        let slot = places.get_mut(usize::try_from(row).ok()?)?;
        if *slot != usize::MAX {
            return None;
        }
        *slot = place;
    }
    Some(places)
}

/// The rows of the lower triangle in their new places. Only the lower triangle of the matrix counts.
fn permuted<S: Scalar>(part: Part<'_, S>, places: &[usize]) -> Vec<Vec<(usize, S)>> {
    let mut rows = vec![Vec::new(); places.len()];
    for (row, column, value) in part.entries().filter(|(row, column, _)| column <= row) {
        let (row, column) = (places[row], places[column]);
        if column <= row {
            rows[row].push((column, value));
        } else {
            rows[column].push((row, value.conjugate()));
        }
    }
    rows
}

/// The factors of a batch so far.
struct Triangle<S> {
    row_starts: Vec<i32>,
    columns: Vec<i32>,
    values: Vec<S>,
}

impl<S: Scalar> Triangle<S> {
    /// Appends the factor of a matrix; returns whether there is one.
    fn factorize(&mut self, rows: Option<&[Vec<(usize, S)>]>) -> Result<bool> {
        let Some(rows) = rows else { return Ok(false) };
        let size = rows.len();
        let start = self.columns.len();
        let mut parents = vec![usize::MAX; size];
        let mut seen_in = vec![usize::MAX; size];
        // The entries of the factor below the diagonal, by column, and the diagonal.
        let mut below: Vec<Vec<(usize, S)>> = vec![Vec::new(); size];
        let mut diagonal: Vec<S::Real> = Vec::with_capacity(size);
        let mut rest = vec![S::zero(); size];
        self.row_starts.push(0);
        for (row, entries) in rows.iter().enumerate() {
            let mut pattern = Vec::new();
            let mut corner = S::zero();
            seen_in[row] = row;
            for &(column, value) in entries {
                if column == row {
                    corner += value;
                    continue;
                }
                // The column solved for below is that of the adjoint.
                rest[column] += value.conjugate();
                let mut at = column;
                while seen_in[at] != row {
                    seen_in[at] = row;
                    pattern.push(at);
                    if parents[at] == usize::MAX {
                        parents[at] = row;
                    }
                    at = parents[at];
                }
            }
            pattern.sort_unstable();
            if self.columns.len() + pattern.len() >= MOST_ENTRIES {
                return Err(resource_exhausted!(
                    "the factor of a sparse matrix does not fit into memory"
                ));
            }
            let mut left = corner.re();
            for column in pattern {
                let value = std::mem::replace(&mut rest[column], S::zero());
                let solved = value.scale(num_traits::Float::recip(diagonal[column]));
                for &(other, factor) in below[column].iter() {
                    rest[other] -= factor * solved;
                }
                left -= solved.norm_sqr();
                let value = solved.conjugate();
                below[column].push((row, value));
                self.columns.push(column as i32);
                self.values.push(value);
            }
            let is_positive = left > num_traits::Zero::zero();
            if !is_positive {
                return Ok(false);
            }
            diagonal.push(num_traits::Float::sqrt(left));
            self.columns.push(row as i32);
            self.values.push(S::from_real(diagonal[row]));
            self.row_starts.push((self.columns.len() - start) as i32);
        }
        Ok(true)
    }
}
