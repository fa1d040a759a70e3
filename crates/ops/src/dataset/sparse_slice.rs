//! `SparseTensorSliceDataset`: the rows of a sparse tensor, each a sparse tensor.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{
    DType, PartialShape, Result, Shape, Tensor, invalid_argument, unimplemented_error,
};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[Op {
    name: "SparseTensorSliceDataset",
    inputs: &["indices: int64", "values: Tvalues", "dense_shape: int64"],
    outputs: &["handle: variant"],
    attrs: &["Tvalues: type"],
    stateful: true,
    kernels: &[dataset::<SparseSlices>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct SparseSlices;

impl MakeDataset for SparseSlices {
    fn new(_: &Attrs<'_>) -> Result<SparseSlices> {
        Ok(SparseSlices)
    }

    fn signature(attrs: &Attrs<'_>) -> Result<Signature> {
        let types = vec![DType::Int64, attrs.dtype("Tvalues")?, DType::Int64];
        let shapes =
            vec![PartialShape::of_rank(2), PartialShape::of_rank(1), PartialShape::of_rank(1)];
        Ok(Signature { types, shapes })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, mut signature: Signature) -> Result<DatasetRef> {
        let (indices, values, shape) = (inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?);
        if indices.rank() != 2 {
            return Err(invalid_argument!(
                "Input indices must be a matrix. Got: {}",
                indices.shape()
            ));
        }
        if values.rank() != 1 {
            return Err(invalid_argument!(
                "Input values must be a vector. Got: {}",
                values.shape()
            ));
        }
        if shape.rank() != 1 {
            return Err(invalid_argument!("Input shape must be a vector. Got: {}", shape.shape()));
        }
        let (count, rank) = (indices.dims()[0], indices.dims()[1]);
        if count != values.dims()[0] {
            return Err(invalid_argument!(
                "Number of values must match first dimension of indices. Got {} values, indices \
                 shape: {}",
                values.dims()[0],
                indices.shape()
            ));
        }
        if rank != shape.dims()[0] {
            return Err(invalid_argument!(
                "Number of dimensions must match second dimension of indices. Got {} dimensions, \
                 indices shape: {}",
                shape.dims()[0],
                indices.shape()
            ));
        }
        let dense: Vec<i64> = shape.to_i64_vec()?;
        let [rows, inner @ ..] = &dense[..] else {
            return Err(invalid_argument!("The shape argument requires at least one element."));
        };
        let rows = usize::try_from(*rows)
            .map_err(|_| invalid_argument!("Dimension {rows} must be >= 0"))?;
        let mut previous = -1;
        for index in indices.values::<i64>()?.chunks_exact(rank) {
            if index[0] < previous {
                return Err(unimplemented_error!(
                    "The SparseTensor must be ordered in the batch dimension; handling \
                     arbitrarily ordered input is not currently supported."
                ));
            }
            previous = index[0];
        }
        signature.shapes = vec![
            PartialShape::known([None, Some(rank - 1)]),
            PartialShape::of_rank(1),
            PartialShape::known([Some(rank - 1)]),
        ];
        Ok(Arc::new(SparseDataset {
            rows: Arc::new(Rows {
                indices: indices.clone(),
                values: values.clone(),
                inner: inner.to_vec(),
                rows,
                rank,
            }),
            signature,
        }))
    }
}

#[derive(Debug)]
struct Rows {
    indices: Tensor,
    values: Tensor,
    inner: Vec<i64>,
    rows: usize,
    rank: usize,
}

#[derive(Debug)]
struct SparseDataset {
    rows: Arc<Rows>,
    signature: Signature,
}

impl Dataset for SparseDataset {
    fn kind(&self) -> &str {
        "SparseTensorSlice"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        Cardinality::Known(self.rows.rows as u64)
    }

    fn iterate(&self, _: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Slices { rows: Arc::clone(&self.rows), row: 0, next: 0 }))
    }
}

struct Slices {
    rows: Arc<Rows>,
    row: usize,
    /// The first value that belongs to this row or a later one.
    next: usize,
}

impl Slices {
    fn read(&mut self) -> Result<Option<Element>> {
        let all = &*self.rows;
        if self.row == all.rows {
            return Ok(None);
        }
        let indices = all.indices.values::<i64>()?;
        let start = self.next;
        let own = indices[start * all.rank..]
            .chunks_exact(all.rank)
            .take_while(|index| index[0] <= self.row as i64);
        let inner: Vec<i64> = own.flat_map(|index| index[1..].iter().copied()).collect();
        let count = indices[start * all.rank..]
            .chunks_exact(all.rank)
            .take_while(|index| index[0] <= self.row as i64)
            .count();
        self.next = start + count;
        self.row += 1;
        Ok(Some(vec![
            Tensor::from_slice(Shape::new(&[count, all.rank - 1])?, &inner)?,
            all.values.rows(start..start + count)?,
            Tensor::vector(&all.inner)?,
        ]))
    }
}

impl Elements for Slices {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        let element = self.read();
        Box::pin(async { element })
    }
}
