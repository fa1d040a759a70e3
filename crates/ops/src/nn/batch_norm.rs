//! `FusedBatchNorm` in all its versions, and their gradients.
//!
//! Channels last, in 2-D and 3-D. The reserve spaces carry the mean and the variance of the batch
//! from the forward op to its gradient.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::batch_norm::{
    Channels, inference_grad, moments, normalize, training_grad,
};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, dispatch, invalid_argument, unimplemented_error,
};

const FORWARD: &[KernelDef] = &[cpu::<BatchNorm>()];
const FORWARD_V3: &[KernelDef] = &[cpu::<BatchNorm>().types("U", &[DType::Float])];
const GRAD: &[KernelDef] = &[cpu::<BatchNormGrad>()];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "FusedBatchNorm",
        inputs: &["x: T", "scale: T", "offset: T", "mean: T", "variance: T"],
        outputs: &[
            "y: T",
            "batch_mean: T",
            "batch_variance: T",
            "reserve_space_1: T",
            "reserve_space_2: T",
        ],
        attrs: &[
            "T: {float}",
            "epsilon: float = 1e-04",
            "exponential_avg_factor: float = 1.0",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "is_training: bool = true",
        ],
        kernels: FORWARD,
        ..Op::DEFAULT
    },
    Op {
        name: "FusedBatchNormGrad",
        inputs: &["y_backprop: T", "x: T", "scale: T", "reserve_space_1: T", "reserve_space_2: T"],
        outputs: &[
            "x_backprop: T",
            "scale_backprop: T",
            "offset_backprop: T",
            "reserve_space_3: T",
            "reserve_space_4: T",
        ],
        attrs: &[
            "T: {float}",
            "epsilon: float = 1e-04",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "is_training: bool = true",
        ],
        kernels: GRAD,
        ..Op::DEFAULT
    },
    Op {
        name: "FusedBatchNormGradV2",
        inputs: &[
            "y_backprop: T",
            "x: T",
            "scale: float",
            "reserve_space_1: U",
            "reserve_space_2: U",
        ],
        outputs: &[
            "x_backprop: T",
            "scale_backprop: U",
            "offset_backprop: U",
            "reserve_space_3: U",
            "reserve_space_4: U",
        ],
        attrs: &[
            "T: {half, bfloat16, float}",
            "U: {float}",
            "epsilon: float = 1e-04",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "is_training: bool = true",
        ],
        kernels: GRAD,
        ..Op::DEFAULT
    },
    Op {
        name: "FusedBatchNormGradV3",
        inputs: &[
            "y_backprop: T",
            "x: T",
            "scale: float",
            "reserve_space_1: U",
            "reserve_space_2: U",
            "reserve_space_3: U",
        ],
        outputs: &[
            "x_backprop: T",
            "scale_backprop: U",
            "offset_backprop: U",
            "reserve_space_4: U",
            "reserve_space_5: U",
        ],
        attrs: &[
            "T: {half, bfloat16, float}",
            "U: {float}",
            "epsilon: float = 1e-04",
            "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'",
            "is_training: bool = true",
        ],
        kernels: GRAD,
        ..Op::DEFAULT
    },
    Op {
        name: "FusedBatchNormV2",
        inputs: &["x: T", "scale: U", "offset: U", "mean: U", "variance: U"],
        outputs: &[
            "y: T",
            "batch_mean: U",
            "batch_variance: U",
            "reserve_space_1: U",
            "reserve_space_2: U",
        ],
        attrs: &[
            "T: {half, bfloat16, float}",
            "U: {float}",
            "epsilon: float = 1e-04",
            "exponential_avg_factor: float = 1.0",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "is_training: bool = true",
        ],
        kernels: FORWARD,
        ..Op::DEFAULT
    },
    Op {
        name: "FusedBatchNormV3",
        inputs: &["x: T", "scale: U", "offset: U", "mean: U", "variance: U"],
        outputs: &[
            "y: T",
            "batch_mean: U",
            "batch_variance: U",
            "reserve_space_1: U",
            "reserve_space_2: U",
            "reserve_space_3: U",
        ],
        attrs: &[
            "T: {half, bfloat16, float}",
            "U: {bfloat16, float}",
            "epsilon: float = 1e-04",
            "exponential_avg_factor: float = 1.0",
            "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'",
            "is_training: bool = true",
        ],
        kernels: FORWARD_V3,
        ..Op::DEFAULT
    },
];

/// Refuses the formats that are not channels last.
fn check_format(attrs: &Attrs<'_>) -> Result<()> {
    let format = attrs.string("data_format")?;
    if format.ends_with('C') {
        return Ok(());
    }
    Err(unimplemented_error!("batch normalisation of data_format {format}"))
}

fn check_input(x: &Tensor, what: &str) -> Result<usize> {
    match x.dims() {
        [_, _, _, channels] | [_, _, _, _, channels] if *channels > 0 => Ok(*channels),
        _ => Err(invalid_argument!("{what} must be 4 or 5-dimensional{}", x.shape())),
    }
}

fn check_channels(tensor: &Tensor, channels: usize, what: &str) -> Result<()> {
    if tensor.dims() == [channels] {
        return Ok(());
    }
    Err(invalid_argument!(
        "{what} must have the same number of elements as the channels of x, got {} and {channels}",
        tensor.num_elements()
    ))
}

/// About how many nanoseconds a byte of input takes.
const COST_PER_BYTE: u64 = 1;

fn cost(inputs: &[Value]) -> u64 {
    match inputs.first() {
        Some(Value::Tensor(x)) => x.byte_len() as u64 * COST_PER_BYTE,
        _ => 0,
    }
}

#[derive(Debug)]
struct BatchNorm {
    epsilon: f32,
    /// How much of the new running statistics comes from this batch.
    factor: f32,
    is_training: bool,
}

