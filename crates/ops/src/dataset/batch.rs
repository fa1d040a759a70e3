//! `BatchDataset`: consecutive elements stacked into one.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, failed_precondition, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed, checked_count};
use super::parallel::parallel_calls;
use super::prefetch::Prefetched;
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchDataset",
        inputs: &["input_dataset: variant", "batch_size: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Batch>()],
        ..Op::DEFAULT
    },
    Op {
        name: "BatchDatasetV2",
        inputs: &["input_dataset: variant", "batch_size: int64", "drop_remainder: bool"],
        outputs: &["handle: variant"],
        attrs: &[
            "parallel_copy: bool = false",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Batch>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParallelBatchDataset",
        inputs: &[
            "input_dataset: variant",
            "batch_size: int64",
            "num_parallel_calls: int64",
            "drop_remainder: bool",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "parallel_copy: bool = false",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "deterministic: string = 'default'",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Batch>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Batch {
    is_parallel: bool,
}

impl MakeDataset for Batch {
    fn new(attrs: &Attrs<'_>) -> Result<Batch> {
        Ok(Batch { is_parallel: attrs.op().starts_with("Parallel") })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let size = batch_size(inputs, 1)?;
        let drop_remainder = match inputs.len() {
            2 => false,
            count => inputs.scalar(count - 1, "drop_remainder")?,
        };
        if self.is_parallel {
            parallel_calls(inputs, 2)?;
        }
        let ahead = self.is_parallel;
        Ok(Arc::new(BatchDataset { input, size, drop_remainder, ahead, signature }))
    }
}

/// Reads the input that says how large batches are.
pub(super) fn batch_size(inputs: &Inputs<'_, '_>, index: usize) -> Result<u64> {
    match inputs.scalar::<i64>(index, "batch_size")? {
        size @ 1.. => Ok(size as u64),
        _ => Err(invalid_argument!("Batch size must be greater than zero.")),
    }
}

/// The number of batches.
pub(super) fn batches(input: Cardinality, size: u64, drop_remainder: bool) -> Cardinality {
    input.map(|count| if drop_remainder { count / size } else { count.div_ceil(size) })
}

#[derive(Debug)]
struct BatchDataset {
    input: DatasetRef,
    size: u64,
    drop_remainder: bool,
    /// Whether batches are made before they are asked for.
    ahead: bool,
    signature: Signature,
}

impl Dataset for BatchDataset {
    fn kind(&self) -> &str {
        if self.ahead { "ParallelBatch" } else { "BatchV2" }
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn batch_size(&self) -> Option<u64> {
        (!self.ahead).then_some(self.size)
    }

    fn cardinality(&self) -> Cardinality {
        batches(self.input.cardinality(), self.size, self.drop_remainder)
    }

    fn title(&self) -> String {
        match self.ahead {
            true => format!("ParallelBatchDatasetOp({})::Dataset", self.size),
            false => format!("BatchDatasetV2Op({})::Dataset", self.size),
        }
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        (!self.ahead).then_some(self)
    }

    fn check_shuffling(&self, op: &str) -> Result<()> {
        if self.ahead {
            return Err(failed_precondition!("{op} does not support random access."));
        }
        if !self.drop_remainder {
            return Err(failed_precondition!(
                "{op} does not support global shuffling with `drop_remainder=False`."
            ));
        }
        self.input.check_shuffling(self.input.kind())
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        let batches = Batches::new(input, self.size, self.drop_remainder);
        if self.ahead {
            return Ok(Box::new(Prefetched::new(scope, Box::new(batches), 1)));
        }
        Ok(Box::new(batches))
    }
}

impl Indexed for BatchDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let count = checked_count(&*self.input)?;
        Ok(Box::new(BatchAt { input: scope.access(&*self.input)?, count, size: self.size }))
    }
}

/// Batches by number.
struct BatchAt {
    input: Box<dyn Access>,
    /// How many elements the input has.
    count: u64,
    size: u64,
}

impl Access for BatchAt {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        Box::pin(async move {
            let start = index.saturating_mul(self.size);
            let end = start.saturating_add(self.size).min(self.count);
            let mut elements = Vec::new();
            for index in start..end {
                elements.push(self.input.get(index).await?);
            }
            stack(elements)
        })
    }
}

pub(super) struct Batches {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    size: u64,
    drop_remainder: bool,
    /// Whether an element that failed has a place in its batch, and takes the whole batch along.
    fails_whole: bool,
}

impl Batches {
    pub(super) fn new(input: Box<dyn Elements>, size: u64, drop_remainder: bool) -> Batches {
        Batches { input: Some(input), size, drop_remainder, fails_whole: false }
    }

    /// Elements that fail count, so that the batches after them are the same as without failures.
    pub(super) fn fail_whole(self) -> Batches {
        Batches { fails_whole: true, ..self }
    }
}

impl Elements for Batches {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let Some(input) = &mut self.input else { return Ok(None) };
            let mut elements = Vec::new();
            let (mut failures, mut first_failure) = (0, None);
            while elements.len() as u64 + failures < self.size {
                match input.next().await {
                    Ok(Some(element)) => elements.push(element),
                    Ok(None) => {
                        self.input = None;
                        break;
                    }
                    Err(error) if !self.fails_whole => return Err(error),
                    Err(error) => {
                        failures += 1;
                        first_failure.get_or_insert(error);
                    }
                }
            }
            if let Some(error) = first_failure {
                return Err(error);
            }
            let is_short = (elements.len() as u64) < self.size;
            if elements.is_empty() || (is_short && self.drop_remainder) {
                return Ok(None);
            }
            if self.fails_whole {
                check_places(&elements)?;
            }
            stack(elements).map(Some)
        })
    }

    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        Box::pin(async move {
            let Some(input) = &mut self.input else { return Ok(0) };
            let wanted = count.saturating_mul(self.size);
            let passed = input.skip(wanted).await?;
            if passed < wanted {
                self.input = None;
            }
            let whole = passed / self.size;
            let has_rest = passed % self.size > 0 && !self.drop_remainder;
            Ok(whole + u64::from(has_rest))
        })
    }
}

