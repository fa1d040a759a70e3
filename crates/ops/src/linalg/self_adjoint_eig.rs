//! `SelfAdjointEig` and `SelfAdjointEigV2`: eigenvalues and eigenvectors of self-adjoint matrices.

use num_complex::Complex;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{
    DType, Error, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use super::batch::{
    batch_shape, count, cubic_cost, for_each_matrix, matrix_at, matrix_size, square,
};
use super::gradient::{
    Factor, diagonal, lower_with_half_diagonal, product, reciprocal_gaps, with_adjoint,
};
use super::matrix::Matrix;
use super::scalar::Scalar;
use super::symmetric::eigen;

use DType::{Complex64, Complex128, Double, Float};

const OP: Op = Op { inputs: &["input: T"], outputs: &["e: T", "v: T"], ..Op::DEFAULT };
const OLD: Op = Op { outputs: &["output: T"], ..OP };

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchSelfAdjointEig",
        attrs: &["T: {double, float}"],
        kernels: &[cpu::<Stacked>().types("T", &[Double, Float])],
        ..OLD
    },
    Op {
        name: "BatchSelfAdjointEigV2",
        attrs: &["compute_v: bool = true", "T: {double, float}"],
        gradient: Some(gradient),
        kernels: &[cpu::<SelfAdjointEig>().types("T", &[Double, Float])],
        ..OP
    },
    Op {
        name: "SelfAdjointEig",
        attrs: &["T: {double, float, half}"],
        kernels: &[cpu::<Stacked>().types("T", &[Double, Float])],
        ..OLD
    },
    Op {
        name: "SelfAdjointEigV2",
        attrs: &["compute_v: bool = true", "T: {double, float, half, complex64, complex128}"],
        gradient: Some(gradient),
        kernels: &[cpu::<SelfAdjointEig>().types("T", &[Double, Float, Complex64, Complex128])],
        ..OP
    },
];

fn failure() -> Error {
    invalid_argument!(
        "Self-adjoint eigen decomposition was not successful. The input might not be valid."
    )
}

#[derive(Debug)]
struct SelfAdjointEig {
    compute_v: bool,
}

impl Kernel for SelfAdjointEig {
    fn new(attrs: &Attrs<'_>) -> Result<SelfAdjointEig> {
        Ok(SelfAdjointEig { compute_v: attrs.bool("compute_v")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        square(input)?;
        let [e, v] = dispatch!(
            input.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.decompose::<S>(par, input)?,
            else => return Err(internal!("eigenvalues of {}", input.dtype()))
        );
        ctx.set_output(0, e);
        ctx.set_output(1, v);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs) * 8
    }
}

impl SelfAdjointEig {
    fn decompose<S: Scalar>(&self, par: Parallel, input: &Tensor) -> Result<[Tensor; 2]> {
        let size = matrix_size(input);
        let values = input.values::<S>()?;
        let mut e = Tensor::for_overwrite::<S>(batch_shape(input, &[size.0])?)?;
        // Without vectors there is still an output, a number for nobody.
        let mut v = if self.compute_v {
            Tensor::for_overwrite::<S>(input.shape().clone())?
        } else {
            Tensor::zeros(S::DTYPE, Shape::SCALAR)?
        };
        let vectors: &mut [S] = if self.compute_v { v.values_mut()? } else { &mut [] };
        for_each_matrix(par, count(input), [e.values_mut::<S>()?, vectors], |index, [e, v]| {
            let matrix = Matrix::from_slice(size, matrix_at(values, size, index));
            let (eigenvalues, vectors) = eigen(&matrix, self.compute_v).ok_or_else(failure)?;
            for (e, value) in e.iter_mut().zip(eigenvalues) {
                *e = S::from_real(value);
            }
            if self.compute_v {
                v.copy_from_slice(&vectors.adjoint().values);
            }
            Ok(())
        })?;
        Ok([e, v])
    }
}

/// The old op: eigenvalues in a row above the vectors.
#[derive(Debug)]
struct Stacked;

impl Kernel for Stacked {
    fn new(_: &Attrs<'_>) -> Result<Stacked> {
        Ok(Stacked)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        square(input)?;
        let output = dispatch!(
            input.dtype(),
            [f32, f64],
            S => stacked::<S>(par, input)?,
            else => return Err(internal!("eigenvalues of {}", input.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs) * 8
    }
}

fn stacked<S: Scalar>(par: Parallel, input: &Tensor) -> Result<Tensor> {
    let size = matrix_size(input);
    let values = input.values::<S>()?;
    Tensor::try_build(batch_shape(input, &[size.0 + 1, size.1])?, |out: &mut [S]| {
        for_each_matrix(par, count(input), [out], |index, [out]| {
            let matrix = Matrix::from_slice(size, matrix_at(values, size, index));
            let (eigenvalues, vectors) = eigen(&matrix, true).ok_or_else(failure)?;
            let (row, rest) = out.split_at_mut(size.1);
            for (e, value) in row.iter_mut().zip(eigenvalues) {
                *e = S::from_real(value);
            }
            rest.copy_from_slice(&vectors.adjoint().values);
            Ok(())
        })
    })
}

/// `V (diag(dE) + F * (V* dV)) V*`, with `F` the reciprocals of the gaps between eigenvalues; in the
/// lower triangle, which alone was read.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    use Factor::{Adjoint, Plain};
    let mut inner = diagonal(g, g.grad(0)?)?;
    let v = if g.attrs().bool("compute_v")? {
        let v = g.output(1);
        if g.grad_or_none(1).is_some() {
            let turned = product(g, Adjoint(v), Plain(g.grad(1)?))?;
            inner = g.add2(inner, g.mul(reciprocal_gaps(g, g.output(0))?, turned)?)?;
        }
        v
    } else {
        let [_, v] = g.outs(NewNode::new("SelfAdjointEigV2").input(g.input(0)))?;
        v
    };
    let whole = product(g, Plain(v), Plain(product(g, Plain(inner), Adjoint(v))?))?;
    only(lower_with_half_diagonal(g, with_adjoint(g, whole)?)?)
}
