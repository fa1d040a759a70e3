//! Gradients of convolutions by their input and by their filter, of any number of dimensions.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, GradientContext, InputGradients, Kernel, KernelContext, Value};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::conv::{self, Conv};
use tensorfleet_tensor::{DType, Error, Result, Shape, Tensor, dispatch, invalid_argument};

use super::super::layout::channels_last;
use super::{Spec, cost, integer};

/// An op of this file: what it is of, and how TensorFlow speaks of it in errors.
#[derive(Debug)]
struct Gradient {
    spec: Spec,
    label: &'static str,
    /// Whether the shape is that of a tensor instead of the values of one.
    shape_of_tensor: bool,
}

impl Gradient {
    fn new(attrs: &Attrs<'_>) -> Result<Gradient> {
        let (label, spatial, shape_of_tensor) = match attrs.op() {
            "Conv2DBackpropInput" => ("Conv2DCustomBackpropInput", 2, false),
            "Conv2DBackpropFilter" => ("Conv2DCustomBackpropFilter", 2, false),
            "Conv3DBackpropInput" => ("Conv3DBackpropInputOp", 3, true),
            "Conv3DBackpropFilter" => ("Conv3DBackpropFilterOp", 3, true),
            "Conv3DBackpropInputV2" => ("Conv3DBackpropInputOp", 3, false),
            _ => ("Conv3DBackpropFilterOp", 3, false),
        };
        Ok(Gradient { spec: Spec::new(attrs, spatial)?, label, shape_of_tensor })
    }

    /// The shape that an input asks for.
    fn wanted(&self, sizes: &Tensor, name: &str) -> Result<Vec<i64>> {
        if self.shape_of_tensor {
            return Ok(sizes.shape().signed().collect());
        }
        if sizes.rank() != 1 {
            return Err(invalid_argument!(
                "{}: {name} input must be 1-dim, not {}",
                self.label,
                sizes.rank()
            ));
        }
        sizes.to_i64_vec()
    }

    /// Checks that an input, a filter and the gradient of an output belong together.
    fn check(&self, input: &Shape, filter: &Shape, gradient: &Shape) -> Result<Conv> {
        let (spec, label) = (&self.spec, self.label);
        let rank = spec.layout.rank();
        let is_volume = spec.layout.spatial == 3;
        for (name, shape) in [("input", input), ("filter", filter), ("out_backprop", gradient)] {
            if shape.rank() != rank {
                return Err(if is_volume {
                    let sizes = if name == "filter" { "_sizes" } else { "" };
                    invalid_argument!("{name}{sizes} tensor must have 5 dimensions")
                } else {
                    invalid_argument!("{label}: {name} must be {rank}-dimensional")
                });
            }
        }
        let (input, filter, gradient) = (input.dims(), filter.dims(), gradient.dims());
        if input[0] != gradient[0] {
            return Err(invalid_argument!(
                "{label}: input and out_backprop must have the same batch size. Input batch: {}, \
                 outbackprop batch: {}, batch_dim: 0",
                input[0],
                gradient[0]
            ));
        }
        let channel_axis = spec.layout.channel_axis();
        let (in_channels, depth) = (input[channel_axis], filter[rank - 2]);
        if depth == 0 {
            return Err(invalid_argument!(
                "{label}: filter depth must be strictly greated than zero"
            ));
        }
        if !in_channels.is_multiple_of(depth) {
            return Err(if is_volume {
                other_channels("input", in_channels, depth)
            } else {
                invalid_argument!("{label}: input depth must be evenly divisible by filter depth")
            });
        }
        let (groups, out_channels) = (in_channels / depth, filter[rank - 1]);
        if out_channels != gradient[channel_axis] {
            return Err(if is_volume {
                other_channels("out_backprop", gradient[channel_axis], out_channels)
            } else {
                invalid_argument!("{label}: filter and out_backprop must have the same out_depth")
            });
        }
        if groups == 0 || !out_channels.is_multiple_of(groups) {
            return Err(invalid_argument!(
                "{label}: output depth must be evenly divisible by number of groups: \
                 {out_channels} vs {groups}"
            ));
        }
        let axes = spec.axes(input, &filter[..rank - 2])?;
        for (index, axis) in axes[axes.len() - spec.layout.spatial..].iter().enumerate() {
            let dimension = spec.layout.space() + index;
            if axis.output != gradient[dimension] {
                return Err(invalid_argument!(
                    "{label}: Size of out_backprop doesn't match computed: actual = {}, computed \
                     = {} spatial_dim: {dimension} input: {} filter: {} output: {} stride: {} \
                     dilation: {}",
                    gradient[dimension],
                    axis.output,
                    axis.input,
                    axis.filter,
                    gradient[dimension],
                    axis.stride,
                    axis.dilation
                ));
            }
        }
        Ok(Conv { batch: input[0], in_channels, out_channels, groups, axes })
    }

