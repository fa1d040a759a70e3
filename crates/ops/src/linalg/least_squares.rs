//! `MatrixSolveLs`: the best solution of equations that are too many or too few.

use num_complex::Complex;
use num_traits::{Float, Zero};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, Value, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{
    DType, Result, Tensor, dispatch, internal, invalid_argument, unimplemented_error,
};

use super::batch::{
    batch_shape, check_batches, count, cubic_cost, for_each_matrix, matrix_at, matrix_size,
};
use super::cholesky;
use super::gradient::Factor::{Adjoint, Plain};
use super::gradient::{identity, known_size, product, with_adjoint};
use super::householder::Qr;
use super::matrix::Matrix;
use super::scalar::{Scalar, real};
use super::triangular::{Triangle, solve_in_place};

use DType::{Complex64, Complex128, Double, Float as Single};

const OP: Op = Op {
    inputs: &["matrix: T", "rhs: T", "l2_regularizer: double"],
    outputs: &["output: T"],
    ..Op::DEFAULT
};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchMatrixSolveLs",
        attrs: &["T: {double, float}", "fast: bool = true"],
        kernels: &[cpu::<LeastSquares>().types("T", &[Double, Single])],
        ..OP
    },
    Op {
        name: "MatrixSolveLs",
        attrs: &["T: {double, float, half, complex64, complex128}", "fast: bool = true"],
        kernels: &[cpu::<LeastSquares>().types("T", &[Double, Single, Complex64, Complex128])],
        gradient: Some(gradient),
        ..OP
    },
];

#[derive(Debug)]
struct LeastSquares {
    fast: bool,
}

