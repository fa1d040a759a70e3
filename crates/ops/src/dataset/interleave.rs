//! `FlatMapDataset` and `InterleaveDataset`: the elements of datasets that a function makes.
//!
//! The elements of several datasets take turns. Where calls may run in parallel, the datasets of a
//! cycle are opened as soon as there is a place for them, and a background task of each makes its
//! elements ahead. The order is the same either way, because places are opened in the order in which
//! their turns come.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{
    Error, Result, failed_precondition, invalid_argument, unimplemented_error,
};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::parallel::{AUTOTUNE, parallel_calls};
use super::prefetch::Prefetched;
use super::scope::{Captured, Scope, UserFunction};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalParallelInterleaveDataset",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "cycle_length: int64",
            "block_length: int64",
            "sloppy: bool",
            "buffer_output_elements: int64",
            "prefetch_input_elements: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<Interleave>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FlatMapDataset",
        inputs: &["input_dataset: variant", "other_arguments: Targuments"],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Interleave>()],
        ..Op::DEFAULT
    },
    Op {
        name: "InterleaveDataset",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "cycle_length: int64",
            "block_length: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Interleave>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LegacyParallelInterleaveDatasetV2",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "cycle_length: int64",
            "block_length: int64",
            "buffer_output_elements: int64",
            "prefetch_input_elements: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "deterministic: string = 'default'",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Interleave>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParallelInterleaveDataset",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "cycle_length: int64",
            "block_length: int64",
            "sloppy: bool",
            "buffer_output_elements: int64",
            "prefetch_input_elements: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Interleave>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParallelInterleaveDatasetV2",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "cycle_length: int64",
            "block_length: int64",
            "num_parallel_calls: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "sloppy: bool = false",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Interleave>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParallelInterleaveDatasetV3",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "cycle_length: int64",
            "block_length: int64",
            "num_parallel_calls: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "deterministic: string = 'default'",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Interleave>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParallelInterleaveDatasetV4",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "cycle_length: int64",
            "block_length: int64",
            "buffer_output_elements: int64",
            "prefetch_input_elements: int64",
            "num_parallel_calls: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "deterministic: string = 'default'",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Interleave>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Interleave {
    function: Func,
    kind: &'static str,
    /// How many inputs follow those that the function captured.
    settings: usize,
    is_parallel: bool,
}

impl MakeDataset for Interleave {
    fn new(attrs: &Attrs<'_>) -> Result<Interleave> {
        let (kind, settings) = match attrs.op() {
            "FlatMapDataset" => ("FlatMap", 0),
            "InterleaveDataset" => ("Interleave", 2),
            "ParallelInterleaveDatasetV2" => ("ParallelInterleaveV2", 3),
            "ParallelInterleaveDatasetV3" => ("ParallelInterleaveV3", 3),
            "ParallelInterleaveDatasetV4" => ("ParallelInterleaveV4", 5),
            "LegacyParallelInterleaveDatasetV2" => ("LegacyParallelInterleaveV2", 4),
            _ => ("ParallelInterleave", 5),
        };
        let is_parallel = kind.contains("Parallel");
        Ok(Interleave { function: attrs.func("f")?.clone(), kind, settings, is_parallel })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let first = inputs.len() - self.settings;
        let function = Captured::new(&self.function, inputs.range(1..first)?);
        let (mut cycle, mut block) = (1, 1);
        if self.settings > 0 {
            cycle = inputs.scalar::<i64>(first, "cycle_length")?;
            block = inputs.scalar::<i64>(first + 1, "block_length")?;
            self.check(inputs, first, cycle, block)?;
            if cycle == AUTOTUNE {
                let calls = match self.is_parallel {
                    true => Some(parallel_calls(inputs, inputs.len() - 1)?),
                    false => None,
                };
                cycle = usual_cycle(calls);
            }
        }
        Ok(Arc::new(InterleaveDataset {
            input,
            function,
            kind: self.kind,
            cycle,
            block: block as u64,
            is_parallel: self.is_parallel,
            signature,
        }))
    }
}

