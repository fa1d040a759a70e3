//! `StringLength`: bytes or characters.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor};

use super::is_trail;

pub(super) const OPS: &[Op] = &[Op {
    name: "StringLength",
    inputs: &["input: string"],
    outputs: &["output: int32"],
    attrs: &["unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'"],
    kernels: &[cpu::<StringLength>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct StringLength {
    characters: bool,
}

impl Kernel for StringLength {
    fn new(attrs: &Attrs<'_>) -> Result<StringLength> {
        Ok(StringLength { characters: attrs.string("unit")? == "UTF8_CHAR" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let texts = input.strings()?;
        let output = Tensor::build(input.shape().clone(), |out: &mut [i32]| {
            for (length, text) in out.iter_mut().zip(texts) {
                *length = if self.characters {
                    text.iter().filter(|&&byte| !is_trail(byte)).count() as i32
                } else {
                    text.len() as i32
                };
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}
