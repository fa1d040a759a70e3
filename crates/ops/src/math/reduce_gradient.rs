//! Gradients of reductions: what was taken together gets the same gradient, or a share of it.

use tensorfleet_framework::{GradientContext, InputGradients, NewNode};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{DType, Result};

type Context<'a> = GradientContext<'a>;

/// The gradient of the reduced tensor; the axes have none.
fn of_input(gradient: Output) -> InputGradients {
    Ok(vec![Some(gradient.into()), None])
}

/// The output's shape with the reduced dimensions kept as ones.
fn kept_shape(g: &Context<'_>) -> Result<Output> {
    let axes = g.constant_value(g.input(1)).and_then(|axes| axes.to_i64_vec().ok());
    if let (Some(shape), Some(axes)) = (g.shape(g.input(0)).to_shape(), axes) {
        let rank = shape.rank() as i64;
        let mut dims: Vec<i32> = shape.dims().iter().map(|&dim| dim as i32).collect();
        for axis in axes {
            dims[if axis < 0 { axis + rank } else { axis } as usize] = 1;
        }
        return g.vector(&dims);
    }
    let x = g.input(0);
    let (shape, rank, one) = (g.shape_tensor(x)?, g.rank_tensor(x)?, g.scalar(1i32)?);
    let axes = g.cast(g.input(1), DType::Int32)?;
    let axes = g.call("FloorMod", [g.add2(axes, rank)?, rank])?;
    let all = g.call("Range", [g.scalar(0i32)?, rank, one])?;
    // A scalar axis counts as a vector of one.
    let axes = g.reshape(axes, g.vector(&[-1i32])?)?;
    let ones = g.call("Fill", [g.call("Shape", [axes])?, one])?;
    g.out(NewNode::new("DynamicStitch").list(&[all, axes]).list(&[shape, ones]))
}

/// A tensor of the output's shape, spread over the input's.
fn spread(g: &Context<'_>, reduced: Output) -> Result<Output> {
    let kept = g.reshape(reduced, kept_shape(g)?)?;
    g.call("BroadcastTo", [kept, g.shape_tensor(g.input(0))?])
}

pub(super) fn sum(g: &Context<'_>) -> InputGradients {
    of_input(spread(g, g.grad(0)?)?)
}

pub(super) fn mean(g: &Context<'_>) -> InputGradients {
    let (x, y) = (g.input(0), g.output(0));
    let size = |output| g.shape(output).to_shape().map(|shape| shape.num_elements());
    let grad = spread(g, g.grad(0)?)?;
    let share = match (size(x), size(y)) {
        (Some(all), Some(results)) => g.number_like((all / results.max(1)).max(1) as f64, grad)?,
        _ => {
            let (all, results) = (g.size_tensor(x)?, g.size_tensor(y)?);
            let share =
                g.call("FloorDiv", [all, g.call("Maximum", [results, g.scalar(1i32)?])?])?;
            g.cast(share, g.dtype(grad))?
        }
    };
    of_input(g.div(grad, share)?)
}

/// Elements that equal the extreme share its gradient.
pub(super) fn extreme(g: &Context<'_>) -> InputGradients {
    let kept = kept_shape(g)?;
    let y = g.reshape(g.output(0), kept)?;
    let grad = g.reshape(g.grad(0)?, kept)?;
    let chosen = g.cast(g.call("Equal", [y, g.input(0)])?, g.dtype(grad))?;
    let number = g.reshape(g.call("Sum", [chosen, g.input(1)])?, kept)?;
    of_input(g.mul(g.div(chosen, number)?, grad)?)
}

/// For each element the product of all others, without dividing: elements may be zero.
pub(super) fn product(g: &Context<'_>) -> InputGradients {
    let x = g.input(0);
    let (shape, rank) = (g.shape_tensor(x)?, g.rank_tensor(x)?);
    let (zero, one) = (g.scalar(0i32)?, g.scalar(1i32)?);
    let axes = g.cast(g.reshape(g.input(1), g.vector(&[-1i32])?)?, DType::Int32)?;
    let axes = g.call("FloorMod", [g.add2(axes, rank)?, rank])?;
    let all = g.call("Range", [zero, rank, one])?;
    let others = g.call("ListDiff", [all, axes])?;
    let order = g.out(NewNode::new("ConcatV2").list(&[axes, others]).input(zero))?;
    let count = |axes| {
        let sizes = g.call("GatherV2", [shape, axes, zero])?;
        g.call("Prod", [sizes, g.vector(&[0i32])?])
    };
    let permuted = g.call("Transpose", [x, order])?;
    let matrix = g.out(NewNode::new("Pack").list(&[count(axes)?, count(others)?]))?;
    let columns = g.reshape(permuted, matrix)?;
    let running = |reverse: bool| {
        let node = NewNode::new("Cumprod").input(columns).input(zero);
        g.out(node.attr("exclusive", true).attr("reverse", reverse))
    };
    let rest = g.mul(g.conj(running(false)?)?, g.conj(running(true)?)?)?;
    let rest = g.reshape(rest, g.call("Shape", [permuted])?)?;
    let rest = g.call("Transpose", [rest, g.call("InvertPermutation", [order])?])?;
    of_input(g.mul(spread(g, g.grad(0)?)?, rest)?)
}

pub(super) fn norm(g: &Context<'_>) -> InputGradients {
    let kept = kept_shape(g)?;
    let y = g.reshape(g.output(0), kept)?;
    let grad = g.reshape(g.grad(0)?, kept)?;
    of_input(g.mul(g.input(0), g.div(grad, y)?)?)
}
