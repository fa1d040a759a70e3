//! `Softmax` and `LogSoftmax` over the last dimension.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::{Parallel, softmax};
use tensorfleet_tensor::{Result, Tensor, dispatch, invalid_argument};

use super::FLOATS;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "LogSoftmax",
        inputs: &["logits: T"],
        outputs: &["logsoftmax: T"],
        attrs: &["T: {half, bfloat16, float, double}"],
        kernels: &[cpu::<Softmax>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "Softmax",
        inputs: &["logits: T"],
        outputs: &["softmax: T"],
        attrs: &["T: {half, bfloat16, float, double}"],
        kernels: &[cpu::<Softmax>().types("T", FLOATS)],
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
