//! `TensorSummary` and `TensorSummaryV2`: a whole tensor, in the second with its metadata.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::wire::{self, Content, Entry};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "TensorSummary",
        inputs: &["tensor: T"],
        outputs: &["summary: string"],
        attrs: &[
            "T: type",
            "description: string = ''",
            "labels: list(string) = []",
            "display_name: string = ''",
        ],
        kernels: &[cpu::<TensorSummary>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorSummaryV2",
        inputs: &["tag: string", "tensor: T", "serialized_summary_metadata: string"],
        outputs: &["summary: string"],
        attrs: &["T: type"],
        kernels: &[cpu::<TensorSummaryV2>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct TensorSummary;

impl Kernel for TensorSummary {
    fn new(_: &Attrs<'_>) -> Result<TensorSummary> {
        Ok(TensorSummary)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tensor = ctx.take_input(0)?;
        let tag = ctx.node_name().to_owned();
        let summary = wire::encode(vec![Entry { tag, content: Content::NodeTensor(tensor) }])?;
        ctx.set_output(0, summary);
        Ok(())
    }
}

#[derive(Debug)]
struct TensorSummaryV2;

impl Kernel for TensorSummaryV2 {
    fn new(_: &Attrs<'_>) -> Result<TensorSummaryV2> {
        Ok(TensorSummaryV2)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let one = |tensor: &Tensor, what: &str| match tensor.strings()? {
            [value] if tensor.shape().is_scalar() => Ok(value.clone()),
            _ => Err(invalid_argument!("{what} must be scalar")),
        };
        let tag = one(ctx.input(0)?, "tag")?;
        let metadata = one(ctx.input(2)?, "serialized_summary_metadata")?;
        let tensor = ctx.take_input(1)?;
        let entry = Entry {
            tag: String::from_utf8_lossy(&tag).into_owned(),
            content: Content::Tensor { tensor, metadata },
        };
        ctx.set_output(0, wire::encode(vec![entry])?);
        Ok(())
    }
}
