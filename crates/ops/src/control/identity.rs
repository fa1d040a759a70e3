//! Ops that pass their inputs on.

use crate::shapes::{each_unchanged, from_attr, unchanged};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, Op, Value, cpu,
    no_gradient,
};
use tensorfleet_tensor::Result;

// A constant, because a `const fn` cannot return a reference to what it makes.
const KERNELS: &[KernelDef] = &[cpu::<Identity>()];
const SNAPSHOT: &[KernelDef] = &[cpu::<Snapshot>()];

const fn identity(name: &'static str, kernels: &'static [KernelDef]) -> Op {
    Op {
        name,
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        kernels,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    identity("Identity", KERNELS).with_shape(unchanged).with_gradient(through),
    Op {
        name: "IdentityN",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: list(type) >= 1"],
        kernels: KERNELS,
        shape: Some(each_unchanged),
        gradient: Some(each_through),
        ..Op::DEFAULT
    },
    Op {
        name: "PlaceholderWithDefault",
        inputs: &["input: dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "shape: shape"],
        kernels: KERNELS,
        shape: Some(from_attr),
        gradient: Some(through),
        ..Op::DEFAULT
    },
    Op {
        name: "PreventGradient",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "message: string = ''"],
        kernels: KERNELS,
        shape: Some(unchanged),
        gradient: Some(prevented),
        ..Op::DEFAULT
    },
    Op {
        name: "RefIdentity",
        gradient: Some(through),
        inputs: &["input: Ref(T)"],
        outputs: &["output: Ref(T)"],
        attrs: &["T: type"],
        allows_uninitialized_input: true,
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    identity("Snapshot", SNAPSHOT).with_shape(unchanged).with_gradient(through),
    identity("StopGradient", KERNELS).with_shape(unchanged).with_gradient(no_gradient),
    identity("_EagerConst", KERNELS).with_shape(unchanged).with_gradient(through),
];

/// Passes every input to the output of the same number, references as references.
#[derive(Debug)]
struct Identity {
    /// Whether a variable must have a value to go through.
    reads: bool,
}

impl Kernel for Identity {
    fn new(attrs: &Attrs<'_>) -> Result<Identity> {
        Ok(Identity { reads: attrs.inputs().iter().any(|input| !input.is_ref) })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        for index in 0..ctx.num_inputs() {
            let value = ctx.take_value(index)?;
            if let (Value::Ref(variable), true) = (&value, self.reads) {
                variable.check_initialized()?;
            }
            ctx.set_value(index, value);
        }
        Ok(())
    }

    fn passes_references(&self) -> bool {
        true
    }

    fn passes_tensors_on(&self) -> bool {
        true
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

/// Passes the value on as it is now.
#[derive(Debug)]
struct Snapshot;

impl Kernel for Snapshot {
    fn new(_: &Attrs<'_>) -> Result<Snapshot> {
        Ok(Snapshot)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let value = ctx.take_value(0)?;
        ctx.set_value(0, value);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

/// The gradient goes through, sparse ones as they are.
pub(crate) fn through(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![g.grad_or_none(0)])
}

fn each_through(g: &GradientContext<'_>) -> InputGradients {
    Ok((0..g.num_inputs()).map(|index| g.grad_or_none(index)).collect())
}

fn prevented(g: &GradientContext<'_>) -> InputGradients {
    let message = g.attrs().string("message")?;
    Err(tensorfleet_tensor::invalid_argument!("Gradient explicitly disabled. Reason: b'{message}'"))
}
