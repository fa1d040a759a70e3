//! `Lu`: a matrix as the product of a permutation and two triangular ones.

use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, internal, invalid_argument};

use super::batch::{batch_shape, count, cubic_cost, matrix_at, matrix_size, square};
use super::factors::Factors;
use super::matrix::Matrix;
use super::scalar::Scalar;

use DType::{Complex64, Complex128, Double, Float, Int32};

pub(super) const OPS: &[Op] = &[Op {
    name: "Lu",
    inputs: &["input: T"],
    outputs: &["lu: T", "p: output_idx_type"],
    attrs: &[
        "T: {double, float, half, complex64, complex128}",
        "output_idx_type: {int32, int64} = DT_INT32",
    ],
    kernels: &[cpu::<Lu>().types("T", &[Double, Float, Complex64, Complex128])],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Lu {
    indices: DType,
}

impl Kernel for Lu {
    fn new(attrs: &Attrs<'_>) -> Result<Lu> {
        Ok(Lu { indices: attrs.dtype("output_idx_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let size = square(input)?;
        let mut rows = vec![0; count(input) * size];
        let lu = dispatch!(
            input.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => factor::<S>(par, input, &mut rows)?,
            else => return Err(internal!("Lu was given a {} tensor", input.dtype()))
        );
        let permutation = indices(self.indices, batch_shape(input, &[size])?, &rows)?;
        ctx.set_output(0, lu);
        ctx.set_output(1, permutation);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs)
    }
}

fn factor<S: Scalar>(par: Parallel, input: &Tensor, rows: &mut [usize]) -> Result<Tensor> {
    let size = matrix_size(input);
    let values = input.values::<S>()?;
    Tensor::try_build(input.shape().clone(), |out: &mut [S]| {
        if out.is_empty() {
            return Ok(());
        }
        let parts = out.chunks_exact_mut(size.0 * size.1).zip(rows.chunks_exact_mut(size.0));
        for (index, (out, rows)) in parts.enumerate() {
            let factors =
                Factors::new(par, Matrix::from_slice(size, matrix_at(values, size, index)));
            if !factors.is_invertible() {
                return Err(invalid_argument!("Input is not invertible."));
            }
            out.copy_from_slice(&factors.packed.values);
            rows.copy_from_slice(&factors.rows);
        }
        Ok(())
    })
}

fn indices(dtype: DType, shape: Shape, rows: &[usize]) -> Result<Tensor> {
    if dtype == Int32 {
        let rows: Vec<i32> = rows.iter().map(|&row| row as i32).collect();
        Tensor::from_slice(shape, &rows)
    } else {
        let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        Tensor::from_slice(shape, &rows)
    }
}
