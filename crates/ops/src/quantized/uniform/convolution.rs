//! `UniformQuantizedConvolution` and `UniformQuantizedConvolutionHybrid`: convolutions of any rank.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::transpose::transpose;
use tensorfleet_tensor::{
    DType, Element, QInt8, QInt32, Result, Tensor, invalid_argument, try_repeat,
};

use super::affine::{Affine, Bounds, check_positive};
use super::dot::{check_whole, rows_as_bytes, scaled_products, single};
use super::layout::{Axis, Layout, Sizes};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "UniformQuantizedConvolution",
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
            "window_strides: list(int) = []",
            "padding: string",
            "explicit_padding: list(int) = []",
            "lhs_dilation: list(int) = []",
            "rhs_dilation: list(int) = []",
            "batch_group_count: int = 1",
            "feature_group_count: int = 1",
            "dimension_numbers: string = ''",
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
        kernels: &[cpu::<Convolution>()
            .types("Tin", &[DType::QInt8])
            .types("Tout", &[DType::QInt32])],
        ..Op::DEFAULT
    },
    Op {
        name: "UniformQuantizedConvolutionHybrid",
        inputs: &["lhs: Tlhs", "rhs: Trhs", "rhs_scales: float", "rhs_zero_points: int32"],
        outputs: &["output: Tout"],
        attrs: &[
            "Tlhs: {float}",
            "Trhs: {qint8}",
            "Tout: {float}",
            "window_strides: list(int) = []",
            "padding: string",
            "explicit_padding: list(int) = []",
            "lhs_dilation: list(int) = []",
            "rhs_dilation: list(int) = []",
            "batch_group_count: int = 1",
            "feature_group_count: int = 1",
            "dimension_numbers: string = ''",
            "rhs_quantization_axis: int = -1",
            "rhs_quantization_min_val: int",
            "rhs_quantization_max_val: int",
        ],
        kernels: &[cpu::<Hybrid>()],
        ..Op::DEFAULT
    },
];

/// Refuses an axis of scales that is not the one of the outputs.
fn check_axis(name: &str, axis: i64, dimension: usize, dimension_name: &str) -> Result<()> {
    if axis == -1 || usize::try_from(axis) == Ok(dimension) {
        return Ok(());
    }
    Err(invalid_argument!(
        "{name}_quantization_axis Attr must be -1 (per-tensor) or \
         dimension_numbers.{dimension_name} (per-channel)."
    ))
}

#[derive(Debug)]
struct Convolution {
    layout: Layout,
    rhs_axis: i64,
    output_axis: i64,
    bounds: Bounds,
}

