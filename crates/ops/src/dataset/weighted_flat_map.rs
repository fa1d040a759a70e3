//! `WeightedFlatMapDataset`: datasets one after the other, of each as much as its weight allows.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    compatible, dataset,
};
use super::index::{Access, Indexed};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[Op {
    name: "WeightedFlatMapDataset",
    inputs: &["input_datasets: N * variant", "weights: M * double"],
    outputs: &["handle: variant"],
    attrs: &[
        "N: int >= 2",
        "M: int >= 2",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: &[dataset::<WeightedFlatMap>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct WeightedFlatMap {
    datasets: usize,
    weights: usize,
}

impl MakeDataset for WeightedFlatMap {
    fn new(attrs: &Attrs<'_>) -> Result<WeightedFlatMap> {
        let count = |name| Ok(usize::try_from(attrs.int(name)?).unwrap_or(0));
        Ok(WeightedFlatMap { datasets: count("N")?, weights: count("M")? })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        if self.weights != self.datasets {
            return Err(invalid_argument!(
                "`input_datasets` and `weights` of the WeightedFlatMap must have the same size. Got \
                 {} datasets and {} weights.",
                self.datasets,
                self.weights
            ));
        }
        let parts = (0..self.datasets).map(|index| inputs.dataset(index));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        check_signatures(&parts, &signature)?;
        let mut counts = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let unknown = |what: &str| {
                invalid_argument!(
                    "Cardinalities of the inputs must be known. Input {index} has {what} cardinality."
                )
            };
            match part.cardinality() {
                Cardinality::Known(count) => counts.push(count),
                Cardinality::Infinite => return Err(unknown("INFINITE")),
                Cardinality::Unknown => return Err(unknown("UNKNOWN")),
            }
        }
        let mut weights = Vec::with_capacity(parts.len());
        for index in 0..self.weights {
            let weight = inputs.scalar::<f64>(self.datasets + index, "weights")?;
            if weight.is_nan() || weight <= 0.0 {
                return Err(invalid_argument!(
                    "`weights` must be greater than 0.0. Input {index} has a weight of {weight}"
                ));
            }
            weights.push(weight);
        }
        let counts = used_counts(&weights, &counts)?;
        let ends = counts
            .iter()
            .scan(0, |end, count| {
                *end += count;
                Some(*end)
            })
            .collect();
        Ok(Arc::new(WeightedFlatMapDataset { parts, ends, signature }))
    }
}

fn check_signatures(parts: &[DatasetRef], signature: &Signature) -> Result<()> {
    for (index, part) in parts.iter().enumerate().skip(1) {
        let have = part.signature();
        if have.types != signature.types {
            return Err(invalid_argument!(
                "All inputs to WeightedFlatMap must have the same output types. Input {index} has \
                 output types: {}. Expected: {}.",
                list(&have.types),
                list(&signature.types)
            ));
        }
        for (component, (have, want)) in have.shapes.iter().zip(&signature.shapes).enumerate() {
            if !compatible(have, want) {
                return Err(invalid_argument!(
                    "All inputs to WeightedFlatMap must have compatible output shapes. Component \
                     {component} of input {index} has shape: {have}. Expected to be compatible with \
                     shape: {want}."
                ));
            }
        }
    }
    Ok(())
}

fn list(types: &[impl ToString]) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How many elements of each dataset are used, so that one of them at least is used up.
fn used_counts(weights: &[f64], counts: &[u64]) -> Result<Vec<u64>> {
    let heaviest = weights.iter().copied().fold(0.0, f64::max);
    let mut least = (f64::MAX, 0);
    for (index, (count, weight)) in counts.iter().zip(weights).enumerate() {
        let weighted = *count as f64 * weight / heaviest;
        if weighted < least.0 {
            least = (weighted, index);
        }
    }
    let used = counts.iter().zip(weights).enumerate().map(|(index, (&count, weight))| {
        let used = (least.0 * weight / weights[least.1]) as u64;
        if used > count {
            return Err(invalid_argument!(
                "Input {index} needs to have at least {used} elements. It only has {count} elements."
            ));
        }
        Ok(used)
    });
    used.collect()
}

#[derive(Debug)]
struct WeightedFlatMapDataset {
    parts: Vec<DatasetRef>,
    /// For each part, how many elements there are up to its last one.
    ends: Vec<u64>,
    signature: Signature,
}

impl Dataset for WeightedFlatMapDataset {
    fn kind(&self) -> &str {
        "WeightedFlatMap"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        self.parts.iter().collect()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        Cardinality::Known(self.ends.last().copied().unwrap_or(0))
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let parts = self.parts.iter().enumerate();
        let parts = parts.map(|(index, part)| scope.iterate_nth(&**part, index));
        let parts = parts.collect::<Result<_>>()?;
        Ok(Box::new(Flattened { parts, ends: self.ends.clone(), next: 0 }))
    }
}

impl Indexed for WeightedFlatMapDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let parts = self.parts.iter().map(|part| scope.access(&**part)).collect::<Result<_>>()?;
        Ok(Box::new(FlattenedAt { parts, ends: self.ends.clone() }))
    }
}

/// The part that has element `index`.
fn part_of(ends: &[u64], index: u64) -> usize {
    ends.partition_point(|end| *end <= index)
}

struct Flattened {
    parts: Vec<Box<dyn Elements>>,
    ends: Vec<u64>,
    next: u64,
}

impl Elements for Flattened {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let part = part_of(&self.ends, self.next);
            let Some(part) = self.parts.get_mut(part) else { return Ok(None) };
            self.next += 1;
            part.next().await
        })
    }
}

struct FlattenedAt {
    parts: Vec<Box<dyn Access>>,
    ends: Vec<u64>,
}

impl Access for FlattenedAt {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        let part = part_of(&self.ends, index).min(self.parts.len() - 1);
        let before = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.parts[part].get(index - before)
    }
}
