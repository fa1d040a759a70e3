//! `UniformQuantizedDot` and `UniformQuantizedDotHybrid`: products of matrices.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::{Mat, matmul};
use tensorfleet_tensor::{
    DType, QInt8, QInt32, Result, Shape, Tensor, invalid_argument, try_repeat,
};

use super::affine::{Affine, Bounds, Multiplier, check_positive};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "UniformQuantizedDot",
        inputs: &[
            "lhs: Tin",
            "rhs: Tin",
            "lhs_scales: float",
            "lhs_zero_points: int32",
            "rhs_scales: float",
            "rhs_zero_points: int32",
            "output_scales: float",
            "output_zero_points: int32",
        ],
        outputs: &["output: Tout"],
        attrs: &[
            "Tin: {qint8}",
            "Tout: {qint32}",
            "lhs_quantization_axis: int = -1",
            "lhs_quantization_min_val: int",
            "lhs_quantization_max_val: int",
            "rhs_quantization_axis: int = -1",
            "rhs_quantization_min_val: int",
            "rhs_quantization_max_val: int",
            "output_quantization_axis: int = -1",
            "output_quantization_min_val: int",
            "output_quantization_max_val: int",
        ],
        kernels: &[cpu::<Dot>().types("Tin", &[DType::QInt8]).types("Tout", &[DType::QInt32])],
        ..Op::DEFAULT
    },
    Op {
        name: "UniformQuantizedDotHybrid",
        inputs: &["lhs: Tlhs", "rhs: Trhs", "rhs_scales: float", "rhs_zero_points: int32"],
        outputs: &["output: Tout"],
        attrs: &[
            "Tlhs: {float}",
            "Trhs: {qint8}",
            "Tout: {float}",
            "rhs_quantization_axis: int = -1",
            "rhs_quantization_min_val: int",
            "rhs_quantization_max_val: int",
        ],
        kernels: &[cpu::<DotHybrid>()],
        ..Op::DEFAULT
    },
];

/// Refuses an axis other than that of the channels.
fn check_axis(attrs: &Attrs<'_>, name: &str) -> Result<()> {
    if matches!(attrs.int(name)?, -1 | 1) {
        return Ok(());
    }
    Err(invalid_argument!("{name} Attr must be 1 (per-channel) or -1 (per-tensor)."))
}

fn check_shapes(lhs: &Tensor, rhs: &Tensor) -> Result<Shape> {
    for (name, matrix) in [("lhs", lhs), ("rhs", rhs)] {
        if matrix.rank() != 2 {
            return Err(invalid_argument!(
                "{name} rank must be 2, but given {name} shape {}",
                matrix.shape()
            ));
        }
    }
    if lhs.dims()[1] != rhs.dims()[0] {
        return Err(invalid_argument!(
            "lhs.dim_size(1) and rhs.dim_size(0) must be equal, but given lhs shape {} and rhs \
             shape {}",
            lhs.shape(),
            rhs.shape()
        ));
    }
    Shape::new(&[lhs.dims()[0], rhs.dims()[1]])
}

/// The scales of columns, if there are several.
fn of_columns(ctx: &KernelContext<'_>, index: usize, shape: &Shape) -> Result<Affine> {
    let axis = if ctx.input(index)?.rank() == 0 { -1 } else { 1 };
    Affine::of(ctx, index, shape, axis)
}

/// Sums of products of integers less their zeros.
fn sums(
    ctx: &KernelContext<'_>,
    shape: &Shape,
    lhs: &[i32],
    rhs: &Tensor,
    of_rhs: &Affine,
) -> Result<Vec<i32>> {
    let &[depth, columns] = rhs.dims() else { return Ok(Vec::new()) };
    let mut right = Vec::with_capacity(depth * columns);
    for row in rhs.values::<QInt8>()?.chunks_exact(columns.max(1)) {
        right.extend(
            row.iter()
                .enumerate()
                .map(|(column, value)| i32::from(value.0).wrapping_sub(of_rhs.zero(column))),
        );
    }
    let mut sums = try_repeat(0, shape.num_elements())?;
    let par = Parallel::new(ctx.parallelism());
    let (left, right) = (Mat::new(lhs, shape.dims()[0], depth), Mat::new(&right, depth, columns));
    matmul(par, left, right, &mut sums);
    Ok(sums)
}

#[derive(Debug)]
struct Dot {
    bounds: Bounds,
}

