//! `UnbatchDataset`: the rows of batches.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, Tensor, invalid_argument, out_of_range};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset, slice,
};
use super::index::{Access, Indexed, checked_count};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalUnbatchDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<Unbatch>()],
        ..Op::DEFAULT
    },
    Op {
        name: "UnbatchDataset",
        inputs: &["input_dataset: variant"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Unbatch>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Unbatch;

impl MakeDataset for Unbatch {
    fn new(_: &Attrs<'_>) -> Result<Unbatch> {
        Ok(Unbatch)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        Ok(Arc::new(UnbatchDataset { input: inputs.dataset(0)?, signature }))
    }
}

#[derive(Debug)]
struct UnbatchDataset {
    input: DatasetRef,
    signature: Signature,
}

impl Dataset for UnbatchDataset {
    fn kind(&self) -> &str {
        "Unbatch"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        match self.input.cardinality() {
            Cardinality::Known(0) => Cardinality::Known(0),
            Cardinality::Infinite => Cardinality::Infinite,
            Cardinality::Unknown => Cardinality::Unknown,
            Cardinality::Known(batches) => self
                .input
                .signature()
                .shapes
                .iter()
                .filter_map(|shape| shape.dims.as_ref()?.first().copied()?)
                .next()
                .map_or(Cardinality::Unknown, |rows| {
                    Cardinality::Known(batches.saturating_mul(rows as u64))
                }),
        }
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        Ok(Box::new(Rows { input, batch: Vec::new(), rows: 0, next: 0 }))
    }
}

impl Indexed for UnbatchDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let (batches, all) = (checked_count(&*self.input)?, checked_count(self)?);
        let rows = all.checked_div(batches).unwrap_or(1).max(1);
        Ok(Box::new(RowAt { input: scope.access(&*self.input)?, rows }))
    }
}

/// Rows of batches by number; all batches have as many.
struct RowAt {
    input: Box<dyn Access>,
    rows: u64,
}

impl Access for RowAt {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        Box::pin(async move {
            let batch = self.input.get(index / self.rows).await?;
            let row = (index % self.rows) as usize;
            match rows(&batch)? {
                count if row < count => batch.iter().map(|tensor| slice(tensor, row)).collect(),
                _ => Err(out_of_range!("there is no element {index}")),
            }
        })
    }
}

struct Rows {
    input: Box<dyn Elements>,
    batch: Element,
    rows: usize,
    next: usize,
}

impl Elements for Rows {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            while self.next == self.rows {
                let Some(batch) = self.input.next().await? else { return Ok(None) };
                self.rows = rows(&batch)?;
                (self.batch, self.next) = (batch, 0);
            }
            let row = self.next;
            self.next += 1;
            self.batch.iter().map(|tensor| slice(tensor, row)).collect::<Result<_>>().map(Some)
        })
    }
}

/// The number of rows, which all components must have.
fn rows(batch: &[Tensor]) -> Result<usize> {
    let mut common = None;
    for (index, tensor) in batch.iter().enumerate() {
        let Some(&rows) = tensor.dims().first() else {
            return Err(invalid_argument!(
                "Input element must have a non-scalar value in each component."
            ));
        };
        let first = *common.get_or_insert(rows);
        if first != rows {
            return Err(invalid_argument!(
                "Input element must have the same batch size in each component. Component 0 had \
                 size {first} but component {index} had size, {rows}."
            ));
        }
    }
    Ok(common.unwrap_or(0))
}
