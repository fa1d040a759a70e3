//! `UnbatchDataset`: the rows of batches.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset, slice,
};
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

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        Ok(Box::new(Rows { input, batch: Vec::new(), rows: 0, next: 0 }))
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
