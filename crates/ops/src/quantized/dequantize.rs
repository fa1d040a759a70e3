//! `Dequantize`: small integers as the floats that they stand for.

use half::bf16;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, QInt8, QInt16, QInt32, QUInt8, QUInt16, Result, Tensor, dispatch, internal,
    invalid_argument, unimplemented_error,
};

use super::range::{Mode, Quantized, TYPES, slices};

pub(super) const OPS: &[Op] = &[Op {
    name: "Dequantize",
    inputs: &["input: T", "min_range: float", "max_range: float"],
    outputs: &["output: dtype"],
    attrs: &[
        "T: {qint8, quint8, qint32, qint16, quint16}",
        "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'",
        "narrow_range: bool = false",
        "axis: int = -1",
        "dtype: {bfloat16, float} = DT_FLOAT",
    ],
    kernels: &[cpu::<Dequantize>().types("T", TYPES)],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Dequantize {
    mode: Mode,
    narrow: bool,
    axis: i64,
    dtype: DType,
}

impl Kernel for Dequantize {
    fn new(attrs: &Attrs<'_>) -> Result<Dequantize> {
        let name = attrs.string("mode")?;
        let (mode, dtype) = (Mode::named(&name), attrs.dtype("dtype")?);
        // TensorFlow rounds bytes in oneDNN, and others only in one way.
        let is_byte = matches!(attrs.dtype("T")?, DType::QInt8 | DType::QUInt8);
        let supported = mode == Mode::MinCombined || (mode == Mode::Scaled && is_byte);
        if dtype == DType::BFloat16 && !supported {
            return Err(invalid_argument!(
                "When output type is bfloat16, Mode string must be 'MIN_COMBINED', is '{name}'"
            ));
        }
        Ok(Dequantize {
            mode,
            narrow: attrs.bool("narrow_range")?,
            axis: attrs.int("axis")?,
            dtype,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, low, high) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let axis = self.axis(input)?;
        let count = slices(input, axis).0;
        for (range, name) in [(low, "input_min_tensor"), (high, "input_max_tensor")] {
            match axis {
                Some(axis) if range.num_elements() != count => {
                    return Err(invalid_argument!(
                        "{name} must have as many elements as input on the dequantization axis \
                         ({axis}), got {}, expected {count}",
                        range.num_elements()
                    ));
                }
                None if range.num_elements() != 1 => {
                    return Err(invalid_argument!(
                        "{name} must have 1 element, got {}",
                        range.num_elements()
                    ));
                }
                _ => {}
            }
        }
        let ranges: Vec<(f32, f32)> = low
            .values::<f32>()?
            .iter()
            .copied()
            .zip(high.values::<f32>()?.iter().copied())
            .collect();
        let output = dispatch!(
            input.dtype(),
            [QInt8, QUInt8, QInt16, QUInt16, QInt32],
            T => self.restore::<T>(input, axis, &ranges)?,
            else => return Err(internal!("{} is not a quantised type", input.dtype()))
        );
        let output = if self.dtype == DType::BFloat16 {
            let values = output.values::<f32>()?;
            Tensor::build(output.shape().clone(), |out: &mut [bf16]| {
                out.iter_mut().zip(values).for_each(|(out, &value)| *out = bf16::from_f32(value));
            })?
        } else {
            output
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

impl Dequantize {
    fn axis(&self, input: &Tensor) -> Result<Option<usize>> {
        if self.axis == -1 {
            return Ok(None);
        }
        let axis = usize::try_from(self.axis)
            .map_err(|_| invalid_argument!("Axis must be at least -1. Found {}", self.axis))?;
        if axis >= input.rank() {
            return Err(invalid_argument!(
                "Axis must be less than input dimension({}), got {axis}",
                input.rank()
            ));
        }
        if self.mode == Mode::MinFirst {
            return Err(unimplemented_error!(
                "MIN_FIRST mode is not implemented for Dequantize with axis != -1."
            ));
        }
        Ok(Some(axis))
    }

    fn restore<T: Quantized>(
        &self,
        input: &Tensor,
        axis: Option<usize>,
        ranges: &[(f32, f32)],
    ) -> Result<Tensor> {
        // Each value is `(integer + shift) * scale + start`.
        let maps: Vec<[f32; 3]> = ranges.iter().map(|&range| self.map::<T>(range)).collect();
        let (count, len) = slices(input, axis);
        let values = input.values::<T>()?;
        Tensor::build(input.shape().clone(), |out: &mut [f32]| {
            if out.is_empty() {
                return;
            }
            let runs = out.chunks_exact_mut(len).zip(values.chunks_exact(len)).enumerate();
            for (index, (out, values)) in runs {
                let [shift, scale, start] = maps[index % count];
                for (out, value) in out.iter_mut().zip(values) {
                    *out = (value.to_f32() + shift) * scale + start;
                }
            }
        })
    }

    fn map<T: Quantized>(&self, (low, high): (f32, f32)) -> [f32; 3] {
        let step = (f64::from(high - low) / (T::HIGHEST - T::LOWEST)) as f32;
        match self.mode {
            Mode::MinCombined => [T::HALF as f32, step, low],
            Mode::MinFirst if low == high => [0.0, 0.0, low],
            Mode::MinFirst => [0.0, step, (low / step).round() * step - T::LOWEST as f32 * step],
            Mode::Scaled => {
                let least = T::LOWEST as f32 + if self.narrow { 1.0 } else { 0.0 };
                let from_high = high / T::HIGHEST as f32;
                let scale = if T::LOWEST == 0.0 { from_high } else { (low / least).max(from_high) };
                [0.0, scale, 0.0]
            }
        }
    }
}
