//! Choosing among references, and the two directions between a list of one type and a list of many.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{Result, internal, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "RefSelect",
        inputs: &["index: int32", "inputs: Ref(N * T)"],
        outputs: &["output: Ref(T)"],
        attrs: &["T: type", "N: int >= 1"],
        kernels: &[cpu::<RefSelect>()],
        ..Op::DEFAULT
    },
    Op {
        name: "_ArrayToList",
        inputs: &["input: N * T"],
        outputs: &["output: out_types"],
        attrs: &["T: type", "N: int >= 1", "out_types: list(type) >= 1"],
        kernels: &[cpu::<Pass>()],
        ..Op::DEFAULT
    },
    Op {
        name: "_ListToArray",
        inputs: &["input: Tin"],
        outputs: &["output: N * T"],
        attrs: &["Tin: list(type) >= 1", "T: type", "N: int >= 1"],
        kernels: &[cpu::<Pass>()],
        ..Op::DEFAULT
    },
];

/// Passes on the reference whose number is given; all of them must have values.
#[derive(Debug)]
struct RefSelect;

impl Kernel for RefSelect {
    fn new(_: &Attrs<'_>) -> Result<RefSelect> {
        Ok(RefSelect)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let count = ctx.num_inputs() - 1;
        for index in 1..=count {
            ctx.variable(index)?.check_initialized()?;
        }
        let index = ctx.input(0)?;
        if index.rank() != 0 {
            return Err(invalid_argument!(
                "Index must be a scalar, but it has shape {}",
                index.shape()
            ));
        }
        let index: i32 = index.scalar_value()?;
        let Some(chosen) = usize::try_from(index).ok().filter(|&index| index < count) else {
            return Err(invalid_argument!(
                "Index must be in the range [0, {count}) but got {index}"
            ));
        };
        let variable = Arc::clone(ctx.variable(chosen + 1)?);
        ctx.set_output_ref(0, variable);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

/// Passes every input to the output of the same number.
#[derive(Debug)]
struct Pass;

impl Kernel for Pass {
    fn new(attrs: &Attrs<'_>) -> Result<Pass> {
        let (have, want) = (attrs.inputs(), attrs.outputs());
        if have.len() != want.len() {
            return Err(internal!("#inputs != #outputs : {} vs. {}", have.len(), want.len()));
        }
        let mut pairs = have.iter().zip(want).map(|(have, want)| (have.dtype, want.dtype));
        if let Some((have, want)) = pairs.find(|(have, want)| have != want) {
            return Err(invalid_argument!("Type mismatch: actual {have} vs. expect {want}"));
        }
        Ok(Pass)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        for index in 0..ctx.num_inputs() {
            let value = ctx.take_value(index)?;
            ctx.set_value(index, value);
        }
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}
