//! Datasets made of tensors: one element, or one for each row.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset, slice,
};
use super::index::{Access, Indexed};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "TensorDataset",
        inputs: &["components: Toutput_types"],
        outputs: &["handle: variant"],
        attrs: &[
            "Toutput_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[dataset::<Whole>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorSliceDataset",
        inputs: &["components: Toutput_types"],
        outputs: &["handle: variant"],
        attrs: &[
            "Toutput_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "is_files: bool = false",
            "metadata: string = ''",
            "replicate_on_split: bool = false",
        ],
        stateful: true,
        kernels: &[dataset::<Slices>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Whole;

impl MakeDataset for Whole {
    fn new(_: &Attrs<'_>) -> Result<Whole> {
        Ok(Whole)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let components = inputs.rest(0)?.into();
        Ok(Arc::new(TensorDataset { components, rows: None, signature }))
    }
}

#[derive(Debug)]
struct Slices;

impl MakeDataset for Slices {
    fn new(_: &Attrs<'_>) -> Result<Slices> {
        Ok(Slices)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let components: Arc<[Tensor]> = inputs.rest(0)?.into();
        let rows = match components.first().map(Tensor::dims) {
            Some([rows, ..]) => *rows,
            _ => {
                return Err(invalid_argument!("All components must be at least 1-dimensional"));
            }
        };
        for component in &components[1..] {
            match component.dims() {
                [] => {
                    return Err(invalid_argument!("All components must be at least 1-dimensional"));
                }
                [own, ..] if *own != rows => {
                    return Err(invalid_argument!(
                        "All components must have the same size in the 0th dimension"
                    ));
                }
                _ => {}
            }
        }
        Ok(Arc::new(TensorDataset { components, rows: Some(rows), signature }))
    }
}

#[derive(Debug)]
struct TensorDataset {
    components: Arc<[Tensor]>,
    /// The number of rows, if each is an element.
    rows: Option<usize>,
    signature: Signature,
}

impl Dataset for TensorDataset {
    fn kind(&self) -> &str {
        if self.rows.is_some() { "TensorSlice" } else { "Tensor" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        Cardinality::Known(self.rows.unwrap_or(1) as u64)
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn iterate(&self, _: &Scope) -> Result<Box<dyn Elements>> {
        let components = Arc::clone(&self.components);
        Ok(Box::new(Rows { components, rows: self.rows, next: 0 }))
    }
}

impl Indexed for TensorDataset {
    fn access(&self, _: &Scope) -> Result<Box<dyn Access>> {
        let components = Arc::clone(&self.components);
        Ok(Box::new(Rows { components, rows: self.rows, next: 0 }))
    }
}

impl Access for Rows {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        let row = self.row(index as usize);
        Box::pin(async { row })
    }
}

struct Rows {
    components: Arc<[Tensor]>,
    rows: Option<usize>,
    next: usize,
}

impl Rows {
    fn left(&self) -> usize {
        self.rows.unwrap_or(1) - self.next
    }

    fn row(&self, row: usize) -> Result<Element> {
        self.components
            .iter()
            .map(|component| match self.rows {
                Some(_) => slice(component, row),
                None => Ok(component.clone()),
            })
            .collect()
    }
}

impl Elements for Rows {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        let next = self.try_next().unwrap_or(Ok(None));
        Box::pin(async { next })
    }

    fn try_next(&mut self) -> Option<Result<Option<Element>>> {
        if self.left() == 0 {
            return Some(Ok(None));
        }
        let row = self.next;
        self.next += 1;
        Some(self.row(row).map(Some))
    }

    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        let count = count.min(self.left() as u64);
        self.next += count as usize;
        Box::pin(async move { Ok(count) })
    }
}
