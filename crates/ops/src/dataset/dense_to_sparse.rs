//! `DenseToSparseBatchDataset`: batches of tensors of different sizes, as sparse tensors.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, data_loss, invalid_argument};

use super::batch::{batch_size, batches, gather};
use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::scope::Scope;
use crate::sparse::serialize::as_variants;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DenseToSparseBatchDataset",
        inputs: &["input_dataset: variant", "batch_size: int64", "row_shape: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<DenseToSparse>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalDenseToSparseBatchDataset",
        inputs: &["input_dataset: variant", "batch_size: int64", "row_shape: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<DenseToSparse>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct DenseToSparse;

impl MakeDataset for DenseToSparse {
    fn new(_: &Attrs<'_>) -> Result<DenseToSparse> {
        Ok(DenseToSparse)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        if input.signature().types.len() != 1 {
            return Err(invalid_argument!(
                "DenseToSparseDataset only supports inputs with a single component."
            ));
        }
        let size = batch_size(inputs, 1)?;
        let row = inputs.tensor(2)?;
        if row.rank() != 1 {
            return Err(invalid_argument!("row_shape must be a vector"));
        }
        let row: Vec<Option<usize>> = row
            .values::<i64>()?
            .iter()
            .map(|&dim| match dim {
                -1 => Ok(None),
                dim => usize::try_from(dim)
                    .map(Some)
                    .map_err(|_| invalid_argument!("Dimension {dim} must be >= 0")),
            })
            .collect::<Result<_>>()?;
        Ok(Arc::new(DenseToSparseDataset { input, size, row: row.into(), signature }))
    }
}

#[derive(Debug)]
struct DenseToSparseDataset {
    input: DatasetRef,
    size: u64,
    /// The size of a row in each dimension; where it is not given, that of the largest element.
    row: Arc<[Option<usize>]>,
    signature: Signature,
}

impl Dataset for DenseToSparseDataset {
    fn kind(&self) -> &str {
        "DenseToSparseBatch"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        batches(self.input.cardinality(), self.size, false)
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(SparseBatches {
            input: Some(scope.iterate(&*self.input)?),
            size: self.size,
            row: Arc::clone(&self.row),
        }))
    }
}

struct SparseBatches {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    size: u64,
    row: Arc<[Option<usize>]>,
}

impl SparseBatches {
    /// The shape of a row before any element is known.
    fn narrowest(&self) -> Vec<usize> {
        self.row.iter().map(|dim| dim.unwrap_or(0)).collect()
    }

    /// Makes room for an element in the shape of the rows, or says why it cannot be one.
    fn widen(&self, dims: &mut [usize], tensor: &Tensor) -> Result<()> {
        let row = || {
            let dims: Vec<String> =
                self.row.iter().map(|dim| dim.map_or("?".to_owned(), |d| d.to_string())).collect();
            format!("[{}]", dims.join(","))
        };
        if tensor.rank() != dims.len() {
            return Err(invalid_argument!(
                "Input element had shape ({}) that is incompatible with the row shape ({}).",
                tensor.shape(),
                row()
            ));
        }
        for ((dim, fixed), &have) in dims.iter_mut().zip(&*self.row).zip(tensor.dims()) {
            match fixed {
                Some(fixed) if have > *fixed => {
                    return Err(data_loss!(
                        "Input element had shape ({}) that is larger than the row shape ({}).",
                        tensor.shape(),
                        row()
                    ));
                }
                Some(_) => {}
                None => *dim = (*dim).max(have),
            }
        }
        Ok(())
    }

    fn batch(rows: &[Tensor], dims: &[usize]) -> Result<Element> {
        let count: usize = rows.iter().map(Tensor::num_elements).sum();
        let mut indices: Vec<i64> = Vec::with_capacity(count * (1 + dims.len()));
        for (row, tensor) in rows.iter().enumerate() {
            for flat in 0..tensor.num_elements() {
                indices.push(row as i64);
                let start = indices.len();
                let mut rest = flat;
                for &dim in tensor.dims().iter().rev() {
                    indices.push((rest % dim) as i64);
                    rest /= dim;
                }
                indices[start..].reverse();
            }
        }
        let values = gather(
            rows.first().map_or(DType::Float, Tensor::dtype),
            Shape::vector(count),
            rows.iter(),
        )?;
        let mut shape = vec![rows.len() as i64];
        shape.extend(dims.iter().map(|&dim| dim as i64));
        let indices = Tensor::vector(&indices)?.into_shape(Shape::new(&[count, shape.len()])?)?;
        let parts = [indices, values, Tensor::vector(&shape)?];
        Ok(vec![as_variants(Shape::vector(3), parts.into_iter())?])
    }
}

impl Elements for SparseBatches {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let (mut rows, mut dims) = (Vec::new(), self.narrowest());
            while (rows.len() as u64) < self.size {
                let Some(input) = &mut self.input else { break };
                let Some(element) = input.next().await? else {
                    self.input = None;
                    break;
                };
                let Some(row) = element.into_iter().next() else { continue };
                // What does not fit fails at once, so that the next call goes on behind it.
                self.widen(&mut dims, &row)?;
                rows.push(row);
            }
            if rows.is_empty() { Ok(None) } else { Self::batch(&rows, &dims).map(Some) }
        })
    }
}
