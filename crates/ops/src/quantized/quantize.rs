//! `QuantizeV2`: floats as small integers over a range of values.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, QInt8, QInt16, QInt32, QUInt8, QUInt16, Result, Shape, Tensor, dispatch, internal,
    invalid_argument, unimplemented_error,
};

use super::convert::FromNumber;
use super::range::{Mode, Quantized, Range, TYPES, slices};

pub(super) const OPS: &[Op] = &[Op {
    name: "QuantizeV2",
    inputs: &["input: float", "min_range: float", "max_range: float"],
    outputs: &["output: T", "output_min: float", "output_max: float"],
    attrs: &[
        "T: {qint8, quint8, qint32, qint16, quint16}",
        "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'",
        "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'",
        "narrow_range: bool = false",
        "axis: int = -1",
        "ensure_minimum_range: float = 0.01",
    ],
    kernels: &[cpu::<Quantize>().types("T", TYPES)],
    differs: "Rounding halves to even in mode SCALED gives the values and ranges of TensorFlow's own kernel, not of oneDNN's.",
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Quantize {
    dtype: DType,
    mode: Mode,
    to_even: bool,
    narrow: bool,
    axis: i64,
    least_range: f32,
}

impl Kernel for Quantize {
    fn new(attrs: &Attrs<'_>) -> Result<Quantize> {
        let name = attrs.string("mode")?;
        let mode = Mode::named(&name);
        let to_even = attrs.string("round_mode")? == "HALF_TO_EVEN";
        if to_even && mode != Mode::Scaled {
            return Err(invalid_argument!(
                "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{name}'."
            ));
        }
        Ok(Quantize {
            dtype: attrs.dtype("T")?,
            mode,
            to_even,
            narrow: attrs.bool("narrow_range")?,
            axis: attrs.int("axis")?,
            least_range: attrs.float("ensure_minimum_range")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, low, high) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let axis = self.axis(input)?;
        let count = slices(input, axis).0;
        for (range, name) in [(low, "min_range"), (high, "max_range")] {
            check_range(range, name, axis.map(|_| count))?;
        }
        let mut ranges = Vec::with_capacity(count);
        for (&low, &high) in low.values::<f32>()?.iter().zip(high.values::<f32>()?) {
            ranges.push(self.widen(low, high)?);
        }
        let (output, ranges) = dispatch!(
            self.dtype,
            [QInt8, QUInt8, QInt16, QUInt16, QInt32],
            T => self.quantize::<T>(input, axis, &ranges)?,
            else => return Err(internal!("{} is not a quantised type", self.dtype))
        );
        let shape = if axis.is_some() { Shape::vector(count) } else { Shape::SCALAR };
        let ends = |end: fn(&(f32, f32)) -> f32| {
            Tensor::from_slice(shape.clone(), &ranges.iter().map(end).collect::<Vec<f32>>())
        };
        ctx.set_output(0, output);
        ctx.set_output(1, ends(|range| range.0)?);
        ctx.set_output(2, ends(|range| range.1)?);
        Ok(())
    }
}

fn check_range(range: &Tensor, name: &str, slices: Option<usize>) -> Result<()> {
    match slices {
        None if range.num_elements() != 1 => Err(invalid_argument!(
            "If axis is not specified, {name} must contain a single float element, but it \
             contains {} elements",
            range.num_elements()
        )),
        Some(_) if range.rank() != 1 => Err(invalid_argument!(
            "If axis is specified, {name} must be a 1-D tensor whose size matches the axis \
             dimension of the input and output tensors, but {name} is a {}-D tensor",
            range.rank()
        )),
        Some(count) if range.num_elements() != count => Err(invalid_argument!(
            "If axis is specified, {name} must be a 1-D tensor whose size matches the axis \
             dimension of the input and output tensors, but {name} is a 1-D tensor of size {} \
             and input's axis dimension is of size {count}",
            range.num_elements()
        )),
        _ => Ok(()),
    }
}

impl Quantize {
    fn axis(&self, input: &Tensor) -> Result<Option<usize>> {
        if self.axis == -1 {
            return Ok(None);
        }
        let axis = usize::try_from(self.axis)
            .map_err(|_| invalid_argument!("Axis must be at least -1. Found {}", self.axis))?;
        if axis >= input.rank() {
            return Err(invalid_argument!(
                "Axis is on a zero-based index, so its value must always be less than number of \
                 input's dims, but given axis value was {axis} and input's dims was {}",
                input.rank()
            ));
        }
        if self.mode == Mode::MinFirst {
            return Err(unimplemented_error!(
                "MIN_FIRST mode is not implemented for Quantize with axis != -1."
            ));
        }
        Ok(Some(axis))
    }

    /// A range that has zero in it and some width.
    fn widen(&self, low: f32, high: f32) -> Result<(f32, f32)> {
        if low > high {
            return Err(invalid_argument!("input_max_range must be larger than input_min_range."));
        }
        let margin = low.abs().max(high.abs()).max(1.0) * self.least_range;
        let least = low.min(0.0);
        Ok((least, high.max(least + margin).max(0.0)))
    }

    /// The integers, and the ranges that they stand for.
    fn quantize<T: Quantized>(
        &self,
        input: &Tensor,
        axis: Option<usize>,
        ranges: &[(f32, f32)],
    ) -> Result<(Tensor, Vec<(f32, f32)>)> {
        let maps: Vec<Map> = ranges.iter().map(|&range| self.map::<T>(range)).collect();
        let (count, len) = slices(input, axis);
        let values = input.values::<f32>()?;
        let output = Tensor::build(input.shape().clone(), |out: &mut [T]| {
            if out.is_empty() {
                return;
            }
            let runs = out.chunks_exact_mut(len).zip(values.chunks_exact(len)).enumerate();
            for (index, (out, values)) in runs {
                let map = maps[index % count];
                for (out, &value) in out.iter_mut().zip(values) {
                    *out = map.apply(value, self.to_even);
                }
            }
        })?;
        Ok((output, maps.iter().map(|map| map.range).collect()))
    }

    fn map<T: Quantized>(&self, (low, high): (f32, f32)) -> Map {
        let (lowest, highest) = (T::LOWEST as f32, T::HIGHEST as f32);
        match self.mode {
            Mode::MinCombined => {
                let scale = ((T::HIGHEST - T::LOWEST) / f64::from(high - low)) as f32;
                Map { range: (low, high), scale, kind: Kind::Shifted { half: T::HALF as f32 } }
            }
            Mode::MinFirst => {
                let map = FromNumber::new::<T>(Range { low, high });
                Map { range: (low, high), scale: 1.0, kind: Kind::First(map) }
            }
            Mode::Scaled => {
                let least = if self.narrow { lowest + 1.0 } else { lowest };
                let side = |integer: f32, value: f32| {
                    if integer * value > 0.0 { integer / value } else { f32::MAX }
                };
                let scale = side(least, low).min(side(highest, high));
                let range = (least / scale, highest / scale);
                Map { range, scale, kind: Kind::Plain }
            }
        }
    }
}

/// How floats of one range become integers.
#[derive(Clone, Copy, Debug)]
struct Map {
    range: (f32, f32),
    scale: f32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    Shifted { half: f32 },
    First(FromNumber),
}

impl Map {
    fn apply<T: Quantized>(self, value: f32, to_even: bool) -> T {
        let (low, high) = self.range;
        // NaN stays, and becomes the integer that processors make of it.
        let within = if value > high { high } else { value };
        let within = if within < low { low } else { within };
        T::from_f32(match self.kind {
            Kind::Plain if to_even => (within * self.scale).round_ties_even(),
            Kind::Plain => (within * self.scale).round(),
            Kind::Shifted { half } => ((within - low) * self.scale - half).round(),
            Kind::First(map) => return map.apply(value),
        })
    }
}
