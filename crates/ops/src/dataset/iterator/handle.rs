//! Handles of iterators as strings, by which a step chooses an iterator.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::resource::{IteratorResource, lookup};
use crate::dataset::dataset::Signature;
use crate::dataset::wire;

const ATTRS: &[&str] =
    &["output_types: list(type) >= 0 = []", "output_shapes: list(shape) >= 0 = []"];
const FROM_STRING: &[KernelDef] = &[cpu::<FromString>()];

const GET_DEVICE: &[KernelDef] = &[cpu::<GetDevice>()];

pub(in crate::dataset) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalIteratorGetDevice",
        inputs: &["resource: resource"],
        outputs: &["device: string"],
        stateful: true,
        kernels: GET_DEVICE,
        ..Op::DEFAULT
    },
    Op {
        name: "IteratorFromStringHandle",
        inputs: &["string_handle: string"],
        outputs: &["resource_handle: resource"],
        attrs: ATTRS,
        stateful: true,
        kernels: FROM_STRING,
        ..Op::DEFAULT
    },
    Op {
        name: "IteratorFromStringHandleV2",
        inputs: &["string_handle: string"],
        outputs: &["resource_handle: resource"],
        attrs: ATTRS,
        stateful: true,
        kernels: FROM_STRING,
        ..Op::DEFAULT
    },
    Op {
        name: "IteratorGetDevice",
        inputs: &["resource: resource"],
        outputs: &["device: string"],
        stateful: true,
        kernels: GET_DEVICE,
        ..Op::DEFAULT
    },
    Op {
        name: "IteratorToStringHandle",
        inputs: &["resource_handle: resource"],
        outputs: &["string_handle: string"],
        stateful: true,
        kernels: &[cpu::<ToString>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct ToString;

impl Kernel for ToString {
    fn new(_: &Attrs<'_>) -> Result<ToString> {
        Ok(ToString)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let handle = ctx.input(0)?;
        if !handle.shape().is_scalar() {
            return Err(invalid_argument!("resource_handle must be a scalar"));
        }
        // The handle must lead to an iterator.
        lookup(ctx.step(), handle)?;
        let text = wire::encode_handle(&handle.resources()?[0]);
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
        let signature = Signature::new(attrs)?;
        let (types, shapes) = (signature.types.len(), signature.shapes.len());
        if types > 0 && shapes > 0 && types != shapes {
            return Err(invalid_argument!(
                "If both 'output_types' and 'output_shapes' are set, they must have the same length."
            ));
        }
        Ok(FromString { signature })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let text = ctx.input(0)?;
        if !text.shape().is_scalar() {
            return Err(invalid_argument!("string_handle must be a scalar"));
        }
        let Some(handle) = wire::decode_handle(&text.strings()?[0]) else {
            return Err(invalid_argument!(
                "Could not parse string_handle as a valid ResourceHandle"
            ));
        };
        let device = &*ctx.step().device;
        if handle.device != device {
            return Err(invalid_argument!(
                "Attempted create an iterator on device \"{device}\" from handle defined on device \
                 \"{}\"",
                handle.device
            ));
        }
        let handle = Tensor::resource(ctx.step().resources.revive(handle)?);
        let iterator: std::sync::Arc<IteratorResource> = lookup(ctx.step(), &handle)?;
        if !self.signature.types.is_empty() {
            let mut want = self.signature.clone();
            if want.shapes.is_empty() {
                want.shapes = vec![Default::default(); want.types.len()];
            }
            iterator.check(&want)?;
        }
        ctx.set_output(0, handle);
        Ok(())
    }
}

#[derive(Debug)]
struct GetDevice;

impl Kernel for GetDevice {
    fn new(_: &Attrs<'_>) -> Result<GetDevice> {
        Ok(GetDevice)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let devices = ctx
            .input(0)?
            .resources()?
            .iter()
            .map(|handle| handle.device.clone().into_bytes().into())
            .collect();
        ctx.set_output(0, Tensor::from_strings(Shape::SCALAR, devices)?);
        Ok(())
    }
}
