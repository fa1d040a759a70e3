//! Gradients of special functions.

use std::f64::consts::{FRAC_PI_2, PI};

use tensorfleet_framework::gradient::{both, only};
use tensorfleet_framework::{GradientContext, InputGradients};
use tensorfleet_graph::Output;
use tensorfleet_tensor::Result;

type Context<'a> = GradientContext<'a>;

/// The gradient of the result times a derivative.
fn times(g: &Context<'_>, derivative: Output) -> InputGradients {
    only(g.mul(g.grad(0)?, derivative)?)
}

pub(super) fn lgamma(g: &Context<'_>) -> InputGradients {
    times(g, g.call("Digamma", [g.input(0)])?)
}

pub(super) fn digamma(g: &Context<'_>) -> InputGradients {
    let x = g.input(0);
    times(g, g.call("Polygamma", [g.number_like(1.0, x)?, x])?)
}

pub(super) fn erfinv(g: &Context<'_>) -> InputGradients {
    let square = g.call("Square", [g.output(0)])?;
    times(g, g.scale(g.call("Exp", [square])?, PI.sqrt() / 2.0)?)
}

pub(super) fn ndtri(g: &Context<'_>) -> InputGradients {
    let square = g.call("Square", [g.output(0)])?;
    times(g, g.scale(g.call("Exp", [g.scale(square, 0.5)?])?, (2.0 * PI).sqrt())?)
}

pub(super) fn i0(g: &Context<'_>) -> InputGradients {
    times(g, g.call("BesselI1", [g.input(0)])?)
}

pub(super) fn i0e(g: &Context<'_>) -> InputGradients {
    let (x, y) = (g.input(0), g.output(0));
    let slope = g.mul(g.call("Sign", [x])?, y)?;
    times(g, g.sub(g.call("BesselI1e", [x])?, slope)?)
}

/// `I0 - I1 / x`, which is one half at zero.
fn over_argument(g: &Context<'_>, difference: Output) -> Result<Output> {
    let x = g.input(0);
    let is_zero = g.call("Equal", [x, g.number_like(0.0, x)?])?;
    g.call("SelectV2", [is_zero, g.number_like(0.5, x)?, difference])
}

pub(super) fn i1(g: &Context<'_>) -> InputGradients {
    let (x, y) = (g.input(0), g.output(0));
    let difference = g.sub(g.call("BesselI0", [x])?, g.div(y, x)?)?;
    times(g, over_argument(g, difference)?)
}

pub(super) fn i1e(g: &Context<'_>) -> InputGradients {
    let (x, y) = (g.input(0), g.output(0));
    let factor = g.add2(g.call("Sign", [x])?, g.call("Reciprocal", [x])?)?;
    let difference = g.sub(g.call("BesselI0e", [x])?, g.mul(y, factor)?)?;
    times(g, over_argument(g, difference)?)
}

pub(super) fn j0(g: &Context<'_>) -> InputGradients {
    times(g, g.neg(g.call("BesselJ1", [g.input(0)])?)?)
}

pub(super) fn y0(g: &Context<'_>) -> InputGradients {
    times(g, g.neg(g.call("BesselY1", [g.input(0)])?)?)
}

pub(super) fn k0(g: &Context<'_>) -> InputGradients {
    times(g, g.neg(g.call("BesselK1", [g.input(0)])?)?)
}

pub(super) fn k0e(g: &Context<'_>) -> InputGradients {
    times(g, g.sub(g.output(0), g.call("BesselK1e", [g.input(0)])?)?)
}

pub(super) fn j1(g: &Context<'_>) -> InputGradients {
    let (x, y) = (g.input(0), g.output(0));
    times(g, over_argument(g, g.sub(g.call("BesselJ0", [x])?, g.div(y, x)?)?)?)
}

pub(super) fn y1(g: &Context<'_>) -> InputGradients {
    let (x, y) = (g.input(0), g.output(0));
    times(g, g.sub(g.call("BesselY0", [x])?, g.div(y, x)?)?)
}

pub(super) fn k1(g: &Context<'_>) -> InputGradients {
    let (x, y) = (g.input(0), g.output(0));
    times(g, g.neg(g.add2(g.call("BesselK0", [x])?, g.div(y, x)?)?)?)
}

pub(super) fn k1e(g: &Context<'_>) -> InputGradients {
    let (x, y) = (g.input(0), g.output(0));
    let same_sign = g.sub(y, g.div(y, x)?)?;
    times(g, g.sub(same_sign, g.call("BesselK0e", [x])?)?)
}

