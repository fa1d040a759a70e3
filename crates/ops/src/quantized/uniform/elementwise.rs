//! `UniformQuantizedAdd` and `UniformQuantizedClipByValue`.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, QInt32, Result, Shape, Tensor, invalid_argument};

use super::affine::{Affine, Bounds, Multiplier, check_positive, rounded};
use super::convert::{map_runs, multipliers};
use crate::broadcast::Alignment;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "UniformQuantizedAdd",
        inputs: &[
            "lhs: T",
            "rhs: T",
            "lhs_scales: float",
            "lhs_zero_points: int32",
            "rhs_scales: float",
            "rhs_zero_points: int32",
            "output_scales: float",
            "output_zero_points: int32",
        ],
        outputs: &["output: T"],
        attrs: &[
            "lhs_quantization_axis: int = -1",
            "lhs_quantization_min_val: int",
            "lhs_quantization_max_val: int",
            "rhs_quantization_axis: int = -1",
            "rhs_quantization_min_val: int",
            "rhs_quantization_max_val: int",
            "output_quantization_axis: int = -1",
            "output_quantization_min_val: int",
            "output_quantization_max_val: int",
            "T: {qint32}",
        ],
        kernels: &[cpu::<Add>().types("T", &[DType::QInt32])],
        ..Op::DEFAULT
    },
    Op {
        name: "UniformQuantizedClipByValue",
        inputs: &["operand: T", "min: T", "max: T", "scales: float", "zero_points: int32"],
        outputs: &["output: T"],
        attrs: &[
            "T: {qint32}",
            "quantization_axis: int = -1",
            "quantization_min_val: int",
            "quantization_max_val: int",
        ],
        kernels: &[cpu::<Clip>().types("T", &[DType::QInt32])],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Add {
    /// Of both operands and of the result.
    axes: [i64; 3],
    bounds: Bounds,
}

impl Kernel for Add {
    fn new(attrs: &Attrs<'_>) -> Result<Add> {
        let axes = [
            attrs.int("lhs_quantization_axis")?,
            attrs.int("rhs_quantization_axis")?,
            attrs.int("output_quantization_axis")?,
        ];
        if axes.iter().any(|&axis| axis < -1) {
            return Err(invalid_argument!(
                "lhs, rhs and output quantization_axis must be -1 or within [0, dims)"
            ));
        }
        Ok(Add { axes, bounds: Bounds::new(attrs, "output_")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (lhs, rhs) = (ctx.input(0)?, ctx.input(1)?);
        let of_lhs = Affine::of(ctx, 2, lhs.shape(), self.axes[0])?;
        let of_rhs = Affine::of(ctx, 4, rhs.shape(), self.axes[1])?;
        let alignment = Alignment::find(lhs.shape(), rhs.shape())?.ok_or_else(|| {
            invalid_argument!("Cannot Add tensors of shapes: {}{}", lhs.shape(), rhs.shape())
        })?;
        let shape = alignment.shape();
        let of_sum = Affine::of(ctx, 6, shape, self.axes[2])?;
        for (name, operand, of_operand) in [("lhs", lhs, &of_lhs), ("rhs", rhs, &of_rhs)] {
            if let (Some(axis), Some(of_sum)) = (of_operand.axis, of_sum.axis)
                && operand.rank() - axis != shape.rank() - of_sum
            {
                return Err(invalid_argument!(
                    "If {name} and output is both per-axis quantized, the quantization axis must \
                     match."
                ));
            }
        }
        for index in [2, 4, 6] {
            check_positive(ctx, index, "lhs/rhs/output")?;
        }
        let from_lhs = multipliers(&of_lhs, &of_sum)?;
        let from_rhs = multipliers(&of_rhs, &of_sum)?;
        let position = |shape: &Shape, map: &Affine, at: usize| match map.axis {
            None => 0,
            Some(axis) => at / inner(shape, axis) % map.count(),
        };
        let (left, right) = (lhs.values::<QInt32>()?, rhs.values::<QInt32>()?);
        let output = Tensor::build(shape.clone(), |out: &mut [QInt32]| {
            let mut outputs = out.iter_mut().enumerate();
            alignment.positions(|at_lhs, at_rhs| {
                let Some((at, out)) = outputs.next() else { return };
                let channel = position(shape, &of_sum, at);
                let scaled = |operand: &Tensor, map: &Affine, at, value: QInt32, factors: &[_]| {
                    let own = position(operand.shape(), map, at);
                    let factor: &Multiplier = &factors[own.max(channel)];
                    rounded(QInt32(factor.apply(rounded(value).wrapping_sub(map.zero(own)))))
                };
                let sum = scaled(lhs, &of_lhs, at_lhs, left[at_lhs], &from_lhs)
                    .wrapping_add(scaled(rhs, &of_rhs, at_rhs, right[at_rhs], &from_rhs))
                    .wrapping_add(of_sum.zero(channel));
                *out = QInt32(self.bounds.clip(sum));
            });
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The elements of one position along an axis.
fn inner(shape: &Shape, axis: usize) -> usize {
    shape.dims()[axis + 1..].iter().product()
}

#[derive(Debug)]
struct Clip {
    axis: i64,
}

impl Kernel for Clip {
    fn new(attrs: &Attrs<'_>) -> Result<Clip> {
        Ok(Clip { axis: attrs.int("quantization_axis")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (operand, low, high) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let map = Affine::of(ctx, 3, operand.shape(), self.axis)?;
        let scales = ctx.input(3)?.shape();
        for (name, end) in [("min", low), ("max", high)] {
            if end.shape() != scales {
                return Err(invalid_argument!(
                    "Input {name} shape must be same as scales/zero_points. Given {name} of shape \
                     {} and scales/zero_points of shape {scales}",
                    end.shape()
                ));
            }
        }
        let (low, high) = (low.values::<QInt32>()?, high.values::<QInt32>()?);
        let output = map_runs(operand, map.axis, |position, values: &[QInt32], out| {
            let (low, high) = (low[position], high[position]);
            for (out, &value) in out.iter_mut().zip(values) {
                *out = value.max(low).min(high);
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}
