//! `FusedBatchNorm` in all its versions, and their gradients.
//!
//! Images and volumes. Those with channels first are turned round before and after. The reserve
//! spaces carry the mean and the variance of the batch from the forward op to its gradient.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, NewNode, Op,
    ShapeContext, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::batch_norm::{
    Channels, inference_grad, moments, normalize, training_grad,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, invalid_argument};

mod second;

use super::layout::{channels_last, from_channels_last};
use super::window::Layout;
use crate::sparse::number::{Number, for_real};
use tensorfleet_tensor::PartialShape;

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
        shape: Some(shape),
        gradient: Some(gradient),
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
        gradient: Some(second::gradient),
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
        gradient: Some(second::gradient),
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
        gradient: Some(second::gradient),
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
        shape: Some(shape),
        gradient: Some(gradient),
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
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "_FusedBatchNormEx",
        inputs: &[
            "x: T",
            "scale: U",
            "offset: U",
            "mean: U",
            "variance: U",
            "side_input: num_side_inputs * T",
        ],
        outputs: &[
            "y: T",
            "batch_mean: U",
            "batch_variance: U",
            "reserve_space_1: U",
            "reserve_space_2: U",
            "reserve_space_3: U",
        ],
        attrs: &[
            "T: {half, float, bfloat16}",
            "U: {float}",
            "epsilon: float = 1e-04",
            "exponential_avg_factor: float = 1.0",
            "num_side_inputs: int >= 0 = 0",
            "activation_mode: string = 'Identity'",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "is_training: bool = true",
        ],
        kernels: &[cpu::<BatchNorm>().types("T", &[DType::BFloat16, DType::Float])],
        ..Op::DEFAULT
    },
];

/// Where the format says that the channels are. Both images and volumes may come in any of them.
fn channels_first(attrs: &Attrs<'_>) -> Result<bool> {
    Ok(attrs.string("data_format")?.starts_with("NC"))
}

/// The layout of a tensor and the number of its channels.
fn check_input(x: &Tensor, channels_first: bool, what: &str) -> Result<(Layout, usize)> {
    if x.rank() != 4 && x.rank() != 5 {
        return Err(invalid_argument!("{what} must be 4 or 5-dimensional{}", x.shape()));
    }
    let layout = Layout { spatial: x.rank() - 2, channels_first };
    let channels = x.dims()[layout.channel_axis()];
    if channels == 0 {
        return Err(invalid_argument!("{what} must have channels, got shape {}", x.shape()));
    }
    Ok((layout, channels))
}

fn check_vector(tensor: &Tensor, what: &str) -> Result<()> {
    if tensor.rank() == 1 {
        return Ok(());
    }
    Err(invalid_argument!("{what} must be 1-dimensional{}", tensor.shape()))
}

