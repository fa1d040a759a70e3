//! Counters that end an epoch by an error.

use tensorfleet_framework::{Attrs, Changer, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, Element, Result, Tensor, internal, invalid_argument, out_of_range,
};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CountUpTo",
        inputs: &["ref: Ref(T)"],
        outputs: &["output: T"],
        attrs: &["limit: int", "T: {int32, int64}"],
        kernels: &[cpu::<CountUpTo>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceCountUpTo",
        inputs: &["resource: resource"],
        outputs: &["output: T"],
        attrs: &["limit: int", "T: {int32, int64}"],
        stateful: true,
        kernels: &[cpu::<CountUpTo>()],
        ..Op::DEFAULT
    },
];

/// Returns what a variable holds and counts it up, until it holds the limit.
#[derive(Debug)]
struct CountUpTo {
    limit: i64,
    changer: Changer,
}

impl Kernel for CountUpTo {
    fn new(attrs: &Attrs<'_>) -> Result<CountUpTo> {
        Ok(CountUpTo { limit: attrs.int("limit")?, changer: attrs.changer() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let before =
            super::variable_at(ctx, 0)?.update(&ctx.change(&self.changer), |value| match value
                .dtype()
            {
                DType::Int32 => self.count(value, |before: i32| before.checked_add(1)),
                DType::Int64 => self.count(value, |before: i64| before.checked_add(1)),
                other => Err(internal!("a counter of type {other}")),
            })?;
        ctx.set_output(0, before);
        Ok(())
    }
}

impl CountUpTo {
    fn count<T: Element + Into<i64>>(
        &self,
        value: &mut Tensor,
        next: impl Fn(T) -> Option<T>,
    ) -> Result<Tensor> {
        if !value.shape().is_scalar() {
            return Err(invalid_argument!("input is not a scalar: {}", value.shape()));
        }
        let before: T = value.scalar_value()?;
        match next(before) {
            Some(after) if before.into() < self.limit => {
                *value = Tensor::scalar(after);
                Ok(Tensor::scalar(before))
            }
            _ => Err(out_of_range!("Reached limit of {}", self.limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tensorfleet_framework::{Value, Variable};
    use tensorfleet_graph::AttrValue;
    use tensorfleet_testing::{OpRun, step_context};

    use super::*;

    #[test]
    fn counting_ends_at_the_limit() {
        let counter = Arc::new(Variable::new("epoch", DType::Int64));
        counter.assign(Tensor::scalar(1i64)).unwrap();
        let count = || {
            OpRun::new("CountUpTo")
                .attr("T", AttrValue::Type(DType::Int64))
                .attr("limit", AttrValue::Int(2))
                .input(Value::Ref(Arc::clone(&counter)))
                .run_in(&crate::registry().unwrap(), &step_context())
        };
        assert_eq!(count().unwrap()[0].scalar_value::<i64>().unwrap(), 1);
        assert_eq!(count().unwrap_err().to_string(), "OUT_OF_RANGE: Reached limit of 2");
    }
}
