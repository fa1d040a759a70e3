//! `RandomDataset`: random numbers without end.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, Tensor};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::scope::Scope;
use super::seed::{SeedGenerator, Words};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalRandomDataset",
        inputs: &["seed: int64", "seed2: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        stateful: true,
        kernels: &[dataset::<Random>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RandomDataset",
        inputs: &["seed: int64", "seed2: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[dataset::<Random>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RandomDatasetV2",
        inputs: &["seed: int64", "seed2: int64", "seed_generator: resource"],
        outputs: &["handle: variant"],
        attrs: &[
            "rerandomize_each_iteration: bool = false",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[dataset::<Random>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Random {
    changes: bool,
}

impl MakeDataset for Random {
    fn new(attrs: &Attrs<'_>) -> Result<Random> {
        let changes = match attrs.get("rerandomize_each_iteration") {
            Some(_) => attrs.bool("rerandomize_each_iteration")?,
            None => false,
        };
        Ok(Random { changes })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let (seed, seed2) = (inputs.scalar(0, "seed")?, inputs.scalar(1, "seed2")?);
        let shared = match inputs.len() {
            3 if self.changes => inputs.context().resource::<SeedGenerator>(2).ok(),
            _ => None,
        };
        let generator =
            shared.unwrap_or_else(|| Arc::new(SeedGenerator::new(seed, seed2, self.changes)));
        Ok(Arc::new(RandomDataset { generator, signature }))
    }
}

#[derive(Debug)]
struct RandomDataset {
    generator: Arc<SeedGenerator>,
    signature: Signature,
}

impl Dataset for RandomDataset {
    fn kind(&self) -> &str {
        "Random"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        Cardinality::Infinite
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Numbers(Words::new(scope.draw(&self.generator)))))
    }
}

struct Numbers(Words);

impl Elements for Numbers {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        let element = vec![Tensor::scalar(i64::from(self.0.next()))];
        Box::pin(async { Ok(Some(element)) })
    }
}
