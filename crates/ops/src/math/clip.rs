//! `ClipByValue`: numbers moved into an interval.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, internal, invalid_argument};

use super::dtypes::T_NUMBER;
use crate::broadcast::{rows_of, zip_rows_reusing};

const TYPES: &[DType] = &[
    DType::BFloat16,
    DType::Complex64,
    DType::Complex128,
    DType::Double,
    DType::Float,
    DType::Half,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
];

pub(super) const OPS: &[Op] = &[Op {
    name: "ClipByValue",
    inputs: &["t: T", "clip_value_min: T", "clip_value_max: T"],
    outputs: &["output: T"],
    attrs: &[T_NUMBER],
    kernels: &[cpu::<ClipByValue>().types("T", TYPES)],
    shape: Some(crate::shapes::unchanged),
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct ClipByValue;

impl Kernel for ClipByValue {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let t = ctx.take_input(0)?;
        let (low, high) = (ctx.take_input(1)?, ctx.take_input(2)?);
        for bound in [&low, &high] {
            if !bound.shape().is_scalar() && bound.shape() != t.shape() {
                return Err(invalid_argument!(
                    "clip_value_min and clip_value_max must be either of the same shape as input, \
                     or a scalar. input shape: {}clip_value_min shape: {}clip_value_max shape: {}",
                    t.shape(),
                    low.shape(),
                    high.shape()
                ));
            }
        }
        let output = match t.dtype() {
            DType::Complex64 => {
                clip::<Complex<f32>>(par, t, low, high, by_parts(min), by_parts(max))?
            }
            DType::Complex128 => {
                clip::<Complex<f64>>(par, t, low, high, by_parts(min), by_parts(max))?
            }
            dtype => dispatch!(
                dtype,
                [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16],
                T => clip::<T>(par, t, low, high, min, max)?,
                else => return Err(internal!("ClipByValue was given a {dtype} tensor"))
            ),
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Lowers to the upper bound, then raises to the lower one.
fn clip<T: Element>(
    par: Parallel,
    t: Tensor,
    low: Tensor,
    high: Tensor,
    min: impl Fn(T, T) -> T + Sync,
    max: impl Fn(T, T) -> T + Sync,
) -> Result<Tensor> {
    let lowered = zip_rows_reusing(par, t, high, &rows_of(min))?;
    zip_rows_reusing(par, lowered, low, &rows_of(max))
}

// Both keep a NaN in the first place.

fn min<T: PartialOrd>(t: T, bound: T) -> T {
    if t > bound { bound } else { t }
}

fn max<T: PartialOrd>(t: T, bound: T) -> T {
    if t < bound { bound } else { t }
}

/// Complex numbers are clipped part by part.
fn by_parts<T: Copy>(f: fn(T, T) -> T) -> impl Fn(Complex<T>, Complex<T>) -> Complex<T> + Sync {
    move |a, b| Complex::new(f(a.re, b.re), f(a.im, b.im))
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (x, low, high, grad) = (g.input(0), g.input(1), g.input(2), g.grad(0)?);
    let zero = g.number_like(0.0, grad)?;
    let below = g.call("Less", [x, low])?;
    let above = g.call("Greater", [x, high])?;
    let outside = g.call("LogicalOr", [below, above])?;
    let dx = g.call("SelectV2", [outside, zero, grad])?;
    let of_low = g.unbroadcast(g.call("SelectV2", [below, grad, zero])?, low, x)?;
    let of_high = g.unbroadcast(g.call("SelectV2", [above, grad, zero])?, high, x)?;
    Ok(vec![Some(dx.into()), Some(of_low.into()), Some(of_high.into())])
}
