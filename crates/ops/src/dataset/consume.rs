//! Ops that take a dataset and give tensors: its cardinality, its only element, a reduction.

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, Op, Outcome, Started, cpu, cpu_async,
};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument, unimplemented_error};

use super::dataset::{Dataset, DatasetRef, Element, from_tensor};
use super::index::checked_count;
use super::scope::{Captured, Scope};
use crate::record::{Compression, RecordFile};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ComputeBatchSize",
        inputs: &["input_dataset: variant"],
        outputs: &["batch_size: int64"],
        kernels: &[cpu::<BatchSizeOf>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DatasetCardinality",
        inputs: &["input_dataset: variant"],
        outputs: &["cardinality: int64"],
        attrs: &["cardinality_options: string = ''"],
        kernels: &[cpu::<CardinalityOf>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DatasetToSingleElement",
        inputs: &["dataset: variant"],
        outputs: &["components: output_types"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[cpu_async::<SingleElement>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DatasetToTFRecord",
        inputs: &["input_dataset: variant", "filename: string", "compression_type: string"],
        stateful: true,
        kernels: &[cpu_async::<ToRecords>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalDatasetCardinality",
        inputs: &["input_dataset: variant"],
        outputs: &["cardinality: int64"],
        kernels: &[cpu::<CardinalityOf>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalDatasetToTFRecord",
        inputs: &["input_dataset: variant", "filename: string", "compression_type: string"],
        stateful: true,
        kernels: &[cpu_async::<ToRecords>()],
        ..Op::DEFAULT
    },
    Op {
        name: "GetElementAtIndex",
        inputs: &["dataset: variant", "index: int64"],
        outputs: &["components: output_types"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[cpu_async::<ElementAt>()],
        ..Op::DEFAULT
    },
    Op {
        name: "GetOptions",
        inputs: &["input_dataset: variant"],
        outputs: &["serialized_options: string"],
        kernels: &[cpu::<OptionsOf>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReduceDataset",
        inputs: &["input_dataset: variant", "initial_state: Tstate", "other_arguments: Targuments"],
        outputs: &["components: output_types"],
        attrs: &[
            "f: func",
            "Tstate: list(type) >= 1",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "use_inter_op_parallelism: bool = true",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[cpu_async::<Reduce>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct OptionsOf;

impl Kernel for OptionsOf {
    fn new(_: &Attrs<'_>) -> Result<OptionsOf> {
        Ok(OptionsOf)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let options = from_tensor(ctx.input(0)?)?.options();
        ctx.set_output(0, Tensor::string(options));
        Ok(())
    }
}

#[derive(Debug)]
struct CardinalityOf;

impl Kernel for CardinalityOf {
    fn new(_: &Attrs<'_>) -> Result<CardinalityOf> {
        Ok(CardinalityOf)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let cardinality = from_tensor(ctx.input(0)?)?.cardinality();
        ctx.set_output(0, Tensor::scalar(cardinality.number()));
        Ok(())
    }
}

/// Runs `work` in the background; the node waits for it.
fn wait<F>(scope: &Scope, work: F) -> Started
where
    F: Future<Output = Result<Element>> + Send + 'static,
{
    let task = scope.spawn(work);
    Started::Waiting(Box::pin(async move { Ok(Outcome::from(task.await??)) }))
}

#[derive(Debug)]
struct BatchSizeOf;

impl Kernel for BatchSizeOf {
    fn new(_: &Attrs<'_>) -> Result<BatchSizeOf> {
        Ok(BatchSizeOf)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = from_tensor(ctx.input(0)?)?.batch_size();
        let size = size.map_or(-1, |size| i64::try_from(size).unwrap_or(i64::MAX));
        ctx.set_output(0, Tensor::scalar(size));
        Ok(())
    }
}

#[derive(Debug)]
struct SingleElement;

impl AsyncKernel for SingleElement {
    fn new(_: &Attrs<'_>) -> Result<SingleElement> {
        Ok(SingleElement)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let dataset = from_tensor(ctx.input(0)?)?;
        let scope = Scope::within(&ctx.step, "SingleElementIterator");
        Ok(wait(&scope.clone(), async move {
            let mut elements = scope.iterate(&*dataset)?;
            let first =
                elements.next().await?.ok_or_else(|| invalid_argument!("Dataset was empty."))?;
            match elements.next().await? {
                Some(_) => Err(invalid_argument!("Dataset had more than one element.")),
                None => Ok(first),
            }
        }))
    }
}

/// One element by its number.
#[derive(Debug)]
struct ElementAt;

impl AsyncKernel for ElementAt {
    fn new(_: &Attrs<'_>) -> Result<ElementAt> {
        Ok(ElementAt)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let dataset = from_tensor(ctx.input(0)?)?;
        let index = ctx.input(1)?.scalar_value::<i64>()?;
        unsupported_by_number(&*dataset)?;
        let count = checked_count(&*dataset)?;
        if let Some(indexed) = dataset.indexed() {
            indexed.check_index(index, count)?;
        }
        let scope = Scope::within(&ctx.step, "ElementAt");
        Ok(wait(&scope.clone(), async move { scope.access(&*dataset)?.get(index as u64).await }))
    }
}

/// Refuses datasets whose elements have numbers only for the sake of shuffles.
fn unsupported_by_number(dataset: &dyn Dataset) -> Result<()> {
    if matches!(dataset.kind(), "GlobalShuffle" | "IndexFlatMap" | "WeightedFlatMap") {
        return Err(unimplemented_error!(
            "Random access is not implemented for dataset {}",
            dataset.title()
        ));
    }
    dataset.inputs().into_iter().try_for_each(|input| unsupported_by_number(&**input))
}

#[derive(Debug)]
struct Reduce {
    function: Func,
    states: usize,
    outputs: usize,
}

impl AsyncKernel for Reduce {
    fn new(attrs: &Attrs<'_>) -> Result<Reduce> {
        Ok(Reduce {
            function: attrs.func("f")?.clone(),
            states: attrs.dtypes("Tstate")?.len(),
            outputs: attrs.dtypes("output_types")?.len(),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let scope = Scope::within(&ctx.step, "ReduceIterator::Root");
        let mut inputs = ctx.into_tensors()?;
        let dataset = from_tensor(&inputs[0])?;
        let captured = inputs.split_off(1 + self.states);
        let state = inputs.split_off(1);
        let function = Captured::new(&self.function, captured);
        let outputs = self.outputs;
        Ok(wait(&scope.clone(), async move {
            let result = reduce(&scope, dataset, &function, state).await?;
            if result.len() != outputs {
                return Err(internal!(
                    "the function of a reduction returned {} values, expected {outputs}",
                    result.len()
                ));
            }
            Ok(result)
        }))
    }
}

async fn reduce(
    scope: &Scope,
    dataset: DatasetRef,
    function: &Captured,
    mut state: Element,
) -> Result<Element> {
    let function = scope.function(function)?;
    let mut elements = scope.iterate(&*dataset)?;
    while let Some(element) = elements.next().await? {
        state.extend(element);
        state = function.call(state).await?;
    }
    Ok(state)
}

/// Writes a dataset of strings into a file of records.
#[derive(Debug)]
struct ToRecords;

impl AsyncKernel for ToRecords {
    fn new(_: &Attrs<'_>) -> Result<ToRecords> {
        Ok(ToRecords)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let dataset = from_tensor(ctx.input(0)?)?;
        let text = |index: usize, name: &str| {
            let tensor = ctx.input(index)?;
            match tensor.strings()? {
                [value] if tensor.shape().is_scalar() => Ok(value.clone()),
                _ => Err(invalid_argument!("{name} must be a scalar")),
            }
        };
        let filename = String::from_utf8_lossy(&text(1, "filename")?).into_owned();
        let compression =
            Compression::parse(&text(2, "compression_type")?).unwrap_or(Compression::None);
        let scope = Scope::within(&ctx.step, "ToTFRecordOpIterator::Root");
        Ok(wait(&scope.clone(), async move {
            let mut file = RecordFile::create(&*scope.files(), &filename, compression)?;
            let mut elements = scope.iterate(&*dataset)?;
            while let Some(element) = elements.next().await? {
                for record in element.first().map_or(Ok(&[][..]), |record| record.strings())? {
                    file.write(record)?;
                }
            }
            file.finish()?;
            Ok(Vec::new())
        }))
    }
}