impl Kernel for LeastSquares {
    fn new(attrs: &Attrs<'_>) -> Result<LeastSquares> {
        Ok(LeastSquares { fast: attrs.bool("fast")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (matrix, rhs, l2) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        if !l2.shape().is_scalar() {
            return Err(invalid_argument!(
                "l2_regularizer must be scalar, got shape {}",
                l2.shape()
            ));
        }
        let l2 = l2.scalar_value::<f64>()?;
        if l2 < 0.0 {
            return Err(invalid_argument!("l2_regularizer must be >= 0."));
        }
        check_batches(&[matrix, rhs])?;
        if matrix_size(matrix).0 != matrix_size(rhs).0 {
            return Err(invalid_argument!("Input matrix and rhs are incompatible."));
        }
        let output = dispatch!(
            matrix.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.solve::<S>(par, matrix, rhs, l2)?,
            else => return Err(internal!("least squares of {}", matrix.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs) * 2
    }
}

impl LeastSquares {
    fn solve<S: Scalar>(
        &self,
        par: Parallel,
        matrix: &Tensor,
        rhs: &Tensor,
        l2: f64,
    ) -> Result<Tensor> {
        let (size, rhs_size) = (matrix_size(matrix), matrix_size(rhs));
        let (a, b) = (matrix.values::<S>()?, rhs.values::<S>()?);
        Tensor::try_build(batch_shape(matrix, &[size.1, rhs_size.1])?, |out: &mut [S]| {
            if size.0 == 0 || out.is_empty() {
                out.fill(S::zero());
                return Ok(());
            }
            for_each_matrix(par, count(matrix), [out], |index, [out]| {
                let a = Matrix::from_slice(size, matrix_at(a, size, index));
                let b = Matrix::from_slice(rhs_size, matrix_at(b, rhs_size, index));
                let x = if self.fast {
                    normal_equations(&a, b, real(l2)).ok_or_else(|| {
                        invalid_argument!(
                            "Input matrix was rank deficient or ill-conditioned. Try setting \
                             fast=False or provide a larger l2_regularizer > 0."
                        )
                    })?
                } else {
                    least_norm(a, b)
                };
                out.copy_from_slice(&x.values);
                Ok(())
            })
        })
    }
}

/// Solves `(A* A + l2) x = A* b`, or, if there are fewer rows than columns, `x = A* y` with
/// `(A A* + l2) y = b`.
fn normal_equations<S: Scalar>(a: &Matrix<S>, b: Matrix<S>, l2: S::Real) -> Option<Matrix<S>> {
    let adjoint = a.adjoint();
    let is_tall = a.rows >= a.columns;
    let mut gramian = if is_tall { adjoint.product(a) } else { a.product(&adjoint) };
    for i in 0..gramian.rows {
        gramian[(i, i)] += S::from_real(l2);
    }
    let l = cholesky::factor(Parallel::SERIAL, &gramian)?;
    let mut x = if is_tall { adjoint.product(&b) } else { b };
    solve_in_place(Parallel::SERIAL, &l, Triangle::Lower, &mut x);
    solve_in_place(Parallel::SERIAL, &l.adjoint(), Triangle::Upper, &mut x);
    Some(if is_tall { x } else { adjoint.product(&x) })
}

/// The solution of least norm among the best ones, whatever the rank: `A P = Q R` with large
/// pivots first, and the rows of `R` that count taken apart once more.
fn least_norm<S: Scalar>(a: Matrix<S>, mut b: Matrix<S>) -> Matrix<S> {
    let (rows, columns) = (a.rows, a.columns);
    let steps = rows.min(columns);
    let (first, order) = Qr::pivoted(a);
    first.apply_adjoint(&mut b);
    let a = first.r;
    let pivots = (0..steps).map(|i| a[(i, i)].modulus());
    let largest = pivots.clone().fold(S::Real::zero(), |a, b| if b > a { b } else { a });
    let threshold = largest * S::Real::epsilon() * real(steps as f64);
    let rank = pivots.filter(|&pivot| pivot > threshold).count();

    let kept = Matrix::from_slice((rank, columns), &a.values[..rank * columns]);
    let second = Qr::new(kept.adjoint());
    let u = Matrix::from_slice((rank, rank), &second.r.values[..rank * rank]);
    let mut y = Matrix::from_slice((rank, b.columns), &b.values[..rank * b.columns]);
    solve_in_place(Parallel::SERIAL, &u.adjoint(), Triangle::Lower, &mut y);
    let y = second.q(rank).product(&y);
    let mut x = Matrix::zeros(columns, b.columns);
    for (i, &column) in order.iter().enumerate() {
        x.row_mut(column).copy_from_slice(y.row(i));
    }
    x
}

/// By the normal equations, as the solution itself.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (a, b, x, grad) = (g.input(0), g.input(1), g.output(0), g.grad(0)?);
    if !g.attrs().bool("fast")? {
        return Err(unimplemented_error!("Gradient not defined for fast=False"));
    }
    let Some((rows, columns)) = known_size(g, a) else {
        return Err(unimplemented_error!(
            "the gradient of MatrixSolveLs needs a matrix whose size is known"
        ));
    };
    let is_tall = rows >= columns;
    let gramian =
        if is_tall { product(g, Adjoint(a), Plain(a))? } else { product(g, Plain(a), Adjoint(a))? };
    let regularizer = g.mul(identity(g, gramian)?, g.cast(g.input(2), g.dtype(a))?)?;
    let gramian = g.add2(gramian, regularizer)?;
    let solve = |rhs: Output| g.call("MatrixSolve", [gramian, rhs]);
    let (of_a, of_b) = if is_tall {
        let z = solve(grad)?;
        let both_ways = with_adjoint(g, product(g, Plain(x), Adjoint(z))?)?;
        let of_a =
            g.sub(product(g, Plain(b), Adjoint(z))?, product(g, Plain(a), Plain(both_ways))?)?;
        (of_a, product(g, Plain(a), Plain(z))?)
    } else {
        let of_b = solve(product(g, Plain(a), Plain(grad))?)?;
        let y = solve(b)?;
        let rest = g.sub(grad, product(g, Adjoint(a), Plain(of_b))?)?;
        let fitted = product(g, Plain(of_b), Plain(product(g, Adjoint(y), Plain(a))?))?;
        (g.sub(product(g, Plain(y), Adjoint(rest))?, fitted)?, of_b)
    };
    Ok(vec![Some(of_a.into()), Some(of_b.into()), None])
}
