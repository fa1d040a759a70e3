//! Convolutions with what follows them: biases, batch normalisation, sums and activations.
//!
//! Clients do not write these ops; rewriting passes put them in the place of several.

use half::{bf16, f16};
use num_traits::{Float, One, Zero};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::elementwise::{
    Elu, Relu, Relu6, Sigmoid, Tanh, map_in_place, unary_in_place, zip_in_place,
};
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_kernels::{Parallel, Real, Wide};
use tensorfleet_tensor::{
    DType, Element, Result, Tensor, dispatch, invalid_argument, unimplemented_error,
};

use super::super::layout::channels_last;
use super::super::unsupported;
use super::super::window::Padding;
use super::{Spec, conv2d, conv3d, depthwise};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "_FusedConv2D",
        inputs: &["input: T", "filter: T", "args: TArgs", "host_args: num_host_args * float"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, float, double, int8, qint8}",
            "TArgs: list(type) >= 1",
            "num_args: int >= 0",
            "num_host_args: int >= 0 = 0",
            "strides: list(int)",
            "padding: {'SAME', 'VALID', 'EXPLICIT'}",
            "explicit_paddings: list(int) = []",
            "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
            "filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO'",
            "dilations: list(int) = [1, 1, 1, 1]",
            "use_cudnn_on_gpu: bool = true",
            "fused_ops: list(string) = []",
            "epsilon: float = 1e-04",
            "leakyrelu_alpha: float = 0.2",
        ],
        kernels: &[cpu::<FusedConv>().types("T", &[DType::Half, DType::Float, DType::Double])],
        differs: conv2d::DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "_FusedConv3D",
        inputs: &["input: T", "filter: T", "args: num_args * T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, float, half}",
            "num_args: int >= 0",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "dilations: list(int) = [1, 1, 1, 1, 1]",
            "padding_list: list(int) = []",
            "fused_ops: list(string) = []",
            "epsilon: float = 1e-04",
            "leakyrelu_alpha: float = 0.2",
        ],
        kernels: &[cpu::<FusedConv>()],
        ..Op::DEFAULT
    },
    Op {
        name: "_FusedDepthwiseConv2dNative",
        inputs: &["input: T", "filter: T", "args: num_args * T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double}",
            "num_args: int >= 0",
            "strides: list(int)",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "dilations: list(int) = [1, 1, 1, 1]",
            "fused_ops: list(string) = []",
            "epsilon: float = 1e-04",
            "leakyrelu_alpha: float = 0.2",
        ],
        kernels: &[cpu::<FusedConv>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct FusedConv {
    kind: Kind,
    then: Vec<Then>,
}

#[derive(Debug)]
enum Kind {
    Images(Spec),
    Volumes(Spec),
    Depthwise(depthwise::Spec),
}

/// Something done to the result of a convolution.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    /// Adds an argument to every pixel.
    Bias,
    /// Normalises each channel, by four arguments.
    BatchNorm {
        epsilon: f32,
    },
    /// Adds an argument of the same shape.
    Add,
    Relu,
    Relu6,
    Elu,
    LeakyRelu {
        alpha: f32,
    },
    Sigmoid,
    Tanh,
}

impl Then {
    fn named(name: &[u8], attrs: &Attrs<'_>) -> Result<Then> {
        Ok(match name {
            b"BiasAdd" => Then::Bias,
            b"FusedBatchNorm" => Then::BatchNorm { epsilon: attrs.float("epsilon")? },
            b"Add" => Then::Add,
            b"Relu" => Then::Relu,
            b"Relu6" => Then::Relu6,
            b"Elu" => Then::Elu,
            b"LeakyRelu" => Then::LeakyRelu { alpha: attrs.float("leakyrelu_alpha")? },
            b"Sigmoid" => Then::Sigmoid,
            b"Tanh" => Then::Tanh,
            _ => {
                let names = attrs.strings("fused_ops")?.iter();
                let names: Vec<_> = names.map(|name| String::from_utf8_lossy(name)).collect();
                return Err(unimplemented_error!(
                    "Fusion is not implemented: [{}]",
                    names.join(",")
                ));
            }
        })
    }

    /// The number of arguments it takes.
    fn arguments(self) -> usize {
        match self {
            Then::Bias | Then::Add => 1,
            Then::BatchNorm { .. } => 4,
            _ => 0,
        }
    }
}

impl Kernel for FusedConv {
    fn new(attrs: &Attrs<'_>) -> Result<FusedConv> {
        let kind = match attrs.op() {
            "_FusedConv2D" => {
                let format = attrs.string("filter_format")?;
                if format != "HWIO" {
                    return Err(unimplemented_error!("no filters of format {format} on the CPU"));
                }
                Kind::Images(Spec::new(attrs, 2)?)
            }
            "_FusedConv3D" => {
                let mut spec = Spec::new(attrs, 3)?;
                let around = attrs.ints("padding_list")?;
                if !around.is_empty() {
                    spec.padding = Padding::explicit(around, spec.layout)?;
                }
                Kind::Volumes(spec)
            }
            _ => Kind::Depthwise(depthwise::Spec::new(attrs)?),
        };
        let then = attrs.strings("fused_ops")?;
        let then: Vec<Then> =
            then.iter().map(|name| Then::named(name, attrs)).collect::<Result<_>>()?;
        if then.is_empty() {
            return Err(invalid_argument!(
                "Fused {} must have at least one fused op.",
                attrs.op().trim_start_matches("_Fused")
            ));
        }
        let wanted: usize = then.iter().map(|then| then.arguments()).sum();
        let given = attrs.int("num_args")?;
        if i64::try_from(wanted) != Ok(given) {
            return Err(invalid_argument!(
                "Fused {} expects {wanted} extra inputs, got {given}",
                attrs.op().trim_start_matches("_Fused")
            ));
        }
        Ok(FusedConv { kind, then })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (input, filter) = (ctx.input(0)?, ctx.input(1)?);
        let layout = match &self.kind {
            Kind::Images(spec) | Kind::Volumes(spec) => spec.layout,
            Kind::Depthwise(spec) => spec.layout(),
        };
        let mut result = match &self.kind {
            Kind::Images(spec) => {
                spec.convolve(par, &conv2d::check(spec, input, filter)?, input, filter)?
            }
            Kind::Volumes(spec) => {
                spec.convolve(par, &conv3d::check(spec, input, filter)?, input, filter)?
            }
            Kind::Depthwise(spec) => spec.convolve(par, input, filter)?,
        };
        let mut next = 2;
        for then in &self.then {
            let first = next;
            next += then.arguments();
            let mut args = ctx.input_list(first..next)?;
            let turned;
            if *then == Then::Add {
                turned = channels_last(par, args[0], layout)?;
                args[0] = &turned;
            }
            dispatch!(
                result.dtype(),
                [f32, f64, f16, bf16],
                T => apply::<T>(par, *then, &args, &mut result)?,
                else => return Err(unsupported(result.dtype()))
            );
        }
        let result = super::from_channels_last(par, result, layout)?;
        ctx.set_output(0, result);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        super::cost(inputs.first(), inputs.get(1))
    }
}

fn apply<T: Real + Element>(
    par: Parallel,
    then: Then,
    args: &[&Tensor],
    result: &mut Tensor,
) -> Result<()> {
    let channels = result.dims().last().copied().unwrap_or(1);
    match then {
        Then::Bias => {
            let bias = per_channel::<T>("bias", args[0], channels)?;
            let scale = vec![T::Wide::one(); channels];
            scale_and_shift(par, result.values_mut::<T>()?, &scale, &bias);
        }
        Then::BatchNorm { epsilon } => {
            let epsilon = T::Wide::of(epsilon.into());
            let [mut scale, mut shift, mean, variance] = [
                per_channel::<T>("scale", args[0], channels)?,
                per_channel::<T>("offset", args[1], channels)?,
                per_channel::<T>("estimated mean", args[2], channels)?,
                per_channel::<T>("estimated variance", args[3], channels)?,
            ];
            for channel in 0..channels {
                scale[channel] = scale[channel] * (variance[channel] + epsilon).sqrt().recip();
                shift[channel] = shift[channel] - mean[channel] * scale[channel];
            }
            scale_and_shift(par, result.values_mut::<T>()?, &scale, &shift);
        }
        Then::Add => {
            if args[0].shape() != result.shape() {
                return Err(invalid_argument!(
                    "cannot add a tensor of shape {} to a convolution of shape {}",
                    args[0].shape(),
                    result.shape()
                ));
            }
            let other = args[0].values::<T>()?;
            zip_in_place(par, result.values_mut::<T>()?, other, |a: T, b: T| {
                T::narrow(a.widen() + b.widen())
            });
        }
        Then::Relu => unary_in_place::<Relu, T>(par, result.values_mut()?),
        Then::Relu6 => unary_in_place::<Relu6, T>(par, result.values_mut()?),
        Then::Elu => unary_in_place::<Elu, T>(par, result.values_mut()?),
        Then::Sigmoid => unary_in_place::<Sigmoid, T>(par, result.values_mut()?),
        Then::Tanh => unary_in_place::<Tanh, T>(par, result.values_mut()?),
        Then::LeakyRelu { alpha } => {
            let alpha = T::narrow(T::Wide::of(alpha.into())).widen();
            map_in_place(par, result.values_mut::<T>()?, |x: T| {
                let wide = x.widen();
                if wide > T::Wide::zero() { x } else { T::narrow(wide * alpha) }
            });
        }
    }
    Ok(())
}

/// An argument with a value for each channel.
fn per_channel<T: Real + Element>(
    name: &str,
    arg: &Tensor,
    channels: usize,
) -> Result<Vec<T::Wide>> {
    if arg.rank() != 1 {
        return Err(invalid_argument!("{name} must be 1-dimensional{}", arg.shape()));
    }
    if arg.num_elements() != channels {
        return Err(invalid_argument!(
            "{name} depth must be equal to output depth: {} vs {channels}",
            arg.num_elements()
        ));
    }
    Ok(arg.values::<T>()?.iter().map(|value| value.widen()).collect())
}

/// `x = x * scale + shift` for each pixel.
fn scale_and_shift<T: Real>(par: Parallel, values: &mut [T], scale: &[T::Wide], shift: &[T::Wide]) {
    let channels = scale.len();
    if values.is_empty() {
        return;
    }
    let pixels = values.len() / channels;
    par.for_each(rows_mut(values, pixels), (16 * 1024usize).div_ceil(channels), |_, values| {
        for pixel in values.data.chunks_exact_mut(channels) {
            for (value, (&scale, &shift)) in pixel.iter_mut().zip(scale.iter().zip(shift)) {
                *value = T::narrow(value.widen() * scale + shift);
            }
        }
    });
}
