//! `SamplingDataset`: each element with some chance.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::Result;

use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature, dataset,
};
use super::scope::Scope;
use super::seed::{SeedGenerator, Words};
use super::task::Pace;

pub(super) const OPS: &[Op] = &[Op {
    name: "SamplingDataset",
    inputs: &["input_dataset: variant", "rate: float", "seed: int64", "seed2: int64"],
    outputs: &["handle: variant"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    kernels: &[dataset::<Sampling>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Sampling;

impl MakeDataset for Sampling {
    fn new(_: &Attrs<'_>) -> Result<Sampling> {
        Ok(Sampling)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let (seed, seed2) = (inputs.scalar(2, "seed")?, inputs.scalar(3, "seed2")?);
        Ok(Arc::new(SamplingDataset {
            input: inputs.dataset(0)?,
            rate: inputs.scalar(1, "rate")?,
            generator: SeedGenerator::new(seed, seed2, false),
            signature,
        }))
    }
}

#[derive(Debug)]
struct SamplingDataset {
    input: DatasetRef,
    rate: f32,
    generator: SeedGenerator,
    signature: Signature,
}

impl Dataset for SamplingDataset {
    fn kind(&self) -> &str {
        "Sampling"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let words = Words::new(scope.draw(&self.generator));
        Ok(Box::new(Sampled { input: scope.iterate(&*self.input)?, rate: self.rate, words }))
    }
}

struct Sampled {
    input: Box<dyn Elements>,
    rate: f32,
    words: Words,
}

impl Sampled {
    /// A number of [0, 1), made of a word as `RandomUniform` makes one.
    fn uniform(&mut self) -> f32 {
        let mantissa = self.words.next() & 0x7f_ffff;
        f32::from_bits(127 << 23 | mantissa) - 1.0
    }
}

impl Elements for Sampled {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let pace = Pace::default();
            while let Some(element) = self.input.next().await? {
                pace.turn().await;
                if self.uniform() < self.rate {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        })
    }
}
