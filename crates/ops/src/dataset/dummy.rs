//! Handles that lead nowhere: where a dataset could share something but should not.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{ResourceHandle, Result, Tensor};

const DUMMY: KernelDef = cpu::<Dummy>();

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DummyIterationCounter",
        outputs: &["handle: resource"],
        stateful: true,
        kernels: &[DUMMY],
        ..Op::DEFAULT
    },
    Op {
        name: "DummyMemoryCache",
        outputs: &["handle: resource"],
        stateful: true,
        kernels: &[DUMMY],
        ..Op::DEFAULT
    },
    Op {
        name: "DummySeedGenerator",
        outputs: &["handle: resource"],
        stateful: true,
        kernels: &[DUMMY],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Dummy;

impl Kernel for Dummy {
    fn new(_: &Attrs<'_>) -> Result<Dummy> {
        Ok(Dummy)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let handle = ResourceHandle {
            device: ctx.step().device.to_string(),
            name: "dummy_resource".to_owned(),
            ..ResourceHandle::default()
        };
        ctx.set_output(0, Tensor::resource(handle));
        Ok(())
    }
}
