//! `DirectedInterleaveDataset`: a dataset of numbers says from which dataset the next element comes.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DirectedInterleaveDataset",
        inputs: &["selector_input_dataset: variant", "data_input_datasets: N * variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "N: int >= 1",
            "stop_on_empty_dataset: bool = false",
        ],
        kernels: &[dataset::<DirectedInterleave>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalDirectedInterleaveDataset",
        inputs: &["selector_input_dataset: variant", "data_input_datasets: N * variant"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "N: int >= 1"],
        kernels: &[dataset::<DirectedInterleave>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct DirectedInterleave {
    stop_on_empty: bool,
}

impl MakeDataset for DirectedInterleave {
    fn new(attrs: &Attrs<'_>) -> Result<DirectedInterleave> {
        let stop_on_empty = match attrs.get("stop_on_empty_dataset") {
            Some(_) => attrs.bool("stop_on_empty_dataset")?,
            None => false,
        };
        Ok(DirectedInterleave { stop_on_empty })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let selector = inputs.dataset(0)?;
        let parts = (1..inputs.len()).map(|index| inputs.dataset(index)).collect::<Result<_>>()?;
        Ok(Arc::new(DirectedDataset {
            selector,
            parts,
            stop_on_empty: self.stop_on_empty,
            signature,
        }))
    }
}

#[derive(Debug)]
struct DirectedDataset {
    selector: DatasetRef,
    parts: Vec<DatasetRef>,
    stop_on_empty: bool,
    signature: Signature,
}

impl Dataset for DirectedDataset {
    fn kind(&self) -> &str {
        "DirectedInterleave"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        self.parts.iter().collect()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        // How often each dataset is chosen shows only when it is.
        if self.parts.iter().any(|part| part.cardinality() == Cardinality::Infinite) {
            Cardinality::Infinite
        } else {
            Cardinality::Unknown
        }
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let parts = self
            .parts
            .iter()
            .enumerate()
            .map(|(index, part)| scope.iterate_nth(&**part, index).map(Some))
            .collect::<Result<_>>()?;
        Ok(Box::new(Directed {
            selector: Some(scope.iterate(&*self.selector)?),
            parts,
            stop_on_empty: self.stop_on_empty,
        }))
    }
}

struct Directed {
    /// Absent at the end.
    selector: Option<Box<dyn Elements>>,
    /// Datasets that have ended are absent.
    parts: Vec<Option<Box<dyn Elements>>>,
    stop_on_empty: bool,
}

impl Elements for Directed {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            while let Some(selector) = &mut self.selector {
                let Some(chosen) = selector.next().await? else { break };
                let chosen = match chosen.first() {
                    Some(chosen) => chosen.scalar_value::<i64>()?,
                    None => break,
                };
                let count = self.parts.len();
                let place = usize::try_from(chosen).ok().and_then(|i| self.parts.get_mut(i));
                let Some(place) = place else {
                    return Err(invalid_argument!(
                        "Selector index out of range: {chosen} >= {count}"
                    ));
                };
                if let Some(part) = place {
                    if let Some(element) = part.next().await? {
                        return Ok(Some(element));
                    }
                    *place = None;
                    if self.stop_on_empty || self.parts.iter().all(Option::is_none) {
                        break;
                    }
                }
            }
            self.selector = None;
            Ok(None)
        })
    }
}
