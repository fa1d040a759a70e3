//! `QuantizedMaxPool` and `QuantizedAvgPool`: poolings of bytes, which keep their range.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_kernels::{Parallel, elementwise, pool};
use tensorfleet_tensor::{DType, QInt8, QUInt8, Result, Tensor, dispatch, invalid_argument};

use super::super::unsupported;
use super::spec::Spec;
use crate::quantized::range::{Quantized, Range};

const KERNELS: &[KernelDef] = &[cpu::<QuantizedPool>().types("T", &[DType::QUInt8, DType::QInt8])];

pub(super) const OPS: &[Op] = &[pooling("QuantizedAvgPool"), pooling("QuantizedMaxPool")];

const fn pooling(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["input: T", "min_input: float", "max_input: float"],
        outputs: &["output: T", "min_output: float", "max_output: float"],
        attrs: &[
            "T: {qint8, quint8, qint32, qint16, quint16}",
            "ksize: list(int)",
            "strides: list(int)",
            "padding: {'SAME', 'VALID'}",
        ],
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

#[derive(Debug)]
struct QuantizedPool {
    spec: Spec,
    mean: bool,
}

impl Kernel for QuantizedPool {
    fn new(attrs: &Attrs<'_>) -> Result<QuantizedPool> {
        Ok(QuantizedPool { spec: Spec::new(attrs)?, mean: attrs.op() == "QuantizedAvgPool" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        for (index, name) in [(1, "min_input"), (2, "max_input")] {
            let end = ctx.input(index)?;
            if end.rank() != 0 {
                return Err(invalid_argument!(
                    "{name} shape must be rank 0 but is rank {}, received shape: {}",
                    end.rank(),
                    end.shape()
                ));
            }
        }
        let range = Range::of(ctx, 1, ["min_input", "max_input"])?;
        let par = Parallel::new(ctx.parallelism());
        let output = dispatch!(
            input.dtype(),
            [QUInt8, QInt8],
            T => self.pool::<T>(par, ctx, input)?,
            else => return Err(unsupported(input.dtype()))
        );
        ctx.set_output(0, output);
        range.output(ctx, 1);
        Ok(())
    }
}

impl QuantizedPool {
    /// Pools as floats, which hold every byte and the sums of as many as a window has.
    fn pool<T: Quantized>(
        &self,
        par: Parallel,
        ctx: &KernelContext<'_>,
        input: &Tensor,
    ) -> Result<Tensor> {
        let shape = self.spec.pool(&*self.spec.windows(ctx, 1)?, input.dims())?;
        let values = input.values::<T>()?;
        let numbers = Tensor::build(input.shape().clone(), |out: &mut [f32]| {
            elementwise::map(par, values, out, T::to_f32);
        })?;
        let numbers = numbers.values::<f32>()?;
        let pooled = Tensor::build(self.spec.last(&shape, false)?, |out: &mut [f32]| {
            if self.mean {
                pool::avg_pool(par, &shape, numbers, out);
            } else {
                pool::max_pool(par, &shape, numbers, out);
            }
        })?;
        let values = pooled.values::<f32>()?;
        Tensor::build(pooled.shape().clone(), |out: &mut [T]| {
            elementwise::map(par, values, out, |value| T::from_f32(value.round_ties_even()));
        })
    }
}
