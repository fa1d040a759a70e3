//! `PrefetchDataset`: elements made before they are asked for.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, internal, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed};
use super::parallel::AUTOTUNE;
use super::scope::Scope;
use super::task::{Buffer, Task, buffer};

pub(super) const OPS: &[Op] = &[Op {
    name: "PrefetchDataset",
    inputs: &["input_dataset: variant", "buffer_size: int64"],
    outputs: &["handle: variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "slack_period: int = 0",
        "legacy_autotune: bool = true",
        "buffer_size_min: int = 0",
        "metadata: string = ''",
    ],
    kernels: &[dataset::<Prefetch>()],
    ..Op::DEFAULT
}];

/// How many elements are made ahead when nobody says how many.
const DEFAULT_SIZE: usize = 8;

#[derive(Debug)]
struct Prefetch {
    minimum: i64,
}

impl MakeDataset for Prefetch {
    fn new(attrs: &Attrs<'_>) -> Result<Prefetch> {
        Ok(Prefetch { minimum: attrs.int("buffer_size_min")? })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let size = inputs.scalar::<i64>(1, "buffer_size")?;
        if size < 0 && size != AUTOTUNE {
            return Err(invalid_argument!(
                "buffer_size must be >= 0 or set buffer_size to be {AUTOTUNE} for auto-tuning"
            ));
        }
        let size = usize::try_from(size.max(self.minimum)).unwrap_or(DEFAULT_SIZE);
        Ok(Arc::new(PrefetchDataset { input, size, signature }))
    }
}

#[derive(Debug)]
struct PrefetchDataset {
    input: DatasetRef,
    size: usize,
    signature: Signature,
}

impl Dataset for PrefetchDataset {
    fn kind(&self) -> &str {
        "Prefetch"
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
        self.input.check_shuffling(self.input.kind())
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        // A buffer without room is none.
        if self.size == 0 {
            return Ok(input);
        }
        Ok(Box::new(Prefetched::new(scope, input, self.size)))
    }
}

impl Indexed for PrefetchDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        scope.access(&*self.input)
    }
}

/// An iterator whose elements a background task makes.
pub(crate) struct Prefetched {
    state: State,
    scope: Scope,
}

enum State {
    /// Nobody has asked yet, so nothing is done ahead.
    New {
        input: Box<dyn Elements>,
        size: usize,
    },
    Running {
        elements: Buffer<Result<Option<Element>>>,
        _filler: Task<()>,
    },
    Ended,
}

impl Prefetched {
    pub(crate) fn new(scope: &Scope, input: Box<dyn Elements>, size: usize) -> Prefetched {
        Prefetched { state: State::New { input, size }, scope: scope.clone() }
    }

    /// Starts to make elements.
    pub(super) fn start(&mut self) {
        let State::New { mut input, size } = std::mem::replace(&mut self.state, State::Ended)
        else {
            return;
        };
        let (mut filler, elements) = buffer(size);
        let task = self.scope.spawn(async move {
            while filler.ready().await {
                let element = input.next().await;
                let is_end = matches!(element, Ok(None));
                filler.put(element);
                if is_end {
                    return;
                }
            }
        });
        self.state = State::Running { elements, _filler: task };
    }

    fn settle(&mut self, element: Result<Option<Element>>) -> Result<Option<Element>> {
        if matches!(element, Ok(None)) {
            self.state = State::Ended;
        }
        element
    }
}

impl Elements for Prefetched {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if matches!(self.state, State::New { .. }) {
                self.start();
            }
            let State::Running { elements, .. } = &mut self.state else { return Ok(None) };
            let element = elements
                .take()
                .await
                .ok_or_else(|| internal!("background work failed unexpectedly"))?;
            self.settle(element)
        })
    }

    fn try_next(&mut self) -> Option<Result<Option<Element>>> {
        match &mut self.state {
            State::New { .. } => None,
            State::Running { elements, .. } => {
                let element = elements.try_take()?;
                Some(self.settle(element))
            }
            State::Ended => Some(Ok(None)),
        }
    }
}
