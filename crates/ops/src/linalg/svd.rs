//! `Svd`: singular values and vectors.

use num_complex::Complex;
use num_traits::Float as _;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, internal};

use super::batch::{
    batch_shape, check_batches, count, cubic_cost, for_each_matrix, matrix_at, matrix_size,
};
use super::jacobi::decompose;
use super::matrix::Matrix;
use super::scalar::Scalar;

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