impl Interleave {
    /// Checks the settings, in each version's words.
    fn check(&self, inputs: &Inputs<'_, '_>, first: usize, cycle: i64, block: i64) -> Result<()> {
        let is_positive = |name: &str, value: i64| match value {
            1.. => Ok(()),
            _ => Err(invalid_argument!("`{name}` must be > 0")),
        };
        if !self.is_parallel {
            if cycle < 1 && cycle != AUTOTUNE {
                return Err(invalid_argument!("cycle_length must be greater than zero."));
            }
            if block < 1 {
                return Err(invalid_argument!("block_length must be greater than zero."));
            }
            return Ok(());
        }
        if !self.kind.starts_with("ParallelInterleaveV") {
            is_positive("cycle_length", cycle)?;
            is_positive("block_length", block)?;
            let settings = first + self.settings;
            is_positive(
                "buffer_output_elements",
                inputs.scalar(settings - 2, "buffer_output_elements")?,
            )?;
            if inputs.scalar::<i64>(settings - 1, "prefetch_input_elements")? < 0 {
                return Err(invalid_argument!("`prefetch_input_elements` must be >= 0"));
            }
            return Ok(());
        }
        if cycle < 1 && cycle != AUTOTUNE {
            return Err(invalid_argument!(
                "`cycle_length` must be `tf.data.AUTOTUNE` or greater than 0 but is {cycle}"
            ));
        }
        is_positive("block_length", block)?;
        let calls = parallel_calls(inputs, inputs.len() - 1)?;
        if cycle != AUTOTUNE && calls > cycle {
            return Err(invalid_argument!(
                "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be either \
                 `tf.data.AUTOTUNE` or a value less than or equal to `cycle_length`. However, \
                 `num_parallel_calls` is {calls} and `cycle_length` is {cycle}"
            ));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct InterleaveDataset {
    input: DatasetRef,
    function: Captured,
    kind: &'static str,
    cycle: i64,
    block: u64,
    is_parallel: bool,
    signature: Signature,
}

impl Dataset for InterleaveDataset {
    fn kind(&self) -> &str {
        self.kind
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Only the parallel ones say that they have no end, as in TensorFlow.
    fn cardinality(&self) -> Cardinality {
        match self.input.cardinality() {
            Cardinality::Infinite if self.is_parallel => Cardinality::Infinite,
            _ => Cardinality::Unknown,
        }
    }

    fn check_shuffling(&self, op: &str) -> Result<()> {
        if self.kind == "FlatMap" {
            return Err(unimplemented_error!(
                "Please consider applying maps on each dataset, concatenating them into one dataset \
                 and apply global shuffle dataset op onto the dataset to achieve the same result as \
                 flat map with global shuffling."
            ));
        }
        Err(failed_precondition!("{op} does not support random access."))
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Interleaved {
            input: Some(scope.iterate(&*self.input)?),
            function: scope.function(&self.function)?,
            cycle: usize::try_from(self.cycle).unwrap_or(usize::MAX),
            block: self.block,
            ahead: self.is_parallel.then(|| buffer_size(self.block)),
            scope: scope.clone(),
            places: Vec::new(),
            turn: 0,
            given: 0,
            opened: 0,
            counts_places: self.kind == "Interleave",
            shares_turns: matches!(self.kind, "ParallelInterleave" | "LegacyParallelInterleaveV2"),
        }))
    }
}

/// How many datasets take turns when nobody says how many: as many as in TensorFlow on the same
/// machine, because the order of elements depends on it.
fn usual_cycle(calls: Option<i64>) -> i64 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as i64);
    match calls {
        None => cores,
        // A dataset of the cycle, and two that wait for their turn, have a thread each.
        Some(AUTOTUNE) => (cores + 2) / 3,
        Some(calls) => calls.min(cores),
    }
}

/// How many elements of each dataset are made ahead.
fn buffer_size(block: u64) -> usize {
    const MOST: u64 = 64;
    block.clamp(1, MOST) as usize
}

