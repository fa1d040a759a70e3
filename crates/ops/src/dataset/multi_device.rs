//! Iterators whose elements are dealt out to devices in turn.
//!
//! A background task takes elements from the dataset and puts each into the buffer of its device. A
//! start makes a new incarnation; who still asks for the elements of an old one is told so.

use std::fmt;
use std::sync::{Arc, Mutex};

use futures_util::lock::Mutex as AsyncMutex;
use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, Op, Outcome, Resource, Started, cpu,
    cpu_async,
};
use tensorfleet_tensor::{
    Result, Tensor, failed_precondition, internal, invalid_argument, out_of_range,
};

use super::dataset::{DatasetRef, Element, Signature, from_tensor};
use super::iterator::deleter;
use super::scope::Scope;
use super::task::{Buffer, Task, buffer};
use super::wire;
use crate::data_flow::named::Named;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AnonymousMultiDeviceIterator",
        outputs: &["handle: resource", "deleter: variant"],
        attrs: &[
            "devices: list(string) >= 1",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[cpu::<Anonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AnonymousMultiDeviceIteratorV3",
        outputs: &["handle: resource"],
        attrs: &[
            "devices: list(string) >= 1",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[cpu::<Anonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DeleteMultiDeviceIterator",
        inputs: &["multi_device_iterator: resource", "iterators: N * resource", "deleter: variant"],
        attrs: &["N: int >= 0"],
        stateful: true,
        kernels: &[cpu::<Delete>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MultiDeviceIterator",
        outputs: &["handle: resource"],
        attrs: &[
            "devices: list(string) >= 1",
            "shared_name: string",
            "container: string",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[cpu::<NamedIterator>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MultiDeviceIteratorFromStringHandle",
        inputs: &["string_handle: string"],
        outputs: &["multi_device_iterator: resource"],
        attrs: &["output_types: list(type) >= 0 = []", "output_shapes: list(shape) >= 0 = []"],
        stateful: true,
        kernels: &[cpu::<FromString>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MultiDeviceIteratorGetNextFromShard",
        inputs: &["multi_device_iterator: resource", "shard_num: int32", "incarnation_id: int64"],
        outputs: &["components: output_types"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        stateful: true,
        kernels: &[cpu_async::<GetNext>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MultiDeviceIteratorInit",
        inputs: &["dataset: variant", "multi_device_iterator: resource", "max_buffer_size: int64"],
        outputs: &["incarnation_id: int64"],
        stateful: true,
        kernels: &[cpu::<Init>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MultiDeviceIteratorToStringHandle",
        inputs: &["multi_device_iterator: resource"],
        outputs: &["string_handle: string"],
        stateful: true,
        kernels: &[cpu::<ToString>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct MultiDeviceIterator {
    signature: Signature,
    devices: usize,
    /// The incarnation, and its pass if there is one.
    running: Mutex<(i64, Option<Arc<Dealing>>)>,
}

impl Resource for MultiDeviceIterator {
    const TYPE_NAME: &'static str = "tensorflow::data::MultiDeviceIterator";
}

/// One pass over a dataset.
struct Dealing {
    shards: Vec<AsyncMutex<Shard>>,
    _dealer: Task<()>,
}

impl fmt::Debug for Dealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dealing to {}", self.shards.len())
    }
}

/// The elements of one device.
struct Shard {
    elements: Buffer<Result<Option<Element>>>,
    has_ended: bool,
}

impl Shard {
    async fn next(&mut self) -> Result<Option<Element>> {
        if self.has_ended {
            return Ok(None);
        }
        let element = self
            .elements
            .take()
            .await
            .ok_or_else(|| internal!("background work failed unexpectedly"))??;
        self.has_ended = element.is_none();
        Ok(element)
    }
}

impl MultiDeviceIterator {
    fn new(signature: &Signature, devices: usize) -> MultiDeviceIterator {
        let signature = signature.clone();
        MultiDeviceIterator { signature, devices, running: Mutex::new((0, None)) }
    }

    /// Starts to deal out the elements of a dataset, up to `size` ahead for each device.
    fn start(&self, dataset: &DatasetRef, scope: Scope, size: usize) -> Result<i64> {
        self.signature.check(dataset.signature())?;
        let mut elements = scope.iterate(&**dataset)?;
        let (mut fillers, shards): (Vec<_>, Vec<_>) = (0..self.devices)
            .map(|_| {
                let (filler, elements) = buffer(size);
                (filler, AsyncMutex::new(Shard { elements, has_ended: false }))
            })
            .unzip();
        let dealer = scope.spawn(async move {
            for turn in (0..fillers.len()).cycle() {
                if !fillers[turn].ready().await {
                    return;
                }
                match elements.next().await {
                    Ok(None) => break,
                    element => fillers[turn].put(element),
                }
            }
            for mut filler in fillers {
                if filler.ready().await {
                    filler.put(Ok(None));
                }
            }
        });
        let dealing = Arc::new(Dealing { shards, _dealer: dealer });
        let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        running.0 += 1;
        let earlier = running.1.replace(dealing);
        let incarnation = running.0;
        drop(running);
        drop(earlier);
        Ok(incarnation)
    }

    fn incarnation(&self, wanted: i64) -> Result<Arc<Dealing>> {
        let running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(dealing) = &running.1 else {
            return Err(failed_precondition!("The multi-device iterator is not initialized."));
        };
        if running.0 != wanted {
            return Err(invalid_argument!(
                "Invalid incarnation id. Provided: {wanted}; Expected: {}",
                running.0
            ));
        }
        Ok(Arc::clone(dealing))
    }
}

/// An iterator that lives as long as its handle.
#[derive(Debug)]
struct Anonymous {
    signature: Signature,
    devices: usize,
}

impl Kernel for Anonymous {
    fn new(attrs: &Attrs<'_>) -> Result<Anonymous> {
        let devices = attrs.strings("devices")?.len();
        Ok(Anonymous { signature: Signature::new(attrs)?, devices })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let iterator = Arc::new(MultiDeviceIterator::new(&self.signature, self.devices));
        let step = ctx.step();
        let kind = "AnonymousMultiDeviceIterator";
        let handle = step.resources.anonymous_handle(&step.device, kind, iterator);
        ctx.set_output(0, Tensor::resource(handle));
        if ctx.num_outputs() == 2 {
            ctx.set_output(1, deleter());
        }
        Ok(())
    }
}

#[derive(Debug)]
struct NamedIterator {
    named: Named<MultiDeviceIterator>,
    signature: Signature,
    devices: usize,
}

impl Kernel for NamedIterator {
    fn new(attrs: &Attrs<'_>) -> Result<NamedIterator> {
        Ok(NamedIterator {
            named: Named::new(attrs)?,
            signature: Signature::new(attrs)?,
            devices: attrs.strings("devices")?.len(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let create = |_: &str| Ok(MultiDeviceIterator::new(&self.signature, self.devices));
        self.named.output(ctx, create)?;
        Ok(())
    }
}

#[derive(Debug)]
struct Init;

impl Kernel for Init {
    fn new(_: &Attrs<'_>) -> Result<Init> {
        Ok(Init)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let dataset = from_tensor(ctx.input(0)?)?;
        let iterator = ctx.resource::<MultiDeviceIterator>(1)?;
        let size = usize::try_from(ctx.input(2)?.scalar_value::<i64>()?).unwrap_or(1);
        let incarnation = iterator.start(&dataset, Scope::root(ctx.step()), size)?;
        ctx.set_output(0, Tensor::scalar(incarnation));
        Ok(())
    }
}

#[derive(Debug)]
struct GetNext;

impl AsyncKernel for GetNext {
    fn new(_: &Attrs<'_>) -> Result<GetNext> {
        Ok(GetNext)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let iterator = ctx.resource::<MultiDeviceIterator>(0)?;
        let shard = ctx.input(1)?.scalar_value::<i32>()?;
        let dealing = iterator.incarnation(ctx.input(2)?.scalar_value()?)?;
        let index =
            usize::try_from(shard).ok().filter(|shard| *shard < dealing.shards.len()).ok_or_else(
                || invalid_argument!("shard {shard} is not one of {}", dealing.shards.len()),
            )?;
        Ok(Started::Waiting(Box::pin(async move {
            let element = dealing.shards[index].lock().await.next().await?;
            Ok(Outcome::from(element.ok_or_else(|| out_of_range!("End of sequence"))?))
        })))
    }
}

#[derive(Debug)]
struct ToString;

impl Kernel for ToString {
    fn new(_: &Attrs<'_>) -> Result<ToString> {
        Ok(ToString)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.resource::<MultiDeviceIterator>(0)?;
        let text = wire::encode_handle(&ctx.input(0)?.resources()?[0]);
        ctx.set_output(0, Tensor::string(text));
        Ok(())
    }
}

#[derive(Debug)]
struct FromString {
    signature: Signature,
}

impl Kernel for FromString {
    fn new(attrs: &Attrs<'_>) -> Result<FromString> {
        Ok(FromString { signature: Signature::new(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let text = ctx.input(0)?;
        if !text.shape().is_scalar() {
            return Err(invalid_argument!("string_handle must be a scalar"));
        }
        let handle = wire::decode_handle(&text.strings()?[0]).ok_or_else(|| {
            invalid_argument!("Could not parse string_handle as a valid ResourceHandle")
        })?;
        let handle = Tensor::resource(ctx.step().resources.revive(handle)?);
        let iterator = ctx.step().resource::<MultiDeviceIterator>(&handle)?;
        if !self.signature.types.is_empty() {
            self.signature.check(&iterator.signature)?;
        }
        ctx.set_output(0, handle);
        Ok(())
    }
}

/// The iterator goes with its handle.
#[derive(Debug)]
struct Delete;

impl Kernel for Delete {
    fn new(_: &Attrs<'_>) -> Result<Delete> {
        Ok(Delete)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        match ctx.input(0)?.resources()? {
            [handle] => ctx.step().resources.delete_handle(handle, None),
            _ => Ok(()),
        }
    }
}
