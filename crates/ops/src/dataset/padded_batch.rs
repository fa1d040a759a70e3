//! `PaddedBatchDataset`: batches of elements of different shapes, made equal by padding.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, data_loss, invalid_argument, try_repeat, unimplemented_error,
};

use super::batch::{batch_size, batches};
use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "PaddedBatchDataset",
        inputs: &[
            "input_dataset: variant",
            "batch_size: int64",
            "padded_shapes: N * int64",
            "padding_values: Toutput_types",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "Toutput_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "N: int >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<PaddedBatch>()],
        ..Op::DEFAULT
    },
    Op {
        name: "PaddedBatchDatasetV2",
        inputs: &[
            "input_dataset: variant",
            "batch_size: int64",
            "padded_shapes: N * int64",
            "padding_values: Toutput_types",
            "drop_remainder: bool",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "parallel_copy: bool = false",
            "Toutput_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "N: int >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<PaddedBatch>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct PaddedBatch {
    components: usize,
}

impl MakeDataset for PaddedBatch {
    fn new(attrs: &Attrs<'_>) -> Result<PaddedBatch> {
        Ok(PaddedBatch { components: attrs.dtypes("Toutput_types")?.len() })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let size = batch_size(inputs, 1)?;
        let count = self.components;
        if inputs.len() < 2 + 2 * count {
            return Err(invalid_argument!(
                "The number of padded shapes must be equal to the number of components in the \
                 input dataset's elements"
            ));
        }
        let mut paddings = Vec::with_capacity(count);
        for component in 0..count {
            let shape = inputs.tensor(2 + component)?;
            if shape.rank() != 1 {
                return Err(invalid_argument!("All padded shapes must be vectors"));
            }
            let value = inputs.tensor(2 + count + component)?;
            if !value.shape().is_scalar() {
                return Err(invalid_argument!("All padding values must be scalars"));
            }
            let mut dims = Vec::new();
            for dim in shape.to_i64_vec()? {
                dims.push(match dim {
                    -1 => None,
                    dim => Some(
                        usize::try_from(dim)
                            .map_err(|_| invalid_argument!("Dimension {dim} must be >= -1"))?,
                    ),
                });
            }
            paddings.push(Padding { dims, value: value.clone() });
        }
        let drop_remainder = match inputs.len() - 2 * count {
            2 => false,
            _ => inputs.scalar(inputs.len() - 1, "drop_remainder")?,
        };
        let paddings = paddings.into();
        Ok(Arc::new(PaddedBatchDataset { input, size, drop_remainder, paddings, signature }))
    }
}

/// The shape to which a component is padded, `None` meaning as large as needed, and with what.
#[derive(Debug)]
struct Padding {
    dims: Vec<Option<usize>>,
    value: Tensor,
}

#[derive(Debug)]
struct PaddedBatchDataset {
    input: DatasetRef,
    size: u64,
    drop_remainder: bool,
    paddings: Arc<[Padding]>,
    signature: Signature,
}

impl Dataset for PaddedBatchDataset {
    fn kind(&self) -> &str {
        "PaddedBatchV2"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn batch_size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn cardinality(&self) -> Cardinality {
        batches(self.input.cardinality(), self.size, self.drop_remainder)
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(PaddedBatches {
            input: Some(scope.iterate(&*self.input)?),
            size: self.size,
            drop_remainder: self.drop_remainder,
            paddings: Arc::clone(&self.paddings),
        }))
    }
}

struct PaddedBatches {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    size: u64,
    drop_remainder: bool,
    paddings: Arc<[Padding]>,
}

impl Elements for PaddedBatches {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let Some(input) = &mut self.input else { return Ok(None) };
            let mut elements: Vec<Element> = Vec::new();
            while (elements.len() as u64) < self.size {
                match input.next().await? {
                    Some(element) => elements.push(element),
                    None => {
                        self.input = None;
                        break;
                    }
                }
            }
            let is_short = (elements.len() as u64) < self.size;
            if elements.is_empty() || (is_short && self.drop_remainder) {
                return Ok(None);
            }
            let batch: Result<Element> = self
                .paddings
                .iter()
                .enumerate()
                .map(|(component, padding)| {
                    let tensors: Option<Vec<&Tensor>> =
                        elements.iter().map(|element| element.get(component)).collect();
                    let tensors = tensors.ok_or_else(|| {
                        invalid_argument!("an element lacks component {component}")
                    })?;
                    pad(&tensors, padding, component)
                })
                .collect();
            batch.map(Some)
        })
    }
}

