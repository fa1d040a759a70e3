//! `Cholesky`: a positive matrix as the product of a triangular one and its adjoint; with its
//! gradient.

use num_complex::Complex;
use num_traits::{Float, Zero};
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::MatMut;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, invalid_argument};

use super::batch::{
    check_batches, count, cubic_cost, for_each_matrix, inside, matrix_at, matrix_size, square,
};
use super::gradient::{Factor, adjoint, lower_with_half_diagonal, product, with_adjoint};
use super::matrix::Matrix;
use super::scalar::{Scalar, real};
use super::triangular::{BLOCK, Triangle, solve_in_place};
use crate::shapes;

use DType::{Complex64, Complex128, Double, Float as Single};

const FACTOR: Op = Op { inputs: &["input: T"], outputs: &["output: T"], ..Op::DEFAULT };
const GRADIENT: Op = Op { inputs: &["l: T", "grad: T"], outputs: &["output: T"], ..Op::DEFAULT };

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchCholesky",
        attrs: &["T: {double, float}"],
        gradient: Some(factor_gradient),
        shape: Some(shapes::unchanged),
        kernels: &[cpu::<Cholesky>().types("T", &[Double, Single])],
        ..FACTOR
    },
    Op {
        name: "BatchCholeskyGrad",
        attrs: &["T: {float, double}"],
        kernels: &[cpu::<CholeskyGrad>().types("T", &[Double, Single])],
        ..GRADIENT
    },
    Op {
        name: "Cholesky",
        attrs: &["T: {double, float, half, complex64, complex128}"],
        gradient: Some(factor_gradient),
        shape: Some(shapes::unchanged),
        kernels: &[cpu::<Cholesky>().types("T", &[Double, Single, Complex64, Complex128])],
        ..FACTOR
    },
    Op {
        name: "CholeskyGrad",
        attrs: &["T: {half, float, double}"],
        kernels: &[cpu::<CholeskyGrad>().types("T", &[Double, Single])],
        ..GRADIENT
    },
];

/// The lower triangular factor, from the lower triangle of a matrix; nothing if the matrix is not
/// positive.
///
/// It is found as rows of its adjoint, some at a time: one product takes off what earlier rows say,
/// and the rows of a block then learn from each other.
pub(super) fn factor<S: Scalar>(par: Parallel, a: &Matrix<S>) -> Option<Matrix<S>> {
    let n = a.rows;
    let mut l = Matrix::zeros(n, n);
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        let mut block = Matrix::zeros(end - start, n - start);
        for i in start..n {
            for (j, value) in a.row(i)[start..end.min(i + 1)].iter().enumerate() {
                block[(j, i - start)] = value.conjugate();
            }
        }
        if start > 0 {
            let earlier = |rows| l.view(rows, 0..start);
            let (left, right) = (earlier(start..end), earlier(start..n).adjoint_if(true));
            let rest = MatMut::new(&mut block.values, end - start, n - start);
            S::add_product(par, -S::one(), left, right, rest);
        }
        for j in 0..end - start {
            for p in 0..j {
                let factor = -block[(p, j)].conjugate();
                let (source, target) = block.row_and_mut(p, j);
                S::add_scaled(&mut target[j..], factor, &source[j..]);
            }
            let square = block[(j, j)].re();
            if square <= S::Real::zero() || square.is_nan() {
                return None;
            }
            let root = S::from_real(Float::sqrt(square));
            let row = &mut block.row_mut(j)[j..];
            row[0] = root;
            row[1..].iter_mut().for_each(|value| *value /= root);
        }
        for i in start..n {
            for (j, value) in l.row_mut(i)[start..end.min(i + 1)].iter_mut().enumerate() {
                *value = block[(j, i - start)].conjugate();
            }
        }
    }
    Some(l)
}

#[derive(Debug)]
struct Cholesky;

