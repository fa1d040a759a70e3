//! The gradient of the gradients of `FusedBatchNorm`: those are written down with simple ops, which
//! are then differentiated.

use tensorfleet_framework::{GradientContext, GradientOptions, InputGradients, NewNode, gradients};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{DType, Result};

type Context<'a> = GradientContext<'a>;

pub(super) fn gradient(g: &Context<'_>) -> InputGradients {
    let (dy, x, scale) = (g.input(0), g.input(1), g.input(2));
    let first = first_order(g)?;
    let initial = (0..3).map(|index| g.grad(index).map(Some)).collect::<Result<_>>()?;
    let options = GradientOptions { initial, ..GradientOptions::default() };
    let mut all = g.with_builder(|builder, scope| {
        gradients(builder, scope, &first, &[dy, x, scale], &options)
    })?;
    all.resize(g.num_inputs(), None);
    Ok(all)
}

/// The axes that statistics are taken over.
fn axes(format: &str) -> Vec<i32> {
    let channel = if format.ends_with('C') { format.len() - 1 } else { 1 };
    (0..format.len()).filter(|&axis| axis != channel).map(|axis| axis as i32).collect()
}

/// The gradients by the input, the scale and the offset.
fn first_order(g: &Context<'_>) -> Result<[Output; 3]> {
    let (x_type, epsilon) = (g.dtype(g.input(1)), f64::from(g.attrs().float("epsilon")?));
    let format = String::from_utf8_lossy(g.attrs().bytes("data_format")?).into_owned();
    let axes = axes(&format);
    let all = g.vector(&axes)?;
    let over =
        |op: &str, x: Output| g.out(NewNode::new(op).input(x).input(all).attr("keep_dims", true));
    // Statistics have a number for each channel; here they stand where they meet the channels.
    let shape = |x: Output| {
        let mut dims = vec![1i32; format.len()];
        dims[if format.ends_with('C') { format.len() - 1 } else { 1 }] = -1;
        g.reshape(x, g.vector(&dims)?)
    };
    let flat = |x: Output| g.reshape(x, g.vector(&[-1i32])?);
    // Half precision would lose too much.
    let (dy, x) = (g.cast(g.input(0), DType::Float)?, g.cast(g.input(1), DType::Float)?);
    let scale = shape(g.input(2))?;
    let is_training = g.attrs().bool("is_training")?;
    let (mean, variance) = if is_training {
        let mean = over("Mean", x)?;
        (mean, over("Mean", g.call("SquaredDifference", [x, mean])?)?)
    } else {
        (shape(g.input(3))?, shape(g.input(4))?)
    };
    let inverse = g.call("Rsqrt", [g.shift(variance, epsilon)?])?;
    let centred = g.sub(x, mean)?;
    let product = g.mul(dy, centred)?;
    let slope = if is_training {
        let common = g.mul(g.mul(inverse, inverse)?, over("Mean", product)?)?;
        g.sub(g.sub(dy, over("Mean", dy)?)?, g.mul(common, centred)?)?
    } else {
        dy
    };
    let of_x = g.mul(g.mul(scale, inverse)?, slope)?;
    let of_scale = g.mul(inverse, over("Sum", product)?)?;
    Ok([g.cast(of_x, x_type)?, flat(of_scale)?, flat(over("Sum", dy)?)?])
}
