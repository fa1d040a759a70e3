//! `Assert`: fails the step when a condition does not hold.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{Result, invalid_argument};

use super::summarize;

pub(super) const OPS: &[Op] = &[Op {
    name: "Assert",
    inputs: &["condition: bool", "data: T"],
    attrs: &["T: list(type) >= 1", "summarize: int = 3"],
    stateful: true,
    kernels: &[cpu::<Assert>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Assert {
    summarize: i64,
}

impl Kernel for Assert {
    fn new(attrs: &Attrs<'_>) -> Result<Assert> {
        Ok(Assert { summarize: attrs.int("summarize")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let condition = ctx.input(0)?;
        if !condition.shape().is_scalar() {
            return Err(invalid_argument!("In[0] should be a scalar: {}", condition.shape()));
        }
        if condition.scalar_value()? {
            return Ok(());
        }
        let mut message = "assertion failed:".to_owned();
        for data in ctx.input_list(1..ctx.num_inputs())? {
            message += &format!(" [{}]", summarize::in_line(data, self.summarize));
        }
        Err(invalid_argument!("{message}"))
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_graph::{AttrList, AttrValue};
    use tensorfleet_tensor::{DType, Tensor};
    use tensorfleet_testing::OpRun;

    #[test]
    fn a_failed_assertion_shows_its_data() {
        let error = OpRun::new("Assert")
            .attr("T", AttrValue::List(AttrList::Types(vec![DType::Int32, DType::String])))
            .input(Tensor::scalar(false))
            .input(Tensor::vector(&[1, 2, 3, 4]).unwrap())
            .input(Tensor::string("x"))
            .run(&crate::registry().unwrap())
            .unwrap_err();
        assert_eq!(error.to_string(), "INVALID_ARGUMENT: assertion failed: [1 2 3...] [x]");
    }
}