    /// The sizes of the input with channels last.
    fn input_dims(&self, shape: &Conv) -> Result<Shape> {
        let inputs = shape.axes.map(|axis| axis.input);
        let space = &inputs[inputs.len() - self.spec.layout.spatial..];
        Shape::new(&[&[shape.batch], space, &[shape.in_channels]].concat())
    }
}

/// The gradient of a convolution by its input.
#[derive(Debug)]
pub(super) struct BackpropInput(Gradient);

impl Kernel for BackpropInput {
    fn new(attrs: &Attrs<'_>) -> Result<BackpropInput> {
        Gradient::new(attrs).map(BackpropInput)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let Gradient { spec, .. } = &self.0;
        let (filter, gradient) = (ctx.input(1)?, ctx.input(2)?);
        let mut sizes = self.0.wanted(ctx.input(0)?, "input_sizes")?;
        if spec.layout.spatial == 2 && sizes.len() == 2 {
            sizes = complete(spec, &sizes, filter, gradient)?;
        }
        if sizes.len() != spec.layout.rank() {
            return Err(if spec.layout.spatial == 2 {
                invalid_argument!(
                    "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, \
                     but got: {}",
                    sizes.len()
                )
            } else {
                invalid_argument!("input tensor must have 5 dimensions")
            });
        }
        let input = Shape::from_signed(&sizes)?;
        let shape = self.0.check(&input, filter.shape(), gradient.shape())?;
        let dims = self.0.input_dims(&shape)?;
        let result = if filter.num_elements() == 0 || gradient.num_elements() == 0 {
            Tensor::zeros(gradient.dtype(), dims)?
        } else {
            let gradient = channels_last(par, gradient, spec.layout)?;
            backprop_input(par, &shape, filter, &gradient, dims)?
        };
        let result = spec.lay_out(par, result)?;
        ctx.set_output(0, result);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs.get(2), inputs.get(1))
    }
}

/// Adds the batch and the channels to a height and a width.
fn complete(spec: &Spec, sizes: &[i64], filter: &Tensor, gradient: &Tensor) -> Result<Vec<i64>> {
    let (Some(&batch), &[_, _, depth, _]) = (gradient.dims().first(), filter.dims()) else {
        return Err(invalid_argument!("Conv2DCustomBackpropInput: filter must be 4-dimensional"));
    };
    let (batch, depth) = (batch as i64, depth as i64);
    Ok(if spec.layout.channels_first {
        vec![batch, depth, sizes[0], sizes[1]]
    } else {
        vec![batch, sizes[0], sizes[1], depth]
    })
}

