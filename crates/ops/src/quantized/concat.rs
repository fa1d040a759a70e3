//! `QuantizedConcat` and `QuantizedReshape`: integers moved, with their ranges.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::{Parallel, elementwise};
use tensorfleet_tensor::{
    DType, QInt32, QUInt8, Result, Tensor, dispatch, internal, invalid_argument,
};

use super::convert::{FromNumber, ToNumber};
use super::range::{Quantized, Range};
use crate::array::concat::concat;
use crate::array::reshape::reshape;

const TYPES: &[DType] = &[DType::QUInt8, DType::QInt32];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "QuantizedConcat",
        inputs: &[
            "concat_dim: int32",
            "values: N * T",
            "input_mins: N * float",
            "input_maxes: N * float",
        ],
        outputs: &["output: T", "output_min: float", "output_max: float"],
        attrs: &["N: int >= 2", "T: type"],
        kernels: &[cpu::<Concat>().types("T", TYPES)],
        differs: "TensorFlow takes wrong ranges when one of the tensors is empty.",
        ..Op::DEFAULT
    },
    Op {
        name: "QuantizedReshape",
        inputs: &["tensor: T", "shape: Tshape", "input_min: float", "input_max: float"],
        outputs: &["output: T", "output_min: float", "output_max: float"],
        attrs: &["T: type", "Tshape: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Reshape>().types("T", TYPES)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Concat;

impl Kernel for Concat {
    fn new(_: &Attrs<'_>) -> Result<Concat> {
        Ok(Concat)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let axis = ctx.input(0)?;
        let count = (ctx.num_inputs() - 1) / 3;
        let values = ctx.input_list(1..1 + count)?;
        let lows = ends(ctx, 1 + count..1 + 2 * count, "input_mins")?;
        let highs = ends(ctx, 1 + 2 * count..1 + 3 * count, "input_maxes")?;
        let rank = values[0].rank();
        if axis.num_elements() == 1 {
            let axis = axis.scalar_value::<i32>()?;
            if usize::try_from(axis).map_or(true, |axis| axis >= rank) {
                return Err(invalid_argument!(
                    "ConcatOp : Expected concatenating dimensions in the range [0, {rank}), but \
                     got {axis}"
                ));
            }
        }
        // Zero is always in the range.
        let to = Range {
            low: lows.iter().copied().fold(0.0, f32::min),
            high: highs.iter().copied().fold(f32::MIN, f32::max),
        };
        let to = if values[0].dtype() == DType::QInt32 {
            let reach = to.low.abs().max(to.high.abs());
            Range { low: -reach, high: reach }
        } else {
            to
        };
        let par = Parallel::new(ctx.parallelism());
        let ranges = lows.iter().zip(&highs).map(|(&low, &high)| Range { low, high });
        let values = values.into_iter().zip(ranges).map(|(value, from)| {
            dispatch!(
                value.dtype(),
                [QUInt8, QInt32],
                T => with_range::<T>(par, value, from, to),
                else => Err(internal!("a concatenation of {}", value.dtype()))
            )
        });
        let values = values.collect::<Result<Vec<Tensor>>>()?;
        let joined = concat(&values.iter().collect::<Vec<_>>(), axis, "Concat dim", ctx)?;
        ctx.set_output(0, joined);
        to.output(ctx, 1);
        Ok(())
    }
}

fn ends(ctx: &KernelContext<'_>, inputs: std::ops::Range<usize>, name: &str) -> Result<Vec<f32>> {
    let ends = ctx.input_list(inputs)?;
    let ends = ends.iter().enumerate().map(|(index, end)| match end.values::<f32>()? {
        [end] => Ok(*end),
        others => Err(invalid_argument!(
            "{name} each tensor's num elements must be 1, given num elements {} in index {index}",
            others.len()
        )),
    });
    ends.collect()
}

/// Integers of one range as integers of another.
fn with_range<T: Quantized>(
    par: Parallel,
    tensor: &Tensor,
    from: Range,
    to: Range,
) -> Result<Tensor> {
    if from == to {
        return Ok(tensor.clone());
    }
    let (numbers, map) = (ToNumber::new::<T>(from), FromNumber::new::<T>(to));
    let values = tensor.values::<T>()?;
    Tensor::build(tensor.shape().clone(), |out: &mut [T]| {
        elementwise::map(par, values, out, |value: T| map.apply(numbers.apply(value)));
    })
}

#[derive(Debug)]
struct Reshape;

impl Kernel for Reshape {
    fn new(_: &Attrs<'_>) -> Result<Reshape> {
        Ok(Reshape)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let output = reshape(input, ctx.input(1)?)?;
        let end = |index, name: &str| match ctx.input(index)? {
            end if end.rank() == 0 || end.dims() == [1] => end.scalar_value(),
            _ => Err(invalid_argument!("{name} must be a scalar or a vector of 1 element")),
        };
        let range = Range { low: end(2, "input_min")?, high: end(3, "input_max")? };
        ctx.set_output(0, output);
        range.output(ctx, 1);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}
