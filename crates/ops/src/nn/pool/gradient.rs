//! The gradients of maxima, and the gradients of those.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::pool::{self, Pool, Ties};
use tensorfleet_tensor::{Result, Tensor, dispatch, invalid_argument};

use super::super::layout::{channels_last, from_channels_last};
use super::super::{REAL_NUMBERS, unsupported};
use super::VOLUME_TYPES;
use super::places::for_each_place;
use super::spec::Spec;
use crate::sparse::number::{Real, for_real};

const GRAD: &[KernelDef] = &[cpu::<MaxPoolGrad>().types("T", REAL_NUMBERS)];
const GRAD_GRAD: &[KernelDef] = &[cpu::<MaxPoolGradGrad>().types("T", REAL_NUMBERS)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "MaxPool3DGrad",
        inputs: &["orig_input: TInput", "orig_output: TInput", "grad: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 5",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "T: {half, bfloat16, float} = DT_FLOAT",
            "TInput: {half, bfloat16, float} = DT_FLOAT",
        ],
        kernels: &[cpu::<MaxPoolGrad>().types("T", VOLUME_TYPES).types("TInput", VOLUME_TYPES)],
        gradient: Some(next_order),
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPool3DGradGrad",
        inputs: &["orig_input: T", "orig_output: T", "grad: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 5",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: &[cpu::<MaxPoolGradGrad>().types("T", VOLUME_TYPES)],
        gradient: Some(next_order),
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPoolGrad",
        inputs: &["orig_input: T", "orig_output: T", "grad: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID', 'EXPLICIT'}",
            "explicit_paddings: list(int) = []",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64} = DT_FLOAT",
        ],
        kernels: GRAD,
        gradient: Some(next_order),
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPoolGradGrad",
        inputs: &["orig_input: T", "orig_output: T", "grad: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: GRAD_GRAD,
        gradient: Some(next_order),
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPoolGradGradV2",
        inputs: &["orig_input: T", "orig_output: T", "grad: T", "ksize: int32", "strides: int32"],
        outputs: &["output: T"],
        attrs: &[
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: GRAD_GRAD,
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPoolGradV2",
        inputs: &["orig_input: T", "orig_output: T", "grad: T", "ksize: int32", "strides: int32"],
        outputs: &["output: T"],
        attrs: &[
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64} = DT_FLOAT",
        ],
        kernels: GRAD,
        gradient: Some(next_order),
        ..Op::DEFAULT
    },
];

/// Refuses a tensor that is no batch of images or volumes.
fn check_rank(spec: &Spec, tensors: &[(&str, &Tensor)]) -> Result<()> {
    let rank = spec.layout.rank();
    match tensors.iter().find(|(_, tensor)| tensor.rank() != rank) {
        Some((name, _)) => Err(invalid_argument!("{name} must be {rank}-dimensional")),
        None => Ok(()),
    }
}

#[derive(Debug)]
struct MaxPoolGrad(Spec);