pub(super) fn dawsn(g: &Context<'_>) -> InputGradients {
    let product = g.mul(g.scale(g.input(0), -2.0)?, g.output(0))?;
    times(g, g.shift(product, 1.0)?)
}

pub(super) fn expint(g: &Context<'_>) -> InputGradients {
    let x = g.input(0);
    times(g, g.div(g.call("Exp", [x])?, x)?)
}

fn fresnel(g: &Context<'_>, function: &str) -> InputGradients {
    let square = g.scale(g.call("Square", [g.input(0)])?, FRAC_PI_2)?;
    times(g, g.call(function, [square])?)
}

pub(super) fn fresnel_cos(g: &Context<'_>) -> InputGradients {
    fresnel(g, "Cos")
}

pub(super) fn fresnel_sin(g: &Context<'_>) -> InputGradients {
    fresnel(g, "Sin")
}

/// `ln(x) / (1 - x)`, which is minus one at one.
pub(super) fn spence(g: &Context<'_>) -> InputGradients {
    let x = g.input(0);
    let one = g.number_like(1.0, x)?;
    let derivative = g.div(g.call("Log", [x])?, g.sub(one, x)?)?;
    let is_one = g.call("Equal", [x, one])?;
    times(g, g.call("SelectV2", [is_one, g.neg(one)?, derivative])?)
}

/// The gradients by both arguments, of which the first may have none.
fn by_both(g: &Context<'_>, first: Option<Output>, second: Output) -> InputGradients {
    let (a, x, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let first = match first {
        Some(first) => Some(g.unbroadcast(g.mul(grad, first)?, a, x)?.into()),
        None => None,
    };
    Ok(vec![first, Some(g.unbroadcast(g.mul(grad, second)?, x, a)?.into())])
}

/// `x^(a - 1) e^-x / gamma(a)`, with a sign.
fn incomplete(g: &Context<'_>, sign: f64) -> InputGradients {
    let (a, x) = (g.input(0), g.input(1));
    let log = g.call("Xlogy", [g.shift(a, -1.0)?, x])?;
    let log = g.sub(g.sub(log, x)?, g.call("Lgamma", [a])?)?;
    let by_x = g.scale(g.call("Exp", [log])?, sign)?;
    let by_a = g.scale(g.call("IgammaGradA", [a, x])?, sign)?;
    by_both(g, Some(by_a), by_x)
}

pub(super) fn igamma(g: &Context<'_>) -> InputGradients {
    incomplete(g, 1.0)
}

pub(super) fn igammac(g: &Context<'_>) -> InputGradients {
    incomplete(g, -1.0)
}

pub(super) fn polygamma(g: &Context<'_>) -> InputGradients {
    let next = g.call("Polygamma", [g.shift(g.input(0), 1.0)?, g.input(1)])?;
    by_both(g, None, next)
}

pub(super) fn zeta(g: &Context<'_>) -> InputGradients {
    let (x, q) = (g.input(0), g.input(1));
    let derivative = g.neg(g.mul(x, g.call("Zeta", [g.shift(x, 1.0)?, q])?)?)?;
    by_both(g, None, derivative)
}

/// `x^(a - 1) (1 - x)^(b - 1)` over the beta function. TensorFlow has none by `a` and `b` either.
pub(super) fn betainc(g: &Context<'_>) -> InputGradients {
    let (a, b, x) = (g.input(0), g.input(1), g.input(2));
    let left = g.call("Xlogy", [g.shift(a, -1.0)?, x])?;
    let right = g.call("Xlog1py", [g.shift(b, -1.0)?, g.neg(x)?])?;
    let gammas = g.add2(g.call("Lgamma", [a])?, g.call("Lgamma", [b])?)?;
    let log_beta = g.sub(gammas, g.call("Lgamma", [g.add2(a, b)?])?)?;
    let by_x = g.call("Exp", [g.sub(g.add2(left, right)?, log_beta)?])?;
    let by_x = g.unbroadcast(g.mul(g.grad(0)?, by_x)?, x, g.output(0))?;
    Ok(vec![None, None, Some(by_x.into())])
}

/// The neighbour moves with the number, and does not depend on how far its direction lies.
pub(super) fn next_after(g: &Context<'_>) -> InputGradients {
    let (from, towards) = (g.input(0), g.input(1));
    both(g.unbroadcast(g.grad(0)?, from, towards)?, g.zeros_like(towards)?)
}
