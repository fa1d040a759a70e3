//! `BandedTriangularSolve`: triangular systems of which only the diagonals near the main one are
//! given.

use num_complex::Complex;
use num_traits::Zero;
use tensorfleet_framework::gradient::both;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, invalid_argument};

use super::batch::{matrix_at, matrix_size};
use super::gradient::{Factor, product};
use super::matrix::Matrix;
use super::scalar::Scalar;
use super::triangular::{check_rows, line_up, solve_aligned};
use crate::broadcast::Alignment;
use crate::math::reduce_batch;

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
    gradient: Some(gradient),
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
                S::add_scaled(target, -factor, source);
            }
            let pivot = bands[(band(0), i)];
            let pivot = if self.adjoint { pivot.conjugate() } else { pivot };
            x.row_mut(i).iter_mut().for_each(|value| *value /= pivot);
        }
        Ok(())
    }
}

/// As that of a triangular solve; only the bands are kept.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (matrix, rhs, solution) = (g.input(0), g.input(1), g.output(0));
    let (is_lower, is_adjoint) = (g.attrs().bool("lower")?, g.attrs().bool("adjoint")?);
    let node = NewNode::new("BandedTriangularSolve").input(matrix).input(g.grad(0)?);
    let of_rhs = g.out(node.attr("lower", is_lower).attr("adjoint", !is_adjoint))?;
    let (left, right) = if is_adjoint { (solution, of_rhs) } else { (of_rhs, solution) };
    let whole = g.neg(product(g, Factor::Plain(left), Factor::Adjoint(right))?)?;
    let at = g.sub(g.rank_tensor(matrix)?, g.scalar(2i32)?)?;
    let bands = g.call("GatherV2", [g.shape_tensor(matrix)?, at, g.scalar(0i32)?])?;
    let (zero, outer) = (g.scalar(0i32)?, g.sub(bands, g.scalar(1i32)?)?);
    let range = if is_lower { [g.neg(outer)?, zero] } else { [zero, outer] };
    let range = g.out(NewNode::new("Pack").list(&range))?;
    let node = NewNode::new("MatrixDiagPartV3").input(whole).input(range);
    let node = node.input(g.number_like(0.0, whole)?).attr("align", "LEFT_RIGHT");
    let of_matrix = g.out(node)?;
    both(reduce_batch(g, of_matrix, matrix, rhs)?, reduce_batch(g, of_rhs, rhs, matrix)?)
}
