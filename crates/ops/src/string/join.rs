//! `StringJoin`: strings put together element by element.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::texts::{Made, make_texts};

pub(super) const OPS: &[Op] = &[Op {
    name: "StringJoin",
    inputs: &["inputs: N * string"],
    outputs: &["output: string"],
    attrs: &["N: int >= 0", "separator: string = ''"],
    kernels: &[cpu::<StringJoin>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct StringJoin {
    separator: Bytes,
}

impl Kernel for StringJoin {
    fn new(attrs: &Attrs<'_>) -> Result<StringJoin> {
        Ok(StringJoin { separator: attrs.bytes("separator")?.clone() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let inputs = ctx.input_list(0..ctx.num_inputs())?;
        let mut shape = Shape::SCALAR;
        for input in inputs.iter().filter(|input| !input.shape().is_scalar()) {
            if shape.is_scalar() {
                shape = input.shape().clone();
            } else if shape != *input.shape() {
                return Err(invalid_argument!(
                    "Input shapes do not match: {shape} vs. {}",
                    input.shape()
                ));
            }
        }
        let columns: Vec<&[Bytes]> =
            inputs.iter().map(|input| input.strings()).collect::<Result<_>>()?;
        let scalar: Vec<bool> = inputs.iter().map(|input| input.shape().is_scalar()).collect();
        let joined = make_texts(par, shape.num_elements(), |i, page| {
            for (n, column) in columns.iter().enumerate() {
                if n > 0 {
                    page.extend_from_slice(&self.separator);
                }
                page.extend_from_slice(&column[if scalar[n] { 0 } else { i }]);
            }
            Made::Written
        });
        let output = Tensor::from_strings(shape, joined)?;
        ctx.set_output(0, output);
        Ok(())
    }
}
