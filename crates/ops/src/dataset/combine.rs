//! `ZipDataset` and `ConcatenateDataset`: several datasets side by side, or one after the other.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed, checked_count};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ConcatenateDataset",
        inputs: &["input_dataset: variant", "another_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Concatenate>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ZipDataset",
        inputs: &["input_datasets: N * variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "N: int >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Zip>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Zip;

impl MakeDataset for Zip {
    fn new(_: &Attrs<'_>) -> Result<Zip> {
        Ok(Zip)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let parts = (0..inputs.len()).map(|index| inputs.dataset(index)).collect::<Result<_>>()?;
        Ok(Arc::new(ZipDataset { parts, signature }))
    }
}

#[derive(Debug)]
struct ZipDataset {
    parts: Vec<DatasetRef>,
    signature: Signature,
}

impl Dataset for ZipDataset {
    fn kind(&self) -> &str {
        "Zip"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        self.parts.iter().collect()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        let all = || self.parts.iter().map(|part| part.cardinality());
        if all().any(|part| part == Cardinality::Unknown) {
            return Cardinality::Unknown;
        }
        all()
            .filter_map(|part| match part {
                Cardinality::Known(count) => Some(count),
                _ => None,
            })
            .min()
            .map_or(Cardinality::Infinite, Cardinality::Known)
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.check_shuffling(part.kind()))
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let parts = self
            .parts
            .iter()
            .enumerate()
            .map(|(index, part)| scope.iterate_nth(&**part, index))
            .collect::<Result<_>>()?;
        Ok(Box::new(Zipped { parts }))
    }
}

impl Indexed for ZipDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let parts = self.parts.iter().map(|part| scope.access(&**part)).collect::<Result<_>>()?;
        Ok(Box::new(ZippedAt { parts }))
    }
}

/// Elements side by side, by number.
struct ZippedAt {
    parts: Vec<Box<dyn Access>>,
}

impl Access for ZippedAt {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        Box::pin(async move {
            let mut element = Vec::new();
            for part in &mut self.parts {
                element.extend(part.get(index).await?);
            }
            Ok(element)
        })
    }
}

struct Zipped {
    /// Empty at the end.
    parts: Vec<Box<dyn Elements>>,
}

impl Elements for Zipped {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let mut element = Vec::new();
            let mut has_ended = self.parts.is_empty();
            let mut failure = None;
            for part in &mut self.parts {
                // All parts go on together, also past an error in one of them.
                match part.next().await {
                    Ok(Some(own)) => element.extend(own),
                    Ok(None) => {
                        has_ended = true;
                        break;
                    }
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            if let Some(error) = failure {
                return Err(error);
            }
            if has_ended {
                self.parts.clear();
                return Ok(None);
            }
            Ok(Some(element))
        })
    }
}

#[derive(Debug)]
struct Concatenate;

impl MakeDataset for Concatenate {
    fn new(_: &Attrs<'_>) -> Result<Concatenate> {
        Ok(Concatenate)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let parts = [inputs.dataset(0)?, inputs.dataset(1)?];
        if parts[0].signature().types != parts[1].signature().types {
            return Err(invalid_argument!(
                "input dataset and dataset to be concatenated should have the same output_types."
            ));
        }
        Ok(Arc::new(ConcatenateDataset { parts, signature }))
    }
}

#[derive(Debug)]
struct ConcatenateDataset {
    parts: [DatasetRef; 2],
    signature: Signature,
}

impl Dataset for ConcatenateDataset {
    fn kind(&self) -> &str {
        "Concatenate"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        self.parts.iter().collect()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        use Cardinality::{Infinite, Known, Unknown};
        match (self.parts[0].cardinality(), self.parts[1].cardinality()) {
            (Infinite, _) | (_, Infinite) => Infinite,
            (Unknown, _) | (_, Unknown) => Unknown,
            (Known(one), Known(other)) => Known(one.saturating_add(other)),
        }
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.check_shuffling(part.kind()))
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Concatenated {
            current: Some(scope.iterate_nth(&*self.parts[0], 0)?),
            second: Some(Arc::clone(&self.parts[1])),
            scope: scope.clone(),
        }))
    }
}

impl Indexed for ConcatenateDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let first_count = checked_count(&*self.parts[0])?;
        let parts = [scope.access(&*self.parts[0])?, scope.access(&*self.parts[1])?];
        Ok(Box::new(ConcatenatedAt { parts, first_count }))
    }
}

/// Elements one after the other, by number.
struct ConcatenatedAt {
    parts: [Box<dyn Access>; 2],
    first_count: u64,
}

impl Access for ConcatenatedAt {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        match index.checked_sub(self.first_count) {
            None => self.parts[0].get(index),
            Some(index) => self.parts[1].get(index),
        }
    }
}

struct Concatenated {
    current: Option<Box<dyn Elements>>,
    second: Option<DatasetRef>,
    scope: Scope,
}

impl Concatenated {
    fn advance(&mut self) -> Result<()> {
        self.current = match self.second.take() {
            Some(second) => Some(self.scope.iterate_nth(&*second, 1)?),
            None => None,
        };
        Ok(())
    }
}

impl Elements for Concatenated {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            while let Some(current) = &mut self.current {
                if let Some(element) = current.next().await? {
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
                passed += current.skip(count - passed).await?;
                if passed == count {
                    break;
                }
                self.advance()?;
            }
            Ok(passed)
        })
    }
}
