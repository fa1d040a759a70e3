//! `RequantizePerChannel` and `RequantizationRangePerChannel`: as their relatives without the
//! ending, for sums of which every channel has a range of its own, symmetric about zero.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, QInt8, QInt32, QUInt8, Result, Tensor, dispatch, internal, invalid_argument,
};

use super::range::{Quantized, Range};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "RequantizationRangePerChannel",
        inputs: &["input: T", "input_min: float", "input_max: float"],
        outputs: &["output_min: float", "output_max: float"],
        attrs: &[
            "T: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32",
            "clip_value_max: float",
        ],
        kernels: &[cpu::<RangeOf>().types("T", &[DType::QInt32])],
        ..Op::DEFAULT
    },
    Op {
        name: "RequantizePerChannel",
        inputs: &[
            "input: T",
            "input_min: float",
            "input_max: float",
            "requested_output_min: float",
            "requested_output_max: float",
        ],
        outputs: &["output: out_type", "output_min: float", "output_max: float"],
        attrs: &[
            "T: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32",
            "out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8",
        ],
        kernels: &[cpu::<Requantize>()
            .types("T", &[DType::QInt32])
            .types("out_type", &[DType::QInt8, DType::QUInt8])],
        ..Op::DEFAULT
    },
];

/// What the lowest and the highest integer stand for, whichever is further from zero.
fn reaches(low: &[f32], high: &[f32]) -> Vec<f32> {
    low.iter().zip(high).map(|(low, high)| low.abs().max(high.abs())).collect()
}

/// The steps from zero to the end of the integers.
const STEPS: f32 = 2147483648.0;

#[derive(Debug)]
struct RangeOf {
    most: f32,
}

impl Kernel for RangeOf {
    fn new(attrs: &Attrs<'_>) -> Result<RangeOf> {
        Ok(RangeOf { most: attrs.float("clip_value_max")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, low, high) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let depth = high.num_elements();
        for (range, name) in [(low, "input_min"), (high, "input_max")] {
            if range.dims() != [depth] {
                return Err(invalid_argument!(
                    "{name} has incorrect size, expected {depth} was {}",
                    range.dims().first().copied().unwrap_or(1)
                ));
            }
        }
        if input.num_elements() == 0 {
            return Err(invalid_argument!("input must not be empty"));
        }
        if input.rank() != 4 {
            return Err(invalid_argument!("input must be in NHWC format"));
        }
        if input.dims()[3] != depth {
            return Err(invalid_argument!(
                "input must have same number of channels as length of input_min: {} vs {depth}",
                input.dims()[3]
            ));
        }
        let reaches = reaches(low.values()?, high.values()?);
        let (mut furthest, mut any_negative) = (vec![0u32; depth], false);
        for pixel in input.values::<QInt32>()?.chunks_exact(depth) {
            for (furthest, value) in furthest.iter_mut().zip(pixel) {
                *furthest = value.0.unsigned_abs().max(*furthest);
                any_negative |= value.0 < 0;
            }
        }
        let reach =
            furthest.iter().zip(&reaches).map(|(&steps, reach)| reach * steps as f32 / STEPS);
        let reach = reach.fold(f32::MIN_POSITIVE, f32::max).min(self.most);
        Range { low: if any_negative { -reach } else { 0.0 }, high: reach }.output(ctx, 0);
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
        let (input, low, high) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let depth = low.num_elements();
        if high.num_elements() != depth {
            return Err(invalid_argument!(
                "input_max has incorrect size, expected {depth} was {}",
                high.num_elements()
            ));
        }
        let end = |index, name: &str| {
            let end = ctx.input(index)?;
            if end.num_elements() == 1 {
                end.scalar_value()
            } else {
                Err(invalid_argument!("{name} must be a scalar"))
            }
        };
        let to =
            Range { low: end(3, "requested_output_min")?, high: end(4, "requested_output_max")? };
        if self.dtype == DType::QInt8 && to.low >= 0.0 {
            return Err(invalid_argument!(
                "If out_type is QINT8, requested_output_max must be non negative, got {}",
                to.low
            ));
        }
        if input.rank() != 4 || input.dims().last() != Some(&depth) {
            return Err(invalid_argument!(
                "input must be images of {depth} channels, but has shape {}",
                input.shape()
            ));
        }
        let reach = to.low.abs().max(to.high.abs());
        let scales: Vec<f32> = reaches(low.values()?, high.values()?)
            .iter()
            .map(|from| {
                (if self.dtype == DType::QInt8 { 127.0 } else { 255.0 }) * (from / reach / STEPS)
            })
            .collect();
        let output = dispatch!(
            self.dtype,
            [QInt8, QUInt8],
            T => scale::<T>(input, &scales)?,
            else => return Err(internal!("sums as {}", self.dtype))
        );
        ctx.set_output(0, output);
        to.output(ctx, 1);
        Ok(())
    }
}

fn scale<T: Quantized>(input: &Tensor, scales: &[f32]) -> Result<Tensor> {
    let values = input.values::<QInt32>()?;
    Tensor::build(input.shape().clone(), |out: &mut [T]| {
        if out.is_empty() {
            return;
        }
        let pixels = out.chunks_exact_mut(scales.len()).zip(values.chunks_exact(scales.len()));
        for (out, pixel) in pixels {
            for (out, (value, scale)) in out.iter_mut().zip(pixel.iter().zip(scales)) {
                *out = T::clamped((value.0 as f32 * scale).round_ties_even() as i64);
            }
        }
    })
}