impl Kernel for Cholesky {
    fn new(_: &Attrs<'_>) -> Result<Cholesky> {
        Ok(Cholesky)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        square(input)?;
        let output = dispatch!(
            input.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => factor_all::<S>(par, input)?,
            else => return Err(internal!("Cholesky was given a {} tensor", input.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs) / 3
    }
}

fn factor_all<S: Scalar>(par: Parallel, input: &Tensor) -> Result<Tensor> {
    let size = matrix_size(input);
    let values = input.values::<S>()?;
    let inside = inside(par, count(input));
    Tensor::try_build(input.shape().clone(), |out: &mut [S]| {
        for_each_matrix(par, count(input), [out], |index, [out]| {
            match factor(inside, &Matrix::from_slice(size, matrix_at(values, size, index))) {
                Some(l) => out.copy_from_slice(&l.values),
                // TensorFlow says by NaN that there is no factor, and trains on.
                None => out.fill(S::from_real(Float::nan())),
            }
            Ok(())
        })
    })
}

#[derive(Debug)]
struct CholeskyGrad;

impl Kernel for CholeskyGrad {
    fn new(_: &Attrs<'_>) -> Result<CholeskyGrad> {
        Ok(CholeskyGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (l, grad) = (ctx.input(0)?, ctx.input(1)?);
        check_batches(&[l, grad])?;
        let (rows, columns) = matrix_size(l);
        if rows != columns {
            return Err(invalid_argument!("Inputs must be a square matrices."));
        }
        if matrix_size(grad) != (rows, columns) {
            return Err(invalid_argument!("Inputs (L and grad) must have the same shape."));
        }
        let output = dispatch!(
            l.dtype(),
            [f32, f64],
            S => gradients::<S>(par, l, grad)?,
            else => return Err(internal!("CholeskyGrad was given a {} tensor", l.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs)
    }
}

fn gradients<S: Scalar>(par: Parallel, l: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let size = matrix_size(l);
    let (ls, grads) = (l.values::<S>()?, grad.values::<S>()?);
    Tensor::try_build(l.shape().clone(), |out: &mut [S]| {
        for_each_matrix(par, count(l), [out], |index, [out]| {
            let l = lower(Matrix::from_slice(size, matrix_at(ls, size, index)));
            let grad = lower(Matrix::from_slice(size, matrix_at(grads, size, index)));
            out.copy_from_slice(&gradient(&l, &grad).values);
            Ok(())
        })
    })
}

/// The gradient of the matrix `L L*`, symmetric, given that of `L`: with `P` the lower triangle of
/// `L* G`, its diagonal halved, it is the symmetric part of `L^-* P L^-1`.
fn gradient<S: Scalar>(l: &Matrix<S>, grad: &Matrix<S>) -> Matrix<S> {
    let n = l.rows;
    let half = S::from_real(real(0.5));
    let adjoint = l.adjoint();
    let mut p = lower(adjoint.product(grad));
    for i in 0..n {
        p[(i, i)] *= half;
    }
    solve_in_place(Parallel::SERIAL, &adjoint, Triangle::Upper, &mut p);
    let mut p = p.adjoint();
    solve_in_place(Parallel::SERIAL, &adjoint, Triangle::Upper, &mut p);
    let mut sum = p.adjoint();
    for (sum, other) in sum.values.iter_mut().zip(&p.values) {
        *sum = (*sum + *other) * half;
    }
    sum
}

/// The lower triangle of a matrix, zeros above.
fn lower<S: Scalar>(mut matrix: Matrix<S>) -> Matrix<S> {
    for i in 0..matrix.rows {
        matrix.row_mut(i)[i + 1..].fill(S::zero());
    }
    matrix
}

/// With `P` the lower triangle of `L* dL`, its diagonal halved, the gradient is the symmetric part
/// of `L^-* P L^-1`.
fn factor_gradient(g: &GradientContext<'_>) -> InputGradients {
    let l = g.output(0);
    let inner = product(g, Factor::Adjoint(l), Factor::Plain(g.grad(0)?))?;
    let inner = lower_with_half_diagonal(g, inner)?;
    let solve = |rhs| {
        let node = NewNode::new("MatrixTriangularSolve").input(l).input(rhs);
        g.out(node.attr("lower", true).attr("adjoint", true))
    };
    let left = solve(inner)?;
    let both = solve(adjoint(g, left)?)?;
    only(g.scale(with_adjoint(g, both)?, 0.5)?)
}
