//! `ListDataset`: elements listed one by one.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, invalid_argument};

use super::dataset::{DatasetRef, Inputs, MakeDataset, Signature, dataset};
use super::memory::MemoryDataset;

pub(super) const OPS: &[Op] = &[Op {
    name: "ListDataset",
    inputs: &["tensors: Tinput_types"],
    outputs: &["handle: variant"],
    attrs: &[
        "Tinput_types: list(type) >= 1",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    stateful: true,
    kernels: &[dataset::<List>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct List;

impl MakeDataset for List {
    fn new(_: &Attrs<'_>) -> Result<List> {
        Ok(List)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let components = signature.types.len();
        let tensors = inputs.rest(0)?;
        if tensors.len() % components != 0 {
            return Err(invalid_argument!(
                "{} tensors do not make elements of {components} components",
                tensors.len()
            ));
        }
        let elements = Arc::new(tensors.chunks(components).map(<[_]>::to_vec).collect());
        Ok(Arc::new(MemoryDataset { kind: "List", elements, signature }))
    }
}