impl Kernel for Convolution {
    fn new(attrs: &Attrs<'_>) -> Result<Convolution> {
        check_whole(attrs)?;
        Ok(Convolution {
            layout: Layout::new(attrs)?,
            rhs_axis: attrs.int("rhs_quantization_axis")?,
            output_axis: attrs.int("output_quantization_axis")?,
            bounds: Bounds::new(attrs, "output_")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        for (index, what) in [(2, "lhs"), (4, "rhs"), (6, "output")] {
            check_positive(ctx, index, what)?;
        }
        let (lhs, rhs) = (ctx.input(0)?, ctx.input(1)?);
        let sizes = self.layout.sizes(lhs, rhs)?;
        let (scale, zero) = single(ctx)?;
        let kernel = sizes.numbers.kernel[0];
        check_axis("rhs", self.rhs_axis, kernel, "kernel_output_feature_dimension")?;
        let of_rhs = Affine::of(ctx, 4, rhs.shape(), self.rhs_axis)?;
        let output = sizes.numbers.output[1];
        check_axis("output", self.output_axis, output, "output_feature_dimension")?;
        let of_sums = Affine::of(ctx, 6, &sizes.shape, self.output_axis)?;
        if of_rhs.axis.is_none() && of_sums.axis.is_some() {
            return Err(invalid_argument!(
                "If rhs is per-tensor quantized, output must be also per-tensor quantized. Given \
                 output scales/zero_points of rank 1"
            ));
        }
        let factors = scaled_products(scale, &of_rhs, &of_sums, sizes.outputs)?;
        let left = arranged::<QInt8>(lhs, &sizes.numbers.input)?;
        let left: Vec<i32> =
            left.iter().map(|value| i32::from(value.0).wrapping_sub(zero)).collect();
        let output = convolve(&sizes, &left, rhs, &of_rhs, |sum, _, channel| {
            let value = factors[channel].apply(sum).wrapping_add(of_sums.zero(channel));
            QInt32(self.bounds.clip(value))
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct Hybrid {
    layout: Layout,
    rhs_axis: i64,
}

impl Kernel for Hybrid {
    fn new(attrs: &Attrs<'_>) -> Result<Hybrid> {
        Ok(Hybrid { layout: Layout::new(attrs)?, rhs_axis: attrs.int("rhs_quantization_axis")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check_positive(ctx, 2, "rhs")?;
        let (lhs, rhs) = (ctx.input(0)?, ctx.input(1)?);
        let sizes = self.layout.sizes(lhs, rhs)?;
        let kernel = sizes.numbers.kernel[0];
        check_axis("rhs", self.rhs_axis, kernel, "kernel_output_feature_dimension")?;
        let of_rhs = Affine::of(ctx, 2, rhs.shape(), self.rhs_axis)?;
        let numbers = arranged::<f32>(lhs, &sizes.numbers.input)?;
        let (left, scales) = rows_as_bytes(&numbers, lhs.dims()[sizes.numbers.input[0]]);
        let output = convolve(&sizes, &left, rhs, &of_rhs, |sum, batch, channel| {
            sum as f32 * scales[batch] * of_rhs.scale(channel)
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The elements of a tensor with its dimensions in another order.
fn arranged<T: Element>(tensor: &Tensor, order: &[usize]) -> Result<Vec<T>> {
    let mut out = try_repeat(T::default(), tensor.num_elements())?;
    transpose(Parallel::SERIAL, tensor.values::<T>()?, tensor.dims(), order, &mut out);
    Ok(out)
}

/// Convolves inputs less their zero, batch and channels first. `finish` makes a result of a sum, the
/// batch of the input that it is of, and its channel.
fn convolve<T: Element>(
    sizes: &Sizes,
    lhs: &[i32],
    rhs: &Tensor,
    of_rhs: &Affine,
    finish: impl Fn(i32, usize, usize) -> T,
) -> Result<Tensor> {
    let kernel: Vec<QInt8> = arranged(rhs, &sizes.numbers.kernel)?;
    let space = |size: fn(&Axis) -> usize| sizes.axes.iter().map(size).product::<usize>();
    let (inputs, taps, places) =
        (space(|axis| axis.input), space(|axis| axis.kernel), space(|axis| axis.output));
    let mut results = try_repeat(T::default(), sizes.shape.num_elements())?;
    let mut meetings = Vec::new();
    for place in 0..if results.is_empty() { 0 } else { places } {
        find_meetings(&sizes.axes, place, &mut meetings);
        for batch in 0..sizes.batch {
            for output in 0..sizes.outputs {
                let image = output / sizes.outputs_of_batch * sizes.batch + batch;
                let first = output / sizes.outputs_of_channels * sizes.channels;
                let zero = of_rhs.zero(output);
                let mut sum = 0i32;
                for channel in 0..sizes.channels {
                    let lhs =
                        &lhs[(image * sizes.in_channels + first + channel) * inputs..][..inputs];
                    let kernel = &kernel[(output * sizes.channels + channel) * taps..][..taps];
                    for &(tap, input) in &meetings {
                        let weight = i32::from(kernel[tap].0).wrapping_sub(zero);
                        sum = sum.wrapping_add(lhs[input].wrapping_mul(weight));
                    }
                }
                results[(batch * sizes.outputs + output) * places + place] =
                    finish(sum, image, output);
            }
        }
    }
    let order = &sizes.numbers.output;
    let dims: Vec<usize> = order.iter().map(|&dimension| sizes.shape.dims()[dimension]).collect();
    let mut back = vec![0; order.len()];
    for (place, &dimension) in order.iter().enumerate() {
        back[dimension] = place;
    }
    Tensor::build(sizes.shape.clone(), |out: &mut [T]| {
        transpose(Parallel::SERIAL, &results, &dims, &back, out);
    })
}

/// The taps of the kernel and the inputs that meet at a place of the output.
fn find_meetings(axes: &[Axis], mut place: usize, meetings: &mut Vec<(usize, usize)>) {
    meetings.clear();
    meetings.push((0, 0));
    let mut along = vec![0; axes.len()];
    for (axis, at) in axes.iter().zip(&mut along).rev() {
        (place, *at) = (place / axis.output, place % axis.output);
    }
    for (axis, &at) in axes.iter().zip(&along) {
        *meetings = meetings
            .iter()
            .flat_map(|&(tap, input)| {
                (0..axis.kernel).filter_map(move |next| {
                    let met = axis.meets(at, next)?;
                    Some((tap * axis.kernel + next, input * axis.input + met))
                })
            })
            .collect();
    }
}
