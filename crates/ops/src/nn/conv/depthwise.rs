//! `DepthwiseConv2dNative` and its gradients: every channel has filters of its own.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, ShapeContext, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::conv::{self, Depthwise};
use tensorfleet_tensor::{Result, Shape, Tensor, dispatch, invalid_argument};

use super::super::layout::{channels_last, from_channels_last};
use super::super::window::windowed;
use super::super::window::{Layout, Padding, Window};
use super::super::{FLOATS, unsupported};
use super::gradient::{of_filter_gradient, of_input_gradient};
use crate::shapes;
use tensorfleet_framework::gradient::both;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DepthwiseConv2dNative",
        inputs: &["input: T", "filter: T"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<Forward>().types("T", FLOATS)],
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "DepthwiseConv2dNativeBackpropFilter",
        inputs: &["input: T", "filter_sizes: int32", "out_backprop: T"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<BackpropFilter>().types("T", FLOATS)],
        gradient: Some(filter_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "DepthwiseConv2dNativeBackpropInput",
        inputs: &["input_sizes: int32", "filter: T", "out_backprop: T"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<BackpropInput>().types("T", FLOATS)],
        shape: Some(shapes::from_first),
        gradient: Some(input_gradient),
        ..Op::DEFAULT
    },
];

const ATTRS: &[&str] = &[
    "T: {half, bfloat16, float, double}",
    "strides: list(int)",
    "padding: {'SAME', 'VALID', 'EXPLICIT'}",
    "explicit_paddings: list(int) = []",
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
    "dilations: list(int) = [1, 1, 1, 1]",
];

/// The attributes of these ops.
#[derive(Debug)]
pub(super) struct Spec {
    layout: Layout,
    padding: Padding,
    strides: [i64; 2],
    dilations: [i64; 2],
}

impl Spec {
    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Spec> {
        let layout = Layout::new(attrs, 2)?;
        let strides = in_space(layout, attrs.ints("strides")?, "strides")?;
        if strides[0] != strides[1] {
            return Err(invalid_argument!(
                "Current implementation only supports equal length strides in the row and column \
                 dimensions."
            ));
        }
        let dilations = in_space(layout, attrs.ints("dilations")?, "dilations")?;
        let padding = Padding::new(attrs, layout)?;
        Ok(Spec { layout, padding, strides, dilations })
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Finds the sizes, given those of an input and a filter of four dimensions.
    fn shape(&self, input: &[usize], filter: &[usize]) -> Result<Depthwise> {
        let axis = |index: usize| {
            let dimension = self.layout.space() + index;
            let window = Window {
                size: filter[index],
                stride: self.strides[index],
                dilation: self.dilations[index],
            };
            self.padding.axis(dimension, input[dimension], window)
        };
        let shape = Depthwise {
            batch: input[0],
            axes: [axis(0)?, axis(1)?],
            channels: filter[2],
            multiplier: filter[3],
        };
        let channels = filter[2].checked_mul(filter[3]);
        channels.ok_or_else(|| invalid_argument!("filter too large"))?;
        Ok(shape)
    }

    /// Convolves an input in the layout; the result has its channels last.
    pub(super) fn convolve(
        &self,
        par: Parallel,
        input: &Tensor,
        filter: &Tensor,
    ) -> Result<Tensor> {
        let shape = self.check(input, filter)?;
        let [height, width] = shape.axes.map(|axis| axis.output);
        let dims = Shape::new(&[shape.batch, height, width, shape.channels * shape.multiplier])?;
        if dims.num_elements() == 0 || input.num_elements() == 0 || filter.num_elements() == 0 {
            return Tensor::zeros(input.dtype(), dims);
        }
        let input = channels_last(par, input, self.layout)?;
        dispatch!(
            input.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let (input, filter) = (input.values::<T>()?, filter.values::<T>()?);
                Tensor::build(dims, |out| conv::depthwise(par, &shape, input, filter, out))
            },
            else => Err(unsupported(input.dtype()))
        )
    }

