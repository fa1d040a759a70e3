//! Whether a value counts as true, and what else branches need: `ToBool`, `FakeParam`, `DeviceIndex`.

use tensorfleet_framework::{Attrs, DeviceName, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DeviceIndex",
        outputs: &["index: int32"],
        attrs: &["device_names: list(string)"],
        stateful: true,
        kernels: &[cpu::<DeviceIndex>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FakeParam",
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "shape: shape"],
        kernels: &[cpu::<FakeParam>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ToBool",
        inputs: &["input: T"],
        outputs: &["output: bool"],
        attrs: &["T: type"],
        kernels: &[cpu::<ToBool>()],
        ..Op::DEFAULT
    },
];

/// Whether a tensor counts as true: a scalar that is not zero or empty, or any tensor with elements.
pub(super) fn is_true(tensor: &Tensor) -> Result<bool> {
    if !tensor.shape().is_scalar() {
        return Ok(tensor.num_elements() > 0);
    }
    match tensor.dtype() {
        DType::String => Ok(tensor.strings()?.iter().any(|text| !text.is_empty())),
        DType::Float => Ok(tensor.scalar_value::<f32>()? != 0.0),
        DType::Double => Ok(tensor.scalar_value::<f64>()? != 0.0),
        dtype @ (DType::Int32
        | DType::Int64
        | DType::Int16
        | DType::Int8
        | DType::UInt8
        | DType::Bool) => {
            debug_assert!(dtype.is_plain());
            Ok(tensor.raw().iter().any(|&byte| byte != 0))
        }
        other => Err(invalid_argument!("{other} cannot be converted to a boolean")),
    }
}

#[derive(Debug)]
struct ToBool;

impl Kernel for ToBool {
    fn new(_: &Attrs<'_>) -> Result<ToBool> {
        Ok(ToBool)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let value = is_true(ctx.input(0)?)?;
        ctx.set_output(0, Tensor::scalar(value));
        Ok(())
    }
}

/// Stands for a value that the branch not taken would have made; nobody reads it.
#[derive(Debug)]
struct FakeParam(DType);

impl Kernel for FakeParam {
    fn new(attrs: &Attrs<'_>) -> Result<FakeParam> {
        Ok(FakeParam(attrs.dtype("dtype")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.set_output(0, Tensor::zeros(self.0, Shape::vector(0))?);
        Ok(())
    }
}

/// Which of the listed kinds of devices the node runs on.
#[derive(Debug)]
struct DeviceIndex(i32);

impl Kernel for DeviceIndex {
    fn new(attrs: &Attrs<'_>) -> Result<DeviceIndex> {
        let device = DeviceName::parse(attrs.device())?;
        let kind = device.kind.as_deref().unwrap_or("CPU");
        let names = attrs.strings("device_names")?;
        let index = names.iter().position(|name| name == kind).unwrap_or(names.len());
        Ok(DeviceIndex(index as i32))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.set_output(0, Tensor::scalar(self.0));
        Ok(())
    }
}
