//! `Svd`: singular values and vectors.

use num_complex::Complex;
use num_traits::Float as _;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, internal, unimplemented_error};

use super::batch::{
    batch_shape, check_batches, count, cubic_cost, for_each_matrix, matrix_at, matrix_size,
};
use super::gradient::{
    Factor, adjoint, columns, diagonal, known_size, product, reciprocal_gaps, safe_reciprocal,
    with_adjoint,
};
use super::jacobi::Decomposition;
use super::matrix::Matrix;
use super::scalar::Scalar;
use super::{golub_kahan, jacobi};

use DType::{Complex64, Complex128, Double, Float};

const OP: Op = Op { inputs: &["input: T"], outputs: &["s: T", "u: T", "v: T"], ..Op::DEFAULT };

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchSvd",
        attrs: &[
            "compute_uv: bool = true",
            "full_matrices: bool = false",
            "T: {double, float, complex64, complex128}",
        ],
        gradient: Some(gradient),
        kernels: &[cpu::<Svd>().types("T", &[Double, Float, Complex64, Complex128])],
        ..OP
    },
    Op {
        name: "Svd",
        attrs: &[
            "compute_uv: bool = true",
            "full_matrices: bool = false",
            "T: {double, float, half, complex64, complex128}",
        ],
        gradient: Some(gradient),
        kernels: &[cpu::<Svd>().types("T", &[Double, Float, Complex64, Complex128])],
        ..OP
    },
];

#[derive(Debug)]
struct Svd {
    compute_uv: bool,
    full_matrices: bool,
}

impl Kernel for Svd {
    fn new(attrs: &Attrs<'_>) -> Result<Svd> {
        Ok(Svd {
            compute_uv: attrs.bool("compute_uv")?,
            full_matrices: attrs.bool("full_matrices")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        check_batches(&[input])?;
        let outputs = dispatch!(
            input.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.decompose::<S>(par, input)?,
            else => return Err(internal!("Svd was given a {} tensor", input.dtype()))
        );
        for (index, output) in outputs.into_iter().enumerate() {
            ctx.set_output(index, output);
        }
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs) * 20
    }
}

/// TensorFlow decomposes matrices of fewer columns by Jacobi's method, which shows in the signs of
/// vectors.
const FEW_COLUMNS: usize = 16;

fn decompose<S: Scalar>(matrix: Matrix<S>, full: bool) -> Decomposition<S> {
    if matrix.columns >= FEW_COLUMNS
        && let Some(parts) = golub_kahan::decompose(&matrix, full)
    {
        return parts;
    }
    jacobi::decompose(matrix, full)
}

impl Svd {
    fn decompose<S: Scalar>(&self, par: Parallel, input: &Tensor) -> Result<[Tensor; 3]> {
        let size @ (rows, columns) = matrix_size(input);
        let inner = rows.min(columns);
        let values = input.values::<S>()?;
        let mut s = Tensor::for_overwrite::<S>(batch_shape(input, &[inner])?)?;
        let vectors = |length: usize| {
            if self.compute_uv {
                let count = if self.full_matrices { length } else { inner };
                Tensor::for_overwrite::<S>(batch_shape(input, &[length, count])?)
            } else {
                Tensor::zeros(S::DTYPE, Shape::SCALAR)
            }
        };
        let (mut u, mut v) = (vectors(rows)?, vectors(columns)?);
        let mut outputs = [s.values_mut::<S>()?, &mut [], &mut []];
        if self.compute_uv {
            outputs[1] = u.values_mut()?;
            outputs[2] = v.values_mut()?;
        }
        for_each_matrix(par, count(input), outputs, |index, outputs| {
            let matrix = Matrix::from_slice(size, matrix_at(values, size, index));
            if !matrix.is_finite() {
                outputs.into_iter().for_each(|out| out.fill(S::from_real(S::Real::nan())));
                return Ok(());
            }
            let [s, u, v] = outputs;
            let parts = decompose(matrix, self.full_matrices);
            for (s, value) in s.iter_mut().zip(parts.values) {
                *s = S::from_real(value);
            }
            if self.compute_uv {
                u.copy_from_slice(&parts.u.values);
                v.copy_from_slice(&parts.v.values);
            }
            Ok(())
        })?;
        Ok([s, u, v])
    }
}

/// Without gradients of the vectors it is `U diag(dS) V*`.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    use Factor::{Adjoint, Plain};
    let values = diagonal(g, g.grad(0)?)?;
    let has_vectors = g.attrs().bool("compute_uv")?;
    let is_turned = g.grad_or_none(1).is_some() || g.grad_or_none(2).is_some();
    if !has_vectors || !is_turned {
        let [u, v] = if has_vectors {
            [g.output(1), g.output(2)]
        } else {
            let [_, u, v] = g.outs(NewNode::new("Svd").input(g.input(0)))?;
            [u, v]
        };
        return only(product(g, Plain(u), Plain(product(g, Plain(values), Adjoint(v))?))?);
    }
    if g.dtype(g.input(0)).is_complex() {
        return Err(unimplemented_error!("Svd has no gradient for complex vectors"));
    }
    let Some((rows, cols)) = known_size(g, g.input(0)) else {
        return Err(unimplemented_error!("Svd has a gradient only for matrices of known size"));
    };
    let is_full = g.attrs().bool("full_matrices")?;
    if is_full && rows.abs_diff(cols) > 1 {
        return Err(unimplemented_error!(
            "Svd with full_matrices has a gradient only for matrices that are almost square"
        ));
    }
    let (u, v) = (Turned::of(g, 1)?, Turned::of(g, 2)?);
    // A high matrix is the transpose of a wide one.
    let wide = if rows > cols {
        let gradient = wide_gradient(g, values, v, u, [cols, rows], is_full)?;
        adjoint(g, gradient)?
    } else {
        wide_gradient(g, values, u, v, [rows, cols], is_full)?
    };
    only(wide)
}

