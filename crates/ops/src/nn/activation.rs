//! Smooth activations and their gradients, one table row each.

use std::fmt::Debug;
use std::marker::PhantomData;

use half::{bf16, f16};
use tensorfleet_framework::gradient::both;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, Op, Pointwise,
    PointwiseFn, cpu,
};
use tensorfleet_kernels::elementwise::{self, Binary, Unary};
use tensorfleet_kernels::{Parallel, Real};
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, invalid_argument};

use super::FLOATS;
use super::activation_gradient as of;
use crate::shapes::unchanged;

const ATTRS: &[&str] = &["T: {half, bfloat16, float, double}"];

// Constants, because a `const fn` cannot return a reference to what it makes.
const ELU: &[KernelDef] = &[activate::<elementwise::Elu>()];
const SELU: &[KernelDef] = &[activate::<elementwise::Selu>()];
const SOFTPLUS: &[KernelDef] = &[activate::<elementwise::Softplus>()];
const SOFTSIGN: &[KernelDef] = &[activate::<elementwise::Softsign>()];

const fn activation(name: &'static str, kernels: &'static [KernelDef]) -> Op {
    Op {
        name,
        inputs: &["features: T"],
        outputs: &["activations: T"],
        attrs: ATTRS,
        kernels,
        ..Op::DEFAULT
    }
}

const fn gradient(
    name: &'static str,
    inputs: &'static [&'static str],
    kernels: &'static [KernelDef],
) -> Op {
    Op { name, inputs, outputs: &["backprops: T"], attrs: ATTRS, kernels, ..Op::DEFAULT }
}

pub(super) const OPS: &[Op] = &[
    activation("Elu", ELU).with_shape(unchanged).with_gradient(of::elu),
    gradient(
        "EluGrad",
        &["gradients: T", "outputs: T"],
        &[differentiate::<elementwise::EluGrad>()],
    )
    .with_gradient(second_elu),
    activation("Selu", SELU).with_shape(unchanged).with_gradient(of::selu),
    gradient(
        "SeluGrad",
        &["gradients: T", "outputs: T"],
        &[differentiate::<elementwise::SeluGrad>()],
    )
    .with_gradient(of::second_selu),
    activation("Softplus", SOFTPLUS).with_shape(unchanged).with_gradient(of::softplus),
    gradient(
        "SoftplusGrad",
        &["gradients: T", "features: T"],
        &[differentiate::<elementwise::SoftplusGrad>()],
    )
    .with_gradient(second_softplus),
    activation("Softsign", SOFTSIGN).with_shape(unchanged).with_gradient(of::softsign),
    gradient(
        "SoftsignGrad",
        &["gradients: T", "features: T"],
        &[differentiate::<elementwise::SoftsignGrad>()],
    ),
];

/// A kernel that applies a function to every value.
pub(super) const fn activate<F: Unary + Debug + Send + 'static>() -> KernelDef {
    cpu::<Activation<F>>().types("T", FLOATS)
}

/// A kernel that applies a function to every gradient and the value it belongs to.
pub(super) const fn differentiate<F: Binary + Debug + Send + 'static>() -> KernelDef {
    cpu::<Gradient<F>>().types("T", FLOATS)
}

#[derive(Debug)]
struct Activation<F> {
    dtype: DType,
    function: PhantomData<F>,
}

impl<F: Unary + Debug + Send + 'static> Kernel for Activation<F> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Activation { dtype: attrs.dtype("T")?, function: PhantomData })
    }

    fn pointwise(&self) -> Option<Pointwise> {
        dispatch!(
            self.dtype,
            [f32, f64],
            T => Some(PointwiseFn::One(T::apply::<F>).into()),
            else => None
        )
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let x = ctx.take_input(0)?;
        let result = dispatch!(
            x.dtype(),
            [f32, f64, f16, bf16],
            T => apply::<F, T>(par, x),
            else => Err(super::unsupported(x.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

fn apply<F: Unary, T: Real + Element>(par: Parallel, mut x: Tensor) -> Result<Tensor> {
    if x.is_unique() {
        elementwise::unary_in_place::<F, T>(par, x.values_mut()?);
        return Ok(x);
    }
    let values = x.values::<T>()?;
    Tensor::build(x.shape().clone(), |out| elementwise::unary::<F, T>(par, values, out))
}

#[derive(Debug)]
struct Gradient<F> {
    op: Box<str>,
    dtype: DType,
    function: PhantomData<F>,
}

impl<F: Binary + Debug + Send + 'static> Kernel for Gradient<F> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Gradient { op: attrs.op().into(), dtype: attrs.dtype("T")?, function: PhantomData })
    }

    fn pointwise(&self) -> Option<Pointwise> {
        dispatch!(
            self.dtype,
            [f32, f64],
            T => Some(PointwiseFn::Pair(T::apply2::<F>).into()),
            else => None
        )
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check_same_size(ctx, &self.op)?;
        let par = Parallel::new(ctx.parallelism());
        let (gradients, known) = (ctx.input(0)?, ctx.input(1)?);
        let result = dispatch!(
            gradients.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let (gradients, values) = (gradients.values::<T>()?, known.values::<T>()?);
                Tensor::build(known.shape().clone(), |out| {
                    elementwise::binary::<F, T>(par, gradients, values, out);
                })
            },
            else => Err(super::unsupported(gradients.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

/// Refuses two inputs of different shapes.
pub(super) fn check_same_size(ctx: &KernelContext<'_>, op: &str) -> Result<()> {
    let (a, b) = (ctx.input(0)?.shape(), ctx.input(1)?.shape());
    if a == b {
        return Ok(());
    }
    Err(invalid_argument!(
        "Inputs to operation {} of type {op} must have the same size and shape.  \
         Input 0: {a} != input 1: {b}",
        ctx.node_name()
    ))
}

/// Below zero the slope is the result plus one, so it changes as the result does.
fn second_elu(g: &GradientContext<'_>) -> InputGradients {
    let (gradients, outputs, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let product = g.mul(grad, gradients)?;
    let is_below = g.call("Less", [outputs, g.number_like(0.0, outputs)?])?;
    let by_outputs = g.call("SelectV2", [is_below, product, g.zeros_like(product)?])?;
    both(g.call("EluGrad", [grad, outputs])?, by_outputs)
}

/// The slope is the sigmoid, whose own is `1 / (e^-x + 2 + e^x)`.
fn second_softplus(g: &GradientContext<'_>) -> InputGradients {
    let (gradients, x, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let sum = g.add2(g.call("Exp", [g.neg(x)?])?, g.call("Exp", [x])?)?;
    let by_x = g.div(g.mul(grad, gradients)?, g.shift(sum, 2.0)?)?;
    both(g.call("SoftplusGrad", [grad, x])?, by_x)
}
