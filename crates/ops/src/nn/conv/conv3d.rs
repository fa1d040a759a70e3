//! `Conv3D` and its gradients.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::conv::Conv;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::super::FLOATS;
use super::gradient::{BackpropFilter, BackpropInput, of_filter_gradient, of_input_gradient};
use super::{Spec, cost};
use tensorfleet_framework::gradient::both;

/// The types of the gradients' first version.
const OLD_TYPES: &[DType] = &[DType::Half, DType::Float, DType::Double];

const DIFFERS: &str =
    "Errors about shapes have the words of TensorFlow's own kernel, not of oneDNN's.";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Conv3D",
        inputs: &["input: T", "filter: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double}",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "dilations: list(int) = [1, 1, 1, 1, 1]",
        ],
        kernels: &[cpu::<Conv3D>().types("T", FLOATS)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Conv3DBackpropFilter",
        inputs: &["input: T", "filter: T", "out_backprop: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, float, double}",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "dilations: list(int) = [1, 1, 1, 1, 1]",
        ],
        kernels: &[cpu::<BackpropFilter>().types("T", OLD_TYPES)],
        ..Op::DEFAULT
    },
    Op {
        name: "Conv3DBackpropFilterV2",
        inputs: &["input: T", "filter_sizes: int32", "out_backprop: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double}",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "dilations: list(int) = [1, 1, 1, 1, 1]",
        ],
        kernels: &[cpu::<BackpropFilter>().types("T", FLOATS)],
        gradient: Some(filter_gradient),
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "Conv3DBackpropInput",
        inputs: &["input: T", "filter: T", "out_backprop: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, float, double}",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "dilations: list(int) = [1, 1, 1, 1, 1]",
        ],
        kernels: &[cpu::<BackpropInput>().types("T", OLD_TYPES)],
        ..Op::DEFAULT
    },
    Op {
        name: "Conv3DBackpropInputV2",
        inputs: &["input_sizes: Tshape", "filter: T", "out_backprop: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double}",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "dilations: list(int) = [1, 1, 1, 1, 1]",
            "Tshape: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<BackpropInput>().types("T", FLOATS)],
        gradient: Some(input_gradient),
        differs: DIFFERS,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Conv3D {
    spec: Spec,
}

impl Kernel for Conv3D {
    fn new(attrs: &Attrs<'_>) -> Result<Conv3D> {
        Ok(Conv3D { spec: Spec::new(attrs, 3)? })
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
    if input.rank() != 5 {
        return Err(invalid_argument!("input must be 5-dimensional"));
    }
    let &[planes, height, width, depth, out_channels] = filter.dims() else {
        return Err(invalid_argument!("filter must be 5-dimensional"));
    };
    let in_channels = input.dims()[spec.layout.channel_axis()];
    if depth == 0 {
        return Err(invalid_argument!("filter_depth must be non-zero"));
    }
    if !in_channels.is_multiple_of(depth) {
        return Err(invalid_argument!(
            "Input depth must be evenly divisible by filter depth: {in_channels} vs {depth}"
        ));
    }
    if filter.num_elements() == 0 {
        return Err(invalid_argument!(
            "filter must not have zero elements (i.e. all dimensions must be non-zero)"
        ));
    }
    let axes = spec.axes(input.dims(), &[planes, height, width])?;
    if in_channels != depth {
        return Err(invalid_argument!(
            "Number of channels in filter ({depth}) must match last dimension of input \
             ({in_channels})"
        ));
    }
    let shape = Conv { batch: input.dims()[0], in_channels, out_channels, groups: 1, axes };
    Shape::new(&spec.output_dims(&shape))?;
    Ok(shape)
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, filter, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let (input_shape, filter_shape) = (g.shape_tensor(input)?, g.shape_tensor(filter)?);
    both(
        g.call_with_attrs("Conv3DBackpropInputV2", [input_shape, filter, grad])?,
        g.call_with_attrs("Conv3DBackpropFilterV2", [input, filter_shape, grad])?,
    )
}

fn filter_gradient(g: &GradientContext<'_>) -> InputGradients {
    of_filter_gradient(g, "Conv3DBackpropInputV2", "Conv3D")
}

fn input_gradient(g: &GradientContext<'_>) -> InputGradients {
    of_input_gradient(g, "Conv3DBackpropFilterV2", "Conv3D")
}
