//! `Softmax` and `LogSoftmax` over the last dimension.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::{Parallel, softmax};
use tensorfleet_tensor::{Result, Tensor, dispatch, invalid_argument};

use super::FLOATS;
use tensorfleet_framework::gradient::only;
use tensorfleet_graph::Output;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "LogSoftmax",
        inputs: &["logits: T"],
        outputs: &["logsoftmax: T"],
        attrs: &["T: {half, bfloat16, float, double}"],
        kernels: &[cpu::<Softmax>().types("T", FLOATS)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(log_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Softmax",
        inputs: &["logits: T"],
        outputs: &["softmax: T"],
        attrs: &["T: {half, bfloat16, float, double}"],
        kernels: &[cpu::<Softmax>().types("T", FLOATS)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Softmax {
    log: bool,
}

impl Kernel for Softmax {
    fn new(attrs: &Attrs<'_>) -> Result<Softmax> {
        Ok(Softmax { log: attrs.op() == "LogSoftmax" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let logits = ctx.input(0)?;
        let Some(&classes) = logits.dims().last() else {
            return Err(invalid_argument!(
                "logits must have >= 1 dimension, got {}",
                logits.shape()
            ));
        };
        let result = dispatch!(
            logits.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let values = logits.values::<T>()?;
                Tensor::build(logits.shape().clone(), |out| {
                    if self.log {
                        softmax::log_softmax(par, values, classes, out);
                    } else {
                        softmax::softmax(par, values, classes, out);
                    }
                })
            },
            else => Err(super::unsupported(logits.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

/// The sum along the last dimension, which stays.
fn row_sum(g: &GradientContext<'_>, x: Output) -> Result<Output> {
    let node = NewNode::new("Sum").input(x).input(g.vector(&[-1i32])?);
    g.out(node.attr("keep_dims", true))
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (y, grad) = (g.output(0), g.grad(0)?);
    let shared = row_sum(g, g.mul(grad, y)?)?;
    only(g.mul(g.sub(grad, shared)?, y)?)
}

fn log_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let softmax = g.call("Exp", [g.output(0)])?;
    only(g.sub(grad, g.mul(row_sum(g, grad)?, softmax)?)?)
}
