//! `While` and `For`: a function run again and again.

use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Awaited, Calls, KernelDef, Nature, Op, Outcome, Started,
    cpu_async,
};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::condition::is_true;

const WHILE: &[KernelDef] = &[cpu_async::<While>()];
const WHILE_ATTRS: &[&str] = &[
    "T: list(type) >= 0",
    "cond: func",
    "body: func",
    "output_shapes: list(shape) = []",
    "parallel_iterations: int = 10",
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "For",
        inputs: &["start: int32", "limit: int32", "delta: int32", "input: T"],
        outputs: &["output: T"],
        attrs: &["T: list(type) >= 0", "body: func"],
        kernels: &[cpu_async::<For>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessWhile",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: WHILE_ATTRS,
        kernels: WHILE,
        nature: Nature::calling(Calls::Repeatedly),
        ..Op::DEFAULT
    },
    Op {
        name: "While",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: WHILE_ATTRS,
        stateful: true,
        kernels: WHILE,
        nature: Nature::calling(Calls::Repeatedly),
        ..Op::DEFAULT
    },
    Op {
        name: "_While",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: list(type) >= 0", "cond: func", "body: func"],
        stateful: true,
        kernels: WHILE,
        ..Op::DEFAULT
    },
];

/// Refuses a body that changes the number of a loop's values.
fn check_count(loop_name: &str, have: usize, want: usize) -> Result<()> {
    if have != want {
        return Err(invalid_argument!(
            "{loop_name} loop body returned {have} arguments. Expected: {want}"
        ));
    }
    Ok(())
}

#[derive(Debug)]
struct While {
    cond: Func,
    body: Func,
}

impl AsyncKernel for While {
    fn awaits(&self) -> Awaited {
        Awaited::Function
    }

    fn new(attrs: &Attrs<'_>) -> Result<While> {
        Ok(While { cond: attrs.func("cond")?.clone(), body: attrs.func("body")?.clone() })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let step = Arc::clone(&ctx.step);
        let cond = step.functions.instantiate(&self.cond)?;
        let body = step.functions.instantiate(&self.body)?;
        let mut values = ctx.into_tensors()?;
        let count = values.len();
        Ok(Started::Waiting(Box::pin(async move {
            loop {
                let answer = cond.call(&step, values.clone()).await?;
                let [answer] = &answer[..] else {
                    return Err(invalid_argument!(
                        "Expected a single scalar return value from WhileOp cond, got {} tensors.",
                        answer.len()
                    ));
                };
                if !is_true(answer)? {
                    return Ok(Outcome::from(values));
                }
                values = body.call(&step, values).await?;
                check_count("While", values.len(), count)?;
            }
        })))
    }
}

#[derive(Debug)]
struct For {
    body: Func,
}

impl AsyncKernel for For {
    fn awaits(&self) -> Awaited {
        Awaited::Function
    }

    fn new(attrs: &Attrs<'_>) -> Result<For> {
        Ok(For { body: attrs.func("body")?.clone() })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let scalar = |index| ctx.input(index).and_then(Tensor::scalar_value::<i32>);
        let (start, limit, delta) = (scalar(0)?, scalar(1)?, scalar(2)?);
        if (delta > 0 && start > limit)
            || (delta < 0 && start < limit)
            || (delta == 0 && start != limit)
        {
            return Err(invalid_argument!("Invalid start/limit/delta: {start} {limit} {delta}"));
        }
        let step = Arc::clone(&ctx.step);
        let body = step.functions.instantiate(&self.body)?;
        let mut values = ctx.into_tensors()?.split_off(3);
        let count = values.len();
        Ok(Started::Waiting(Box::pin(async move {
            let mut index = start;
            while if delta > 0 { index < limit } else { index > limit } {
                let mut args = vec![Tensor::scalar(index)];
                args.append(&mut values);
                values = body.call(&step, args).await?;
                check_count("For", values.len(), count)?;
                index = index.saturating_add(delta);
            }
            Ok(Outcome::from(values))
        })))
    }
}
