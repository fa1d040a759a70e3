//! Gradients of functions of one value. With `y = f(x)` and the gradient `dy` of the result, that of
//! `x` is `dy` times the derivative, conjugated for complex numbers.

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{GradientContext, InputGradients};
use tensorfleet_graph::Output;
use tensorfleet_tensor::Result;

type Context<'a> = GradientContext<'a>;

/// `dy` times the conjugate of a derivative.
fn times(g: &Context<'_>, derivative: Output) -> InputGradients {
    only(g.mul(g.grad(0)?, g.conj(derivative)?)?)
}

/// `1 - x^2`, or `x^2 + c` in general: `sign * x^2 + term`.
fn square_plus(g: &Context<'_>, x: Output, sign: f64, term: f64) -> Result<Output> {
    let square = g.call("Square", [x])?;
    let signed = if sign < 0.0 { g.neg(square)? } else { square };
    g.shift(signed, term)
}

pub(super) fn abs(g: &Context<'_>) -> InputGradients {
    only(g.mul(g.grad(0)?, g.call("Sign", [g.input(0)])?)?)
}

pub(super) fn acos(g: &Context<'_>) -> InputGradients {
    let root = g.call("Rsqrt", [square_plus(g, g.input(0), -1.0, 1.0)?])?;
    times(g, g.neg(root)?)
}

pub(super) fn acosh(g: &Context<'_>) -> InputGradients {
    let derivative = g.call("Reciprocal", [g.call("Sinh", [g.output(0)])?])?;
    times(g, derivative)
}

pub(super) fn asin(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Rsqrt", [square_plus(g, g.input(0), -1.0, 1.0)?])?)
}

pub(super) fn asinh(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Reciprocal", [g.call("Cosh", [g.output(0)])?])?)
}

pub(super) fn atan(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Reciprocal", [square_plus(g, g.input(0), 1.0, 1.0)?])?)
}

pub(super) fn atanh(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Reciprocal", [square_plus(g, g.input(0), -1.0, 1.0)?])?)
}

pub(super) fn cos(g: &Context<'_>) -> InputGradients {
    times(g, g.neg(g.call("Sin", [g.input(0)])?)?)
}

pub(super) fn cosh(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Sinh", [g.input(0)])?)
}

/// `2 / sqrt(pi) * e^(-x^2)`, with a sign.
fn gaussian(g: &Context<'_>, sign: f64) -> InputGradients {
    let exponent = g.neg(g.call("Square", [g.input(0)])?)?;
    times(g, g.scale(g.call("Exp", [exponent])?, sign * std::f64::consts::FRAC_2_SQRT_PI)?)
}

pub(super) fn erf(g: &Context<'_>) -> InputGradients {
    gaussian(g, 1.0)
}

pub(super) fn erfc(g: &Context<'_>) -> InputGradients {
    gaussian(g, -1.0)
}

pub(super) fn exp(g: &Context<'_>) -> InputGradients {
    times(g, g.output(0))
}

pub(super) fn expm1(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Exp", [g.input(0)])?)
}

pub(super) fn log(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Reciprocal", [g.input(0)])?)
}

pub(super) fn log1p(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Reciprocal", [g.shift(g.input(0), 1.0)?])?)
}

pub(super) fn neg(g: &Context<'_>) -> InputGradients {
    only(g.neg(g.grad(0)?)?)
}

pub(super) fn reciprocal(g: &Context<'_>) -> InputGradients {
    only(g.call("ReciprocalGrad", [g.output(0), g.grad(0)?])?)
}

pub(super) fn rsqrt(g: &Context<'_>) -> InputGradients {
    only(g.call("RsqrtGrad", [g.output(0), g.grad(0)?])?)
}

pub(super) fn sigmoid(g: &Context<'_>) -> InputGradients {
    only(g.call("SigmoidGrad", [g.conj(g.output(0))?, g.grad(0)?])?)
}

/// Zero wherever it exists.
pub(super) fn sign(g: &Context<'_>) -> InputGradients {
    only(g.zeros_like(g.input(0))?)
}

pub(super) fn sin(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Cos", [g.input(0)])?)
}

pub(super) fn sinh(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Cosh", [g.input(0)])?)
}

pub(super) fn sqrt(g: &Context<'_>) -> InputGradients {
    only(g.call("SqrtGrad", [g.output(0), g.grad(0)?])?)
}

pub(super) fn square(g: &Context<'_>) -> InputGradients {
    times(g, g.scale(g.input(0), 2.0)?)
}

pub(super) fn tan(g: &Context<'_>) -> InputGradients {
    let secant = g.call("Reciprocal", [g.call("Cos", [g.input(0)])?])?;
    times(g, g.call("Square", [secant])?)
}

pub(super) fn tanh(g: &Context<'_>) -> InputGradients {
    only(g.call("TanhGrad", [g.conj(g.output(0))?, g.grad(0)?])?)
}