/// Checks that elements fit into the places that the first one made for all, as where they are put
/// there one by one.
fn check_places(elements: &[Element]) -> Result<()> {
    for element in elements {
        for (tensor, first) in element.iter().zip(&elements[0]) {
            if tensor.num_elements() != first.num_elements() {
                return Err(invalid_argument!(
                    "Cannot add tensor to the batch: number of elements does not match. Shapes are: \
                     [tensor]: {}, [batch]: {}",
                    tensor.shape(),
                    first.shape()
                ));
            }
        }
    }
    Ok(())
}

/// Stacks elements, of which there is at least one, along a new first dimension.
pub(crate) fn stack(elements: Vec<Element>) -> Result<Element> {
    let components = elements[0].len();
    if elements.iter().any(|element| element.len() != components) {
        return Err(invalid_argument!("all elements of a batch must have as many components"));
    }
    (0..components).map(|component| stack_component(&elements, component)).collect()
}

fn stack_component(elements: &[Element], component: usize) -> Result<Tensor> {
    let first = &elements[0][component];
    for (index, element) in elements.iter().enumerate() {
        let tensor = &element[component];
        if tensor.shape() != first.shape() {
            return Err(invalid_argument!(
                "Cannot batch tensors with different shapes in component {component}. First \
                 element had shape {} and element {index} had shape {}.",
                first.shape(),
                tensor.shape()
            ));
        }
        if tensor.dtype() != first.dtype() {
            return Err(invalid_argument!(
                "Cannot batch tensors with different types in component {component}. First \
                 element had type {} and element {index} had type {}.",
                first.dtype(),
                tensor.dtype()
            ));
        }
    }
    let mut dims = vec![elements.len()];
    dims.extend(first.dims());
    let shape = Shape::new(&dims)?;
    let tensors = elements.iter().map(|element| &element[component]);
    gather(first.dtype(), shape, tensors)
}

/// A tensor of `shape` that holds the elements of `tensors` one after the other.
pub(super) fn gather<'a>(
    dtype: DType,
    shape: Shape,
    tensors: impl Iterator<Item = &'a Tensor>,
) -> Result<Tensor> {
    match dtype {
        DType::String => {
            let mut all = Vec::with_capacity(shape.num_elements());
            for tensor in tensors {
                all.extend_from_slice(tensor.strings()?);
            }
            Tensor::from_strings(shape, all)
        }
        DType::Variant => {
            let mut all = Vec::with_capacity(shape.num_elements());
            for tensor in tensors {
                all.extend_from_slice(tensor.variants()?);
            }
            Tensor::from_variants(shape, all)
        }
        DType::Resource => {
            let mut all = Vec::with_capacity(shape.num_elements());
            for tensor in tensors {
                all.extend_from_slice(tensor.resources()?);
            }
            Tensor::from_resources(shape, all)
        }
        dtype => Tensor::build_raw(dtype, shape, |mut out| {
            for tensor in tensors {
                let (own, rest) = out.split_at_mut(tensor.raw().len());
                own.copy_from_slice(tensor.raw());
                out = rest;
            }
            Ok(())
        }),
    }
}
