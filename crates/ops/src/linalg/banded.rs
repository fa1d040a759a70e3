//! `BandedTriangularSolve`: triangular systems of which only the diagonals near the main one are
//! given.

use num_complex::Complex;
use num_traits::Zero;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, invalid_argument};

use super::batch::{matrix_at, matrix_size};
use super::matrix::Matrix;
use super::scalar::{Scalar, add_scaled};
use super::triangular::{check_rows, line_up, solve_aligned};
use crate::broadcast::Alignment;

use DType::{Complex64, Complex128, Double, Float};

pub(super) const OPS: &[Op] = &[Op {
    name: "BandedTriangularSolve",
    inputs: &["matrix: T", "rhs: T"],
    outputs: &["output: T"],
    attrs: &[
        "lower: bool = true",
        "adjoint: bool = false",
        "T: {double, float, half, complex64, complex128}",
    ],
    kernels: &[cpu::<BandedSolve>().types("T", &[Double, Float, Complex64, Complex128])],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct BandedSolve {
    lower: bool,
    adjoint: bool,
}

impl Kernel for BandedSolve {
    fn new(attrs: &Attrs<'_>) -> Result<BandedSolve> {
        Ok(BandedSolve { lower: attrs.bool("lower")?, adjoint: attrs.bool("adjoint")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (matrix, rhs) = (ctx.input(0)?, ctx.input(1)?);
        let batch = line_up(matrix, rhs)?;
        for (number, input) in [matrix, rhs].into_iter().enumerate() {
            if input.num_elements() == 0 {
                return Err(invalid_argument!(
                    "In[{number}] must not be an empty tensor: Tensor<type: {} shape: {} values: >",
                    input.dtype(),
                    input.shape()
                ));
            }
        }
        check_rows(matrix, rhs, self.lower, self.adjoint)?;
        let output = dispatch!(
            matrix.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.solve::<S>(par, &batch, matrix, rhs)?,
            else => return Err(internal!("a banded system of {}", matrix.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

impl BandedSolve {
    fn solve<S: Scalar>(
        &self,
        par: Parallel,
        batch: &Alignment,
        matrix: &Tensor,
        rhs: &Tensor,
    ) -> Result<Tensor> {
        let (size, rhs_size) = (matrix_size(matrix), matrix_size(rhs));
        let (a, b) = (matrix.values::<S>()?, rhs.values::<S>()?);
        solve_aligned(par, batch, rhs_size, |i, j, out: &mut [S]| {
            let bands = Matrix::from_slice(size, matrix_at(a, size, i));
            let mut x = Matrix::from_slice(rhs_size, matrix_at(b, rhs_size, j));
            self.substitute(&bands, &mut x)?;
            out.copy_from_slice(&x.values);
            Ok(())
        })
    }

    fn substitute<S: Scalar>(&self, bands: &Matrix<S>, x: &mut Matrix<S>) -> Result<()> {
        // The row of the diagonal at a distance from the main one.
        let band = |distance: usize| {
            if self.lower { distance } else { bands.rows - 1 - distance }
        };
        if bands.row(band(0)).iter().any(Zero::is_zero) {
            return Err(invalid_argument!("Input matrix is not invertible."));
        }
        let n = bands.columns;
        let forwards = self.lower != self.adjoint;
        for step in 0..n {
            let i = if forwards { step } else { n - 1 - step };
            for distance in 1..bands.rows.min(step + 1) {
                let j = if forwards { i - distance } else { i + distance };
                // The diagonal has an element for each row of the matrix, which the adjoint swaps.
                let factor = if self.adjoint {
                    bands[(band(distance), j)].conjugate()
                } else {
                    bands[(band(distance), i)]
                };
                let (source, target) = x.row_and_mut(j, i);
                add_scaled(target, -factor, source);
            }
            let pivot = bands[(band(0), i)];
            let pivot = if self.adjoint { pivot.conjugate() } else { pivot };
            x.row_mut(i).iter_mut().for_each(|value| *value /= pivot);
        }
        Ok(())
    }
}
