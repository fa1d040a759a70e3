//! The ops that read LMDB's stores. TensorFlow defines them still and computes them no more.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{Error, Result, unimplemented_error};

const KERNELS: &[KernelDef] = &[cpu::<Removed>()];

const fn dataset(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["filenames: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        stateful: true,
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    dataset("ExperimentalLMDBDataset"),
    dataset("LMDBDataset"),
    Op {
        name: "LMDBReader",
        outputs: &["reader_handle: Ref(string)"],
        attrs: &["container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: KERNELS,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Removed;

fn removed() -> Error {
    unimplemented_error!(
        "LMDB support is removed from TensorFlow. This API will be deleted in the next TensorFlow \
         release. If you need LMDB support, please file a GitHub issue."
    )
}

impl Kernel for Removed {
    fn new(_: &Attrs<'_>) -> Result<Removed> {
        Err(removed())
    }

    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Err(removed())
    }
}
