//! Datasets that watch over others: `IgnoreErrorsDataset` and assertions.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Code, Result, failed_precondition, out_of_range};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed};
use super::scope::Scope;
use super::task::Pace;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AssertCardinalityDataset",
        inputs: &["input_dataset: variant", "cardinality: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<AssertCardinality>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalIgnoreErrorsDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "log_warning: bool = false",
        ],
        kernels: &[dataset::<IgnoreErrors>()],
        ..Op::DEFAULT
    },
    Op {
        name: "IgnoreErrorsDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "log_warning: bool = false",
        ],
        kernels: &[dataset::<IgnoreErrors>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct IgnoreErrors;

impl MakeDataset for IgnoreErrors {
    fn new(_: &Attrs<'_>) -> Result<IgnoreErrors> {
        Ok(IgnoreErrors)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        Ok(Arc::new(GuardDataset { input: inputs.dataset(0)?, expected: None, signature }))
    }
}

#[derive(Debug)]
struct AssertCardinality;

impl MakeDataset for AssertCardinality {
    fn new(_: &Attrs<'_>) -> Result<AssertCardinality> {
        Ok(AssertCardinality)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let expected = match inputs.scalar::<i64>(1, "cardinality")? {
            -1 => Cardinality::Infinite,
            count => u64::try_from(count).map_or(Cardinality::Unknown, Cardinality::Known),
        };
        let expected = Some(expected);
        Ok(Arc::new(GuardDataset { input: inputs.dataset(0)?, expected, signature }))
    }
}

#[derive(Debug)]
struct GuardDataset {
    input: DatasetRef,
    /// How many elements there must be; absent when errors are ignored.
    expected: Option<Cardinality>,
    signature: Signature,
}

impl Dataset for GuardDataset {
    fn kind(&self) -> &str {
        if self.expected.is_some() { "AssertCardinality" } else { "IgnoreErrors" }
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.expected.unwrap_or(Cardinality::Unknown)
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        self.expected.is_some().then_some(self)
    }

    fn check_shuffling(&self, op: &str) -> Result<()> {
        match self.expected {
            Some(_) => self.input.check_shuffling(self.input.kind()),
            None => Err(failed_precondition!("{op} does not support random access.")),
        }
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        Ok(match self.expected {
            None => Box::new(Tolerant { input }),
            Some(expected) => Box::new(Counted { input, expected, count: 0 }),
        })
    }
}

impl Indexed for GuardDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        scope.access(&*self.input)
    }

    fn check_index(&self, index: i64, count: u64) -> Result<()> {
        match u64::try_from(index) {
            Ok(index) if index < count => Ok(()),
            Ok(_) => Err(out_of_range!("Index {index} greater than dataset size {count}")),
            Err(_) => Err(out_of_range!("Dataset index {index} must be non-negative")),
        }
    }
}

struct Tolerant {
    input: Box<dyn Elements>,
}

impl Elements for Tolerant {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let pace = Pace::default();
            loop {
                pace.turn().await;
                match self.input.next().await {
                    Err(error) if error.code() != Code::Cancelled => {}
                    outcome => return outcome,
                }
            }
        })
    }
}

struct Counted {
    input: Box<dyn Elements>,
    expected: Cardinality,
    count: u64,
}

/// The number of elements as a message says it.
fn elements(count: u64) -> String {
    if count == 1 { "1 element".to_owned() } else { format!("{count} elements") }
}

impl Elements for Counted {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let element = self.input.next().await?;
            self.count += u64::from(element.is_some());
            let words = match self.expected {
                Cardinality::Known(count) => elements(count),
                _ => "an infinite number of elements".to_owned(),
            };
            match (self.expected, &element) {
                (Cardinality::Known(expected), Some(_)) if self.count > expected => {
                    Err(failed_precondition!(
                        "Input dataset was expected to contain {words} but contained at least {}.",
                        elements(self.count)
                    ))
                }
                (Cardinality::Known(expected), None) if self.count != expected => {
                    Err(failed_precondition!(
                        "Input dataset was expected to contain {words} but contained only {}.",
                        elements(self.count)
                    ))
                }
                (Cardinality::Infinite, None) => Err(failed_precondition!(
                    "Input dataset was expected to contain {words} but contained only {}.",
                    elements(self.count)
                )),
                _ => Ok(element),
            }
        })
    }
}
