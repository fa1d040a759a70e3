//! Ops that pass their inputs on.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, Value, cpu};
use tensorfleet_tensor::Result;

// A constant, because a `const fn` cannot return a reference to what it makes.
const KERNELS: &[KernelDef] = &[cpu::<Identity>()];

const fn identity(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    identity("Identity"),
    Op {
        name: "IdentityN",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: list(type) >= 1"],
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    Op {
        name: "PlaceholderWithDefault",
        inputs: &["input: dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "shape: shape"],
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    Op {
        name: "PreventGradient",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "message: string = ''"],
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    Op {
        name: "RefIdentity",
        inputs: &["input: Ref(T)"],
        outputs: &["output: Ref(T)"],
        attrs: &["T: type"],
        allows_uninitialized_input: true,
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    identity("Snapshot"),
    identity("StopGradient"),
];

/// Passes every input to the output of the same number, references as references.
#[derive(Debug)]
struct Identity;

impl Kernel for Identity {
    fn new(_: &Attrs<'_>) -> Result<Identity> {
        Ok(Identity)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        for index in 0..ctx.num_inputs() {
            let value = ctx.value(index)?.clone();
            ctx.set_value(index, value);
        }
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}
