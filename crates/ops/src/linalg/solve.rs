//! `MatrixInverse` and `MatrixSolve`: systems of equations with a square matrix.

use half::f16;
use num_complex::Complex;
use tensorfleet_framework::gradient::{both, only};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, invalid_argument};

use super::batch::{
    batch_shape, check_batches, count, cubic_cost, for_each_matrix, inside, matrix_at, matrix_size,
    square,
};
use super::factors::Factors;
use super::gradient::{Factor, product};
use super::matrix::Matrix;
use super::qr::{narrowed, widened};
use super::scalar::Scalar;
use crate::shapes;

use DType::{Complex64, Complex128, Double, Float, Half};

const INVERSE: Op = Op {
    inputs: &["input: T"],
    outputs: &["output: T"],
    shape: Some(shapes::unchanged),
    gradient: Some(inverse_gradient),
    ..Op::DEFAULT
};
const SOLVE: Op = Op {
    inputs: &["matrix: T", "rhs: T"],
    outputs: &["output: T"],
    shape: Some(shapes::as_second),
    gradient: Some(solve_gradient),
    ..Op::DEFAULT
};
const ADJOINT: &str = "adjoint: bool = false";
const T: &str = "T: {double, float, half, complex64, complex128}";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchMatrixInverse",
        attrs: &[ADJOINT, "T: {double, float}"],
        kernels: &[cpu::<Inverse>().types("T", &[Double, Float])],
        ..INVERSE
    },
    Op {
        name: "BatchMatrixSolve",
        attrs: &[ADJOINT, "T: {double, float}"],
        kernels: &[cpu::<Solve>().types("T", &[Double, Float])],
        ..SOLVE
    },
    Op {
        name: "MatrixInverse",
        attrs: &[ADJOINT, T],
        kernels: &[cpu::<Inverse>().types("T", &[Double, Float, Half, Complex64, Complex128])],
        ..INVERSE
    },
    Op {
        name: "MatrixSolve",
        attrs: &[ADJOINT, T],
        kernels: &[cpu::<Solve>().types("T", &[Double, Float, Complex64, Complex128])],
        ..SOLVE
    },
];

/// A matrix of a batch, or its adjoint.
fn operand<S: Scalar>(
    values: &[S],
    size: (usize, usize),
    index: usize,
    adjoint: bool,
) -> Matrix<S> {
    let matrix = Matrix::from_slice(size, matrix_at(values, size, index));
    if adjoint { matrix.adjoint() } else { matrix }
}

#[derive(Debug)]
struct Inverse {
    adjoint: bool,
}

impl Kernel for Inverse {
    fn new(attrs: &Attrs<'_>) -> Result<Inverse> {
        Ok(Inverse { adjoint: attrs.bool("adjoint")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        square(input)?;
        let output = if input.dtype() == <f16 as tensorfleet_tensor::Element>::DTYPE {
            narrowed(&self.invert::<f32>(par, &widened(input)?)?)?
        } else {
            dispatch!(
                input.dtype(),
                [f32, f64, Complex<f32>, Complex<f64>],
                S => self.invert::<S>(par, input)?,
                else => return Err(internal!("an inverse of {}", input.dtype()))
            )
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs) * 3
    }
}

impl Inverse {
    fn invert<S: Scalar>(&self, par: Parallel, input: &Tensor) -> Result<Tensor> {
        let size = matrix_size(input);
        let values = input.values::<S>()?;
        let inside = inside(par, count(input));
        Tensor::try_build(input.shape().clone(), |out: &mut [S]| {
            for_each_matrix(par, count(input), [out], |index, [out]| {
                let factors = Factors::new(inside, operand(values, size, index, self.adjoint));
                if !factors.is_invertible() {
                    return Err(invalid_argument!("Input is not invertible."));
                }
                let inverse = factors.solve(inside, &Matrix::identity(size.0, size.1));
                out.copy_from_slice(&inverse.values);
                Ok(())
            })
        })
    }
}

#[derive(Debug)]
struct Solve {
    adjoint: bool,
}

impl Kernel for Solve {
    fn new(attrs: &Attrs<'_>) -> Result<Solve> {
        Ok(Solve { adjoint: attrs.bool("adjoint")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (matrix, rhs) = (ctx.input(0)?, ctx.input(1)?);
        check_batches(&[matrix, rhs])?;
        let (rows, columns) = matrix_size(matrix);
        if rows != columns {
            return Err(invalid_argument!("First input (lhs) must be a square matrix."));
        }
        if rows != matrix_size(rhs).0 {
            return Err(invalid_argument!("Input matrix and rhs are incompatible."));
        }
        let output = dispatch!(
            matrix.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.solve::<S>(par, matrix, rhs)?,
            else => return Err(internal!("a system of {}", matrix.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs)
    }
}

impl Solve {
    fn solve<S: Scalar>(&self, par: Parallel, matrix: &Tensor, rhs: &Tensor) -> Result<Tensor> {
        let (size, rhs_size) = (matrix_size(matrix), matrix_size(rhs));
        let (a, b) = (matrix.values::<S>()?, rhs.values::<S>()?);
        let shape = batch_shape(matrix, &[size.1, rhs_size.1])?;
        // TensorFlow does not look at matrices without anything to solve for.
        let count = if size.0 == 0 || rhs_size.1 == 0 { 0 } else { count(matrix) };
        let inside = inside(par, count);
        Tensor::try_build(shape, |out: &mut [S]| {
            for_each_matrix(par, count, [out], |index, [out]| {
                let factors = Factors::new(inside, operand(a, size, index, self.adjoint));
                if !factors.is_invertible() {
                    return Err(invalid_argument!("Input matrix is not invertible."));
                }
                let b = Matrix::from_slice(rhs_size, matrix_at(b, rhs_size, index));
                out.copy_from_slice(&factors.solve(inside, &b).values);
                Ok(())
            })
        })
    }
}

/// The gradient of `A^-1` is `-A^-* dY A^-*`.
fn inverse_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (inverse, grad) = (g.output(0), g.grad(0)?);
    let is_adjoint = g.attrs().bool("adjoint")?;
    let right = product(g, Factor::new(grad, is_adjoint), Factor::new(inverse, !is_adjoint))?;
    only(g.neg(product(g, Factor::new(inverse, !is_adjoint), Factor::Plain(right))?)?)
}

/// The right side has the gradient `dB = A^-* dX`, and the matrix `-dB X*`.
fn solve_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (matrix, solution) = (g.input(0), g.output(0));
    let is_adjoint = g.attrs().bool("adjoint")?;
    let node = NewNode::new("MatrixSolve").input(matrix).input(g.grad(0)?);
    let rhs = g.out(node.attr("adjoint", !is_adjoint))?;
    let (left, right) = if is_adjoint { (solution, rhs) } else { (rhs, solution) };
    both(g.neg(product(g, Factor::Plain(left), Factor::Adjoint(right))?)?, rhs)
}
