//! `Range` and `LinSpace`: evenly spaced numbers.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, ShapeContext, cpu, no_gradient};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{
    DType, Element, Error, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use super::dtypes::{INDICES, T_REAL, WIDE_REALS};
use tensorfleet_tensor::PartialShape;

const RANGES: &[DType] =
    &[DType::BFloat16, DType::Half, DType::Float, DType::Double, DType::Int32, DType::Int64];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "LinSpace",
        inputs: &["start: T", "stop: T", "num: Tidx"],
        outputs: &["output: T"],
        attrs: &[T_REAL, "Tidx: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<LinSpace>().types("T", WIDE_REALS).types("Tidx", INDICES)],
        shape: Some(linspace_shape),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Range",
        inputs: &["start: Tidx", "limit: Tidx", "delta: Tidx"],
        outputs: &["output: Tidx"],
        attrs: &[
            "Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, \
             uint64} = DT_INT32",
        ],
        kernels: &[cpu::<Range>().types("Tidx", RANGES)],
        shape: Some(range_shape),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Range;

impl Kernel for Range {
    fn new(_: &Attrs<'_>) -> Result<Range> {
        Ok(Range)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        for (number, name) in ["start", "limit", "delta"].into_iter().enumerate() {
            let input = ctx.input(number)?;
            // TensorFlow's old programs pass vectors of one.
            if input.rank() > 1 || input.num_elements() != 1 {
                return Err(not_scalar(name, input));
            }
        }
        let par = Parallel::new(ctx.parallelism());
        let (start, limit, delta) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let range = dispatch!(
            start.dtype(),
            [f32, f64, f16, bf16, i32, i64],
            T => range::<T>(par, start.scalar_value()?, limit.scalar_value()?, delta.scalar_value()?)?,
            else => return Err(internal!("Range was given {} tensors", start.dtype()))
        );
        ctx.set_output(0, range);
        Ok(())
    }
}

fn not_scalar(name: &str, input: &Tensor) -> Error {
    invalid_argument!("{name} must be a scalar, not shape {}", input.shape())
}

fn range<T: Spaced>(par: Parallel, start: T, limit: T, delta: T) -> Result<Tensor> {
    if delta == T::default() {
        return Err(invalid_argument!("Requires delta != 0: {delta}"));
    }
    if delta > T::default() {
        // Written so that a NaN is refused.
        if start.partial_cmp(&limit).is_none_or(|order| order.is_gt()) {
            return Err(invalid_argument!(
                "Requires start <= limit when delta > 0: {start}/{limit}"
            ));
        }
    } else if start.partial_cmp(&limit).is_none_or(|order| order.is_lt()) {
        return Err(invalid_argument!("Requires start >= limit when delta < 0: {start}/{limit}"));
    }
    let size = T::count(start, limit, delta)
        .ok_or_else(|| invalid_argument!("Requires ((limit - start) / delta) <= {}", i64::MAX))?;
    Tensor::build(Shape::new(&[size])?, |out: &mut [T]| {
        par.for_each(out, 64 * 1024, |range, out| {
            out.iter_mut().zip(range).for_each(|(out, i)| *out = T::at(start, delta, i));
        });
    })
}

/// A number of which there are ranges.
trait Spaced: Element + PartialOrd + std::fmt::Display {
    /// How many steps of `delta` lead from `start` to `limit`, if not too many.
    fn count(start: Self, limit: Self, delta: Self) -> Option<usize>;

    /// `start + index * delta`.
    fn at(start: Self, delta: Self, index: usize) -> Self;
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Spaced for $type {
            fn count(start: Self, limit: Self, delta: Self) -> Option<usize> {
                let size = limit.abs_diff(start).div_ceil(delta.unsigned_abs());
                i64::try_from(size).ok().map(|size| size as usize)
            }

            fn at(start: Self, delta: Self, index: usize) -> Self {
                start.wrapping_add(delta.wrapping_mul(index as $type))
            }
        }
    )+};
}

integers!(i32 i64);

/// The steps between reals, if an `i64` can count them.
fn real_count(steps: f64) -> Option<usize> {
    let steps = steps.abs().ceil();
    (steps < i64::MAX as f64).then_some(steps as usize)
}

impl Spaced for f64 {
    fn count(start: f64, limit: f64, delta: f64) -> Option<usize> {
        real_count((limit - start) / delta)
    }

    fn at(start: f64, delta: f64, index: usize) -> f64 {
        start + index as f64 * delta
    }
}

impl Spaced for f32 {
    fn count(start: f32, limit: f32, delta: f32) -> Option<usize> {
        real_count(((limit - start) / delta).into())
    }

    fn at(start: f32, delta: f32, index: usize) -> f32 {
        start + index as f32 * delta
    }
}

macro_rules! halves {
    ($($type:ty)+) => {$(
        impl Spaced for $type {
            fn count(start: Self, limit: Self, delta: Self) -> Option<usize> {
                real_count(((limit - start) / delta).into())
            }

            fn at(start: Self, delta: Self, index: usize) -> Self {
                start + <$type>::from_f32(index as f32) * delta
            }
        }
    )+};
}

halves!(f16 bf16);

#[derive(Debug)]
struct LinSpace;

impl Kernel for LinSpace {
    fn new(_: &Attrs<'_>) -> Result<LinSpace> {
        Ok(LinSpace)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        for (number, name) in ["start", "stop", "num"].into_iter().enumerate() {
            let input = ctx.input(number)?;
            if !input.shape().is_scalar() {
                return Err(not_scalar(name, input));
            }
        }
        let (start, stop) = (ctx.input(0)?, ctx.input(1)?);
        let count = ctx.input(2)?.to_i64_vec()?[0];
        if count <= 0 {
            return Err(invalid_argument!("Requires num > 0: {count}"));
        }
        let shape = Shape::from_signed(&[count])?;
        let spaced = dispatch!(
            start.dtype(),
            [f32, f64],
            T => {
                let (start, stop): (T, T) = (start.scalar_value()?, stop.scalar_value()?);
                Tensor::build(shape, |out: &mut [T]| {
                    let last = out.len() - 1;
                    let step = (stop - start) / last as T;
                    let at = |(i, out): (usize, &mut T)| *out = start + step * i as T;
                    out.iter_mut().enumerate().for_each(at);
                    // The end is exact; a single number is the start.
                    out[last] = if last == 0 { start } else { stop };
                })?
            },
            else => return Err(internal!("LinSpace was given {} tensors", start.dtype()))
        );
        ctx.set_output(0, spaced);
        Ok(())
    }
}

fn linspace_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let count = c.constant_ints(2).and_then(|count| usize::try_from(*count.first()?).ok());
    Ok(vec![PartialShape::known([count])])
}

fn range_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let bound = |index| c.constant_ints(index).and_then(|bound| bound.first().copied());
    let length = match (bound(0), bound(1), bound(2)) {
        (Some(start), Some(limit), Some(delta)) if delta != 0 => {
            let span = i128::from(limit) - i128::from(start);
            let steps = span / i128::from(delta) + i128::from(span % i128::from(delta) != 0);
            usize::try_from(steps.max(0)).ok()
        }
        _ => None,
    };
    Ok(vec![PartialShape::known([length])])
}
