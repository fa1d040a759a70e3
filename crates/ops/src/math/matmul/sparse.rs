//! `SparseMatMul`: a product of matrices that may be mostly zeros, stored densely.

use tensorfleet_framework::gradient::both;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_graph::Output;
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
    gradient: Some(gradient),
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

/// The products that `MatMul` has as gradients, each in the type of its matrix.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (ta, tb) = (g.attrs().bool("transpose_a")?, g.attrs().bool("transpose_b")?);
    let (a, b, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let (a_float, b_float) = (g.cast(a, DType::Float)?, g.cast(b, DType::Float)?);
    let product = |left: Output, transpose_a: bool, right: Output, transpose_b: bool| {
        let node = NewNode::new("MatMul").input(left).input(right);
        g.out(node.attr("transpose_a", transpose_a).attr("transpose_b", transpose_b))
    };
    let of_a = match ta {
        false => product(grad, false, b_float, !tb)?,
        true => product(b_float, tb, grad, true)?,
    };
    let of_b = match tb {
        false => product(a_float, !ta, grad, false)?,
        true => product(grad, true, a_float, ta)?,
    };
    both(g.cast(of_a, g.dtype(a))?, g.cast(of_b, g.dtype(b))?)
}
