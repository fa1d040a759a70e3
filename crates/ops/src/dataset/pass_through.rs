//! Datasets that only say how another one should be run: its elements are theirs.

use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::Result;

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Elements, Inputs, MakeDataset, Signature, dataset,
};
use super::index::{Access, Indexed};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AssertNextDataset",
        inputs: &["input_dataset: variant", "transformations: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        differs: UNCHECKED,
        ..Op::DEFAULT
    },
    Op {
        name: "AssertPrevDataset",
        inputs: &["input_dataset: variant", "transformations: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        differs: UNCHECKED,
        ..Op::DEFAULT
    },
    Op {
        name: "BytesProducedStatsDataset",
        inputs: &["input_dataset: variant", "tag: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ChooseFastestDataset",
        inputs: &["input_datasets: N * variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "N: int >= 2",
            "num_experiments: int",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalAssertNextDataset",
        inputs: &["input_dataset: variant", "transformations: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        differs: UNCHECKED,
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalBytesProducedStatsDataset",
        inputs: &["input_dataset: variant", "tag: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalChooseFastestDataset",
        inputs: &["input_datasets: N * variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "N: int >= 2",
            "num_experiments: int",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalLatencyStatsDataset",
        inputs: &["input_dataset: variant", "tag: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalMaxIntraOpParallelismDataset",
        inputs: &["input_dataset: variant", "max_intra_op_parallelism: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalNonSerializableDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalPrivateThreadPoolDataset",
        inputs: &["input_dataset: variant", "num_threads: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalThreadPoolDataset",
        inputs: &["input_dataset: variant", "thread_pool: resource"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        stateful: true,
        kernels: &[dataset::<PassThrough>()],
        differs: SHARED_THREADS,
        ..Op::DEFAULT
    },
    Op {
        name: "FinalizeDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "has_captured_ref: bool = false",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LatencyStatsDataset",
        inputs: &["input_dataset: variant", "tag: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MaxIntraOpParallelismDataset",
        inputs: &["input_dataset: variant", "max_intra_op_parallelism: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ModelDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "algorithm: int = 0",
            "cpu_budget: int = 0",
            "ram_budget: int = 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "NonSerializableDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "OptimizeDataset",
        inputs: &["input_dataset: variant", "optimizations: string"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "optimization_configs: list(string) = []",
        ],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "OptimizeDatasetV2",
        inputs: &[
            "input_dataset: variant",
            "optimizations_enabled: string",
            "optimizations_disabled: string",
            "optimizations_default: string",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "optimization_configs: list(string) = []",
        ],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "OptionsDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "serialized_options: string",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "PrivateThreadPoolDataset",
        inputs: &["input_dataset: variant", "num_threads: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RewriteDataset",
        inputs: &["input_dataset: variant", "rewrite_name: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<PassThrough>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ThreadPoolDataset",
        inputs: &["input_dataset: variant", "thread_pool: resource"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        stateful: true,
        kernels: &[dataset::<PassThrough>()],
        differs: SHARED_THREADS,
        ..Op::DEFAULT
    },
];

const UNCHECKED: &str =
    "Nothing is asserted: datasets run as they are, not as TensorFlow rewrites them.";
const SHARED_THREADS: &str = "All datasets of a task share its threads.";

#[derive(Debug)]
struct PassThrough {
    options: Bytes,
    title: String,
}

impl MakeDataset for PassThrough {
    fn new(attrs: &Attrs<'_>) -> Result<PassThrough> {
        let options = match attrs.op() {
            "OptionsDataset" => attrs.bytes("serialized_options")?.clone(),
            _ => Bytes::new(),
        };
        let word = attrs.op().trim_start_matches("Experimental");
        Ok(PassThrough { options, title: format!("{word}Op::Dataset") })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let (options, title) = (self.options.clone(), self.title.clone());
        Ok(Arc::new(PassedThrough { input: inputs.dataset(0)?, options, title, signature }))
    }
}

#[derive(Debug)]
struct PassedThrough {
    input: DatasetRef,
    options: Bytes,
    title: String,
    signature: Signature,
}

impl Dataset for PassedThrough {
    fn kind(&self) -> &str {
        self.input.kind()
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn options(&self) -> Vec<u8> {
        let mut options = self.input.options();
        options.extend_from_slice(&self.options);
        options
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn batch_size(&self) -> Option<u64> {
        self.input.batch_size()
    }

    fn cardinality(&self) -> Cardinality {
        self.input.cardinality()
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        self.input.check_shuffling(self.input.kind())
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        self.input.iterate(scope)
    }
}

impl Indexed for PassedThrough {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        scope.access(&*self.input)
    }
}
