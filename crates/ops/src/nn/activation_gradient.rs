//! Gradients of activations, which ops of their own compute.

use tensorfleet_framework::gradient::{both, only};
use tensorfleet_framework::{GradientContext, InputGradients, NewNode};

type Context<'a> = GradientContext<'a>;

pub(super) fn relu(g: &Context<'_>) -> InputGradients {
    only(g.call("ReluGrad", [g.grad(0)?, g.output(0)])?)
}

pub(super) fn relu6(g: &Context<'_>) -> InputGradients {
    only(g.call("Relu6Grad", [g.grad(0)?, g.output(0)])?)
}

pub(super) fn leaky(g: &Context<'_>) -> InputGradients {
    only(g.call_with_attrs("LeakyReluGrad", [g.grad(0)?, g.input(0)])?)
}

pub(super) fn elu(g: &Context<'_>) -> InputGradients {
    only(g.call("EluGrad", [g.grad(0)?, g.output(0)])?)
}

pub(super) fn selu(g: &Context<'_>) -> InputGradients {
    only(g.call("SeluGrad", [g.grad(0)?, g.output(0)])?)
}

pub(super) fn softplus(g: &Context<'_>) -> InputGradients {
    only(g.call("SoftplusGrad", [g.grad(0)?, g.input(0)])?)
}

pub(super) fn softsign(g: &Context<'_>) -> InputGradients {
    only(g.call("SoftsignGrad", [g.grad(0)?, g.input(0)])?)
}

/// The gradient of a rectifier's gradient: the same mask; the mask itself is constant almost
/// everywhere.
pub(super) fn second_order(g: &Context<'_>) -> InputGradients {
    let op = g.node().op.to_string();
    let node = NewNode::new(&op).input(g.grad(0)?).input(g.input(1));
    let masked = g.out(g.with_attrs_of(node)?)?;
    Ok(vec![Some(masked.into()), None])
}

/// Below zero the slope grows with the result, above it is constant.
pub(super) fn second_selu(g: &Context<'_>) -> InputGradients {
    let (gradients, outputs, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let masked = g.call("SeluGrad", [grad, outputs])?;
    let zero = g.number_like(0.0, outputs)?;
    let below = g.call("Less", [outputs, zero])?;
    both(masked, g.call("SelectV2", [below, g.mul(grad, gradients)?, g.zeros_like(outputs)?])?)
}
