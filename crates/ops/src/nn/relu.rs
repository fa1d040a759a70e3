//! Rectifiers: `Relu`, `Relu6`, `LeakyRelu` and their gradients.

use half::{bf16, f16};
use num_traits::PrimInt;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::{Parallel, Real, elementwise};
use tensorfleet_tensor::{Element, Result, Tensor, dispatch};

use super::activation::{activate, check_same_size, differentiate};
use super::activation_gradient as gradient;
use super::{FLOATS, INTEGERS};
use crate::shapes;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "LeakyRelu",
        inputs: &["features: T"],
        outputs: &["activations: T"],
        attrs: &["alpha: float = 0.2", "T: {half, bfloat16, float, double} = DT_FLOAT"],
        kernels: &[cpu::<LeakyRelu>().types("T", FLOATS)],
        shape: Some(shapes::unchanged),
        gradient: Some(gradient::leaky),
        ..Op::DEFAULT
    },
    Op {
        name: "LeakyReluGrad",
        inputs: &["gradients: T", "features: T"],
        outputs: &["backprops: T"],
        attrs: &["alpha: float = 0.2", "T: {half, bfloat16, float, double} = DT_FLOAT"],
        kernels: &[cpu::<LeakyReluGrad>().types("T", FLOATS)],
        shape: Some(shapes::unchanged),
        gradient: Some(gradient::second_order),
        ..Op::DEFAULT
    },
    Op {
        name: "Relu",
        inputs: &["features: T"],
        outputs: &["activations: T"],
        attrs: &["T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
             uint32, uint64, qint8}"],
        kernels: &[activate::<elementwise::Relu>(), cpu::<IntegerRelu>().types("T", INTEGERS)],
        shape: Some(shapes::unchanged),
        gradient: Some(gradient::relu),
        ..Op::DEFAULT
    },
    Op {
        name: "Relu6",
        inputs: &["features: T"],
        outputs: &["activations: T"],
        attrs: &["T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
             uint32, uint64}"],
        kernels: &[activate::<elementwise::Relu6>(), cpu::<IntegerRelu>().types("T", INTEGERS)],
        shape: Some(shapes::unchanged),
        gradient: Some(gradient::relu6),
        ..Op::DEFAULT
    },
    Op {
        name: "Relu6Grad",
        inputs: &["gradients: T", "features: T"],
        outputs: &["backprops: T"],
        attrs: &["T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
             uint32, uint64}"],
        kernels: &[
            differentiate::<elementwise::Relu6Grad>(),
            cpu::<IntegerReluGrad>().types("T", INTEGERS),
        ],
        shape: Some(shapes::unchanged),
        gradient: Some(gradient::second_order),
        ..Op::DEFAULT
    },
    Op {
        name: "ReluGrad",
        inputs: &["gradients: T", "features: T"],
        outputs: &["backprops: T"],
        attrs: &["T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
             uint32, uint64}"],
        kernels: &[
            differentiate::<elementwise::ReluGrad>(),
            cpu::<IntegerReluGrad>().types("T", INTEGERS),
        ],
        shape: Some(shapes::unchanged),
        gradient: Some(gradient::second_order),
        ..Op::DEFAULT
    },
];

/// `Relu`, or `Relu6` if limited, of integers.
#[derive(Debug)]
struct IntegerRelu {
    limited: bool,
}

impl Kernel for IntegerRelu {
    fn new(attrs: &Attrs<'_>) -> Result<IntegerRelu> {
        Ok(IntegerRelu { limited: attrs.op() == "Relu6" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let mut x = ctx.take_input(0)?;
        dispatch!(
            x.dtype(),
            [i8, i16, i32, i64, u8, u16, u32, u64],
            T => {
                let limit = if self.limited { 6 } else { T::MAX };
                elementwise::map_in_place(par, x.values_mut::<T>()?, |x| x.clamp(0, limit));
            },
            else => return Err(super::unsupported(x.dtype()))
        );
        ctx.set_output(0, x);
        Ok(())
    }
}

#[derive(Debug)]
struct IntegerReluGrad {
    op: Box<str>,
    limited: bool,
}

impl Kernel for IntegerReluGrad {
    fn new(attrs: &Attrs<'_>) -> Result<IntegerReluGrad> {
        Ok(IntegerReluGrad { op: attrs.op().into(), limited: attrs.op() == "Relu6Grad" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check_same_size(ctx, &self.op)?;
        let par = Parallel::new(ctx.parallelism());
        let (gradients, features) = (ctx.input(0)?, ctx.input(1)?);
        let result = dispatch!(
            gradients.dtype(),
            [i8, i16, i32, i64, u8, u16, u32, u64],
            T => integer_gradient::<T>(par, gradients, features, self.limited.then_some(6)),
            else => Err(super::unsupported(gradients.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

fn integer_gradient<T: PrimInt + Element>(
    par: Parallel,
    gradients: &Tensor,
    features: &Tensor,
    limit: Option<T>,
) -> Result<Tensor> {
    let (gradients, values) = (gradients.values::<T>()?, features.values::<T>()?);
    let passes = |x: T| x > T::zero() && limit.is_none_or(|limit| x < limit);
    Tensor::build(features.shape().clone(), |out| {
        elementwise::zip(
            par,
            gradients,
            values,
            out,
            |gradient, x| {
                if passes(x) { gradient } else { T::zero() }
            },
        );
    })
}

#[derive(Debug)]
struct LeakyRelu {
    alpha: f32,
}

impl Kernel for LeakyRelu {
    fn new(attrs: &Attrs<'_>) -> Result<LeakyRelu> {
        Ok(LeakyRelu { alpha: attrs.float("alpha")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let mut x = ctx.take_input(0)?;
        dispatch!(
            x.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let alpha = slope::<T>(self.alpha);
                elementwise::map_in_place(par, x.values_mut::<T>()?, |x| {
                    let wide = x.widen();
                    if wide > 0.0 { x } else { T::narrow(wide * alpha) }
                });
            },
            else => return Err(super::unsupported(x.dtype()))
        );
        ctx.set_output(0, x);
        Ok(())
    }
}

#[derive(Debug)]
struct LeakyReluGrad {
    op: Box<str>,
    alpha: f32,
}

impl Kernel for LeakyReluGrad {
    fn new(attrs: &Attrs<'_>) -> Result<LeakyReluGrad> {
        Ok(LeakyReluGrad { op: attrs.op().into(), alpha: attrs.float("alpha")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check_same_size(ctx, &self.op)?;
        let par = Parallel::new(ctx.parallelism());
        let (gradients, features) = (ctx.input(0)?, ctx.input(1)?);
        let result = dispatch!(
            gradients.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let alpha = slope::<T>(self.alpha);
                let (gradients, values) = (gradients.values::<T>()?, features.values::<T>()?);
                Tensor::build(features.shape().clone(), |out| {
                    elementwise::zip(par, gradients, values, out, |gradient, x| {
                        if x.widen() > 0.0 {
                            gradient
                        } else {
                            T::narrow(gradient.widen() * alpha)
                        }
                    });
                })
            },
            else => Err(super::unsupported(gradients.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

/// The slope below zero as the element type has it: TensorFlow rounds it before it multiplies.
fn slope<T: Real>(alpha: f32) -> T::Wide {
    use tensorfleet_kernels::Wide;
    T::narrow(T::Wide::of(alpha.into())).widen()
}
