//! `QuantizedRelu` and `QuantizedRelu6`: integers that stand for numbers outside of a range become
//! the nearest inside.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_kernels::{Parallel, elementwise};
use tensorfleet_tensor::{DType, QInt32, QUInt8, Result, Tensor, dispatch, internal};

use super::convert::quantized;
use super::range::{Quantized, Range};

const KERNELS: &[KernelDef] = &[
    cpu::<Relu>().types("Tinput", &[DType::QUInt8]).types("out_type", &[DType::QUInt8]),
    cpu::<Relu>().types("Tinput", &[DType::QInt32]).types("out_type", &[DType::QInt32]),
];

pub(super) const OPS: &[Op] = &[relu("QuantizedRelu"), relu("QuantizedRelu6")];

const fn relu(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["features: Tinput", "min_features: float", "max_features: float"],
        outputs: &["activations: out_type", "min_activations: float", "max_activations: float"],
        attrs: &[
            "Tinput: {qint8, quint8, qint32, qint16, quint16}",
            "out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8",
        ],
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

#[derive(Debug)]
struct Relu {
    most: Option<f32>,
}

impl Kernel for Relu {
    fn new(attrs: &Attrs<'_>) -> Result<Relu> {
        Ok(Relu { most: (attrs.op() == "QuantizedRelu6").then_some(6.0) })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let range = Range::of(ctx, 1, ["`min_input`", "`max_input`"])?;
        let mut output = ctx.take_input(0)?;
        let par = Parallel::new(ctx.parallelism());
        dispatch!(
            output.dtype(),
            [QUInt8, QInt32],
            T => self.clip::<T>(par, &mut output, range)?,
            else => return Err(internal!("an activation of {}", output.dtype()))
        );
        ctx.set_output(0, output);
        range.output(ctx, 1);
        Ok(())
    }
}

impl Relu {
    fn clip<T: Quantized>(&self, par: Parallel, tensor: &mut Tensor, range: Range) -> Result<()> {
        let zero = quantized::<T>(0.0, range);
        let most = match self.most {
            Some(most) => quantized::<T>(most, range),
            None => T::clamped(i64::MAX),
        };
        elementwise::map_in_place(par, tensor.values_mut()?, |value: T| value.max(zero).min(most));
        Ok(())
    }
}
