//! `Bucketize`: which of the intervals between boundaries a number lies in.

use std::cmp::Ordering;

use num_traits::AsPrimitive;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, dispatch, internal, invalid_argument};

use super::unary::map_to;

const TYPES: &[DType] = &[DType::Int32, DType::Int64, DType::Float, DType::Double];

pub(super) const OPS: &[Op] = &[Op {
    name: "Bucketize",
    inputs: &["input: T"],
    outputs: &["output: int32"],
    attrs: &["T: {int32, int64, float, double}", "boundaries: list(float)"],
    kernels: &[cpu::<Bucketize>().types("T", TYPES)],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Bucketize {
    boundaries: Vec<f64>,
}

impl Kernel for Bucketize {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        let boundaries: Vec<f64> =
            attrs.floats("boundaries")?.iter().map(|&boundary| boundary.into()).collect();
        if !boundaries.is_sorted() {
            return Err(invalid_argument!("Expected sorted boundaries"));
        }
        Ok(Bucketize { boundaries })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let buckets = dispatch!(
            input.dtype(),
            [i32, i64, f32, f64],
            T => map_to::<T, i32>(par, input, |value| self.bucket(value.as_()))?,
            else => return Err(internal!("Bucketize was given a {} tensor", input.dtype()))
        );
        ctx.set_output(0, buckets);
        Ok(())
    }
}

impl Bucketize {
    fn bucket(&self, value: f64) -> i32 {
        // Written so that NaN, which is below nothing, falls in the last bucket.
        let reached = |boundary: &f64| value.partial_cmp(boundary) != Some(Ordering::Less);
        self.boundaries.partition_point(reached) as i32
    }
}
