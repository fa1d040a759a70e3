//! `StringToNumber`.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Element, Result, Tensor, invalid_argument};

use super::number::{float, integer};

pub(super) const OPS: &[Op] = &[Op {
    name: "StringToNumber",
    inputs: &["string_tensor: string"],
    outputs: &["output: out_type"],
    attrs: &["out_type: {float, double, int32, int64, uint32, uint64} = DT_FLOAT"],
    kernels: &[cpu::<StringToNumber>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct StringToNumber {
    dtype: DType,
}

impl Kernel for StringToNumber {
    fn new(attrs: &Attrs<'_>) -> Result<StringToNumber> {
        Ok(StringToNumber { dtype: attrs.dtype("out_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let output = match self.dtype {
            DType::Float => convert(input, float::<f32>),
            DType::Double => convert(input, float::<f64>),
            DType::Int32 => convert(input, integer::<i32>),
            DType::Int64 => convert(input, integer::<i64>),
            DType::UInt32 => convert(input, integer::<u32>),
            DType::UInt64 => convert(input, integer::<u64>),
            other => Err(invalid_argument!("strings are not converted to {other}")),
        }?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn convert<T: Element>(input: &Tensor, read: impl Fn(&[u8]) -> Option<T>) -> Result<Tensor> {
    let texts: &[Bytes] = input.strings()?;
    Tensor::try_build(input.shape().clone(), |out: &mut [T]| {
        for (number, text) in out.iter_mut().zip(texts) {
            *number = read(text).ok_or_else(|| {
                invalid_argument!(
                    "StringToNumberOp could not correctly convert string: {}",
                    String::from_utf8_lossy(text)
                )
            })?;
        }
        Ok(())
    })
}
