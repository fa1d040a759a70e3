//! `HistogramFixedWidth`: how many values fall in each of equal intervals.

use std::fmt;
use std::ops::Range;

use num_traits::AsPrimitive;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use super::dtypes::INDICES;

/// Values below which another thread is not worth waking.
const MIN_VALUES: usize = 32 * 1024;
/// Values whose places are found at a time.
const BLOCK: usize = 512;

const TYPES: &[DType] = &[DType::Int32, DType::Int64, DType::Float, DType::Double];

pub(super) const OPS: &[Op] = &[Op {
    name: "HistogramFixedWidth",
    inputs: &["values: T", "value_range: T", "nbins: int32"],
    outputs: &["out: dtype"],
    attrs: &["T: {int32, int64, float, double}", "dtype: {int32, int64} = DT_INT32"],
    kernels: &[cpu::<HistogramFixedWidth>().types("T", TYPES).types("dtype", INDICES)],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct HistogramFixedWidth {
    dtype: DType,
}

impl Kernel for HistogramFixedWidth {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(HistogramFixedWidth { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (values, range, bins) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        if range.dims() != [2] {
            return Err(invalid_argument!("value_range should be a vector of 2 elements."));
        }
        if !bins.shape().is_scalar() {
            return Err(invalid_argument!("nbins should be a scalar."));
        }
        let bins: i32 = bins.scalar_value()?;
        let par = Parallel::new(ctx.parallelism());
        let counts = dispatch!(
            values.dtype(),
            [i32, i64, f32, f64],
            T => histogram::<T>(par, values, range, bins)?,
            else => return Err(internal!("a histogram was asked of {} values", values.dtype()))
        );
        let shape = Shape::vector(counts.len());
        let histogram = if self.dtype == DType::Int64 {
            Tensor::from_slice(shape, &counts)?
        } else {
            Tensor::build(shape, |out: &mut [i32]| {
                out.iter_mut().zip(&counts).for_each(|(out, &count)| *out = count as i32);
            })?
        };
        ctx.set_output(0, histogram);
        Ok(())
    }
}

/// A number that is counted.
trait Binned: Element + PartialOrd + fmt::Display + AsPrimitive<f64> {}

impl<T: Element + PartialOrd + fmt::Display + AsPrimitive<f64>> Binned for T {}

/// The counts of all bins.
fn histogram<T: Binned>(
    par: Parallel,
    values: &Tensor,
    range: &Tensor,
    bins: i32,
) -> Result<Vec<i64>> {
    let (values, range) = (values.values::<T>()?, range.values::<T>()?);
    let (low, high) = (range[0], range[1]);
    if low >= high {
        return Err(invalid_argument!(
            "value_range should satisfy value_range[0] < value_range[1], but got '[{low}, {high}]'"
        ));
    }
    let Some(bins) = usize::try_from(bins).ok().filter(|&bins| bins > 0) else {
        return Err(invalid_argument!("nbins should be a positive number, but got '{bins}'"));
    };
    if values.iter().any(|value| value.partial_cmp(value).is_none()) {
        return Err(invalid_argument!("Histogram values must not contain NaN"));
    }
    let (low, high): (f64, f64) = (low.as_(), high.as_());
    let (step, last) = ((high - low) / bins as f64, (bins - 1) as f64);
    let count = |range: Range<usize>| {
        let mut counts = vec![0i64; bins];
        // Places are found a block at a time, which vectorises, and then counted.
        let mut places = [0u32; BLOCK];
        for block in values[range].chunks(BLOCK) {
            for (place, &value) in places.iter_mut().zip(block) {
                // What lies outside counts for the nearest bin.
                let offset: f64 = value.as_();
                *place = ((offset - low) / step).clamp(0.0, last) as u32;
            }
            places[..block.len()].iter().for_each(|&place| counts[place as usize] += 1);
        }
        counts
    };
    // Each thread needs bins of its own, which must be worth it.
    let parts = par.map_ranges(values.len(), MIN_VALUES.max(4 * bins), count);
    let mut parts = parts.into_iter();
    let mut counts = parts.next().unwrap_or_else(|| vec![0; bins]);
    for part in parts {
        counts.iter_mut().zip(part).for_each(|(count, part)| *count += part);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts<T: Binned>(values: &[T], range: [T; 2], bins: i32) -> Vec<i64> {
        let vector =
            |values: &[T]| Tensor::from_slice(Shape::vector(values.len()), values).unwrap();
        histogram::<T>(Parallel::new(2), &vector(values), &vector(&range), bins).unwrap()
    }

    #[test]
    fn differences_are_taken_in_double_precision() {
        // In single precision each would be one bin further; TensorFlow's are these.
        let found = counts(&[0.719_999_97f32, 0.44, 0.979_999_96], [-1.0, 1.0], 100);
        let places: Vec<usize> = (0..100).filter(|&bin| found[bin] > 0).collect();
        assert_eq!(places, [71, 85, 98]);
        let found = counts(&[i32::MAX, i32::MIN, 5, -7], [i32::MIN, i32::MAX], 10);
        assert_eq!(found, [1, 0, 0, 0, 1, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn threads_count_every_value_once() {
        let values: Vec<i64> = (0..200_000).collect();
        assert_eq!(counts(&values, [0, 200_000], 4), [50_000; 4]);
    }
}
