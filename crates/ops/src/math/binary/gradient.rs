//! Gradients of functions of two values. An operand that was broadcast gets the sum over the
//! positions that it went to.

use tensorfleet_framework::gradient::both;
use tensorfleet_framework::{GradientContext, InputGradients};
use tensorfleet_graph::Output;
use tensorfleet_tensor::Result;

type Context<'a> = GradientContext<'a>;

/// The gradients of both operands, reduced to their shapes.
fn reduced(g: &Context<'_>, dx: Output, dy: Output) -> InputGradients {
    let (x, y) = (g.input(0), g.input(1));
    both(g.unbroadcast(dx, x, y)?, g.unbroadcast(dy, y, x)?)
}

/// The operands, conjugated.
fn operands(g: &Context<'_>) -> Result<(Output, Output)> {
    Ok((g.conj(g.input(0))?, g.conj(g.input(1))?))
}

/// `values` where `condition` holds, zero elsewhere.
fn masked(g: &Context<'_>, condition: Output, values: Output) -> Result<Output> {
    let zero = g.number_like(0.0, values)?;
    g.call("SelectV2", [condition, values, zero])
}

pub(super) fn add(g: &Context<'_>) -> InputGradients {
    reduced(g, g.grad(0)?, g.grad(0)?)
}

pub(super) fn atan2(g: &Context<'_>) -> InputGradients {
    let (y, x, dz) = (g.input(0), g.input(1), g.grad(0)?);
    let squares = g.add2(g.call("Square", [x])?, g.call("Square", [y])?)?;
    let scaled = g.div(dz, squares)?;
    reduced(g, g.mul(x, scaled)?, g.neg(g.mul(y, scaled)?)?)
}

fn extreme(g: &Context<'_>, comparison: &str) -> InputGradients {
    let dz = g.grad(0)?;
    let first = g.call(comparison, [g.input(0), g.input(1)])?;
    let zero = g.number_like(0.0, dz)?;
    let dx = g.call("SelectV2", [first, dz, zero])?;
    let dy = g.call("SelectV2", [first, zero, dz])?;
    reduced(g, dx, dy)
}

pub(super) fn maximum(g: &Context<'_>) -> InputGradients {
    extreme(g, "GreaterEqual")
}

pub(super) fn minimum(g: &Context<'_>) -> InputGradients {
    extreme(g, "LessEqual")
}

pub(super) fn mul(g: &Context<'_>) -> InputGradients {
    let ((x, y), dz) = (operands(g)?, g.grad(0)?);
    reduced(g, g.mul(dz, y)?, g.mul(x, dz)?)
}

pub(super) fn mul_no_nan(g: &Context<'_>) -> InputGradients {
    let ((x, y), dz) = (operands(g)?, g.grad(0)?);
    reduced(g, g.call("MulNoNan", [dz, y])?, g.call("MulNoNan", [x, dz])?)
}

pub(super) fn pow(g: &Context<'_>) -> InputGradients {
    let ((x, y), z, dz) = (operands(g)?, g.conj(g.output(0))?, g.grad(0)?);
    let less = g.call("Pow", [x, g.shift(y, -1.0)?])?;
    let dx = g.mul(dz, g.mul(y, less)?)?;
    // The logarithm of what is not positive must not spoil the sum with NaN.
    let has_log = if g.dtype(x).is_complex() {
        g.call("NotEqual", [x, g.number_like(0.0, x)?])?
    } else {
        g.call("Greater", [x, g.number_like(0.0, x)?])?
    };
    let safe = g.call("SelectV2", [has_log, x, g.ones_like(x)?])?;
    let log = masked(g, has_log, g.call("Log", [safe])?)?;
    reduced(g, dx, g.mul(dz, g.mul(z, log)?)?)
}

pub(super) fn squared_difference(g: &Context<'_>) -> InputGradients {
    let dz = g.scale(g.grad(0)?, 2.0)?;
    let dx = g.mul(dz, g.sub(g.input(0), g.input(1))?)?;
    reduced(g, dx, g.neg(dx)?)
}

pub(super) fn sub(g: &Context<'_>) -> InputGradients {
    reduced(g, g.grad(0)?, g.neg(g.grad(0)?)?)
}

pub(super) fn div(g: &Context<'_>) -> InputGradients {
    let ((x, y), dz) = (operands(g)?, g.grad(0)?);
    let dx = g.div(dz, y)?;
    let ratio = g.div(g.div(g.neg(x)?, y)?, y)?;
    reduced(g, dx, g.mul(dz, ratio)?)
}

pub(super) fn div_no_nan(g: &Context<'_>) -> InputGradients {
    let ((x, y), dz) = (operands(g)?, g.grad(0)?);
    let over = |a, b| g.call("DivNoNan", [a, b]);
    let dx = over(dz, y)?;
    let ratio = over(over(g.neg(x)?, y)?, y)?;
    reduced(g, dx, g.mul(dz, ratio)?)
}

/// The quotient is constant between jumps.
fn remainder(g: &Context<'_>, quotient: &str) -> InputGradients {
    let dz = g.grad(0)?;
    let quotient = g.call(quotient, [g.input(0), g.input(1)])?;
    reduced(g, dz, g.mul(dz, g.neg(quotient)?)?)
}

pub(super) fn floor_mod(g: &Context<'_>) -> InputGradients {
    remainder(g, "FloorDiv")
}

pub(super) fn truncate_mod(g: &Context<'_>) -> InputGradients {
    remainder(g, "TruncateDiv")
}

pub(super) fn xdivy(g: &Context<'_>) -> InputGradients {
    let ((x, y), dz) = (operands(g)?, g.grad(0)?);
    let nonzero = g.cast(g.call("NotEqual", [x, g.number_like(0.0, x)?])?, g.dtype(x))?;
    let dx = g.mul(dz, g.call("Xdivy", [nonzero, y])?)?;
    let ratio = g.call("Xdivy", [g.neg(x)?, g.call("Square", [y])?])?;
    reduced(g, dx, g.mul(dz, ratio)?)
}

pub(super) fn xlogy(g: &Context<'_>) -> InputGradients {
    let ((x, y), dz) = (operands(g)?, g.grad(0)?);
    let nonzero = g.cast(g.call("NotEqual", [x, g.number_like(0.0, x)?])?, g.dtype(x))?;
    let dx = g.mul(dz, g.call("Xlogy", [nonzero, y])?)?;
    reduced(g, dx, g.mul(dz, g.call("Xdivy", [x, y])?)?)
}

pub(super) fn xlog1py(g: &Context<'_>) -> InputGradients {
    let ((x, y), dz) = (operands(g)?, g.grad(0)?);
    let nonzero = g.cast(g.call("NotEqual", [x, g.number_like(0.0, x)?])?, g.dtype(x))?;
    let dx = g.mul(dz, g.call("Xlog1py", [nonzero, y])?)?;
    reduced(g, dx, g.mul(dz, g.call("Xdivy", [x, g.shift(y, 1.0)?])?)?)
}
