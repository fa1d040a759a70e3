//! `RepeatDataset`: the elements again and again.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, failed_precondition};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed, Renumbered, checked_count};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[Op {
    name: "RepeatDataset",
    inputs: &["input_dataset: variant", "count: int64"],
    outputs: &["handle: variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: &[dataset::<Repeat>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Repeat;

impl MakeDataset for Repeat {
    fn new(_: &Attrs<'_>) -> Result<Repeat> {
        Ok(Repeat)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        // A negative count means: without end.
        let count = u64::try_from(inputs.scalar::<i64>(1, "count")?).ok();
        Ok(Arc::new(RepeatDataset { input, count, signature }))
    }
}

#[derive(Debug)]
struct RepeatDataset {
    input: DatasetRef,
    count: Option<u64>,
    signature: Signature,
}

/// The number of elements when a dataset is repeated.
pub(super) fn repeated(input: Cardinality, count: Option<u64>) -> Cardinality {
    match (input, count) {
        (Cardinality::Known(0), _) | (_, Some(0)) => Cardinality::Known(0),
        (Cardinality::Known(_), None) | (Cardinality::Infinite, _) => Cardinality::Infinite,
        (Cardinality::Known(own), Some(count)) => Cardinality::Known(own.saturating_mul(count)),
        (Cardinality::Unknown, Some(_)) => Cardinality::Unknown,
        (Cardinality::Unknown, None) => Cardinality::Infinite,
    }
}

impl Dataset for RepeatDataset {
    fn kind(&self) -> &str {
        match self.count {
            Some(0) => "EmptyRepeat",
            Some(_) => "FiniteRepeat",
            None => "ForeverRepeat",
        }
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
        Some(self)
    }

    fn title(&self) -> String {
        "RepeatDatasetOp::Dataset".to_owned()
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        match self.count {
            Some(1..) => self.input.check_shuffling(self.input.kind()),
            count => Err(failed_precondition!(
                "`repeat({})` does not support random access of tf.data datasets.",
                if count.is_some() { 0 } else { -1 }
            )),
        }
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let current = match self.count {
            Some(0) => None,
            _ => Some(scope.iterate_nth(&*self.input, 0)?),
        };
        Ok(Box::new(Repeated {
            dataset: Arc::clone(&self.input),
            scope: scope.clone(),
            current,
            round: 0,
            count: self.count,
            is_fresh: true,
        }))
    }
}

impl Indexed for RepeatDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let (input, count) = (scope.access(&*self.input)?, checked_count(&*self.input)?);
        Ok(Box::new(Renumbered { input, number: move |index| index % count.max(1) }))
    }
}

struct Repeated {
    dataset: DatasetRef,
    scope: Scope,
    /// The current pass; absent at the end.
    current: Option<Box<dyn Elements>>,
    round: u64,
    count: Option<u64>,
    /// Whether the current pass gave nothing yet.
    is_fresh: bool,
}

impl Repeated {
    /// Starts the next pass, if there is one.
    fn advance(&mut self) -> Result<()> {
        self.current = None;
        self.round += 1;
        // Without end, a pass without elements would be followed by others like it.
        let is_over = match self.count {
            Some(count) => self.round >= count,
            None => self.is_fresh,
        };
        if !is_over {
            let index = usize::try_from(self.round).unwrap_or(usize::MAX);
            self.current = Some(self.scope.iterate_nth(&*self.dataset, index)?);
            self.is_fresh = true;
        }
        Ok(())
    }
}

impl Elements for Repeated {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            while let Some(current) = &mut self.current {
                if let Some(element) = current.next().await? {
                    self.is_fresh = false;
                    return Ok(Some(element));
                }
                self.advance()?;
            }
            Ok(None)
        })
    }

    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        Box::pin(async move {
            let mut passed = 0;
            while let Some(current) = &mut self.current {
                let got = current.skip(count - passed).await?;
                self.is_fresh &= got == 0;
                passed += got;
                if passed == count {
                    break;
                }
                self.advance()?;
            }
            Ok(passed)
        })
    }
}
