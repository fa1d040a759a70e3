//! `GuaranteeConst` and the marks that a gradient debugger leaves: ops that pass their input on.

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, Value, cpu,
};
use tensorfleet_tensor::Result;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DebugGradientIdentity",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        allows_uninitialized_input: true,
        kernels: &[cpu::<PassThrough>()],
        gradient: Some(through),
        ..Op::DEFAULT
    },
    Op {
        name: "DebugGradientRefIdentity",
        inputs: &["input: Ref(T)"],
        outputs: &["output: Ref(T)"],
        attrs: &["T: type"],
        allows_uninitialized_input: true,
        kernels: &[cpu::<PassThrough>()],
        gradient: Some(through),
        ..Op::DEFAULT
    },
    Op {
        name: "GuaranteeConst",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<PassThrough>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct PassThrough;

impl Kernel for PassThrough {
    fn new(_: &Attrs<'_>) -> Result<PassThrough> {
        Ok(PassThrough)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let value = ctx.value(0)?.clone();
        ctx.set_value(0, value);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

fn through(g: &GradientContext<'_>) -> InputGradients {
    only(g.grad(0)?)
}