impl Kernel for BatchNorm {
    fn new(attrs: &Attrs<'_>) -> Result<BatchNorm> {
        check_format(attrs)?;
        Ok(BatchNorm {
            epsilon: attrs.float("epsilon")?,
            factor: attrs.float("exponential_avg_factor")?,
            is_training: attrs.bool("is_training")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (x, scale, offset) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let (mean, variance) = (ctx.input(3)?, ctx.input(4)?);
        let channels = check_input(x, "input")?;
        check_channels(scale, channels, "scale")?;
        check_channels(offset, channels, "offset")?;
        if !self.is_training || self.factor != 1.0 {
            check_channels(mean, channels, "mean")?;
            check_channels(variance, channels, "variance")?;
        }
        let par = Parallel::new(ctx.parallelism());
        let shape = Shape::vector(channels);
        let (batch_mean, batch_variance) = if self.is_training {
            let (mut mean, mut variance) = (vec![0f32; channels], vec![0f32; channels]);
            dispatch!(
                x.dtype(),
                [f32, f16, bf16],
                T => moments(par, x.values::<T>()?, &mut mean, &mut variance),
                else => ()
            );
            (mean, variance)
        } else {
            (mean.values::<f32>()?.to_vec(), variance.values::<f32>()?.to_vec())
        };
        let stats = Channels {
            mean: &batch_mean,
            variance: &batch_variance,
            scale: scale.values::<f32>()?,
            epsilon: self.epsilon,
        };
        let shift = offset.values::<f32>()?;
        let y = dispatch!(
            x.dtype(),
            [f32, f16, bf16],
            T => {
                let values = x.values::<T>()?;
                Tensor::build(x.shape().clone(), |out: &mut [T]| {
                    normalize(par, values, stats, shift, out);
                })
            },
            else => Err(invalid_argument!("no batch normalisation of {}", x.dtype()))
        )?;
        let rows = x.num_elements() / channels;
        let running = if self.is_training {
            self.running(&batch_mean, &batch_variance, rows, mean, variance)?
        } else {
            (batch_mean.clone(), batch_variance.clone())
        };
        ctx.set_output(0, y);
        ctx.set_output(1, Tensor::from_slice(shape.clone(), &running.0)?);
        ctx.set_output(2, Tensor::from_slice(shape.clone(), &running.1)?);
        ctx.set_output(3, Tensor::from_slice(shape.clone(), &batch_mean)?);
        ctx.set_output(4, Tensor::from_slice(shape, &batch_variance)?);
        if ctx.num_outputs() > 5 {
            ctx.set_output(5, Tensor::zeros(DType::Float, Shape::vector(0))?);
        }
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs)
    }
}

impl BatchNorm {
    /// The statistics for later inference: the variance without bias, mixed with those given.
    fn running(
        &self,
        mean: &[f32],
        variance: &[f32],
        rows: usize,
        old_mean: &Tensor,
        old_variance: &Tensor,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let unbias = rows as f32 / rows.saturating_sub(1).max(1) as f32;
        let variance: Vec<f32> = variance.iter().map(|v| v * unbias).collect();
        if self.factor == 1.0 {
            return Ok((mean.to_vec(), variance));
        }
        let mix = |new: &[f32], old: &[f32]| -> Vec<f32> {
            let pairs = new.iter().zip(old);
            pairs.map(|(new, old)| (1.0 - self.factor) * old + self.factor * new).collect()
        };
        Ok((mix(mean, old_mean.values()?), mix(&variance, old_variance.values()?)))
    }
}

#[derive(Debug)]
struct BatchNormGrad {
    epsilon: f32,
    is_training: bool,
}

impl Kernel for BatchNormGrad {
    fn new(attrs: &Attrs<'_>) -> Result<BatchNormGrad> {
        check_format(attrs)?;
        Ok(BatchNormGrad {
            epsilon: attrs.float("epsilon")?,
            is_training: attrs.bool("is_training")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (gradient, x, scale) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let (mean, variance) = (ctx.input(3)?, ctx.input(4)?);
        let channels = check_input(gradient, "out_backprop")?;
        if gradient.shape() != x.shape() {
            return Err(invalid_argument!("x and y_backprop must have same shape"));
        }
        for (tensor, what) in [(scale, "scale"), (mean, "saved mean"), (variance, "saved variance")]
        {
            check_channels(tensor, channels, what)?;
        }
        let stats = Channels {
            mean: mean.values::<f32>()?,
            variance: variance.values::<f32>()?,
            scale: scale.values::<f32>()?,
            epsilon: self.epsilon,
        };
        let (mut by_scale, mut by_offset) = (vec![0f32; channels], vec![0f32; channels]);
        let par = Parallel::new(ctx.parallelism());
        let by_input = dispatch!(
            x.dtype(),
            [f32, f16, bf16],
            T => {
                let (values, dy) = (x.values::<T>()?, gradient.values::<T>()?);
                let sums = [&mut by_scale[..], &mut by_offset[..]];
                Tensor::build(x.shape().clone(), |out: &mut [T]| {
                    if self.is_training {
                        training_grad(par, values, dy, stats, out, sums);
                    } else {
                        inference_grad(par, values, dy, stats, out, sums);
                    }
                })
            },
            else => Err(invalid_argument!("no batch normalisation of {}", x.dtype()))
        )?;
        ctx.set_output(0, by_input);
        ctx.set_output(1, Tensor::vector(&by_scale)?);
        ctx.set_output(2, Tensor::vector(&by_offset)?);
        ctx.set_output(3, Tensor::zeros(DType::Float, Shape::vector(0))?);
        ctx.set_output(4, Tensor::zeros(DType::Float, Shape::vector(0))?);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs) * 2
    }
}