impl Kernel for MaxPoolGrad {
    fn new(attrs: &Attrs<'_>) -> Result<MaxPoolGrad> {
        Spec::new(attrs).map(MaxPoolGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let spec = &self.0;
        let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let tensors = [("tensor_in", input), ("tensor_out", output), ("out_backprop", gradient)];
        check_rank(spec, &tensors)?;
        let windows = spec.windows(ctx, 3)?.into_owned().within_space("MaxPoolingGrad")?;
        let pool = spec.pool(&windows, input.dims())?;
        spec.check_outputs(&pool, &[("orig_output", output), ("grad", gradient)])?;
        if input.dtype() != gradient.dtype() {
            return Err(invalid_argument!(
                "a {} gradient of the maxima of {} values",
                gradient.dtype(),
                input.dtype()
            ));
        }
        let input = channels_last(par, input, spec.layout)?;
        let gradient = channels_last(par, gradient, spec.layout)?;
        let shape = spec.last(&pool, true)?;
        let result = if spec.layout.spatial == 3 {
            let output = channels_last(par, output, spec.layout)?;
            for_real!(input.dtype(), T => {
                let (values, maxima) = (input.values::<T>()?, output.values::<T>()?);
                let gradient = gradient.values::<T>()?;
                Tensor::build(shape, |out| to_all_maxima(&pool, values, maxima, gradient, out))
            })?
        } else if input.dtype().is_floating() {
            dispatch!(
                input.dtype(),
                [f32, f64, f16, bf16],
                T => {
                    let (values, gradient) = (input.values::<T>()?, gradient.values::<T>()?);
                    Tensor::build(shape, |out| {
                        pool::max_pool_grad(par, &pool, Ties::First, values, gradient, out);
                    })
                },
                else => Err(unsupported(input.dtype()))
            )?
        } else {
            for_real!(input.dtype(), T => {
                let (values, gradient) = (input.values::<T>()?, gradient.values::<T>()?);
                Tensor::build(shape, |out| to_first_maxima(&pool, values, gradient, out))
            })?
        };
        let result = from_channels_last(par, result, spec.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }
}

/// Adds the gradient of each window to the first of its largest values.
fn to_first_maxima<T: Real>(pool: &Pool, values: &[T], gradient: &[T], out: &mut [T]) {
    out.fill(T::default());
    let mut best = vec![0; pool.channels];
    for_each_place(pool, |place| {
        place.first_maxima(values, &mut best);
        let gradient = &gradient[place.output * pool.channels..];
        for (channel, (&pixel, &gradient)) in best.iter().zip(gradient).enumerate() {
            let out = &mut out[pixel * pool.channels + channel];
            *out = out.plus(gradient);
        }
    });
}

/// Adds the gradient of each window to all values that are equal to its maximum.
fn to_all_maxima<T: Real>(pool: &Pool, values: &[T], maxima: &[T], gradient: &[T], out: &mut [T]) {
    out.fill(T::default());
    let channels = pool.channels;
    for_each_place(pool, |place| {
        let window = place.output * channels..(place.output + 1) * channels;
        for pixel in place.pixels() {
            let at = pixel * channels..(pixel + 1) * channels;
            let sources = values[at.clone()].iter().zip(&maxima[window.clone()]);
            let sources = sources.zip(&gradient[window.clone()]);
            for (((value, best), &gradient), out) in sources.zip(&mut out[at]) {
                if value == best {
                    *out = out.plus(gradient);
                }
            }
        }
    });
}

/// Picks, for each window, the gradient of the first value that is its maximum.
#[derive(Debug)]
struct MaxPoolGradGrad(Spec);

impl Kernel for MaxPoolGradGrad {
    fn new(attrs: &Attrs<'_>) -> Result<MaxPoolGradGrad> {
        Spec::new(attrs).map(MaxPoolGradGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let spec = &self.0;
        let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let tensors =
            [("tensor_in", input), ("tensor_out", output), ("out_grad_backprop", gradient)];
        check_rank(spec, &tensors)?;
        let windows = spec.windows(ctx, 3)?.into_owned().within_space("MaxPoolingGradGrad")?;
        let pool = spec.pool(&windows, input.dims())?;
        spec.check_outputs(&pool, &[("orig_output", output)])?;
        if gradient.shape() != input.shape() {
            return Err(invalid_argument!(
                "Expected grad shape to be {}, but got {}",
                input.shape(),
                gradient.shape()
            ));
        }
        let [input, output, gradient] =
            [input, output, gradient].map(|tensor| channels_last(par, tensor, spec.layout));
        let (input, output, gradient) = (input?, output?, gradient?);
        let result = for_real!(input.dtype(), T => {
            let (values, maxima) = (input.values::<T>()?, output.values::<T>()?);
            let gradient = gradient.values::<T>()?;
            Tensor::build(spec.last(&pool, false)?, |out| {
                from_first_maxima(&pool, values, maxima, gradient, out);
            })
        })?;
        let result = from_channels_last(par, result, spec.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }
}

fn from_first_maxima<T: Real>(
    pool: &Pool,
    values: &[T],
    maxima: &[T],
    gradient: &[T],
    out: &mut [T],
) {
    let channels = pool.channels;
    for_each_place(pool, |place| {
        for channel in 0..channels {
            let at = place.output * channels + channel;
            let equal = |pixel: &usize| values[pixel * channels + channel] == maxima[at];
            let found = place.pixels().find(equal);
            out[at] = found.map_or(T::default(), |pixel| gradient[pixel * channels + channel]);
        }
    });
}

/// Where the maxima are does not change, so each order is the other of the two ops on the gradient.
fn next_order(g: &GradientContext<'_>) -> InputGradients {
    let op = match &*g.node().op {
        "MaxPool3DGrad" => "MaxPool3DGradGrad",
        "MaxPool3DGradGrad" => "MaxPool3DGrad",
        "MaxPoolGrad" => "MaxPoolGradGrad",
        "MaxPoolGradV2" => "MaxPoolGradGradV2",
        _ => "MaxPoolGrad",
    };
    let mut node = NewNode::new(op).input(g.input(0)).input(g.input(1)).input(g.grad(0)?);
    for &size in g.inputs(3..g.num_inputs()) {
        node = node.input(size);
    }
    let gradient = g.out(g.with_attrs_of(node)?)?;
    let mut gradients = vec![None; g.num_inputs()];
    gradients[2] = Some(gradient.into());
    Ok(gradients)
}