    fn check(&self, input: &Tensor, filter: &Tensor) -> Result<Depthwise> {
        if input.rank() != 4 {
            return Err(invalid_argument!("input must be 4-dimensional{}", input.shape()));
        }
        if filter.rank() != 4 {
            return Err(invalid_argument!("filter must be 4-dimensional: {}", filter.shape()));
        }
        let channels = input.dims()[self.layout.channel_axis()];
        if channels != filter.dims()[2] {
            return Err(invalid_argument!(
                "input and filter must have the same depth: {channels} vs {}",
                filter.dims()[2]
            ));
        }
        self.shape(input.dims(), filter.dims())
    }

    /// Checks that an input, a filter and the gradient of an output belong together.
    fn check_gradient(
        &self,
        label: &str,
        [input, filter, gradient]: [&Shape; 3],
    ) -> Result<Depthwise> {
        for (name, shape) in [("input", input), ("filter", filter), ("out_backprop", gradient)] {
            if shape.rank() != 4 {
                return Err(invalid_argument!("{label}: {name} must be 4-dimensional"));
            }
        }
        let (input, filter, gradient) = (input.dims(), filter.dims(), gradient.dims());
        if input[0] != gradient[0] {
            return Err(invalid_argument!(
                "{label}: input and out_backprop must have the same batch size"
            ));
        }
        let channel_axis = self.layout.channel_axis();
        if input[channel_axis] != filter[2] {
            return Err(invalid_argument!("{label}: input and filter must have the same in_depth"));
        }
        let shape = self.shape(input, filter)?;
        if shape.channels * shape.multiplier != gradient[channel_axis] {
            return Err(invalid_argument!(
                "{label}: depth_multiplier * in_depth not equal to out_depth"
            ));
        }
        for (index, (axis, name)) in shape.axes.iter().zip(["rows", "cols"]).enumerate() {
            let actual = gradient[self.layout.space() + index];
            if axis.output != actual {
                return Err(invalid_argument!(
                    "{label}: Number of {name} of out_backprop doesn't match computed: actual = \
                     {actual}, computed = {}",
                    axis.output
                ));
            }
        }
        Ok(shape)
    }
}

/// The strides or dilations of rows and columns; others must be one.
fn in_space(layout: Layout, steps: &[i64], what: &str) -> Result<[i64; 2]> {
    if steps.len() != 4 {
        return Err(invalid_argument!("Sliding window {what} field must specify 4 dimensions"));
    }
    if steps[0] != 1 || steps[layout.channel_axis()] != 1 {
        return Err(invalid_argument!(
            "Current implementation does not yet support {what} in the batch and depth dimensions."
        ));
    }
    Ok([steps[layout.space()], steps[layout.space() + 1]])
}

/// The shape that a vector states.
fn stated(sizes: &Tensor, name: &str) -> Result<Shape> {
    if sizes.rank() != 1 {
        return Err(invalid_argument!(
            "Conv2DBackpropInput: {name} input must be 1-dim, not {}",
            sizes.rank()
        ));
    }
    let sizes = sizes.to_i64_vec()?;
    if let Some(at) = sizes.iter().position(|&size| size < 0) {
        return Err(invalid_argument!("Dimension {at} of {name} must be >= 0"));
    }
    Shape::from_signed(&sizes)
}

#[derive(Debug)]
struct Forward(Spec);

