//! `MergeSummary`: several summaries as one.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::Result;

use super::wire;

pub(super) const OPS: &[Op] = &[Op {
    name: "MergeSummary",
    inputs: &["inputs: N * string"],
    outputs: &["summary: string"],
    attrs: &["N: int >= 1"],
    kernels: &[cpu::<MergeSummary>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct MergeSummary;

impl Kernel for MergeSummary {
    fn new(_: &Attrs<'_>) -> Result<MergeSummary> {
        Ok(MergeSummary)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let inputs = ctx.input_list(0..ctx.num_inputs())?;
        let columns: Vec<_> = inputs.iter().map(|input| input.strings()).collect::<Result<_>>()?;
        let merged = wire::merge(columns.into_iter().flatten())?;
        ctx.set_output(0, merged);
        Ok(())
    }
}
