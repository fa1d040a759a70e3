//! `TakeDataset` and `SkipDataset`: the first elements, or all but them.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, failed_precondition};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed, Renumbered};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SkipDataset",
        inputs: &["input_dataset: variant", "count: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Part>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TakeDataset",
        inputs: &["input_dataset: variant", "count: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Part>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Part {
    takes: bool,
}

impl MakeDataset for Part {
    fn new(attrs: &Attrs<'_>) -> Result<Part> {
        Ok(Part { takes: attrs.op() == "TakeDataset" })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        // A negative count means all elements.
        let count = u64::try_from(inputs.scalar::<i64>(1, "count")?).unwrap_or(u64::MAX);
        let (skip, take) = if self.takes { (0, count) } else { (count, u64::MAX) };
        let kind = if self.takes { "FiniteTake" } else { "FiniteSkip" };
        Ok(Arc::new(PartDataset { kind, input, skip, take, signature }))
    }
}

#[derive(Debug)]
struct PartDataset {
    kind: &'static str,
    input: DatasetRef,
    skip: u64,
    take: u64,
    signature: Signature,
}

impl Dataset for PartDataset {
    fn kind(&self) -> &str {
        self.kind
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        if self.skip == u64::MAX || self.take == 0 {
            return Cardinality::Known(0);
        }
        match self.input.cardinality() {
            Cardinality::Infinite if self.take < u64::MAX => Cardinality::Known(self.take),
            other => other.map(|count| count.saturating_sub(self.skip).min(self.take)),
        }
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        if self.skip == u64::MAX {
            return Err(failed_precondition!(
                "Global shuffling does not support empty dataset or skipping the entire dataset. Got \
                 skip(-1)."
            ));
        }
        self.input.check_shuffling(self.input.kind())
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        // To skip everything, nothing has to be made.
        let is_empty = self.skip == u64::MAX || self.take == 0;
        let input = if is_empty { None } else { Some(scope.iterate(&*self.input)?) };
        Ok(Box::new(Piece { input, skip: self.skip, take: self.take }))
    }
}

impl Indexed for PartDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let (input, skip) = (scope.access(&*self.input)?, self.skip);
        Ok(Box::new(Renumbered { input, number: move |index| index + skip }))
    }
}

struct Piece {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    skip: u64,
    take: u64,
}

impl Piece {
    async fn pass_over(&mut self) -> Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        if self.skip > 0 {
            let count = std::mem::take(&mut self.skip);
            if input.skip(count).await? < count {
                self.input = None;
            }
        }
        Ok(())
    }
}

impl Elements for Piece {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            self.pass_over().await?;
            let Some(input) = &mut self.input else { return Ok(None) };
            let element = if self.take > 0 { input.next().await? } else { None };
            match element {
                // `u64::MAX` elements are as good as all.
                Some(_) => self.take -= 1,
                None => self.input = None,
            }
            Ok(element)
        })
    }

    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        Box::pin(async move {
            self.pass_over().await?;
            let Some(input) = &mut self.input else { return Ok(0) };
            let passed = input.skip(count.min(self.take)).await?;
            self.take -= passed;
            Ok(passed)
        })
    }
}