struct Interleaved {
    /// Absent when no more datasets can be opened.
    input: Option<Box<dyn Elements>>,
    function: UserFunction,
    /// How many datasets take turns.
    cycle: usize,
    /// How many elements a turn has.
    block: u64,
    /// How many elements of each dataset are made ahead, if any.
    ahead: Option<usize>,
    scope: Scope,
    /// Grows as places are first used; a place is empty when its dataset has ended.
    places: Vec<Option<Box<dyn Elements>>>,
    turn: usize,
    /// How many elements the current turn has given.
    given: u64,
    opened: usize,
    /// Whether messages name a dataset by its place, and not by how many were opened before.
    counts_places: bool,
    /// Whether the turn of a dataset that ends, and that no other replaces, is the next one's.
    shares_turns: bool,
}

impl Interleaved {
    fn end_turn(&mut self) {
        self.given = 0;
        self.pass_turn();
    }

    /// Goes on to the next place, which has what is left of the turn.
    fn pass_turn(&mut self) {
        self.turn += 1;
        // Places that were never used have nothing to give when there is no more input.
        if self.turn >= self.cycle || (self.input.is_none() && self.turn >= self.places.len()) {
            self.turn = 0;
        }
    }

    /// Opens the next dataset at a place. False: there is none.
    async fn open(&mut self, place: usize) -> Result<bool> {
        let Some(input) = &mut self.input else { return Ok(false) };
        let state = match input.next().await {
            Ok(Some(element)) => State::Closed(element),
            Ok(None) => {
                self.input = None;
                return Ok(false);
            }
            // What is opened ahead of its turn fails when it is its turn.
            Err(error) if self.ahead.is_some() => State::Broken(error),
            Err(error) => return Err(error),
        };
        let opening = Opening {
            state,
            function: self.function.clone(),
            scope: self.scope.clone(),
            index: if self.counts_places { place } else { self.opened },
        };
        self.opened += 1;
        let elements: Box<dyn Elements> = match self.ahead {
            None => Box::new(opening),
            Some(size) => {
                let mut ahead = Prefetched::new(&self.scope, Box::new(opening), size);
                ahead.start();
                Box::new(ahead)
            }
        };
        if place == self.places.len() {
            self.places.push(Some(elements));
        } else {
            self.places[place] = Some(elements);
        }
        Ok(true)
    }

    /// Opens datasets at all places that wait for one.
    async fn open_all(&mut self) -> Result<()> {
        let count = self.places.len();
        for place in (self.turn..count).chain(0..self.turn.min(count)) {
            if self.places[place].is_none() && !self.open(place).await? {
                return Ok(());
            }
        }
        while self.places.len() < self.cycle {
            if !self.open(self.places.len()).await? {
                break;
            }
        }
        Ok(())
    }
}

impl Elements for Interleaved {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            loop {
                if self.ahead.is_some() {
                    self.open_all().await?;
                }
                if let Some(Some(place)) = self.places.get_mut(self.turn) {
                    if let Some(element) = place.next().await? {
                        self.given += 1;
                        if self.given == self.block {
                            self.end_turn();
                        }
                        return Ok(Some(element));
                    }
                    self.places[self.turn] = None;
                    if self.shares_turns && !self.open(self.turn).await? {
                        self.pass_turn();
                    } else {
                        self.end_turn();
                    }
                } else if !self.open(self.turn).await? {
                    if self.places.iter().all(Option::is_none) {
                        return Ok(None);
                    }
                    if self.shares_turns {
                        self.pass_turn();
                    } else {
                        self.end_turn();
                    }
                }
            }
        })
    }
}

/// The elements of the dataset that a function makes of an element.
struct Opening {
    state: State,
    function: UserFunction,
    scope: Scope,
    index: usize,
}

enum State {
    Closed(Element),
    Open(Box<dyn Elements>),
    /// There is an error in place of the element.
    Broken(Error),
    /// It could not be opened.
    Failed,
}

impl Opening {
    async fn open(&mut self, element: Element) -> Result<()> {
        let dataset = self.function.dataset(element).await?;
        self.state = State::Open(self.scope.iterate_nth(&*dataset, self.index)?);
        Ok(())
    }
}

impl Elements for Opening {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if let State::Open(elements) = &mut self.state {
                return elements.next().await;
            }
            match std::mem::replace(&mut self.state, State::Failed) {
                State::Closed(element) => self.open(element).await?,
                State::Broken(error) => return Err(error),
                _ => {}
            }
            match &mut self.state {
                State::Open(elements) => elements.next().await,
                _ => Ok(None),
            }
        })
    }
}
