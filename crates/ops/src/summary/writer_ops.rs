//! The ops of event files: made, written and closed by steps.

use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{ResourceHandle, Result, Tensor, invalid_argument};

use super::image::Painter;
use super::numbers::numbers;
use super::wire::{self, Content, Entry, Event};
use super::writer::{FileCount, SummaryWriter};
use super::{audio, histogram};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CloseSummaryWriter",
        inputs: &["writer: resource"],
        stateful: true,
        kernels: &[cpu::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CreateSummaryFileWriter",
        inputs: &[
            "writer: resource",
            "logdir: string",
            "max_queue: int32",
            "flush_millis: int32",
            "filename_suffix: string",
        ],
        stateful: true,
        kernels: &[cpu::<Create>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FlushSummaryWriter",
        inputs: &["writer: resource"],
        stateful: true,
        kernels: &[cpu::<Flush>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ImportEvent",
        inputs: &["writer: resource", "event: string"],
        stateful: true,
        kernels: &[cpu::<Import>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SummaryWriter",
        outputs: &["writer: resource"],
        attrs: &["shared_name: string = ''", "container: string = ''"],
        stateful: true,
        kernels: &[cpu::<Handle>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WriteAudioSummary",
        inputs: &[
            "writer: resource",
            "step: int64",
            "tag: string",
            "tensor: float",
            "sample_rate: float",
        ],
        attrs: &["max_outputs: int >= 1 = 3"],
        stateful: true,
        kernels: &[cpu::<WriteAudio>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WriteGraphSummary",
        inputs: &["writer: resource", "step: int64", "tensor: string"],
        stateful: true,
        kernels: &[cpu::<WriteGraph>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WriteHistogramSummary",
        inputs: &["writer: resource", "step: int64", "tag: string", "values: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, bool} = DT_FLOAT",
        ],
        stateful: true,
        kernels: &[cpu::<WriteHistogram>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WriteImageSummary",
        inputs: &[
            "writer: resource",
            "step: int64",
            "tag: string",
            "tensor: T",
            "bad_color: uint8",
        ],
        attrs: &["max_images: int >= 1 = 3", "T: {uint8, double, float, half} = DT_FLOAT"],
        stateful: true,
        kernels: &[cpu::<WriteImage>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WriteRawProtoSummary",
        inputs: &["writer: resource", "step: int64", "tensor: string"],
        stateful: true,
        kernels: &[cpu::<WriteRaw>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WriteScalarSummary",
        inputs: &["writer: resource", "step: int64", "tag: string", "value: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        stateful: true,
        kernels: &[cpu::<WriteScalar>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WriteSummary",
        inputs: &[
            "writer: resource",
            "step: int64",
            "tensor: T",
            "tag: string",
            "summary_metadata: string",
        ],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<WriteTensor>()],
        ..Op::DEFAULT
    },
];

/// The only string of a tensor.
fn string<'a>(ctx: &'a KernelContext<'_>, input: usize, what: &str) -> Result<&'a Bytes> {
    match ctx.input(input)?.strings()? {
        [value] => Ok(value),
        _ => Err(invalid_argument!("{what} must be scalar")),
    }
}

fn text(ctx: &KernelContext<'_>, input: usize, what: &str) -> Result<String> {
    Ok(String::from_utf8_lossy(string(ctx, input, what)?).into_owned())
}

/// The handle of a writer, which may not exist yet.
fn handle<'a>(ctx: &'a KernelContext<'_>) -> Result<&'a ResourceHandle> {
    match ctx.input(0)?.resources()? {
        [handle] => Ok(handle),
        _ => Err(invalid_argument!("writer must be scalar")),
    }
}

fn writer(ctx: &KernelContext<'_>) -> Result<Arc<SummaryWriter>> {
    ctx.resource(0)
}

/// Writes entries as the summary of the step that is the second input.
fn write(ctx: &KernelContext<'_>, entries: Vec<Entry>) -> Result<()> {
    writer(ctx)?.write(Event::Summary(entries), ctx.input(1)?.scalar_value()?)
}

/// Names a writer.
#[derive(Debug)]
struct Handle {
    container: String,
    name: String,
}

impl Kernel for Handle {
    fn new(attrs: &Attrs<'_>) -> Result<Handle> {
        let shared_name = attrs.string("shared_name")?;
        let name = if shared_name.is_empty() { attrs.node_name() } else { &shared_name };
        Ok(Handle { container: attrs.string("container")?.into_owned(), name: name.to_owned() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let step = ctx.step();
        let handle = step.resources.handle::<SummaryWriter>(
            &step.device,
            &self.container,
            &self.name,
            Vec::new(),
        );
        ctx.set_output(0, Tensor::resource(handle));
        Ok(())
    }
}

/// Starts a file, unless the writer has one.
#[derive(Debug)]
struct Create;

impl Kernel for Create {
    fn new(_: &Attrs<'_>) -> Result<Create> {
        Ok(Create)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let handle = handle(ctx)?;
        let directory = text(ctx, 1, "logdir")?;
        let max_queue = ctx.input(2)?.scalar_value()?;
        let flush_millis = ctx.input(3)?.scalar_value()?;
        let suffix = text(ctx, 4, "filename_suffix")?;
        let resources = &ctx.step().resources;
        let count = resources
            .lookup_or_create("_tensorfleet", "event_files", || Ok(FileCount::default()))?;
        // The file is made when the writer is known: nobody looks for resources meanwhile.
        let writer = resources.lookup_or_create(&handle.container, &handle.name, || {
            Ok(SummaryWriter::new(max_queue, flush_millis))
        })?;
        writer.open(&*ctx.step().files(), &directory, &suffix, || count.next()).inspect_err(|_| {
            // Another step may have forgotten it already.
            let _ = resources.delete::<SummaryWriter>(&handle.container, &handle.name);
        })
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Flush;

impl Kernel for Flush {
    fn new(_: &Attrs<'_>) -> Result<Flush> {
        Ok(Flush)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        writer(ctx)?.flush()
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// Forgets the writer. The file is complete when nobody writes any more.
#[derive(Debug)]
struct Close;

impl Kernel for Close {
    fn new(_: &Attrs<'_>) -> Result<Close> {
        Ok(Close)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        writer(ctx)?.flush()?;
        let handle = handle(ctx)?;
        ctx.step().resources.delete::<SummaryWriter>(&handle.container, &handle.name)
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct WriteTensor;

impl Kernel for WriteTensor {
    fn new(_: &Attrs<'_>) -> Result<WriteTensor> {
        Ok(WriteTensor)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tensor = ctx.input(2)?.clone();
        let tag = text(ctx, 3, "tag")?;
        let metadata = string(ctx, 4, "summary_metadata")?.clone();
        write(ctx, vec![Entry { tag, content: Content::WrittenTensor { tensor, metadata } }])
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct WriteScalar;

impl Kernel for WriteScalar {
    fn new(_: &Attrs<'_>) -> Result<WriteScalar> {
        Ok(WriteScalar)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tag = text(ctx, 2, "tag")?;
        let Some(&value) = numbers(ctx.input(3)?)?.first() else {
            return Err(invalid_argument!("value of scalar summary {tag} is empty"));
        };
        write(ctx, vec![Entry { tag, content: Content::Scalar(value as f32) }])
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct WriteHistogram {
    limits: Vec<f64>,
}

impl Kernel for WriteHistogram {
    fn new(_: &Attrs<'_>) -> Result<WriteHistogram> {
        Ok(WriteHistogram { limits: histogram::bucket_limits() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tag = text(ctx, 2, "tag")?;
        let content = histogram::content(&self.limits, ctx.input(3)?, &tag)?;
        write(ctx, vec![Entry { tag, content }])
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct WriteImage {
    max_images: usize,
}

impl Kernel for WriteImage {
    fn new(attrs: &Attrs<'_>) -> Result<WriteImage> {
        Ok(WriteImage { max_images: usize::try_from(attrs.int("max_images")?).unwrap_or(1) })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tag = text(ctx, 2, "tag")?;
        let bad_color = ctx.input(4)?.values::<u8>()?.to_vec();
        let painter = Painter { max_images: self.max_images, bad_color };
        write(ctx, painter.entries(&tag, ctx.input(3)?)?)
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct WriteAudio {
    max_outputs: usize,
}

impl Kernel for WriteAudio {
    fn new(attrs: &Attrs<'_>) -> Result<WriteAudio> {
        Ok(WriteAudio { max_outputs: usize::try_from(attrs.int("max_outputs")?).unwrap_or(1) })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tag = text(ctx, 2, "tag")?;
        let rate = ctx.input(4)?.scalar_value()?;
        write(ctx, audio::entries(&tag, ctx.input(3)?, rate, self.max_outputs)?)
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct WriteGraph;

impl Kernel for WriteGraph {
    fn new(_: &Attrs<'_>) -> Result<WriteGraph> {
        Ok(WriteGraph)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let graph = string(ctx, 2, "tensor")?.clone();
        writer(ctx)?.write(Event::Graph(graph), ctx.input(1)?.scalar_value()?)
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct WriteRaw;

impl Kernel for WriteRaw {
    fn new(_: &Attrs<'_>) -> Result<WriteRaw> {
        Ok(WriteRaw)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let summaries = ctx.input(2)?.strings()?.to_vec();
        writer(ctx)?.write(Event::RawSummaries(summaries), ctx.input(1)?.scalar_value()?)
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// Writes an event that was made elsewhere.
#[derive(Debug)]
struct Import;

impl Kernel for Import {
    fn new(_: &Attrs<'_>) -> Result<Import> {
        Ok(Import)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let writer = writer(ctx)?;
        let event = string(ctx, 1, "event")?;
        wire::check_event(event)?;
        writer.append(event)
    }

    fn blocks(&self) -> bool {
        true
    }
}
