//! `QuantizedBiasAdd`: adds a value to every channel.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, QInt8, QInt32, QUInt8, Result, Tensor, dispatch, internal, invalid_argument,
};

use super::convert::{FromNumber, ToNumber, quantized};
use super::range::{Quantized, Range};

pub(super) const OPS: &[Op] = &[Op {
    name: "QuantizedBiasAdd",
    inputs: &[
        "input: T1",
        "bias: T2",
        "min_input: float",
        "max_input: float",
        "min_bias: float",
        "max_bias: float",
    ],
    outputs: &["output: out_type", "min_out: float", "max_out: float"],
    attrs: &[
        "T1: {qint8, quint8, qint32, qint16, quint16}",
        "T2: {qint8, quint8, qint32, qint16, quint16}",
        "out_type: {qint8, quint8, qint32, qint16, quint16}",
    ],
    kernels: &[
        cpu::<BiasAdd>()
            .types("T1", &[DType::QUInt8])
            .types("T2", &[DType::QUInt8])
            .types("out_type", &[DType::QInt32]),
        cpu::<BiasAdd>()
            .types("T1", &[DType::QInt8])
            .types("T2", &[DType::QInt8])
            .types("out_type", &[DType::QInt32]),
    ],
    ..Op::DEFAULT
}];

/// How much wider the range of sums is than that of what is added.
const ROOM: f32 = 131072.0;

#[derive(Debug)]
struct BiasAdd;

impl Kernel for BiasAdd {
    fn new(_: &Attrs<'_>) -> Result<BiasAdd> {
        Ok(BiasAdd)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, bias) = (ctx.input(0)?, ctx.input(1)?);
        let of_input = Range::of(ctx, 2, ["`min_input`", "`max_input`"])?;
        let of_bias = Range::of(ctx, 4, ["`min_bias`", "`max_bias`"])?;
        if input.rank() < 2 {
            return Err(invalid_argument!("Input tensor must be at least 2D: {}", input.shape()));
        }
        if bias.rank() != 1 {
            return Err(invalid_argument!("Biases must be 1D: {}", bias.shape()));
        }
        if input.dims().last() != bias.dims().first() {
            return Err(invalid_argument!(
                "Must provide as many biases as the last dimension of the input tensor: {} vs. {}",
                bias.shape(),
                input.shape()
            ));
        }
        let ends = [of_input.high, -of_input.low, of_bias.high, -of_bias.low];
        let reach = ends.into_iter().fold(f32::MIN, f32::max) * ROOM;
        let to = Range { low: -reach, high: reach };
        let output = dispatch!(
            input.dtype(),
            [QInt8, QUInt8],
            T => add::<T>(input, of_input, bias, of_bias, to)?,
            else => return Err(internal!("a bias for {}", input.dtype()))
        );
        ctx.set_output(0, output);
        to.output(ctx, 1);
        Ok(())
    }
}

fn add<T: Quantized>(
    input: &Tensor,
    of_input: Range,
    bias: &Tensor,
    of_bias: Range,
    to: Range,
) -> Result<Tensor> {
    let sum = FromNumber::new::<QInt32>(to);
    let zero = quantized::<QInt32>(0.0, to).0;
    let numbers = ToNumber::new::<T>(of_bias);
    let biases: Vec<i32> = bias
        .values::<T>()?
        .iter()
        .map(|&value| sum.apply::<QInt32>(numbers.apply(value)).0.wrapping_add(zero))
        .collect();
    let numbers = ToNumber::new::<T>(of_input);
    let values = input.values::<T>()?;
    Tensor::build(input.shape().clone(), |out: &mut [QInt32]| {
        if out.is_empty() {
            return;
        }
        let rows = out.chunks_exact_mut(biases.len()).zip(values.chunks_exact(biases.len()));
        for (out, row) in rows {
            for (out, (&value, bias)) in out.iter_mut().zip(row.iter().zip(&biases)) {
                let value: QInt32 = sum.apply(numbers.apply(value));
                *out = QInt32(value.0.wrapping_add(*bias));
            }
        }
    })
}
