//! `ScalarSummary`: numbers under their tags.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, invalid_argument};

use super::numbers::numbers;
use super::wire::{self, Content, Entry};

pub(super) const OPS: &[Op] = &[Op {
    name: "ScalarSummary",
    inputs: &["tags: string", "values: T"],
    outputs: &["summary: string"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
    ],
    kernels: &[cpu::<ScalarSummary>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct ScalarSummary;

impl Kernel for ScalarSummary {
    fn new(_: &Attrs<'_>) -> Result<ScalarSummary> {
        Ok(ScalarSummary)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (tags, values) = (ctx.input(0)?, ctx.input(1)?);
        if tags.shape() != values.shape() {
            return Err(invalid_argument!(
                "tags and values are not the same shape: {} != {}{}",
                tags.shape(),
                values.shape(),
                match tags.strings()? {
                    [tag] => format!(" (tag '{}')", String::from_utf8_lossy(tag)),
                    _ => String::new(),
                }
            ));
        }
        let entries = tags
            .strings()?
            .iter()
            .zip(numbers(values)?)
            .map(|(tag, value)| Entry {
                tag: String::from_utf8_lossy(tag).into_owned(),
                content: Content::Scalar(value as f32),
            })
            .collect();
        let summary = wire::encode(entries)?;
        ctx.set_output(0, summary);
        Ok(())
    }
}
