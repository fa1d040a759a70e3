//! `MatMul`: the product of two matrices.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, invalid_argument};

use super::{Side, incompatible, matrix_size, product, product_cost};

const TYPES: &[DType] = &[
    DType::BFloat16,
    DType::Half,
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::Int64,
    DType::Complex64,
    DType::Complex128,
];

pub(in crate::math) const OPS: &[Op] = &[Op {
    name: "MatMul",
    inputs: &["a: T", "b: T"],
    outputs: &["product: T"],
    attrs: &[
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, \
         complex64, complex128}",
        "grad_a: bool = false",
        "grad_b: bool = false",
    ],
    kernels: &[cpu::<MatMul>().types("T", TYPES)],
    ..Op::DEFAULT
}];

#[derive(Debug)]
pub(super) struct MatMul {
    pub(super) a: Side,
    pub(super) b: Side,
}

impl Kernel for MatMul {
    fn new(attrs: &Attrs<'_>) -> Result<MatMul> {
        let side = |name| {
            Ok::<_, tensorfleet_tensor::Error>(if attrs.bool(name)? {
                Side::Transposed
            } else {
                Side::Plain
            })
        };
        Ok(MatMul { a: side("transpose_a")?, b: side("transpose_b")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let product = self.multiply(par, ctx.input(0)?, ctx.input(1)?)?;
        ctx.set_output(0, product);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        product_cost(inputs)
    }
}

impl MatMul {
    pub(super) fn multiply(&self, par: Parallel, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        if a.rank() != b.rank() {
            return Err(invalid_argument!(
                "In[0] and In[1] has different ndims: {} vs. {}",
                a.shape(),
                b.shape()
            ));
        }
        for (number, input) in [a, b].into_iter().enumerate() {
            if input.rank() != 2 {
                return Err(invalid_argument!(
                    "In[{number}] is not a matrix. Instead it has shape {}",
                    input.shape()
                ));
            }
        }
        let (rows, columns) = matrix_size(a.dims());
        let inner = self.a.size(rows, columns).1;
        let (rows, columns) = matrix_size(b.dims());
        if inner != self.b.size(rows, columns).0 {
            return Err(incompatible(a, b));
        }
        dispatch!(
            a.dtype(),
            [f32, f64, f16, bf16, i32, i64, Complex<f32>, Complex<f64>],
            T => product::<T>(par, (a, self.a), (b, self.b)),
            else => Err(internal!("MatMul was given {} tensors", a.dtype()))
        )
    }
}
