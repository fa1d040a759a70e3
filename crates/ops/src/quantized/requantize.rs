//! `Requantize`, `RequantizationRange` and the older `QuantizeDownAndShrinkRange`: sums of products
//! as bytes, in a range that fits them better.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::{Parallel, elementwise};
use tensorfleet_tensor::{DType, QInt8, QInt32, QUInt8, Result, Tensor, invalid_argument};

use super::convert::{FromNumber, ToByte, ToNumber, number};
use super::range::Range;

const BOTH_TYPES: &[&str] = &[
    "Tinput: {qint8, quint8, qint32, qint16, quint16}",
    "out_type: {qint8, quint8, qint32, qint16, quint16}",
];
const OUTPUTS: &[&str] = &["output: out_type", "output_min: float", "output_max: float"];
const INPUT_NAMES: [&str; 2] = ["`input_min`", "`input_max`"];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "QuantizeDownAndShrinkRange",
        inputs: &["input: Tinput", "input_min: float", "input_max: float"],
        outputs: OUTPUTS,
        attrs: BOTH_TYPES,
        kernels: &[cpu::<Shrink>()
            .types("Tinput", &[DType::QInt32])
            .types("out_type", &[DType::QUInt8])],
        ..Op::DEFAULT
    },
    Op {
        name: "RequantizationRange",
        inputs: &["input: Tinput", "input_min: float", "input_max: float"],
        outputs: &["output_min: float", "output_max: float"],
        attrs: &["Tinput: {qint8, quint8, qint32, qint16, quint16}"],
        kernels: &[cpu::<RangeOf>().types("Tinput", &[DType::QInt32])],
        ..Op::DEFAULT
    },
    Op {
        name: "Requantize",
        inputs: &[
            "input: Tinput",
            "input_min: float",
            "input_max: float",
            "requested_output_min: float",
            "requested_output_max: float",
        ],
        outputs: OUTPUTS,
        attrs: BOTH_TYPES,
        kernels: &[cpu::<Requantize>()
            .types("Tinput", &[DType::QInt32])
            .types("out_type", &[DType::QUInt8, DType::QInt8])],
        ..Op::DEFAULT
    },
];

/// The range of what is there; zero is always in it.
fn range_of(input: &Tensor, range: Range) -> Result<Range> {
    let values = input.values::<QInt32>()?;
    let least = values.iter().copied().min().unwrap_or(QInt32(i32::MAX));
    let most = values.iter().copied().max().unwrap_or(QInt32(i32::MIN));
    Ok(Range { low: number(least, range).min(0.0), high: number(most, range) })
}

fn to_bytes(ctx: &KernelContext<'_>, from: Range, to: Range) -> Result<Tensor> {
    let (input, map) = (ctx.input(0)?, ToByte::new(from, to));
    let values = input.values::<QInt32>()?;
    Tensor::build(input.shape().clone(), |out: &mut [QUInt8]| {
        elementwise::map(Parallel::new(ctx.parallelism()), values, out, |value| map.apply(value));
    })
}

#[derive(Debug)]
struct Shrink;

impl Kernel for Shrink {
    fn new(_: &Attrs<'_>) -> Result<Shrink> {
        Ok(Shrink)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let from = Range::of(ctx, 1, INPUT_NAMES)?;
        let to = range_of(ctx.input(0)?, from)?;
        let output = to_bytes(ctx, from, to)?;
        ctx.set_output(0, output);
        to.output(ctx, 1);
        Ok(())
    }
}

#[derive(Debug)]
struct RangeOf;

impl Kernel for RangeOf {
    fn new(_: &Attrs<'_>) -> Result<RangeOf> {
        Ok(RangeOf)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        // Unlike its relatives, the op takes vectors and looks at what comes first.
        let first = |index, name: &str| match ctx.input(index)?.values::<f32>()? {
            [first, ..] => Ok(*first),
            [] => Err(invalid_argument!("{name} must not be empty")),
        };
        let from = Range { low: first(1, INPUT_NAMES[0])?, high: first(2, INPUT_NAMES[1])? };
        range_of(ctx.input(0)?, from)?.output(ctx, 0);
        Ok(())
    }
}

#[derive(Debug)]
struct Requantize {
    dtype: DType,
}

impl Kernel for Requantize {
    fn new(attrs: &Attrs<'_>) -> Result<Requantize> {
        Ok(Requantize { dtype: attrs.dtype("out_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let from = Range::of(ctx, 1, INPUT_NAMES)?;
        let to = Range::of(ctx, 3, ["`requested_output_min`", "`requested_output_max`"])?;
        if to.low > 0.0 {
            return Err(invalid_argument!("requested_output_min must be <= 0, but got {}", to.low));
        }
        if to.high < to.low {
            return Err(invalid_argument!(
                "requested_output_max must be >= requested_output_min, but got {} and {}",
                to.high,
                to.low
            ));
        }
        let output = if self.dtype == DType::QUInt8 {
            to_bytes(ctx, from, to)?
        } else {
            let input = ctx.input(0)?;
            let values = input.values::<QInt32>()?;
            let (numbers, map) = (ToNumber::new::<QInt32>(from), FromNumber::new::<QInt8>(to));
            Tensor::build(input.shape().clone(), |out: &mut [QInt8]| {
                elementwise::map(Parallel::new(ctx.parallelism()), values, out, |value: QInt32| {
                    map.apply(numbers.apply(value))
                });
            })?
        };
        ctx.set_output(0, output);
        to.output(ctx, 1);
        Ok(())
    }
}
