//! `SparseMatMul`: a product of matrices that may be mostly zeros, stored densely.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, invalid_argument};

use super::super::cast::cast;
use super::{Side, matrix_size, product, product_cost};

const TYPES: &[DType] = &[DType::Float, DType::BFloat16];

pub(in crate::math) const OPS: &[Op] = &[Op {
    name: "SparseMatMul",
    inputs: &["a: Ta", "b: Tb"],
    outputs: &["product: float"],
    attrs: &[
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "a_is_sparse: bool = false",
        "b_is_sparse: bool = false",
        "Ta: {float, bfloat16} = DT_FLOAT",
        "Tb: {float, bfloat16} = DT_FLOAT",
    ],
    kernels: &[cpu::<SparseMatMul>().types("Ta", TYPES).types("Tb", TYPES)],
    ..Op::DEFAULT
}];

/// Multiplies zeros too: a fast product loses less time on them than a search for them would.
#[derive(Debug)]
struct SparseMatMul {
    a: Side,
    b: Side,
}

impl Kernel for SparseMatMul {
    fn new(attrs: &Attrs<'_>) -> Result<SparseMatMul> {
        let side = |transposed| if transposed { Side::Transposed } else { Side::Plain };
        Ok(SparseMatMul {
            a: side(attrs.bool("transpose_a")?),
            b: side(attrs.bool("transpose_b")?),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (a, b) = (ctx.input(0)?, ctx.input(1)?);
        for (name, input) in [("a", a), ("b", b)] {
            if input.rank() != 2 {
                return Err(invalid_argument!("{name} is not a matrix"));
            }
        }
        let (a_rows, a_columns) = matrix_size(a.dims());
        let (b_rows, b_columns) = matrix_size(b.dims());
        if self.a.size(a_rows, a_columns).1 != self.b.size(b_rows, b_columns).0 {
            return Err(invalid_argument!(
                "Matrix size incompatible: a: {}, b: {}",
                a.shape(),
                b.shape()
            ));
        }
        let a = cast(par, a, DType::Float, false)?;
        let b = cast(par, b, DType::Float, false)?;
        let product = product::<f32>(par, (&a, self.a), (&b, self.b))?;
        ctx.set_output(0, product);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        product_cost(inputs)
    }
}
