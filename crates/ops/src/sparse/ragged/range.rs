//! `RaggedRange`: a range of numbers in each row.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, internal, invalid_argument};

use super::splits_tensor;

pub(super) const OPS: &[Op] = &[Op {
    name: "RaggedRange",
    inputs: &["starts: T", "limits: T", "deltas: T"],
    outputs: &["rt_nested_splits: Tsplits", "rt_dense_values: T"],
    attrs: &[
        "T: {bfloat16, float, double, int32, int64} = DT_INT32",
        "Tsplits: {int32, int64} = DT_INT64",
    ],
    kernels: &[
        cpu::<RaggedRange>().types("T", &[DType::Float, DType::Double, DType::Int32, DType::Int64])
    ],
    ..Op::DEFAULT
}];

/// The most values of all rows together.
const MOST: u64 = 1 << 40;

#[derive(Debug)]
struct RaggedRange {
    splits: DType,
}

impl Kernel for RaggedRange {
    fn new(attrs: &Attrs<'_>) -> Result<RaggedRange> {
        Ok(RaggedRange { splits: attrs.dtype("Tsplits")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let inputs = ctx.input_list(0..3)?;
        let mut rows: Option<usize> = None;
        for (name, input) in ["starts", "limits", "deltas"].iter().zip(&inputs) {
            match *input.dims() {
                [] => {}
                [len] if rows.is_some_and(|rows| rows != len) => {
                    return Err(invalid_argument!(
                        "starts, limits, and deltas must have the same shape"
                    ));
                }
                [len] => rows = Some(len),
                _ => return Err(invalid_argument!("{name} must be a scalar or vector")),
            }
        }
        let rows = rows.unwrap_or(1);
        let (splits, values) = dispatch!(
            inputs[0].dtype(),
            [f32, f64, i32, i64],
            T => ranges::<T>(&inputs, rows),
            else => Err(internal!("no ranges of {}", inputs[0].dtype()))
        )?;
        ctx.set_output(0, splits_tensor(self.splits, &splits)?);
        ctx.set_output(1, values);
        Ok(())
    }
}

/// Numbers that ranges are of.
trait Step: Element {
    /// How many values there are from `self` to below `limit`; none for a step of zero.
    fn count(self, limit: Self, delta: Self) -> Option<u64>;
    fn add(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Step for $type {
            fn count(self, limit: Self, delta: Self) -> Option<u64> {
                if delta == 0 {
                    return None;
                }
                if (delta > 0 && limit < self) || (delta < 0 && limit > self) {
                    return Some(0);
                }
                let distance = (i128::from(limit) - i128::from(self)).unsigned_abs();
                let step = i128::from(delta).unsigned_abs();
                Some(distance.div_ceil(step) as u64)
            }

            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Step for $type {
            fn count(self, limit: Self, delta: Self) -> Option<u64> {
                if delta == 0.0 {
                    return None;
                }
                if (delta > 0.0 && limit < self) || (delta < 0.0 && limit > self) {
                    return Some(0);
                }
                Some(((limit - self) / delta).abs().ceil() as u64)
            }

            fn add(self, other: Self) -> Self {
                self + other
            }
        }
    )*};
}

integers! { i32 i64 }
floats! { f32 f64 }

fn ranges<T: Step>(inputs: &[&Tensor], rows: usize) -> Result<(Vec<i64>, Tensor)> {
    let [starts, limits, deltas] = [0, 1, 2].map(|at| inputs[at].values::<T>());
    let (starts, limits, deltas) = (starts?, limits?, deltas?);
    let of = |values: &[T], row: usize| if values.len() == rows { values[row] } else { values[0] };
    let mut splits = vec![0i64];
    let mut total = 0u64;
    for row in 0..rows {
        let count = of(starts, row).count(of(limits, row), of(deltas, row));
        let count = count.ok_or_else(|| invalid_argument!("Requires delta != 0"))?;
        total = total.saturating_add(count);
        if total > MOST {
            return Err(invalid_argument!(
                "Requires ((limit - start) / delta) to fit, got {total}"
            ));
        }
        splits.push(total as i64);
    }
    let values = Tensor::build(
        tensorfleet_tensor::Shape::new(&[total as usize])?,
        |mut out: &mut [T]| {
            for (row, pair) in splits.windows(2).enumerate() {
                let (here, rest) = out.split_at_mut((pair[1] - pair[0]) as usize);
                let (mut value, delta) = (of(starts, row), of(deltas, row));
                for place in here {
                    *place = value;
                    value = value.add(delta);
                }
                out = rest;
            }
        },
    )?;
    Ok((splits, values))
}
