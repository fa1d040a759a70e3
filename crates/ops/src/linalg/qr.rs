//! `Qr`: a matrix as the product of a unitary and a triangular one.

use half::f16;
use num_complex::Complex;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, unimplemented_error};

use super::batch::{
    batch_shape, check_batches, count, cubic_cost, for_each_matrix, matrix_at, matrix_size,
};
use super::gradient::{Factor, adjoint, band, columns, known_size, product};
use super::householder;
use super::matrix::Matrix;
use super::scalar::Scalar;

use DType::{Complex64, Complex128, Double, Float, Half};

pub(super) const OPS: &[Op] = &[Op {
    name: "Qr",
    inputs: &["input: T"],
    outputs: &["q: T", "r: T"],
    attrs: &["full_matrices: bool = false", "T: {double, float, half, complex64, complex128}"],
    kernels: &[cpu::<Qr>().types("T", &[Double, Float, Half, Complex64, Complex128])],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Qr {
    full_matrices: bool,
}

impl Kernel for Qr {
    fn new(attrs: &Attrs<'_>) -> Result<Qr> {
        Ok(Qr { full_matrices: attrs.bool("full_matrices")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        check_batches(&[input])?;
        let [q, r] = if input.dtype() == Half {
            let [q, r] = self.factor::<f32>(par, &widened(input)?)?;
            [narrowed(&q)?, narrowed(&r)?]
        } else {
            dispatch!(
                input.dtype(),
                [f32, f64, Complex<f32>, Complex<f64>],
                S => self.factor::<S>(par, input)?,
                else => return Err(internal!("Qr was given a {} tensor", input.dtype()))
            )
        };
        ctx.set_output(0, q);
        ctx.set_output(1, r);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs)
    }
}

impl Qr {
    fn factor<S: Scalar>(&self, par: Parallel, input: &Tensor) -> Result<[Tensor; 2]> {
        let (rows, columns) = matrix_size(input);
        let inner = if self.full_matrices { rows } else { rows.min(columns) };
        let values = input.values::<S>()?;
        let mut q = Tensor::for_overwrite::<S>(batch_shape(input, &[rows, inner])?)?;
        let mut r = Tensor::for_overwrite::<S>(batch_shape(input, &[inner, columns])?)?;
        let outputs = [q.values_mut::<S>()?, r.values_mut::<S>()?];
        for_each_matrix(par, count(input), outputs, |index, [q, r]| {
            let matrix =
                Matrix::from_slice((rows, columns), matrix_at(values, (rows, columns), index));
            let factors = householder::Qr::new(matrix);
            q.copy_from_slice(&factors.q(inner).values);
            r.copy_from_slice(&factors.r.values[..inner * columns]);
            Ok(())
        })?;
        Ok([q, r])
    }
}

/// Half precision as single.
pub(super) fn widened(tensor: &Tensor) -> Result<Tensor> {
    let values = tensor.values::<f16>()?;
    Tensor::build(tensor.shape().clone(), |out: &mut [f32]| {
        out.iter_mut().zip(values).for_each(|(out, value)| *out = value.to_f32());
    })
}

/// Single precision as half.
pub(super) fn narrowed(tensor: &Tensor) -> Result<Tensor> {
    let values = tensor.values::<f32>()?;
    Tensor::build(tensor.shape().clone(), |out: &mut [f16]| {
        out.iter_mut().zip(values).for_each(|(out, value)| *out = f16::from_f32(*value));
    })
}

/// Of a matrix that is wider than high, the square part decides about `Q`; what follows it is `Q`
/// times the rest of `R`.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (q, r) = (g.output(0), g.output(1));
    let Some((rows, cols)) = known_size(g, g.input(0)) else {
        return Err(unimplemented_error!("Qr has a gradient only for matrices of known size"));
    };
    if g.dtype(q).is_complex() {
        return Err(unimplemented_error!("Qr has no gradient for complex matrices"));
    }
    if rows > cols && g.attrs().bool("full_matrices")? {
        return Err(unimplemented_error!(
            "Qr has no gradient for high matrices with full_matrices"
        ));
    }
    let (dq, dr) = (g.grad(0)?, g.grad(1)?);
    if rows >= cols {
        return only(high_gradient(g, q, r, dq, dr)?);
    }
    let rest = columns(g, g.input(0), rows, None)?;
    let (square, dr_square) = (columns(g, r, 0, Some(rows))?, columns(g, dr, 0, Some(rows))?);
    let dr_rest = columns(g, dr, rows, None)?;
    let dq = g.add2(dq, product(g, Factor::Plain(rest), Factor::Adjoint(dr_rest))?)?;
    let left = high_gradient(g, q, square, dq, dr_square)?;
    let right = product(g, Factor::Plain(q), Factor::Plain(dr_rest))?;
    only(g.out(NewNode::new("ConcatV2").list(&[left, right]).input(g.scalar(-1i32)?))?)
}

/// The gradient of a matrix that is at least as high as wide:
/// `Q (dR + T R^-*) + (dQ - Q Q* dQ) R^-*` with `T` the lower triangle of `M - M*`, where
/// `M = R dR* - dQ* Q`.
fn high_gradient(
    g: &GradientContext<'_>,
    q: Output,
    r: Output,
    dq: Output,
    dr: Output,
) -> Result<Output> {
    use Factor::{Adjoint, Plain};
    // `x R^-*`, as the adjoint of `R^-1 x*`.
    let over_r = |x: Output| {
        let node = NewNode::new("MatrixTriangularSolve").input(r).input(adjoint(g, x)?);
        adjoint(g, g.out(node.attr("lower", false))?)
    };
    let in_q = product(g, Adjoint(q), Plain(dq))?;
    let in_r = product(g, Plain(r), Adjoint(dr))?;
    let both = g.add2(in_q, in_r)?;
    let triangle = band(g, g.sub(both, adjoint(g, both)?)?, -1, 0)?;
    let inside = product(g, Plain(q), Plain(g.add2(dr, over_r(triangle)?)?))?;
    let outside = g.sub(dq, product(g, Plain(q), Plain(in_q))?)?;
    g.add2(inside, over_r(outside)?)
}
