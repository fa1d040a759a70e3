//! `ShuffleDataset` and `ShuffleAndRepeatDataset`: elements drawn at random from a buffer.
//!
//! The order is TensorFlow's for the same seeds. The buffer is a ring in which each pass over the
//! input has a slice; an element is drawn from the first slice, and the element at the start of the
//! slice takes its place.

use std::collections::VecDeque;
use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed, Renumbered, checked_count};
use super::repeat::repeated;
use super::scope::Scope;
use super::seed::{SeedGenerator, Words};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ShuffleAndRepeatDataset",
        inputs: &[
            "input_dataset: variant",
            "buffer_size: int64",
            "seed: int64",
            "seed2: int64",
            "count: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "reshuffle_each_iteration: bool = true",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Shuffle>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ShuffleAndRepeatDatasetV2",
        inputs: &[
            "input_dataset: variant",
            "buffer_size: int64",
            "seed: int64",
            "seed2: int64",
            "count: int64",
            "seed_generator: resource",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "reshuffle_each_iteration: bool = true",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[dataset::<Shuffle>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ShuffleDataset",
        inputs: &["input_dataset: variant", "buffer_size: int64", "seed: int64", "seed2: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "reshuffle_each_iteration: bool = true",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Shuffle>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ShuffleDatasetV2",
        inputs: &["input_dataset: variant", "buffer_size: int64", "seed_generator: resource"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[dataset::<Shuffle>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ShuffleDatasetV3",
        inputs: &[
            "input_dataset: variant",
            "buffer_size: int64",
            "seed: int64",
            "seed2: int64",
            "seed_generator: resource",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "reshuffle_each_iteration: bool = true",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[dataset::<Shuffle>()],
        ..Op::DEFAULT
    },
];

/// A buffer for all elements, however many there are.
const UNKNOWN_SIZE: i64 = -2;

#[derive(Debug)]
struct Shuffle {
    /// The input with the first seed, if seeds are inputs.
    seeds: Option<usize>,
    count: Option<usize>,
    generator: Option<usize>,
    reshuffles: bool,
}

impl MakeDataset for Shuffle {
    fn new(attrs: &Attrs<'_>) -> Result<Shuffle> {
        let (seeds, count, generator) = match attrs.op() {
            "ShuffleDataset" => (Some(2), None, None),
            "ShuffleDatasetV2" => (None, None, Some(2)),
            "ShuffleDatasetV3" => (Some(2), None, Some(4)),
            "ShuffleAndRepeatDataset" => (Some(2), Some(4), None),
            _ => (Some(2), Some(4), Some(5)),
        };
        let reshuffles = match attrs.get("reshuffle_each_iteration") {
            Some(_) => attrs.bool("reshuffle_each_iteration")?,
            None => true,
        };
        Ok(Shuffle { seeds, count, generator, reshuffles })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let size = inputs.scalar::<i64>(1, "buffer_size")?;
        if size < 1 && size != UNKNOWN_SIZE {
            return Err(invalid_argument!(
                "buffer_size must be greater than zero or UNKNOWN_CARDINALITY"
            ));
        }
        let seeds = match self.seeds {
            Some(index) => {
                Some((inputs.scalar(index, "seed")?, inputs.scalar(index + 1, "seed2")?))
            }
            None => None,
        };
        let (repeats, count) = match self.count {
            None => (false, Some(1)),
            Some(index) => match inputs.scalar::<i64>(index, "count")? {
                0 => {
                    return Err(invalid_argument!(
                        "count must be greater than zero or equal to -1."
                    ));
                }
                count => (true, u64::try_from(count).ok()),
            },
        };
        let shared = match self.generator {
            Some(index) => inputs.context().resource::<SeedGenerator>(index).ok(),
            None => None,
        };
        let generator = match (shared, seeds) {
            (Some(generator), _) => generator,
            (None, Some((seed, seed2))) => {
                Arc::new(SeedGenerator::new(seed, seed2, self.reshuffles))
            }
            (None, None) => Arc::new(SeedGenerator::new(0, 0, true)),
        };
        // A buffer for all elements is one that is never full.
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        Ok(Arc::new(ShuffleDataset { input, size, generator, repeats, count, signature }))
    }
}

#[derive(Debug)]
struct ShuffleDataset {
    input: DatasetRef,
    size: usize,
    generator: Arc<SeedGenerator>,
    repeats: bool,
    /// How many passes over the input; absent for any number.
    count: Option<u64>,
    signature: Signature,
}

impl Dataset for ShuffleDataset {
    fn kind(&self) -> &str {
        if self.repeats { "ShuffleAndRepeat" } else { "Shuffle" }
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        repeated(self.input.cardinality(), self.count)
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        (!self.repeats).then_some(self)
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let seeds = scope.draw(&self.generator);
        Ok(Box::new(Shuffled {
            dataset: Arc::clone(&self.input),
            scope: scope.clone(),
            input: Some(scope.iterate(&*self.input)?),
            size: self.size,
            left: self.count.map(|count| count - 1),
            ring: Vec::new(),
            slices: VecDeque::from([Slice { start: 0, end: 0 }]),
            generator: Arc::clone(&self.generator),
            words: Words::new(seeds),
            made_any: false,
        }))
    }
}

/// By number, all elements are shuffled, however large the buffer is.
impl Indexed for ShuffleDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let count = checked_count(&*self.input)?;
        let mut words = Words::new(self.generator.seeds());
        let mut numbers: Vec<u64> = (0..count).collect();
        for place in 0..numbers.len() {
            let left = numbers.len() - place;
            numbers.swap(place, place + words.next() as usize % left);
        }
        let input = scope.access(&*self.input)?;
        Ok(Box::new(Renumbered { input, number: move |index| numbers[index as usize] }))
    }
}

/// The elements of one pass, by numbers that are never used twice.
struct Slice {
    start: usize,
    end: usize,
}

struct Shuffled {
    dataset: DatasetRef,
    scope: Scope,
    /// The current pass; absent after the last.
    input: Option<Box<dyn Elements>>,
    size: usize,
    /// How many passes follow; absent for any number.
    left: Option<u64>,
    /// Element number `n` is at `n` modulo the size.
    ring: Vec<Element>,
    slices: VecDeque<Slice>,
    generator: Arc<SeedGenerator>,
    words: Words,
    made_any: bool,
}

impl Shuffled {
    fn buffered(&self) -> usize {
        self.slices.iter().map(|slice| slice.end - slice.start).sum()
    }

    async fn fill(&mut self) -> Result<()> {
        let mut buffered = self.buffered();
        while buffered < self.size {
            let Some(input) = &mut self.input else { return Ok(()) };
            match input.next().await? {
                Some(element) => {
                    self.put(element);
                    buffered += 1;
                }
                None => self.end_pass()?,
            }
        }
        Ok(())
    }

    fn put(&mut self, element: Element) {
        self.made_any = true;
        let slice = self.slices.back_mut().expect("there is always a slice");
        let place = slice.end % self.size;
        slice.end += 1;
        match self.ring.get_mut(place) {
            Some(old) => *old = element,
            // The places are used in order before any is used again.
            None => self.ring.push(element),
        }
    }

    fn end_pass(&mut self) -> Result<()> {
        self.input = None;
        match &mut self.left {
            Some(0) => return Ok(()),
            Some(left) => *left -= 1,
            // Passes without elements would go on forever.
            None if !self.made_any => return Ok(()),
            None => {}
        }
        let end = self.slices.back().map_or(0, |slice| slice.end);
        self.slices.push_back(Slice { start: end, end });
        self.input = Some(self.scope.iterate(&*self.dataset)?);
        Ok(())
    }

    fn draw(&mut self) -> Option<Element> {
        while self.slices.len() > 1 && self.slices[0].start == self.slices[0].end {
            self.slices.pop_front();
            // Each pass has seeds of its own, used from its first element on.
            self.words = Words::new(self.scope.draw(&self.generator));
        }
        let slice = self.slices.front_mut()?;
        let count = slice.end - slice.start;
        if count == 0 {
            return None;
        }
        let drawn = slice.start + self.words.next() as usize % count;
        let (first, drawn) = (slice.start % self.size, drawn % self.size);
        slice.start += 1;
        self.ring.swap(first, drawn);
        Some(std::mem::take(&mut self.ring[first]))
    }
}

impl Elements for Shuffled {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            self.fill().await?;
            Ok(self.draw())
        })
    }
}
