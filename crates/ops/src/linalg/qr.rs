//! `Qr`: a matrix as the product of a unitary and a triangular one.

use half::f16;
use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal};

use super::batch::{
    batch_shape, check_batches, count, cubic_cost, for_each_matrix, matrix_at, matrix_size,
};
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