fn pad(tensors: &[&Tensor], padding: &Padding, component: usize) -> Result<Tensor> {
    let rank = padding.dims.len();
    let mut dims: Vec<usize> = padding.dims.iter().map(|dim| dim.unwrap_or(0)).collect();
    for tensor in tensors {
        if tensor.rank() != rank {
            return Err(invalid_argument!(
                "All elements in a batch must have the same rank as the padded shape for \
                 component{component}: expected rank {rank} but got element with rank {}",
                tensor.rank()
            ));
        }
        if tensor.dtype() != padding.value.dtype() {
            return Err(invalid_argument!(
                "Mismatched type between padding value and input dataset's component {component}: \
                 {} vs. {}",
                padding.value.dtype(),
                tensor.dtype()
            ));
        }
        for (dim, own) in tensor.dims().iter().enumerate() {
            match padding.dims[dim] {
                Some(fixed) if *own > fixed => {
                    return Err(data_loss!(
                        "Attempted to pad to a smaller size than the input element."
                    ));
                }
                Some(_) => {}
                None => dims[dim] = dims[dim].max(*own),
            }
        }
    }
    let inner = Shape::new(&dims)?;
    let mut all = vec![tensors.len()];
    all.extend(&dims);
    let shape = Shape::new(&all)?;
    let row = inner.num_elements();
    match padding.value.dtype() {
        DType::String => {
            let mut out = try_repeat(padding.value.strings()?[0].clone(), shape.num_elements())?;
            for (index, tensor) in tensors.iter().enumerate() {
                let values = tensor.strings()?;
                for_each_run(tensor.dims(), &dims, |from, to, len| {
                    let to = index * row + to;
                    out[to..to + len].clone_from_slice(&values[from..from + len]);
                });
            }
            Tensor::from_strings(shape, out)
        }
        dtype if dtype.is_plain() => {
            let size = dtype.size();
            Tensor::build_raw(dtype, shape, |out| {
                for place in out.chunks_exact_mut(size) {
                    place.copy_from_slice(padding.value.raw());
                }
                for (index, tensor) in tensors.iter().enumerate() {
                    let bytes = tensor.raw();
                    for_each_run(tensor.dims(), &dims, |from, to, len| {
                        let (from, to) = (from * size, (index * row + to) * size);
                        let len = len * size;
                        out[to..to + len].copy_from_slice(&bytes[from..from + len]);
                    });
                }
                Ok(())
            })
        }
        dtype => Err(unimplemented_error!("tensors of type {dtype} cannot be padded")),
    }
}

/// Calls `copy` with the start in the inner array, the start in the outer one and the length of each
/// run of elements that lie side by side in both.
fn for_each_run(inner: &[usize], outer: &[usize], mut copy: impl FnMut(usize, usize, usize)) {
    let Some((&len, inner_rows)) = inner.split_last() else { return copy(0, 0, 1) };
    let outer_len = outer[outer.len() - 1];
    let rows: usize = inner_rows.iter().product();
    if len == 0 {
        return;
    }
    let mut position = vec![0; inner_rows.len()];
    for row in 0..rows {
        let place = position.iter().zip(outer).fold(0, |place, (at, dim)| place * dim + at);
        copy(row * len, place * outer_len, len);
        for dim in (0..position.len()).rev() {
            position[dim] += 1;
            if position[dim] < inner_rows[dim] {
                break;
            }
            position[dim] = 0;
        }
    }
}