fn backprop_input(
    par: Parallel,
    shape: &Conv,
    filter: &Tensor,
    gradient: &Tensor,
    dims: Shape,
) -> Result<Tensor> {
    if gradient.dtype() == DType::Int32 {
        return integer::backprop_input(par, shape, filter, gradient, dims);
    }
    dispatch!(
        gradient.dtype(),
        [f32, f64, f16, bf16],
        T => {
            let (filter, gradient) = (filter.values::<T>()?, gradient.values::<T>()?);
            Tensor::build(dims, |out| conv::conv_backprop_input(par, shape, filter, gradient, out))
        },
        else => Err(super::super::unsupported(gradient.dtype()))
    )
}

/// The gradient of a convolution by its filter.
#[derive(Debug)]
pub(super) struct BackpropFilter(Gradient);

impl Kernel for BackpropFilter {
    fn new(attrs: &Attrs<'_>) -> Result<BackpropFilter> {
        Gradient::new(attrs).map(BackpropFilter)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let Gradient { spec, .. } = &self.0;
        let (input, gradient) = (ctx.input(0)?, ctx.input(2)?);
        let sizes = self.0.wanted(ctx.input(1)?, "filter_sizes")?;
        let dims = Shape::from_signed(&sizes)?;
        let shape = self.0.check(input.shape(), &dims, gradient.shape())?;
        let result = if dims.num_elements() == 0
            || input.num_elements() == 0
            || gradient.num_elements() == 0
        {
            Tensor::zeros(gradient.dtype(), dims)?
        } else {
            let input = channels_last(par, input, spec.layout)?;
            let gradient = channels_last(par, gradient, spec.layout)?;
            backprop_filter(par, &shape, &input, &gradient, dims)?
        };
        ctx.set_output(0, result);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        let elements = |index: usize| match inputs.get(index) {
            Some(Value::Tensor(tensor)) => tensor.num_elements() as u64,
            _ => 0,
        };
        elements(0).saturating_mul(elements(2).isqrt()) / 8
    }
}

fn backprop_filter(
    par: Parallel,
    shape: &Conv,
    input: &Tensor,
    gradient: &Tensor,
    dims: Shape,
) -> Result<Tensor> {
    dispatch!(
        gradient.dtype(),
        [f32, f64, f16, bf16],
        T => {
            let (input, gradient) = (input.values::<T>()?, gradient.values::<T>()?);
            Tensor::build(dims, |out| conv::conv_backprop_filter(par, shape, input, gradient, out))
        },
        else => Err(super::super::unsupported(gradient.dtype()))
    )
}

/// The gradient of a gradient by the filter, by the op that differentiates by the input and the
/// convolution itself.
pub(super) fn of_filter_gradient(
    g: &GradientContext<'_>,
    by_input: &str,
    convolution: &str,
) -> InputGradients {
    let (input, out_backprop, grad) = (g.input(0), g.input(2), g.grad(0)?);
    let shape = g.shape_tensor(input)?;
    let of_input = g.call_with_attrs(by_input, [shape, grad, out_backprop])?;
    let of_output = g.call_with_attrs(convolution, [input, grad])?;
    Ok(vec![Some(of_input.into()), None, Some(of_output.into())])
}

/// The gradient of a gradient by the input, by the op that differentiates by the filter and the
/// convolution itself.
pub(super) fn of_input_gradient(
    g: &GradientContext<'_>,
    by_filter: &str,
    convolution: &str,
) -> InputGradients {
    let (filter, out_backprop, grad) = (g.input(1), g.input(2), g.grad(0)?);
    let shape = g.shape_tensor(filter)?;
    let of_filter = g.call_with_attrs(by_filter, [grad, shape, out_backprop])?;
    let of_output = g.call_with_attrs(convolution, [grad, filter])?;
    Ok(vec![None, Some(of_filter.into()), Some(of_output.into())])
}

/// That a tensor and the filter of a volume convolution disagree about channels.
fn other_channels(name: &str, channels: usize, wanted: usize) -> Error {
    invalid_argument!(
        "{name} and filter_sizes must have the same number of channels. Got {channels} for {name} \
         and {wanted} for filter_sizes"
    )
}
