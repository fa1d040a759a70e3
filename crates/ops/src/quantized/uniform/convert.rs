//! `UniformQuantize`, `UniformDequantize` and `UniformRequantize`.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, Element, QInt8, QInt32, QUInt8, Result, Tensor, dispatch, internal, invalid_argument,
};

use super::super::range::{Quantized, slices};
use super::affine::{Affine, Bounds, Multiplier, check_positive, rounded};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "UniformDequantize",
        inputs: &["input: Tin", "scales: float", "zero_points: int32"],
        outputs: &["output: Tout"],
        attrs: &[
            "Tin: {qint8, quint8, qint32}",
            "Tout: {float}",
            "quantization_axis: int = -1",
            "quantization_min_val: int",
            "quantization_max_val: int",
        ],
        kernels: &[cpu::<Dequantize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "UniformQuantize",
        inputs: &["input: Tin", "scales: float", "zero_points: int32"],
        outputs: &["output: Tout"],
        attrs: &[
            "Tin: {float}",
            "Tout: {qint8, quint8, qint32}",
            "quantization_axis: int = -1",
            "quantization_min_val: int",
            "quantization_max_val: int",
        ],
        kernels: &[cpu::<Quantize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "UniformRequantize",
        inputs: &[
            "input: Tin",
            "input_scales: float",
            "input_zero_points: int32",
            "output_scales: float",
            "output_zero_points: int32",
        ],
        outputs: &["output: Tout"],
        attrs: &[
            "Tin: {qint8, qint32}",
            "Tout: {qint8, qint32}",
            "input_quantization_axis: int = -1",
            "input_quantization_min_val: int",
            "input_quantization_max_val: int",
            "output_quantization_axis: int = -1",
            "output_quantization_min_val: int",
            "output_quantization_max_val: int",
        ],
        kernels: &[cpu::<Requantize>().types("Tout", &[DType::QInt8])],
        ..Op::DEFAULT
    },
];

/// Makes a tensor from another, run by run: each has a position along the axis.
pub(super) fn map_runs<A: Element, B: Element>(
    input: &Tensor,
    axis: Option<usize>,
    run: impl Fn(usize, &[A], &mut [B]),
) -> Result<Tensor> {
    let (count, len) = slices(input, axis);
    let values = input.values::<A>()?;
    Tensor::build(input.shape().clone(), |out: &mut [B]| {
        if out.is_empty() {
            return;
        }
        let runs = out.chunks_exact_mut(len).zip(values.chunks_exact(len));
        for (index, (out, values)) in runs.enumerate() {
            run(index % count, values, out);
        }
    })
}

/// Reads an axis that must be at least -1.
fn axis_of(attrs: &Attrs<'_>, name: &str) -> Result<i64> {
    match attrs.int(name)? {
        axis @ -1.. => Ok(axis),
        axis => Err(invalid_argument!("{name} must be >= -1, given: {axis}")),
    }
}

#[derive(Debug)]
struct Quantize {
    dtype: DType,
    axis: i64,
    bounds: Bounds,
}

impl Kernel for Quantize {
    fn new(attrs: &Attrs<'_>) -> Result<Quantize> {
        Ok(Quantize {
            dtype: attrs.dtype("Tout")?,
            axis: axis_of(attrs, "quantization_axis")?,
            bounds: Bounds::new(attrs, "")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let map = Affine::of(ctx, 1, input.shape(), self.axis)?;
        let output = dispatch!(
            self.dtype,
            [QInt8, QUInt8, QInt32],
            T => map_runs(input, map.axis, |position, values: &[f32], out: &mut [T]| {
                let (inverse, zero) = (1.0 / map.scale(position), map.zero(position));
                for (out, value) in out.iter_mut().zip(values) {
                    let whole = QInt32::from_f32((value * inverse + 0.5).floor()).0;
                    *out = T::clamped(self.bounds.clip(whole.wrapping_add(zero)).into());
                }
            })?,
            else => return Err(internal!("numbers as {}", self.dtype))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct Dequantize {
    axis: i64,
}

impl Kernel for Dequantize {
    fn new(attrs: &Attrs<'_>) -> Result<Dequantize> {
        Ok(Dequantize { axis: axis_of(attrs, "quantization_axis")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let map = Affine::of(ctx, 1, input.shape(), self.axis)?;
        let output = dispatch!(
            input.dtype(),
            [QInt8, QUInt8, QInt32],
            T => map_runs(input, map.axis, |position, values: &[T], out: &mut [f32]| {
                let (scale, zero) = (map.scale(position), map.zero(position));
                for (out, value) in out.iter_mut().zip(values) {
                    *out = rounded(*value).wrapping_sub(zero) as f32 * scale;
                }
            })?,
            else => return Err(internal!("{} as numbers", input.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct Requantize {
    from: i64,
    to: i64,
    bounds: Bounds,
}

impl Kernel for Requantize {
    fn new(attrs: &Attrs<'_>) -> Result<Requantize> {
        let from = axis_of(attrs, "input_quantization_axis")?;
        let to = axis_of(attrs, "output_quantization_axis")?;
        if from >= 0 && to >= 0 && from != to {
            return Err(invalid_argument!(
                "If input and output is both per-axis quantized, the quantization axis must be same."
            ));
        }
        Ok(Requantize { from, to, bounds: Bounds::new(attrs, "output_")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let from = Affine::of(ctx, 1, input.shape(), self.from)?;
        let to = Affine::of(ctx, 3, input.shape(), self.to)?;
        check_positive(ctx, 1, "input/output")?;
        check_positive(ctx, 3, "input/output")?;
        let multipliers = multipliers(&from, &to)?;
        let axis = from.axis.or(to.axis);
        let output = dispatch!(
            input.dtype(),
            [QInt8, QInt32],
            T => map_runs(input, axis, |position, values: &[T], out: &mut [QInt8]| {
                let (from, to) = (from.zero(position), to.zero(position));
                for (out, value) in out.iter_mut().zip(values) {
                    let value = rounded(*value).wrapping_sub(from);
                    let value = multipliers[position].apply(value).wrapping_add(to);
                    *out = QInt8::clamped(self.bounds.clip(value).into());
                }
            })?,
            else => return Err(internal!("{} with another scale", input.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The factors from one scale to another, for each position where either has its own.
pub(super) fn multipliers(from: &Affine, to: &Affine) -> Result<Vec<Multiplier>> {
    let count = from.count().max(to.count());
    let factor = |position: usize| {
        let scale = |map: &Affine| f64::from(map.scale(position.min(map.count() - 1)));
        Multiplier::new(scale(from) / scale(to))
    };
    // A dimension of size zero leaves nothing to scale.
    let count = if from.count() == 0 || to.count() == 0 { 0 } else { count };
    (0..count).map(factor).collect()
}