impl Kernel for Forward {
    fn new(attrs: &Attrs<'_>) -> Result<Forward> {
        Spec::new(attrs).map(Forward)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let result = self.0.convolve(par, ctx.input(0)?, ctx.input(1)?)?;
        let result = from_channels_last(par, result, self.0.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        super::cost(inputs.first(), inputs.get(1)) / 8
    }
}

#[derive(Debug)]
struct BackpropInput(Spec);

impl Kernel for BackpropInput {
    fn new(attrs: &Attrs<'_>) -> Result<BackpropInput> {
        Spec::new(attrs).map(BackpropInput)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let sizes = stated(ctx.input(0)?, "input_sizes")?;
        let (filter, gradient) = (ctx.input(1)?, ctx.input(2)?);
        let label = "DepthwiseConv2DBackpropInput";
        let shapes = [&sizes, filter.shape(), gradient.shape()];
        let shape = self.0.check_gradient(label, shapes)?;
        let [height, width] = shape.axes.map(|axis| axis.input);
        let dims = Shape::new(&[shape.batch, height, width, shape.channels])?;
        let result = if filter.num_elements() == 0 || gradient.num_elements() == 0 {
            Tensor::zeros(filter.dtype(), dims)?
        } else {
            let gradient = channels_last(par, gradient, self.0.layout)?;
            dispatch!(
                filter.dtype(),
                [f32, f64, f16, bf16],
                T => {
                    let (filter, gradient) = (filter.values::<T>()?, gradient.values::<T>()?);
                    Tensor::build(dims, |out| {
                        conv::depthwise_backprop_input(par, &shape, filter, gradient, out);
                    })?
                },
                else => return Err(unsupported(filter.dtype()))
            )
        };
        let result = from_channels_last(par, result, self.0.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        super::cost(inputs.get(2), inputs.get(1)) / 8
    }
}

#[derive(Debug)]
struct BackpropFilter(Spec);

impl Kernel for BackpropFilter {
    fn new(attrs: &Attrs<'_>) -> Result<BackpropFilter> {
        Spec::new(attrs).map(BackpropFilter)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let dims = stated(ctx.input(1)?, "filter_sizes")?;
        let (input, gradient) = (ctx.input(0)?, ctx.input(2)?);
        let label = "DepthwiseConv2DBackpropFilter";
        let shapes = [input.shape(), &dims, gradient.shape()];
        let shape = self.0.check_gradient(label, shapes)?;
        let empty = [input.shape(), &dims, gradient.shape()].map(Shape::num_elements).contains(&0);
        let result = if empty {
            Tensor::zeros(input.dtype(), dims)?
        } else {
            let input = channels_last(par, input, self.0.layout)?;
            let gradient = channels_last(par, gradient, self.0.layout)?;
            dispatch!(
                input.dtype(),
                [f32, f64, f16, bf16],
                T => {
                    let (input, gradient) = (input.values::<T>()?, gradient.values::<T>()?);
                    Tensor::build(dims, |out| {
                        conv::depthwise_backprop_filter(par, &shape, input, gradient, out);
                    })?
                },
                else => return Err(unsupported(input.dtype()))
            )
        };
        ctx.set_output(0, result);
        Ok(())
    }
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let attrs = c.attrs();
    let layout = Layout::new(&attrs, 2)?;
    let [height, width, depth, multiplier] = shapes::dims(c, 1)?;
    let channels = depth.zip(multiplier).map(|(depth, multiplier)| depth * multiplier);
    let (strides, dilations) = (attrs.ints("strides")?, attrs.ints("dilations")?);
    Ok(vec![windowed(c, layout, &[height, width], strides, dilations, channels)?])
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, filter, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let (input_shape, filter_shape) = (g.shape_tensor(input)?, g.shape_tensor(filter)?);
    let op = |part: &str| format!("DepthwiseConv2dNativeBackprop{part}");
    both(
        g.call_with_attrs(&op("Input"), [input_shape, filter, grad])?,
        g.call_with_attrs(&op("Filter"), [input, filter_shape, grad])?,
    )
}

fn filter_gradient(g: &GradientContext<'_>) -> InputGradients {
    of_filter_gradient(g, "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNative")
}

fn input_gradient(g: &GradientContext<'_>) -> InputGradients {
    of_input_gradient(g, "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNative")
}
