//! `IsotonicRegression`: the nearest row that never rises, by least squares.
//!
//! Neighbours that rise are pooled to their mean until none do.

use half::{bf16, f16};
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::{rows, rows_mut};
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, invalid_argument};

use DType::{BFloat16, Double, Float, Half, Int8, Int16, Int32, Int64};

pub(super) const OPS: &[Op] = &[Op {
    name: "IsotonicRegression",
    inputs: &["input: T"],
    outputs: &["output: output_dtype", "segments: int32"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, \
         uint64}",
        "output_dtype: {half, bfloat16, float, double} = DT_FLOAT",
    ],
    kernels: &[
        cpu::<Isotonic>().types("T", &[Float, Int8, Int16]).types("output_dtype", &[Float]),
        cpu::<Isotonic>().types("T", &[Double, Int32, Int64]).types("output_dtype", &[Double]),
        cpu::<Isotonic>().types("T", &[Half]).types("output_dtype", &[Half]),
        cpu::<Isotonic>().types("T", &[BFloat16]).types("output_dtype", &[BFloat16]),
    ],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

/// Elements below which another thread is not worth waking.
const MIN_WORK: usize = 8 * 1024;

#[derive(Debug)]
struct Isotonic;

impl Kernel for Isotonic {
    fn new(_: &Attrs<'_>) -> Result<Isotonic> {
        Ok(Isotonic)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let (output, segments) = match input.dtype() {
            Float => regress(par, input, |v: f32| f64::from(v), |v| v as f32),
            Double => regress(par, input, |v: f64| v, |v| v),
            Half => regress(par, input, |v: f16| v.to_f64(), f16::from_f64),
            BFloat16 => regress(par, input, |v: bf16| v.to_f64(), bf16::from_f64),
            _ => dispatch!(
                input.dtype(),
                [i8, i16],
                T => regress(par, input, |v: T| f64::from(v), |v| v as f32),
                else => dispatch!(
                    input.dtype(),
                    [i32, i64],
                    T => regress(par, input, |v: T| v as f64, |v| v),
                    else => Err(invalid_argument!("no regression of {}", input.dtype()))
                )
            ),
        }?;
        ctx.set_output(0, output);
        ctx.set_output(1, segments);
        Ok(())
    }
}

/// Values that share a level.
struct Pool {
    sum: f64,
    count: usize,
}

impl Pool {
    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

fn regress<T: Element, O: Element>(
    par: Parallel,
    input: &Tensor,
    widen: impl Fn(T) -> f64 + Sync,
    narrow: impl Fn(f64) -> O + Sync,
) -> Result<(Tensor, Tensor)> {
    let mut output = Tensor::for_overwrite::<O>(input.shape().clone())?;
    let mut segments = Tensor::for_overwrite::<i32>(input.shape().clone())?;
    let columns = input.dims().last().copied().unwrap_or(1);
    if input.num_elements() == 0 {
        return Ok((output, segments));
    }
    let count = input.num_elements() / columns;
    let work = (
        rows(input.values::<T>()?, count),
        rows_mut(output.values_mut::<O>()?, count),
        rows_mut(segments.values_mut::<i32>()?, count),
    );
    par.for_each(work, MIN_WORK.div_ceil(columns), |_, (input, output, segments)| {
        let mut pools: Vec<Pool> = Vec::new();
        let outputs = output.data.chunks_exact_mut(columns);
        let outputs = outputs.zip(segments.data.chunks_exact_mut(columns));
        for (row, (output, segments)) in input.data.chunks_exact(columns).zip(outputs) {
            pools.clear();
            for &value in row {
                let mut pool = Pool { sum: widen(value), count: 1 };
                while let Some(last) = pools.pop_if(|last| last.mean() < pool.mean()) {
                    pool = Pool { sum: pool.sum + last.sum, count: pool.count + last.count };
                }
                pools.push(pool);
            }
            let mut at = 0;
            for (number, pool) in pools.iter().enumerate() {
                output[at..at + pool.count].fill(narrow(pool.mean()));
                segments[at..at + pool.count].fill(number as i32);
                at += pool.count;
            }
        }
    });
    Ok((output, segments))
}

/// The elements of a segment all move with its mean. Segments are numbered by row, so that those of
/// all rows are told apart by adding the row's length times its number.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (grad, segments) = (g.grad(0)?, g.output(1));
    let shape = g.shape_tensor(grad)?;
    let (zero, one) = (g.scalar(0i32)?, g.scalar(1i32)?);
    let rows = g.call("GatherV2", [shape, zero, zero])?;
    let length = g.call("GatherV2", [shape, one, zero])?;
    let starts = g.mul(g.call("Range", [zero, rows, one])?, length)?;
    let ids = g.add2(segments, g.call("ExpandDims", [starts, one])?)?;
    let count = g.mul(rows, length)?;
    let sums = g.call("UnsortedSegmentSum", [grad, ids, count])?;
    let sizes = g.call("UnsortedSegmentSum", [g.ones_like(grad)?, ids, count])?;
    let means = g.call("DivNoNan", [sums, sizes])?;
    let spread = g.call("GatherV2", [means, ids, zero])?;
    only(g.cast(spread, g.dtype(g.input(0)))?)
}
