//! `BiasAdd` and its gradient: one value for each channel, added to all values of the channel.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::gradient::{both, only};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_kernels::reduce::{Axes, Sum, reduce};
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor, dispatch, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BiasAdd",
        inputs: &["value: T", "bias: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, \
             qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        ],
        kernels: &[cpu::<BiasAdd>().types("T", NUMBERS)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "BiasAddGrad",
        inputs: &["out_backprop: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, \
             qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        ],
        kernels: &[cpu::<BiasAddGrad>().types("T", NUMBERS)],
        gradient: Some(grad_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "BiasAddV1",
        inputs: &["value: T", "bias: T"],
        outputs: &["output: T"],
        attrs: &["T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, \
             qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"],
        kernels: &[cpu::<BiasAdd>().types("T", NUMBERS)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

const NUMBERS: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Half,
    DType::BFloat16,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
    DType::Complex64,
    DType::Complex128,
];

/// Elements below which another thread is not worth waking.
const MIN_WORK: usize = 32 * 1024;

#[derive(Debug)]
struct BiasAdd {
    channels_first: bool,
}

impl Kernel for BiasAdd {
    fn new(attrs: &Attrs<'_>) -> Result<BiasAdd> {
        Ok(BiasAdd { channels_first: channels_first(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let bias = ctx.input(1)?.clone();
        let value = ctx.input(0)?;
        let layout = Layout::of(value.shape(), self.channels_first)?;
        if bias.rank() != 1 {
            return Err(invalid_argument!("Biases must be 1D: {}", bias.shape()));
        }
        if bias.num_elements() != layout.channels {
            return Err(invalid_argument!(
                "Must provide as many biases as the last dimension of the input tensor: {} vs. {}",
                bias.shape(),
                value.shape()
            ));
        }
        let mut value = ctx.take_input(0)?;
        dispatch!(
            value.dtype(),
            [
                f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64,
                Complex<f32>, Complex<f64>,
            ],
            T => layout.add::<T>(par, value.values_mut()?, bias.values()?),
            else => return Err(super::unsupported(value.dtype()))
        );
        ctx.set_output(0, value);
        Ok(())
    }
}

#[derive(Debug)]
struct BiasAddGrad {
    channels_first: bool,
}

impl Kernel for BiasAddGrad {
    fn new(attrs: &Attrs<'_>) -> Result<BiasAddGrad> {
        Ok(BiasAddGrad { channels_first: channels_first(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let gradient = ctx.input(0)?;
        let layout = Layout::of(gradient.shape(), self.channels_first)?;
        let result = dispatch!(
            gradient.dtype(),
            [
                f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64,
                Complex<f32>, Complex<f64>,
            ],
            T => {
                let values = gradient.values::<T>()?;
                let axes = Axes::new(&[layout.outer, layout.channels, layout.inner], |axis| axis != 1);
                Tensor::build(Shape::vector(layout.channels), |out| {
                    reduce::<Sum, T>(par, values, &axes, out);
                })
            },
            else => Err(super::unsupported(gradient.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

/// `BiasAddV1` has no such attribute: its channels are last.
fn channels_first(attrs: &Attrs<'_>) -> Result<bool> {
    Ok(attrs.get("data_format").is_some() && attrs.string("data_format")? == "NCHW")
}

/// A tensor as `outer` blocks of `channels` runs of `inner` adjacent values.
#[derive(Clone, Copy, Debug)]
struct Layout {
    outer: usize,
    channels: usize,
    inner: usize,
}

impl Layout {
    fn of(shape: &Shape, channels_first: bool) -> Result<Layout> {
        let dims = shape.dims();
        if dims.len() < 2 {
            return Err(invalid_argument!("Input tensor must be at least 2D: {shape}"));
        }
        let axis = if channels_first { 1 } else { dims.len() - 1 };
        Ok(Layout {
            outer: dims[..axis].iter().product(),
            channels: dims[axis],
            inner: dims[axis + 1..].iter().product(),
        })
    }

    fn is_empty(self) -> bool {
        self.outer == 0 || self.channels == 0 || self.inner == 0
    }

    fn add<T: Addend>(self, par: Parallel, values: &mut [T], bias: &[T]) {
        if self.is_empty() {
            return;
        }
        if self.inner == 1 {
            let min_rows = MIN_WORK.div_ceil(self.channels);
            par.for_each(rows_mut(values, self.outer), min_rows, |_, values| {
                for row in values.data.chunks_exact_mut(self.channels) {
                    for (value, &bias) in row.iter_mut().zip(bias) {
                        *value = value.plus(bias);
                    }
                }
            });
            return;
        }
        let runs = rows_mut(values, self.outer * self.channels);
        par.for_each(runs, MIN_WORK.div_ceil(self.inner), |range, values| {
            for (index, run) in range.zip(values.data.chunks_exact_mut(self.inner)) {
                let bias = bias[index % self.channels];
                run.iter_mut().for_each(|value| *value = value.plus(bias));
            }
        });
    }
}

/// A number with a sum; integers wrap.
trait Addend: Element {
    fn plus(self, other: Self) -> Self;
}

macro_rules! addends {
    ($($type:ty)+ => |$a:ident, $b:ident| $sum:expr) => {$(
        impl Addend for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sum
            }
        }
    )+};
}

addends!(f32 f64 Complex<f32> Complex<f64> => |a, b| a + b);
addends!(i8 i16 i32 i64 u8 u16 u32 u64 => |a, b| a.wrapping_add(b));
addends!(f16 bf16 => |a, b| Self::from_f32(a.to_f32() + b.to_f32()));

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    both(grad, g.call_with_attrs("BiasAddGrad", [grad])?)
}

/// What was summed over all positions of a channel goes back to each.
fn grad_gradient(g: &GradientContext<'_>) -> InputGradients {
    let zeros = g.zeros_like(g.input(0))?;
    only(g.call_with_attrs("BiasAdd", [zeros, g.grad(0)?])?)
}
