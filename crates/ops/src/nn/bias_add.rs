//! `BiasAdd` and its gradient: one value for each channel, added to all values of the channel.

use std::convert::identity;

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
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
        ..Op::DEFAULT
    },
    Op {
        name: "BiasAddV1",
        inputs: &["value: T", "bias: T"],
        outputs: &["output: T"],
        attrs: &["T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, \
             qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"],
        kernels: &[cpu::<BiasAdd>().types("T", NUMBERS)],
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
/// Rows summed before their sum is added to the rest: long sums would lose digits.
const SUMMED_AT_ONCE: usize = 256;

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
                let sums = layout.sum::<T>(par, gradient.values()?);
                Tensor::build(Shape::vector(layout.channels), |out| {
                    for (out, &sum) in out.iter_mut().zip(&sums) {
                        *out = T::narrow(sum);
                    }
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
                        *value = T::narrow(T::add(value.widen(), bias.widen()));
                    }
                }
            });
            return;
        }
        let runs = rows_mut(values, self.outer * self.channels);
        par.for_each(runs, MIN_WORK.div_ceil(self.inner), |range, values| {
            for (index, run) in range.zip(values.data.chunks_exact_mut(self.inner)) {
                let bias = bias[index % self.channels].widen();
                run.iter_mut().for_each(|value| *value = T::narrow(T::add(value.widen(), bias)));
            }
        });
    }

    /// The sum of each channel.
    fn sum<T: Addend>(self, par: Parallel, values: &[T]) -> Vec<T::Sum> {
        let mut total = vec![T::Sum::default(); self.channels];
        if self.is_empty() {
            return total;
        }
        let block = self.channels * self.inner;
        let parts = par.map_ranges(self.outer, MIN_WORK.div_ceil(block), |range| {
            let mut sums = vec![T::Sum::default(); self.channels];
            let mut some = sums.clone();
            let values = &values[range.start * block..range.end * block];
            for blocks in values.chunks(SUMMED_AT_ONCE * block) {
                some.fill(T::Sum::default());
                for block in blocks.chunks_exact(block) {
                    add_block::<T>(&mut some, block, self.inner);
                }
                merge::<T>(&mut sums, &some);
            }
            sums
        });
        parts.iter().for_each(|part| merge::<T>(&mut total, part));
        total
    }
}

fn add_block<T: Addend>(sums: &mut [T::Sum], block: &[T], inner: usize) {
    if inner == 1 {
        for (sum, &value) in sums.iter_mut().zip(block) {
            *sum = T::add(*sum, value.widen());
        }
        return;
    }
    for (sum, run) in sums.iter_mut().zip(block.chunks_exact(inner)) {
        for some in run.chunks(SUMMED_AT_ONCE) {
            *sum = T::add(*sum, sum_run(some));
        }
    }
}

/// Sums adjacent values in several lanes, which the compiler keeps in one vector.
fn sum_run<T: Addend>(values: &[T]) -> T::Sum {
    let mut lanes = [T::Sum::default(); 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = T::add(*lane, value.widen());
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = T::add(*lane, value.widen());
    }
    lanes.into_iter().fold(T::Sum::default(), T::add)
}

fn merge<T: Addend>(total: &mut [T::Sum], part: &[T::Sum]) {
    for (total, &part) in total.iter_mut().zip(part) {
        *total = T::add(*total, part);
    }
}

/// A number that is summed in a type wide enough for long sums; integers wrap.
trait Addend: Element {
    type Sum: Copy + Default + Send + Sync;

    fn widen(self) -> Self::Sum;
    fn narrow(sum: Self::Sum) -> Self;
    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;
}

macro_rules! addends {
    ($($type:ty: $sum:ty, $widen:expr, $narrow:expr, $add:expr;)+) => {$(
        impl Addend for $type {
            type Sum = $sum;

            #[inline(always)]
            fn widen(self) -> $sum {
                $widen(self)
            }

            #[inline(always)]
            fn narrow(sum: $sum) -> $type {
                $narrow(sum)
            }

            #[inline(always)]
            fn add(a: $sum, b: $sum) -> $sum {
                $add(a, b)
            }
        }
    )+};
    (whole: $($type:ty)+ => $add:expr) => {
        addends! { $($type: $type, identity, identity, $add;)+ }
    };
    (wrapping: $($type:ty)+) => {
        addends! { $($type: $type, identity, identity, <$type>::wrapping_add;)+ }
    };
}

addends! { whole: f32 f64 Complex<f32> Complex<f64> => |a, b| a + b }
addends! { wrapping: i8 i16 i32 i64 u8 u16 u32 u64 }
addends! {
    f16: f32, f16::to_f32, f16::from_f32, |a, b| a + b;
    bf16: f32, bf16::to_f32, bf16::from_f32, |a, b| a + b;
}