impl Kernel for Dot {
    fn new(attrs: &Attrs<'_>) -> Result<Dot> {
        check_whole(attrs)?;
        check_axis(attrs, "rhs_quantization_axis")?;
        check_axis(attrs, "output_quantization_axis")?;
        Ok(Dot { bounds: Bounds::new(attrs, "output_")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        for (index, what) in [(2, "lhs"), (4, "rhs"), (6, "output")] {
            check_positive(ctx, index, what)?;
        }
        let (lhs, rhs) = (ctx.input(0)?, ctx.input(1)?);
        let shape = check_shapes(lhs, rhs)?;
        let (scale, zero) = single(ctx)?;
        let of_rhs = of_columns(ctx, 4, rhs.shape())?;
        let of_sums = of_columns(ctx, 6, &shape)?;
        if of_rhs.axis.is_none() && of_sums.axis.is_some() {
            return Err(invalid_argument!(
                "If rhs is per-tensor quantized, output must be also per-tensor quantized. Given \
                 rhs scales and zero_points of shape {} but given output scales and zero_points of \
                 shape {}",
                ctx.input(4)?.shape(),
                ctx.input(6)?.shape()
            ));
        }
        let left: Vec<i32> = lhs
            .values::<QInt8>()?
            .iter()
            .map(|value| i32::from(value.0).wrapping_sub(zero))
            .collect();
        let sums = sums(ctx, &shape, &left, rhs, &of_rhs)?;
        let columns = shape.dims()[1];
        let factors = scaled_products(scale, &of_rhs, &of_sums, columns)?;
        let output = Tensor::build(shape, |out: &mut [QInt32]| {
            for (at, (out, &sum)) in out.iter_mut().zip(&sums).enumerate() {
                let column = at % columns;
                let value = factors[column].apply(sum).wrapping_add(of_sums.zero(column));
                *out = QInt32(self.bounds.clip(value));
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Refuses several scales of the first operand.
pub(super) fn check_whole(attrs: &Attrs<'_>) -> Result<()> {
    if attrs.int("lhs_quantization_axis")? == -1 {
        return Ok(());
    }
    Err(invalid_argument!("lhs_quantization_axis Attr must be -1 (per-tensor)."))
}

/// The only scale and zero point of the first operand, inputs 2 and 3.
pub(super) fn single(ctx: &KernelContext<'_>) -> Result<(f32, i32)> {
    let (scales, zeros) = (ctx.input(2)?, ctx.input(3)?);
    if scales.rank() != 0 || zeros.rank() != 0 {
        return Err(invalid_argument!(
            "lhs scales/zero_points must be all scalar tensors. Given: {}{}",
            scales.shape(),
            zeros.shape()
        ));
    }
    Ok((scales.scalar_value()?, zeros.scalar_value()?))
}

/// The factors from sums of products to the scale of the result, for each of `channels`.
pub(super) fn scaled_products(
    scale: f32,
    of_rhs: &Affine,
    of_sums: &Affine,
    channels: usize,
) -> Result<Vec<Multiplier>> {
    let factor = |channel| {
        let product = f64::from(scale) * f64::from(of_rhs.scale(channel));
        Multiplier::new(product / f64::from(of_sums.scale(channel)))
    };
    (0..channels).map(factor).collect()
}

#[derive(Debug)]
struct DotHybrid;

impl Kernel for DotHybrid {
    fn new(attrs: &Attrs<'_>) -> Result<DotHybrid> {
        check_axis(attrs, "rhs_quantization_axis")?;
        Ok(DotHybrid)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (lhs, rhs) = (ctx.input(0)?, ctx.input(1)?);
        let shape = check_shapes(lhs, rhs)?;
        let of_rhs = of_columns(ctx, 2, rhs.shape())?;
        check_positive(ctx, 2, "rhs")?;
        let (left, scales) = rows_as_bytes(lhs.values()?, lhs.dims()[0]);
        let sums = sums(ctx, &shape, &left, rhs, &of_rhs)?;
        let columns = shape.dims()[1];
        let output = Tensor::build(shape, |out: &mut [f32]| {
            for (at, (out, &sum)) in out.iter_mut().zip(&sums).enumerate() {
                *out = sum as f32 * scales[at / columns] * of_rhs.scale(at % columns);
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Rows of numbers as signed bytes less their zero, each row with the scale that fits it.
pub(super) fn rows_as_bytes(values: &[f32], rows: usize) -> (Vec<i32>, Vec<f32>) {
    let len = values.len().checked_div(rows).unwrap_or(0).max(1);
    let mut bytes = Vec::with_capacity(values.len());
    let mut scales = Vec::with_capacity(rows);
    for row in values.chunks_exact(len) {
        let least = f64::from(row.iter().copied().fold(0.0, f32::min));
        let most = f64::from(row.iter().copied().fold(0.0, f32::max));
        if least == most {
            bytes.resize(bytes.len() + row.len(), 0);
            scales.push(1.0);
            continue;
        }
        let (low, high) = (-128.0, 127.0);
        let scale = (most - least) / (high - low);
        // Whichever end is hit more exactly says where zero is.
        let from_low = low - least / scale;
        let from_high = high - most / scale;
        let error = |end: f64, value: f64| end.abs() + (value / scale).abs();
        let zero = if error(low, least) < error(high, most) { from_low } else { from_high };
        let zero = zero.round().clamp(low, high) as i32;
        let inverse = (1.0 / scale) as f32;
        bytes.extend(row.iter().map(|value| {
            let whole = (value * inverse + 0.5).floor() as i32;
            whole.saturating_add(zero).clamp(-128, 127) - zero
        }));
        scales.push(scale as f32);
    }
    scales.resize(rows, 1.0);
    (bytes, scales)
}
