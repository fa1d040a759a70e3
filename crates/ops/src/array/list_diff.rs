//! `ListDiff`: the elements of one list that are not in another.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Shape, invalid_argument};

use super::copy::parallel;
use super::keys::{Keys, absent};
use super::rows::{Row, take};
use super::types;
use super::unique::integers;

const TYPES: &[DType] = &types::join::<13>(types::REAL, &[DType::String]);

pub(super) const OPS: &[Op] = &[Op {
    name: "ListDiff",
    inputs: &["x: T", "y: T"],
    outputs: &["out: T", "idx: out_idx"],
    attrs: &["T: type", "out_idx: {int32, int64} = DT_INT32"],
    kernels: &[cpu::<ListDiff>().types("T", TYPES)],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct ListDiff {
    out_idx: DType,
}

impl Kernel for ListDiff {
    fn new(attrs: &Attrs<'_>) -> Result<ListDiff> {
        Ok(ListDiff { out_idx: attrs.dtype("out_idx")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.input(1)?);
        for (name, list) in [("x", x), ("y", y)] {
            if list.rank() != 1 {
                return Err(invalid_argument!("{name} should be a 1D vector."));
            }
            if list.num_elements() > i32::MAX as usize {
                return Err(invalid_argument!("{name} too large for int32 indexing"));
            }
        }
        let rest = absent(&Keys::of(x)?, &Keys::of(y)?);
        let pick = |k: usize| Row::Of { source: 0, row: rest[k] as usize };
        let out = take(&[x], Shape::vector(rest.len()), 1, parallel(ctx), pick)?;
        ctx.set_output(0, out);
        ctx.set_output(1, integers(self.out_idx, &rest)?);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        let elements = |input: &Value| match input {
            Value::Tensor(list) => list.num_elements() as u64,
            Value::Ref(_) | Value::Empty => 0,
        };
        inputs.iter().map(elements).sum::<u64>() * 10
    }
}
