//! `StringToNumber`.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Element, Result, Tensor, invalid_argument};

use super::number::{float, integer};
use super::texts::MIN_TEXTS;

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
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let output = match self.dtype {
            DType::Float => convert(par, input, float::<f32>),
            DType::Double => convert(par, input, float::<f64>),
            DType::Int32 => convert(par, input, integer::<i32>),
            DType::Int64 => convert(par, input, integer::<i64>),
            DType::UInt32 => convert(par, input, integer::<u32>),
            DType::UInt64 => convert(par, input, integer::<u64>),
            other => Err(invalid_argument!("strings are not converted to {other}")),
        }?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn convert<T: Element>(
    par: Parallel,
    input: &Tensor,
    read: impl Fn(&[u8]) -> Option<T> + Sync,
) -> Result<Tensor> {
    let texts: &[Bytes] = input.strings()?;
    let wrong = AtomicUsize::new(usize::MAX);
    let output = Tensor::build(input.shape().clone(), |out: &mut [T]| {
        par.for_each((out, texts), MIN_TEXTS, |numbers, (out, texts)| {
            for (number, (out, text)) in numbers.zip(out.iter_mut().zip(texts)) {
                *out = read(text).unwrap_or_else(|| {
                    wrong.fetch_min(number, Ordering::Relaxed);
                    T::default()
                });
            }
        });
    })?;
    match texts.get(wrong.into_inner()) {
        None => Ok(output),
        Some(text) => Err(invalid_argument!(
            "StringToNumberOp could not correctly convert string: {}",
            String::from_utf8_lossy(text)
        )),
    }
}
