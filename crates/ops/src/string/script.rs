//! `UnicodeScript`: the script that a code point belongs to.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor};

use super::script_table::SCRIPTS;

pub(super) const OPS: &[Op] = &[Op {
    name: "UnicodeScript",
    inputs: &["input: int32"],
    outputs: &["output: int32"],
    kernels: &[cpu::<UnicodeScript>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct UnicodeScript;

impl Kernel for UnicodeScript {
    fn new(_: &Attrs<'_>) -> Result<UnicodeScript> {
        Ok(UnicodeScript)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let codes = input.values::<i32>()?;
        let output = Tensor::build(input.shape().clone(), |out: &mut [i32]| {
            for (script, code) in out.iter_mut().zip(codes) {
                *script = script_of(*code);
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The number of the script; -1 for what is no code point.
fn script_of(code: i32) -> i32 {
    match u32::try_from(code) {
        Ok(code @ 0..=0x10_ffff) => {
            let after = SCRIPTS.partition_point(|(start, _)| *start <= code);
            SCRIPTS[after - 1].1.into()
        }
        _ => -1,
    }
}
