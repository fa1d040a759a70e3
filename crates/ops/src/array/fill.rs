//! `Fill`, `ZerosLike`, `OnesLike`, `Empty`: tensors of one value.

use bytes::Bytes;
use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu, no_gradient,
};
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, invalid_argument, unimplemented_error,
};

use super::arguments::{check_size, is_legacy_scalar, is_legacy_vector, requested_shape};
use super::copy::{Piece, assemble, parallel};
use super::types;
use super::view::View;
use crate::list::arithmetic;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Empty",
        inputs: &["shape: int32"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "init: bool = false"],
        stateful: true,
        kernels: &[cpu::<Empty>().types("dtype", types::BASIC)],
        shape: Some(crate::shapes::from_first),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Fill",
        inputs: &["dims: index_type", "value: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "index_type: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Fill>().types("T", FILLED)],
        shape: Some(crate::shapes::from_first),
        gradient: Some(fill_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "OnesLike",
        inputs: &["x: T"],
        outputs: &["y: T"],
        attrs: &[
            "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, \
             uint64, complex64, complex128, bool}",
        ],
        kernels: &[cpu::<OnesLike>().types("T", types::PLAIN)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ZerosLike",
        inputs: &["x: T"],
        outputs: &["y: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<ZerosLike>().types("T", ZEROED)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
];

const FILLED: &[DType] = &types::join::<25>(
    types::ALL,
    &[
        DType::QInt8,
        DType::QUInt8,
        DType::QInt16,
        DType::QUInt16,
        DType::QInt32,
        DType::Int4,
        DType::UInt4,
    ],
);

const ZEROED: &[DType] = &types::join::<17>(types::BASIC, &[DType::Variant]);

/// TensorFlow leaves the memory as it is unless `init` is set; here it is always zero, because what
/// another step left behind is nobody's business.
#[derive(Debug)]
struct Empty(DType);

impl Kernel for Empty {
    fn new(attrs: &Attrs<'_>) -> Result<Empty> {
        Ok(Empty(attrs.dtype("dtype")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let shape = ctx.input(0)?;
        if shape.rank() != 1 {
            return Err(invalid_argument!(
                "shape must be a vector of int32, got shape {}",
                shape.shape()
            ));
        }
        let shape = requested_shape(&shape.to_i64_vec()?)?;
        check_size(self.0, &shape)?;
        ctx.set_output(0, Tensor::zeros(self.0, shape)?);
        Ok(())
    }
}

#[derive(Debug)]
struct Fill;

impl Kernel for Fill {
    fn new(_: &Attrs<'_>) -> Result<Fill> {
        Ok(Fill)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (dims, value) = (ctx.input(0)?, ctx.input(1)?);
        if !is_legacy_vector(dims) {
            return Err(invalid_argument!(
                "dims must represent a vector, got shape {}",
                dims.shape()
            ));
        }
        if !is_legacy_scalar(value) {
            return Err(invalid_argument!(
                "value must represent a scalar, got shape {}",
                value.shape()
            ));
        }
        let shape = requested_shape(&dims.to_i64_vec()?)?;
        let filled = fill(value, shape, ctx)?;
        ctx.set_output(0, filled);
        Ok(())
    }
}

/// A tensor whose elements are all the only element of `value`.
fn fill(value: &Tensor, shape: Shape, ctx: &KernelContext<'_>) -> Result<Tensor> {
    let dtype = value.dtype();
    check_size(dtype, &shape)?;
    if dtype.is_plain() && value.raw().iter().all(|&byte| byte == 0) {
        return Tensor::zeros(dtype, shape);
    }
    if dtype == DType::String {
        let strings = vec![value.strings()?[0].clone(); shape.num_elements()];
        return Tensor::from_strings(shape, strings);
    }
    let piece =
        Piece { source: value, read: View::repeated(shape.dims()), write: View::of(shape.dims()) };
    assemble(dtype, shape, &[piece], parallel(ctx))
}

#[derive(Debug)]
struct OnesLike;

impl Kernel for OnesLike {
    fn new(_: &Attrs<'_>) -> Result<OnesLike> {
        Ok(OnesLike)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let shape = ctx.input(0)?.shape().clone();
        let one = one(ctx.input(0)?.dtype())?;
        let ones = fill(&one, shape, ctx)?;
        ctx.set_output(0, ones);
        Ok(())
    }
}

fn one(dtype: DType) -> Result<Tensor> {
    fn of<T: Element + num_traits::One>() -> Tensor {
        Tensor::scalar(T::one())
    }
    if dtype == DType::Bool {
        return Ok(Tensor::scalar(true));
    }
    dispatch!(
        dtype,
        [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => Ok(of::<T>()),
        else => Err(unimplemented_error!("there is no one of type {dtype}"))
    )
}

#[derive(Debug)]
struct ZerosLike;

impl Kernel for ZerosLike {
    fn new(_: &Attrs<'_>) -> Result<ZerosLike> {
        Ok(ZerosLike)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let zeros = match input.dtype() {
            DType::Variant => {
                let ([variant], true) = (input.variants()?, input.shape().is_scalar()) else {
                    return Err(invalid_argument!(
                        "ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported."
                    ));
                };
                Tensor::variant(arithmetic::zeros(variant)?)
            }
            DType::String => {
                let zeros = vec![Bytes::new(); input.num_elements()];
                Tensor::from_strings(input.shape().clone(), zeros)?
            }
            _ if input.is_unique() => {
                let mut zeros = input;
                zeros.write_raw(|bytes| {
                    bytes.fill(0);
                    Ok(())
                })?;
                zeros
            }
            dtype => Tensor::zeros(dtype, input.shape().clone())?,
        };
        ctx.set_output(0, zeros);
        Ok(())
    }
}

/// The value is everywhere.
fn fill_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let all = g.call("Range", [g.scalar(0i32)?, g.rank_tensor(grad)?, g.scalar(1i32)?])?;
    Ok(vec![None, Some(g.call("Sum", [grad, all])?.into())])
}
