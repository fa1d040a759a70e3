//! `If` and `Case`: one of several functions.

use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Awaited, Calls, KernelDef, Nature, Op, Started, cpu_async,
};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, invalid_argument};

use super::call;
use super::condition::is_true;

const IF: &[KernelDef] = &[cpu_async::<If>()];
const CASE: &[KernelDef] = &[cpu_async::<Case>()];
const IF_ATTRS: &[&str] = &[
    "Tcond: type",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "then_branch: func",
    "else_branch: func",
    "output_shapes: list(shape) = []",
];
const CASE_ATTRS: &[&str] = &[
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "branches: list(func) >= 1",
    "output_shapes: list(shape) = []",
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Case",
        inputs: &["branch_index: int32", "input: Tin"],
        outputs: &["output: Tout"],
        attrs: CASE_ATTRS,
        stateful: true,
        kernels: CASE,
        nature: Nature::calling(Calls::OneOf),
        ..Op::DEFAULT
    },
    Op {
        name: "If",
        inputs: &["cond: Tcond", "input: Tin"],
        outputs: &["output: Tout"],
        attrs: IF_ATTRS,
        stateful: true,
        kernels: IF,
        nature: Nature::calling(Calls::OneOf),
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessCase",
        inputs: &["branch_index: int32", "input: Tin"],
        outputs: &["output: Tout"],
        attrs: CASE_ATTRS,
        kernels: CASE,
        nature: Nature::calling(Calls::OneOf),
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessIf",
        inputs: &["cond: Tcond", "input: Tin"],
        outputs: &["output: Tout"],
        attrs: IF_ATTRS,
        kernels: IF,
        nature: Nature::calling(Calls::OneOf),
        ..Op::DEFAULT
    },
    Op {
        name: "_If",
        inputs: &["cond: Tcond", "input: Tin"],
        outputs: &["output: Tout"],
        attrs: &[
            "Tcond: type",
            "Tin: list(type) >= 1",
            "Tout: list(type) >= 1",
            "then_branch: func",
            "else_branch: func",
        ],
        stateful: true,
        kernels: IF,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct If {
    then_branch: Func,
    else_branch: Func,
}

impl AsyncKernel for If {
    fn awaits(&self) -> Awaited {
        Awaited::Function
    }

    fn new(attrs: &Attrs<'_>) -> Result<If> {
        Ok(If {
            then_branch: attrs.func("then_branch")?.clone(),
            else_branch: attrs.func("else_branch")?.clone(),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let branch = if is_true(ctx.input(0)?)? { &self.then_branch } else { &self.else_branch };
        let step = Arc::clone(&ctx.step);
        let mut args = ctx.into_tensors()?;
        args.remove(0);
        call::start(branch, &step, args)
    }
}

#[derive(Debug)]
struct Case {
    branches: Vec<Func>,
}

impl AsyncKernel for Case {
    fn awaits(&self) -> Awaited {
        Awaited::Function
    }

    fn new(attrs: &Attrs<'_>) -> Result<Case> {
        Ok(Case { branches: attrs.funcs("branches")?.to_vec() })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let index = ctx.input(0)?;
        if !index.shape().is_scalar() {
            return Err(invalid_argument!("branch_index must be scalar"));
        }
        let index = index.scalar_value::<i32>()?;
        // An index that names no branch means the last one.
        let last = self.branches.len() - 1;
        let branch = usize::try_from(index).map_or(last, |index| index.min(last));
        let step = Arc::clone(&ctx.step);
        let mut args = ctx.into_tensors()?;
        args.remove(0);
        call::start(&self.branches[branch], &step, args)
    }
}
