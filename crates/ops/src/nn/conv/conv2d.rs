//! `Conv2D` and its gradients.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, ShapeContext, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::conv::Conv;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::super::FLOATS;
use super::super::window::{Layout, windowed};
use super::gradient::{BackpropFilter, BackpropInput, of_filter_gradient, of_input_gradient};
use super::{Spec, cost};
use crate::shapes;
use tensorfleet_framework::gradient::both;
use tensorfleet_tensor::PartialShape;

/// The types of images.
const TYPES: &[DType] = &[DType::Half, DType::BFloat16, DType::Float, DType::Double, DType::Int32];

/// What is to be known of results by 3 × 3 filters.
pub(super) const DIFFERS: &str = "Large convolutions by 3 × 3 filters are computed after Winograd: \
     results are rounded relative to the largest value of their 4 × 4 neighbourhood.";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Conv2D",
        inputs: &["input: T", "filter: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double, int32}",
            "strides: list(int)",
            "use_cudnn_on_gpu: bool = true",
            "padding: {'SAME', 'VALID', 'EXPLICIT'}",
            "explicit_paddings: list(int) = []",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "dilations: list(int) = [1, 1, 1, 1]",
        ],
        kernels: &[cpu::<Conv2D>().types("T", TYPES)],
        shape: Some(shape),
        gradient: Some(gradient),
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "Conv2DBackpropFilter",
        inputs: &["input: T", "filter_sizes: int32", "out_backprop: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double}",
            "strides: list(int)",
            "use_cudnn_on_gpu: bool = true",
            "padding: {'SAME', 'VALID', 'EXPLICIT'}",
            "explicit_paddings: list(int) = []",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "dilations: list(int) = [1, 1, 1, 1]",
        ],
        kernels: &[cpu::<BackpropFilter>().types("T", FLOATS)],
        gradient: Some(filter_gradient),
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "Conv2DBackpropInput",
        inputs: &["input_sizes: int32", "filter: T", "out_backprop: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double, int32}",
            "strides: list(int)",
            "use_cudnn_on_gpu: bool = true",
            "padding: {'SAME', 'VALID', 'EXPLICIT'}",
            "explicit_paddings: list(int) = []",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "dilations: list(int) = [1, 1, 1, 1]",
        ],
        kernels: &[cpu::<BackpropInput>().types("T", TYPES)],
        shape: Some(shapes::from_first),
        gradient: Some(input_gradient),
        differs: DIFFERS,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Conv2D {
    spec: Spec,
}

impl Kernel for Conv2D {
    fn new(attrs: &Attrs<'_>) -> Result<Conv2D> {
        Ok(Conv2D { spec: Spec::new(attrs, 2)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (input, filter) = (ctx.input(0)?, ctx.input(1)?);
        let shape = check(&self.spec, input, filter)?;
        let result = self.spec.convolve(par, &shape, input, filter)?;
        let result = self.spec.lay_out(par, result)?;
        ctx.set_output(0, result);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs.first(), inputs.get(1))
    }
}

/// Finds the sizes of a convolution.
pub(super) fn check(spec: &Spec, input: &Tensor, filter: &Tensor) -> Result<Conv> {
    if input.rank() != 4 {
        return Err(invalid_argument!(
            "convolution input must be 4-dimensional: {}",
            input.shape()
        ));
    }
    let &[height, width, depth, out_channels] = filter.dims() else {
        return Err(invalid_argument!(
            "convolution filter must be 4-dimensional: {}",
            filter.shape()
        ));
    };
    let in_channels = input.dims()[spec.layout.channel_axis()];
    let groups = groups(in_channels, depth, out_channels)?;
    let axes = spec.axes(input.dims(), &[height, width])?;
    let shape = Conv { batch: input.dims()[0], in_channels, out_channels, groups, axes };
    let output = Shape::new(&spec.output_dims(&shape))?;
    if output.num_elements() > 0 && filter.num_elements() == 0 {
        return Err(invalid_argument!(
            "filter must not have zero elements (i.e. all dimensions must be non-zero)"
        ));
    }
    Ok(shape)
}

/// The number of groups of channels that are convolved by themselves.
fn groups(in_channels: usize, depth: usize, out_channels: usize) -> Result<usize> {
    if depth == 0 {
        return Err(invalid_argument!("filter depth must be stricly positive, got 0"));
    }
    if !in_channels.is_multiple_of(depth) {
        return Err(invalid_argument!(
            "input depth must be evenly divisible by filter depth: {in_channels} vs {depth}"
        ));
    }
    let groups = in_channels / depth;
    if groups == 0 {
        return Err(invalid_argument!("number of groups must be stricly positive, got 0"));
    }
    if !out_channels.is_multiple_of(groups) {
        return Err(invalid_argument!(
            "output depth must be evenly divisible by number of groups: {out_channels} vs {groups}"
        ));
    }
    Ok(groups)
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let attrs = c.attrs();
    let layout = Layout::new(&attrs, 2)?;
    let [height, width, depth, filters] = shapes::dims(c, 1)?;
    let channels = c.input(0).dims.as_ref().and_then(|d| d.get(layout.channel_axis()).copied()?);
    if let (Some(channels), Some(depth)) = (channels, depth)
        && depth > 0
        && channels % depth != 0
    {
        return Err(invalid_argument!(
            "an input of {channels} channels does not fit filters of depth {depth}"
        ));
    }
    let (strides, dilations) = (attrs.ints("strides")?, attrs.ints("dilations")?);
    Ok(vec![windowed(c, layout, &[height, width], strides, dilations, filters)?])
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, filter, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let (input_shape, filter_shape) = (g.shape_tensor(input)?, g.shape_tensor(filter)?);
    both(
        g.call_with_attrs("Conv2DBackpropInput", [input_shape, filter, grad])?,
        g.call_with_attrs("Conv2DBackpropFilter", [input, filter_shape, grad])?,
    )
}

fn filter_gradient(g: &GradientContext<'_>) -> InputGradients {
    of_filter_gradient(g, "Conv2DBackpropInput", "Conv2D")
}

fn input_gradient(g: &GradientContext<'_>) -> InputGradients {
    of_input_gradient(g, "Conv2DBackpropFilter", "Conv2D")
}
