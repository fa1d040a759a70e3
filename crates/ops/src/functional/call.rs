//! `PartitionedCall` and its kin: a node that runs a function.

use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Awaited, Calls, DeviceName, KernelDef, Nature, Op, Outcome,
    Started, StepContext, cpu_async,
};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

const CALL: &[KernelDef] = &[cpu_async::<Call>()];
const ATTRS: &[&str] = &[
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "f: func",
    "config: string = ''",
    "config_proto: string = ''",
    "executor_type: string = ''",
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "PartitionedCall",
        inputs: &["args: Tin"],
        outputs: &["output: Tout"],
        attrs: ATTRS,
        kernels: CALL,
        nature: Nature::calling(Calls::Once),
        ..Op::DEFAULT
    },
    Op {
        name: "RemoteCall",
        inputs: &["target: string", "args: Tin"],
        outputs: &["output: Tout"],
        attrs: &["Tin: list(type) >= 1", "Tout: list(type) >= 1", "f: func"],
        stateful: true,
        kernels: &[cpu_async::<RemoteCall>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatefulPartitionedCall",
        inputs: &["args: Tin"],
        outputs: &["output: Tout"],
        attrs: ATTRS,
        stateful: true,
        distributed_communication: true,
        kernels: CALL,
        nature: Nature::calling(Calls::Once),
        ..Op::DEFAULT
    },
    Op {
        name: "SymbolicGradient",
        inputs: &["input: Tin"],
        outputs: &["output: Tout"],
        attrs: &["Tin: list(type) >= 1", "Tout: list(type) >= 1", "f: func"],
        kernels: &[cpu_async::<SymbolicGradient>()],
        nature: Nature::calling(Calls::Once),
        ..Op::DEFAULT
    },
];

/// Runs a function as the outcome of a node.
pub(super) fn start(
    function: &Func,
    step: &Arc<StepContext>,
    args: Vec<Tensor>,
) -> Result<Started> {
    let call = step.functions.instantiate(function)?.call(step, args);
    Ok(Started::Waiting(Box::pin(async move { Ok(Outcome::from(call.await?)) })))
}

#[derive(Debug)]
struct Call(Func);

impl AsyncKernel for Call {
    fn awaits(&self) -> Awaited {
        Awaited::Function
    }

    fn new(attrs: &Attrs<'_>) -> Result<Call> {
        Ok(Call(attrs.func("f")?.clone()))
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let step = Arc::clone(&ctx.step);
        start(&self.0, &step, ctx.into_tensors()?)
    }
}

/// Runs the gradient of a function, which is a function of the op's own name and attributes.
#[derive(Debug)]
struct SymbolicGradient(Func);

impl AsyncKernel for SymbolicGradient {
    fn awaits(&self) -> Awaited {
        Awaited::Function
    }

    fn new(attrs: &Attrs<'_>) -> Result<SymbolicGradient> {
        let own = Func { name: attrs.op().to_owned(), attrs: attrs.map().clone() };
        Ok(SymbolicGradient(own))
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let step = Arc::clone(&ctx.step);
        start(&self.0, &step, ctx.into_tensors()?)
    }
}

/// Runs a function on a device that an input names, of this task or of another.
#[derive(Debug)]
struct RemoteCall(Func);

impl AsyncKernel for RemoteCall {
    fn awaits(&self) -> Awaited {
        Awaited::Function
    }

    fn new(attrs: &Attrs<'_>) -> Result<RemoteCall> {
        Ok(RemoteCall(attrs.func("f")?.clone()))
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let step = Arc::clone(&ctx.step);
        let mut args = ctx.into_tensors()?;
        let target = match args.remove(0).strings()? {
            [target] => String::from_utf8_lossy(target).into_owned(),
            _ => return Err(invalid_argument!("target must be a scalar string")),
        };
        let (here, there) = (DeviceName::parse(&step.device)?, DeviceName::parse(&target)?);
        if there.matches(&here) {
            return start(&self.0, &step, args);
        }
        let call = step.functions.remote(&there, &self.0)?.call(&step, args);
        Ok(Started::Waiting(Box::pin(async move { Ok(Outcome::from(call.await?)) })))
    }
}