fn check_channels(tensor: &Tensor, channels: usize, what: &str) -> Result<()> {
    if tensor.num_elements() == channels {
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
    channels_first: bool,
    /// Whether the result is rectified.
    relu: bool,
    epsilon: f32,
    /// How much of the new running statistics comes from this batch.
    factor: f32,
    is_training: bool,
}

impl Kernel for BatchNorm {
    fn new(attrs: &Attrs<'_>) -> Result<BatchNorm> {
        let relu = match attrs.get("activation_mode") {
            None => false,
            Some(_) => match &*attrs.string("activation_mode")? {
                "Identity" => false,
                "Relu" => true,
                other => return Err(invalid_argument!("Unsupported activation mode: {other}")),
            },
        };
        Ok(BatchNorm {
            channels_first: channels_first(attrs)?,
            relu,
            epsilon: attrs.float("epsilon")?,
            factor: attrs.float("exponential_avg_factor")?,
            is_training: attrs.bool("is_training")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (x, scale, offset) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let (mean, variance) = (ctx.input(3)?, ctx.input(4)?);
        let (layout, channels) = check_input(x, self.channels_first, "input")?;
        for (tensor, what) in [
            (scale, "scale"),
            (offset, "offset"),
            (mean, "estimated_mean"),
            (variance, "estimated_variance"),
        ] {
            check_vector(tensor, what)?;
        }
        check_channels(scale, channels, "scale")?;
        check_channels(offset, channels, "offset")?;
        if !self.is_training || self.factor != 1.0 {
            let when = if self.is_training {
                "When exponential_avg_factor != 1"
            } else {
                "When is_training=false"
            };
            check_channels(mean, channels, &format!("{when}, mean"))?;
            check_channels(variance, channels, &format!("{when}, variance"))?;
        }
        let par = Parallel::new(ctx.parallelism());
        let side = match ctx.num_inputs() {
            5 => None,
            6 => Some(ctx.input(5)?),
            more => {
                return Err(invalid_argument!(
                    "FusedBatchNorm accepts at most one side input, got {}",
                    more - 5
                ));
            }
        };
        if let Some(side) = side.filter(|side| side.shape() != x.shape()) {
            return Err(invalid_argument!(
                "side_input shape must be equal to input shape: {} != {}",
                side.shape(),
                x.shape()
            ));
        }
        let x = &channels_last(par, x, layout)?;
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
        let y = self.finish(from_channels_last(par, y, layout)?, side)?;
        let rows = x.num_elements() / channels;
        let running = if rows == 0 {
            // Nothing has no mean.
            (vec![f32::NAN; channels], vec![f32::NAN; channels])
        } else if !self.is_training {
            (batch_mean.clone(), batch_variance.clone())
        } else {
            self.running(&batch_mean, &batch_variance, rows, mean, variance)?
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
    /// Adds the side input, and rectifies.
    fn finish(&self, mut y: Tensor, side: Option<&Tensor>) -> Result<Tensor> {
        if side.is_none() && !self.relu {
            return Ok(y);
        }
        for_real!(y.dtype(), T => {
            if let Some(side) = side {
                let side = side.values::<T>()?;
                y.values_mut::<T>()?.iter_mut().zip(side).for_each(|(y, &x)| *y = y.plus(x));
            }
            if self.relu {
                let zero = T::default();
                y.values_mut::<T>()?.iter_mut().filter(|y| **y < zero).for_each(|y| *y = zero);
            }
            Ok(y)
        })
    }

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
    channels_first: bool,
    epsilon: f32,
    is_training: bool,
}

impl Kernel for BatchNormGrad {
    fn new(attrs: &Attrs<'_>) -> Result<BatchNormGrad> {
        Ok(BatchNormGrad {
            channels_first: channels_first(attrs)?,
            epsilon: attrs.float("epsilon")?,
            is_training: attrs.bool("is_training")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (gradient, x, scale) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let (mean, variance) = (ctx.input(3)?, ctx.input(4)?);
        let (layout, channels) = check_input(gradient, self.channels_first, "input")?;
        if x.rank() != 4 && x.rank() != 5 {
            return Err(invalid_argument!("x must be 4 or 5-dimensional{}", x.shape()));
        }
        for (tensor, what) in [(scale, "scale"), (mean, "saved mean"), (variance, "saved variance")]
        {
            check_vector(tensor, what)?;
        }
        if gradient.shape() != x.shape() {
            return Err(invalid_argument!(
                "x and y_backprop must have same shape, but x has shape {} and y_backprop has \
                 shape {}",
                x.shape(),
                gradient.shape()
            ));
        }
        if layout.channels_first && layout.spatial == 3 && !self.is_training {
            return Err(invalid_argument!(
                "The implementation of FusedBatchNormGrad with is_training=False only support NHWC \
                 tensor format for now."
            ));
        }
        for (tensor, what) in
            [(scale, "scale"), (mean, "reserve_space_1"), (variance, "reserve_space_2")]
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
        let x = &channels_last(par, x, layout)?;
        let gradient = &channels_last(par, gradient, layout)?;
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
        let by_input = from_channels_last(par, by_input, layout)?;
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

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let mut shapes = vec![c.input(0).clone()];
    shapes.extend(vec![c.input(1).clone(); 2]);
    Ok(shapes)
}

/// In training the reserve spaces hold what the batch says; otherwise the gradient is that of a
/// fixed scale and shift.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (op, reserves) = match &*g.node().op {
        "FusedBatchNorm" => ("FusedBatchNormGrad", 2),
        "FusedBatchNormV2" => ("FusedBatchNormGradV2", 2),
        _ => ("FusedBatchNormGradV3", 3),
    };
    let training = g.attrs().bool("is_training")?;
    let mut node = NewNode::new(op).input(g.grad(0)?).input(g.input(0)).input(g.input(1));
    for index in 0..reserves {
        let reserve = if training || index == 2 { g.output(3 + index) } else { g.input(3 + index) };
        node = node.input(reserve);
    }
    let [x, scale, offset] = g.outs(g.with_attrs_of(node)?)?;
    Ok(vec![Some(x.into()), Some(scale.into()), Some(offset.into()), None, None])
}
