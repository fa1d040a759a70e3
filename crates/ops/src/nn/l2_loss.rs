//! `L2Loss`: half the sum of squares.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::{Parallel, reduce};
use tensorfleet_tensor::{Result, Tensor, dispatch};

use super::FLOATS;
use tensorfleet_framework::gradient::only;

pub(super) const OPS: &[Op] = &[Op {
    name: "L2Loss",
    inputs: &["t: T"],
    outputs: &["output: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    kernels: &[cpu::<L2Loss>().types("T", FLOATS)],
    shape: Some(crate::shapes::scalar),
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct L2Loss;

impl Kernel for L2Loss {
    fn new(_: &Attrs<'_>) -> Result<L2Loss> {
        Ok(L2Loss)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let t = ctx.input(0)?;
        let result = dispatch!(
            t.dtype(),
            [f32, f64, f16, bf16],
            T => Tensor::scalar(reduce::l2_loss::<T>(par, t.values()?)),
            else => return Err(super::unsupported(t.dtype()))
        );
        ctx.set_output(0, result);
        Ok(())
    }
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.mul(g.input(0), g.grad(0)?)?)
}
