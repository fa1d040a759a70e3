//! `MapAndBatchDataset`: a function of each element, and batches of what it returns.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, invalid_argument};

use super::batch::{Batches, batches};
use super::dataset::{
    Cardinality, Dataset, DatasetRef, Elements, Inputs, MakeDataset, Signature, dataset,
};
use super::map::settle;
use super::parallel::{Parallel, parallel_calls};
use super::prefetch::Prefetched;
use super::scope::{Captured, Scope};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalMapAndBatchDataset",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "batch_size: int64",
            "num_parallel_calls: int64",
            "drop_remainder: bool",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "preserve_cardinality: bool = false",
        ],
        kernels: &[dataset::<MapAndBatch>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MapAndBatchDataset",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "batch_size: int64",
            "num_parallel_calls: int64",
            "drop_remainder: bool",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "preserve_cardinality: bool = false",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<MapAndBatch>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct MapAndBatch {
    function: Func,
    preserve_cardinality: bool,
}

impl MakeDataset for MapAndBatch {
    fn new(attrs: &Attrs<'_>) -> Result<MapAndBatch> {
        Ok(MapAndBatch {
            function: attrs.func("f")?.clone(),
            preserve_cardinality: attrs.bool("preserve_cardinality")?,
        })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let first = inputs.len() - 3;
        Ok(Arc::new(MapAndBatchDataset {
            input: inputs.dataset(0)?,
            function: Captured::new(&self.function, inputs.range(1..first)?),
            size: match inputs.scalar::<i64>(first, "batch_size")? {
                size @ 1.. => size as u64,
                _ => return Err(invalid_argument!("batch_size must be greater than zero.")),
            },
            calls: parallel_calls(inputs, first + 1)?,
            drop_remainder: inputs.scalar(first + 2, "drop_remainder")?,
            preserve_cardinality: self.preserve_cardinality,
            signature,
        }))
    }
}

#[derive(Debug)]
struct MapAndBatchDataset {
    input: DatasetRef,
    function: Captured,
    size: u64,
    calls: i64,
    drop_remainder: bool,
    preserve_cardinality: bool,
    signature: Signature,
}

impl Dataset for MapAndBatchDataset {
    fn kind(&self) -> &str {
        "MapAndBatch"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn batch_size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn cardinality(&self) -> Cardinality {
        if self.preserve_cardinality {
            batches(self.input.cardinality(), self.size, self.drop_remainder)
        } else {
            Cardinality::Unknown
        }
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        let function = scope.function(&self.function)?;
        let preserve = self.preserve_cardinality;
        let mapped = Parallel::new(scope, input, self.calls, move |element| {
            let call = function.call(element);
            Box::pin(async move { settle(call.await, preserve) })
        });
        let batches = Batches::new(Box::new(mapped), self.size, self.drop_remainder).fail_whole();
        Ok(Box::new(Prefetched::new(scope, Box::new(batches), 1)))
    }
}
