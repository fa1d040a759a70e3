//! `UniqueDataset`: each value once.

use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashSet;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{DType, Result, invalid_argument};

use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature, dataset,
};
use super::scope::Scope;
use super::task::Pace;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalUniqueDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<Unique>()],
        ..Op::DEFAULT
    },
    Op {
        name: "UniqueDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Unique>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Unique;

impl MakeDataset for Unique {
    fn new(_: &Attrs<'_>) -> Result<Unique> {
        Ok(Unique)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        match &input.signature().types[..] {
            [DType::Int32 | DType::Int64 | DType::String] => {}
            [other] => {
                return Err(invalid_argument!(
                    "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or \
                     `tf.string` component, got {other}."
                ));
            }
            _ => {
                return Err(invalid_argument!(
                    "UniqueDataset only supports inputs with a single component."
                ));
            }
        }
        Ok(Arc::new(UniqueDataset { input, signature }))
    }
}

#[derive(Debug)]
struct UniqueDataset {
    input: DatasetRef,
    signature: Signature,
}

impl Dataset for UniqueDataset {
    fn kind(&self) -> &str {
        "Unique"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Once { input: scope.iterate(&*self.input)?, seen: FxHashSet::default() }))
    }
}

/// A tensor as a key of a set.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    dims: Vec<usize>,
    bytes: Vec<u8>,
    strings: Vec<Bytes>,
}

struct Once {
    input: Box<dyn Elements>,
    seen: FxHashSet<Key>,
}

impl Elements for Once {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let pace = Pace::default();
            while let Some(element) = self.input.next().await? {
                pace.turn().await;
                let [tensor] = &element[..] else {
                    return Err(invalid_argument!("expected one component"));
                };
                let strings = match tensor.dtype() {
                    DType::String => tensor.strings()?.to_vec(),
                    _ => Vec::new(),
                };
                let bytes = tensor.raw().to_vec();
                if self.seen.insert(Key { dims: tensor.dims().to_vec(), bytes, strings }) {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        })
    }
}
