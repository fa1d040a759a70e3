//! `GlobalShuffleDataset`: all elements in a random order, without a buffer.
//!
//! Not elements are shuffled but their numbers, by a permutation that needs no memory; the dataset
//! and all its inputs must be able to make any element at any time.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, failed_precondition, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed, Renumbered, checked_count};
use super::scope::Scope;
use super::seed::SeedGenerator;
use crate::random::shuffled;

pub(super) const OPS: &[Op] = &[Op {
    name: "GlobalShuffleDataset",
    inputs: &["input_dataset: variant", "seed: int64", "seed2: int64", "seed_generator: resource"],
    outputs: &["handle: variant"],
    attrs: &[
        "reshuffle_each_iteration: bool = true",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    stateful: true,
    kernels: &[dataset::<GlobalShuffle>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct GlobalShuffle {
    reshuffles: bool,
}

impl MakeDataset for GlobalShuffle {
    fn new(attrs: &Attrs<'_>) -> Result<GlobalShuffle> {
        Ok(GlobalShuffle { reshuffles: attrs.bool("reshuffle_each_iteration")? })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        input.check_shuffling(input.kind()).map_err(|error| {
            failed_precondition!(
                "`global_shuffle` requires all upstream transformations be compatible with random \
                 access. Got: {}: {}",
                error.code().name(),
                error.message()
            )
        })?;
        let cardinality = input.cardinality();
        if !matches!(cardinality, Cardinality::Known(1..)) {
            return Err(invalid_argument!(
                "`global_shuffle` requires the input dataset to have a non-empty finite cardinality. \
                 Got cardinality {} for dataset {}",
                cardinality.number(),
                input.title()
            ));
        }
        let (seed, seed2) = (inputs.scalar(1, "seed")?, inputs.scalar(2, "seed2")?);
        // A handle that leads nowhere means seeds of the dataset's own.
        let shared = inputs.context().resource::<SeedGenerator>(3).ok();
        let generator =
            shared.unwrap_or_else(|| Arc::new(SeedGenerator::new(seed, seed2, self.reshuffles)));
        Ok(Arc::new(GlobalShuffleDataset { input, generator, signature }))
    }
}

#[derive(Debug)]
struct GlobalShuffleDataset {
    input: DatasetRef,
    generator: Arc<SeedGenerator>,
    signature: Signature,
}

impl Dataset for GlobalShuffleDataset {
    fn kind(&self) -> &str {
        "GlobalShuffle"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.input.cardinality()
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let count = checked_count(&*self.input)?;
        let elements = Shuffle::Closed { input: Arc::clone(&self.input), scope: scope.clone() };
        let key = self.draw(scope);
        Ok(Box::new(Shuffled { elements, key, count, next: 0 }))
    }
}

impl GlobalShuffleDataset {
    /// The key of the permutation of one pass.
    fn draw(&self, scope: &Scope) -> Key {
        let (seed, seed2) = scope.draw(&self.generator);
        let (seed3, _) = scope.draw(&self.generator);
        [seed as u32, seed2 as u32, seed3 as u32]
    }
}

impl Indexed for GlobalShuffleDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let (key, count) = (self.draw(scope), checked_count(&*self.input)?);
        let input = scope.access(&*self.input)?;
        Ok(Box::new(Renumbered { input, number: move |index| place(index, key, count) }))
    }
}

type Key = [u32; 3];

/// The number of the element that comes at `index` of `count`.
fn place(index: u64, key: Key, count: u64) -> u64 {
    const ROUNDS: usize = 8;
    shuffled(index, key, count.saturating_sub(1), ROUNDS)
}

struct Shuffled {
    elements: Shuffle,
    key: Key,
    count: u64,
    next: u64,
}

enum Shuffle {
    /// Nobody has asked for an element yet; whoever does learns why there are none.
    Closed {
        input: DatasetRef,
        scope: Scope,
    },
    Open(Box<dyn Access>),
}

impl Elements for Shuffled {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if self.next == self.count {
                return Ok(None);
            }
            if let Shuffle::Closed { input, scope } = &self.elements {
                self.elements = Shuffle::Open(scope.access(&**input)?);
            }
            let Shuffle::Open(elements) = &mut self.elements else { return Ok(None) };
            let element = elements.get(place(self.next, self.key, self.count)).await?;
            self.next += 1;
            Ok(Some(element))
        })
    }

    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        let count = count.min(self.count - self.next);
        self.next += count;
        Box::pin(async move { Ok(count) })
    }
}