/// Singular vectors and their gradient.
#[derive(Clone, Copy)]
struct Turned {
    vectors: Output,
    grad: Output,
}

impl Turned {
    fn of(g: &GradientContext<'_>, output: usize) -> Result<Turned> {
        Ok(Turned { vectors: g.output(output), grad: g.grad(output)? })
    }

    fn columns(self, g: &GradientContext<'_>, begin: usize, end: Option<usize>) -> Result<Turned> {
        let part = |matrix| columns(g, matrix, begin, end);
        Ok(Turned { vectors: part(self.vectors)?, grad: part(self.grad)? })
    }
}

/// The gradient of a matrix that is at least as wide as high.
fn wide_gradient(
    g: &GradientContext<'_>,
    values: Output,
    u: Turned,
    v: Turned,
    [rows, cols]: [usize; 2],
    is_full: bool,
) -> Result<Output> {
    use Factor::{Adjoint, Plain};
    let s = g.output(0);
    let s_matrix = diagonal(g, s)?;
    let gaps = reciprocal_gaps(g, g.mul(s, s)?)?;
    let first = v.columns(g, 0, Some(rows))?;
    let spin = |side: Turned| {
        let inner = product(g, Adjoint(side.vectors), Plain(side.grad))?;
        with_adjoint(g, g.mul(gaps, inner)?)
    };
    let by_u = product(g, Plain(spin(u)?), Plain(s_matrix))?;
    let by_v = product(g, Plain(s_matrix), Plain(spin(first)?))?;
    let inner = g.add2(values, g.add2(by_u, by_v)?)?;
    let inside =
        product(g, Plain(u.vectors), Plain(product(g, Plain(inner), Adjoint(first.vectors))?))?;
    if rows == cols {
        return Ok(inside);
    }
    // What leads out of the space of the first right vectors.
    let kept = product(g, Adjoint(first.grad), Plain(first.vectors))?;
    let mut outside =
        g.sub(adjoint(g, first.grad)?, product(g, Plain(kept), Adjoint(first.vectors))?)?;
    if is_full {
        let rest = v.columns(g, rows, None)?;
        let mixed = product(g, Adjoint(first.vectors), Plain(rest.grad))?;
        outside = g.sub(outside, product(g, Plain(mixed), Adjoint(rest.vectors))?)?;
    }
    let over_s = product(g, Plain(u.vectors), Plain(diagonal(g, safe_reciprocal(g, s)?)?))?;
    g.add2(inside, product(g, Plain(over_s), Plain(outside))?)
}
