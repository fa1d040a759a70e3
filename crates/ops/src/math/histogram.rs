//! `HistogramFixedWidth`: how many values fall in each of equal intervals.

use std::fmt;

use num_traits::AsPrimitive;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use super::dtypes::INDICES;

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
        let counts = dispatch!(
            values.dtype(),
            [i32, i64, f32, f64],
            T => histogram::<T>(values, range, bins)?,
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

/// The counts of all bins.
fn histogram<T: Binned>(values: &Tensor, range: &Tensor, bins: i32) -> Result<Vec<i64>> {
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
    if values.iter().any(|value| value.is_nan()) {
        return Err(invalid_argument!("Histogram values must not contain NaN"));
    }
    let step = high.minus(low) / bins as f64;
    let mut counts = vec![0i64; bins];
    for &value in values {
        // What lies outside counts for the nearest bin.
        let offset = if value > low { value.minus(low) } else { 0.0 };
        let bin = (offset / step).min((bins - 1) as f64);
        counts[bin as usize] += 1;
    }
    Ok(counts)
}

/// A number that is counted.
trait Binned: Element + PartialOrd + fmt::Display {
    /// The difference, taken in this type.
    fn minus(self, other: Self) -> f64;

    fn is_nan(self) -> bool;
}

macro_rules! binned {
    ($($type:ty: |$a:ident, $b:ident| $difference:expr, |$value:ident| $is_nan:expr;)+) => {$(
        impl Binned for $type {
            fn minus(self, other: Self) -> f64 {
                let ($a, $b) = (self, other);
                $difference.as_()
            }

            fn is_nan(self) -> bool {
                let $value = self;
                $is_nan
            }
        }
    )+};
}

binned! {
    f32: |a, b| (a - b), |x| x.is_nan();
    f64: |a, b| (a - b), |x| x.is_nan();
    i32: |a, b| a.wrapping_sub(b), |_x| false;
    i64: |a, b| a.wrapping_sub(b), |_x| false;
}
