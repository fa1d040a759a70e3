//! What is done with readers.

use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, Op, Outcome, Started, Value, cpu,
    cpu_async,
};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::reader::Reader;
use super::reader_source::Record;
use crate::data_flow::named::resource_of;
use crate::data_flow::queue_ops::dequeue_one;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ReaderNumRecordsProduced",
        inputs: &["reader_handle: Ref(string)"],
        outputs: &["records_produced: int64"],
        kernels: &[cpu::<Produced>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderNumRecordsProducedV2",
        inputs: &["reader_handle: resource"],
        outputs: &["records_produced: int64"],
        stateful: true,
        kernels: &[cpu::<Produced>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderNumWorkUnitsCompleted",
        inputs: &["reader_handle: Ref(string)"],
        outputs: &["units_completed: int64"],
        kernels: &[cpu::<Completed>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderNumWorkUnitsCompletedV2",
        inputs: &["reader_handle: resource"],
        outputs: &["units_completed: int64"],
        stateful: true,
        kernels: &[cpu::<Completed>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderRead",
        inputs: &["reader_handle: Ref(string)", "queue_handle: Ref(string)"],
        outputs: &["key: string", "value: string"],
        kernels: &[cpu_async::<Read>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderReadV2",
        inputs: &["reader_handle: resource", "queue_handle: resource"],
        outputs: &["key: string", "value: string"],
        stateful: true,
        kernels: &[cpu_async::<Read>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderReadUpTo",
        inputs: &["reader_handle: Ref(string)", "queue_handle: Ref(string)", "num_records: int64"],
        outputs: &["keys: string", "values: string"],
        kernels: &[cpu_async::<Read>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderReadUpToV2",
        inputs: &["reader_handle: resource", "queue_handle: resource", "num_records: int64"],
        outputs: &["keys: string", "values: string"],
        stateful: true,
        kernels: &[cpu_async::<Read>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderReset",
        inputs: &["reader_handle: Ref(string)"],
        kernels: &[cpu::<Reset>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderResetV2",
        inputs: &["reader_handle: resource"],
        stateful: true,
        kernels: &[cpu::<Reset>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderRestoreState",
        inputs: &["reader_handle: Ref(string)", "state: string"],
        kernels: &[cpu::<Restore>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderRestoreStateV2",
        inputs: &["reader_handle: resource", "state: string"],
        stateful: true,
        kernels: &[cpu::<Restore>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderSerializeState",
        inputs: &["reader_handle: Ref(string)"],
        outputs: &["state: string"],
        kernels: &[cpu::<Save>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReaderSerializeStateV2",
        inputs: &["reader_handle: resource"],
        outputs: &["state: string"],
        stateful: true,
        kernels: &[cpu::<Save>()],
        ..Op::DEFAULT
    },
];

/// Reads one record, or several from one file.
#[derive(Debug)]
struct Read {
    several: bool,
}

impl AsyncKernel for Read {
    fn new(attrs: &Attrs<'_>) -> Result<Read> {
        Ok(Read { several: attrs.op().starts_with("ReaderReadUpTo") })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let handle = |index: usize| -> Result<&Value> {
            ctx.inputs.get(index).ok_or_else(|| invalid_argument!("no handle"))
        };
        let reader: Arc<Reader> = resource_of(&ctx.step, handle(0)?)?;
        let work = dequeue_one(&ctx.step, handle(1)?)?;
        let several = self.several;
        let most = if several { ctx.input(2)?.scalar_value::<i64>()? } else { 1 };
        let most = usize::try_from(most)
            .map_err(|_| invalid_argument!("num_records must be >= 0, got {most}"))?;
        let spawner = Arc::clone(&ctx.step.spawner);
        Ok(Started::Waiting(Box::pin(async move {
            let records = reader.read(most, work, spawner).await?;
            output(records, several)
        })))
    }
}

fn output(records: Vec<Record>, several: bool) -> Result<Outcome> {
    let count = records.len();
    let (keys, values) = records.into_iter().map(|record| (record.key, record.value)).unzip();
    let shape = if several { Shape::vector(count) } else { Shape::SCALAR };
    let keys = Tensor::from_strings(shape.clone(), keys)?;
    Ok(Outcome::from(vec![keys, Tensor::from_strings(shape, values)?]))
}

fn reader_of(ctx: &KernelContext<'_>) -> Result<Arc<Reader>> {
    resource_of(ctx.step(), ctx.value(0)?)
}

#[derive(Debug)]
struct Produced;

impl Kernel for Produced {
    fn new(_: &Attrs<'_>) -> Result<Produced> {
        Ok(Produced)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let produced = reader_of(ctx)?.records_produced();
        ctx.set_output(0, Tensor::scalar(produced));
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Completed;

impl Kernel for Completed {
    fn new(_: &Attrs<'_>) -> Result<Completed> {
        Ok(Completed)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let completed = reader_of(ctx)?.work_units_completed();
        ctx.set_output(0, Tensor::scalar(completed));
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Reset;

impl Kernel for Reset {
    fn new(_: &Attrs<'_>) -> Result<Reset> {
        Ok(Reset)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        reader_of(ctx)?.reset();
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Save;

impl Kernel for Save {
    fn new(_: &Attrs<'_>) -> Result<Save> {
        Ok(Save)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let state = reader_of(ctx)?.save()?;
        ctx.set_output(0, Tensor::string(state));
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Restore;

impl Kernel for Restore {
    fn new(_: &Attrs<'_>) -> Result<Restore> {
        Ok(Restore)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let reader = reader_of(ctx)?;
        let state = ctx.input(1)?;
        match state.strings()? {
            [saved] if state.rank() == 0 => reader.restore(saved),
            _ => Err(invalid_argument!(
                "Reader state must be scalar, but had shape: {}",
                state.shape()
            )),
        }
    }

    fn blocks(&self) -> bool {
        true
    }
}
