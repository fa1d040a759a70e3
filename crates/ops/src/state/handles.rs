//! Questions about resource handles.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{ResourceHandle, Result, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "IsResourceHandleRefCounting",
        inputs: &["handle: resource"],
        outputs: &["result: bool"],
        stateful: true,
        kernels: &[cpu::<KeepsAlive>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MakeWeakResourceHandle",
        inputs: &["handle: resource"],
        outputs: &["dup: resource"],
        stateful: true,
        kernels: &[cpu::<Weaken>()],
        ..Op::DEFAULT
    },
];

fn handle<'a>(ctx: &'a KernelContext<'_>) -> Result<&'a ResourceHandle> {
    let tensor = ctx.input(0)?;
    let [handle] = tensor.resources()? else {
        return Err(invalid_argument!(
            "expected one resource handle, got shape {}",
            tensor.shape()
        ));
    };
    Ok(handle)
}

/// Whether the handle keeps its resource alive.
#[derive(Debug)]
struct KeepsAlive;

impl Kernel for KeepsAlive {
    fn new(_: &Attrs<'_>) -> Result<KeepsAlive> {
        Ok(KeepsAlive)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let keeps = handle(ctx)?.anchor.is_some();
        ctx.set_output(0, Tensor::scalar(keeps));
        Ok(())
    }
}

/// The same handle, without its hold on the resource.
#[derive(Debug)]
struct Weaken;

impl Kernel for Weaken {
    fn new(_: &Attrs<'_>) -> Result<Weaken> {
        Ok(Weaken)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let weak = ResourceHandle { anchor: None, ..handle(ctx)?.clone() };
        ctx.set_output(0, Tensor::resource(weak));
        Ok(())
    }
}
