//! `MatMul`: the product of two matrices.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, ShapeContext,
    Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, invalid_argument};

use super::{Side, incompatible, matrix_size, product, product_cost};
use crate::shapes;
use tensorfleet_framework::gradient::both;
use tensorfleet_tensor::PartialShape;

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
    shape: Some(shape),
    gradient: Some(gradient),
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

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let attrs = c.attrs();
    let ordered = |index, transposed: bool| {
        let [rows, columns] = shapes::dims(c, index)?;
        Ok::<_, tensorfleet_tensor::Error>(if transposed {
            (columns, rows)
        } else {
            (rows, columns)
        })
    };
    let (rows, inner) = ordered(0, attrs.bool("transpose_a")?)?;
    let (other_inner, columns) = ordered(1, attrs.bool("transpose_b")?)?;
    if let (Some(a), Some(b)) = (inner, other_inner)
        && a != b
    {
        return Err(invalid_argument!(
            "matrices of shapes {} and {} cannot be multiplied: {a} is not {b}",
            c.input(0),
            c.input(1)
        ));
    }
    Ok(vec![PartialShape::known([rows, columns])])
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let attrs = g.attrs();
    let (a, b) = (g.conj(g.input(0))?, g.conj(g.input(1))?);
    let grad = g.grad(0)?;
    let product = |a, b, transpose_a: bool, transpose_b: bool| {
        let node = NewNode::new("MatMul").input(a).input(b);
        g.out(node.attr("transpose_a", transpose_a).attr("transpose_b", transpose_b))
    };
    match (attrs.bool("transpose_a")?, attrs.bool("transpose_b")?) {
        (false, false) => both(product(grad, b, false, true)?, product(a, grad, true, false)?),
        (false, true) => both(product(grad, b, false, false)?, product(grad, a, true, false)?),
        (true, false) => both(product(b, grad, false, true)?, product(a, grad, false, false)?),
        (true, true) => both(product(b, grad, true, true)?, product(grad, a, true, true)?),
    }
}
