//! Ops that take a dataset and give tensors: its cardinality, its only element, a reduction.

use std::io::{self, Write};

use tensorfleet_checkpoint::WriteFile;
use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, Op, Outcome, Started, cpu, cpu_async,
};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Error, Result, Tensor, internal, invalid_argument, unknown_error};

use super::dataset::{DatasetRef, Element, from_tensor};
use super::scope::{Captured, Scope};
use crate::record::{Compression, RecordWriter, files};

pub(super) const OPS: &[Op] = &[
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
struct SingleElement;

impl AsyncKernel for SingleElement {
    fn new(_: &Attrs<'_>) -> Result<SingleElement> {
        Ok(SingleElement)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let dataset = from_tensor(ctx.input(0)?)?;
        let scope = Scope::within(&ctx.step);
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
        let scope = Scope::within(&ctx.step);
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
        let scope = Scope::within(&ctx.step);
        Ok(wait(&scope.clone(), async move {
            let file = Sink(files().create(&filename)?);
            let mut writer = RecordWriter::new(compression.encoder(file));
            let mut elements = scope.iterate(&*dataset)?;
            while let Some(element) = elements.next().await? {
                for record in element.first().map_or(Ok(&[][..]), |record| record.strings())? {
                    writer.write(record).map_err(known)?;
                }
            }
            let Sink(file) = writer.into_inner().finish().map_err(known)?;
            file.finish()?;
            Ok(Vec::new())
        }))
    }
}

/// A file as the standard library writes.
struct Sink(Box<dyn WriteFile>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error behind an error of the standard library.
fn known(error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(known) => known.clone(),
        None => unknown_error!("{error}"),
    }
}
