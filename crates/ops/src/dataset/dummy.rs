//! Handles that lead nowhere: where a dataset could share something but should not.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{ResourceHandle, Result, Tensor};

const DUMMY: KernelDef = cpu::<Dummy>();

const THREAD_POOL: &[&str] = &[
    "num_threads: int",
    "max_intra_op_parallelism: int = 1",
    "display_name: string",
    "container: string = ''",
    "shared_name: string = ''",
];

const NO_POOL: &str = "Makes no threads: datasets share those of their task.";

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
    Op {
        name: "ExperimentalThreadPoolHandle",
        outputs: &["handle: resource"],
        attrs: THREAD_POOL,
        stateful: true,
        kernels: &[DUMMY],
        differs: NO_POOL,
        ..Op::DEFAULT
    },
    Op {
        name: "ThreadPoolHandle",
        outputs: &["handle: resource"],
        attrs: THREAD_POOL,
        stateful: true,
        kernels: &[DUMMY],
        differs: NO_POOL,
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
