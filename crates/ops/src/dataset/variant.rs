//! Variants around variants: how a dataset becomes a component of an element, and back.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::Result;

const SAME: KernelDef = cpu::<Same>();

pub(super) const OPS: &[Op] = &[
    Op {
        name: "UnwrapDatasetVariant",
        inputs: &["input_handle: variant"],
        outputs: &["output_handle: variant"],
        kernels: &[SAME],
        ..Op::DEFAULT
    },
    Op {
        name: "WrapDatasetVariant",
        inputs: &["input_handle: variant"],
        outputs: &["output_handle: variant"],
        kernels: &[SAME],
        ..Op::DEFAULT
    },
];

/// A dataset here is a value like any other: nothing has to be wrapped.
#[derive(Debug)]
struct Same;

impl Kernel for Same {
    fn new(_: &Attrs<'_>) -> Result<Same> {
        Ok(Same)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        ctx.set_output(0, input);
        Ok(())
    }
}
