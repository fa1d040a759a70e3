//! Reading checkpoints: `RestoreV2`, and the older `Restore` and `RestoreSlice`.

use tensorfleet_checkpoint::Checkpoint;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result};

use super::save::check_names;
use super::text;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Restore",
        inputs: &["file_pattern: string", "tensor_name: string"],
        outputs: &["tensor: dt"],
        attrs: &["dt: type", "preferred_shard: int = -1"],
        stateful: true,
        kernels: &[cpu::<Restore>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RestoreSlice",
        inputs: &["file_pattern: string", "tensor_name: string", "shape_and_slice: string"],
        outputs: &["tensor: dt"],
        attrs: &["dt: type", "preferred_shard: int = -1"],
        stateful: true,
        kernels: &[cpu::<Restore>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RestoreV2",
        inputs: &["prefix: string", "tensor_names: string", "shape_and_slices: string"],
        outputs: &["tensors: dtypes"],
        attrs: &["dtypes: list(type) >= 1"],
        stateful: true,
        kernels: &[cpu::<RestoreV2>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct RestoreV2(Vec<DType>);

impl Kernel for RestoreV2 {
    fn new(attrs: &Attrs<'_>) -> Result<RestoreV2> {
        Ok(RestoreV2(attrs.dtypes("dtypes")?.to_vec()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let prefix = text(ctx.input(0)?, "Input prefix")?.into_owned();
        let (names, slices) = check_names(ctx.input(1)?, Some(ctx.input(2)?), self.0.len())?;
        let checkpoint = Checkpoint::open(ctx.step().files(), &prefix)?;
        let mut tensors = Vec::with_capacity(self.0.len());
        for ((name, slice), dtype) in names.iter().zip(slices.unwrap_or_default()).zip(&self.0) {
            let (name, slice) = (String::from_utf8_lossy(name), String::from_utf8_lossy(slice));
            tensors.push(checkpoint.restore(&name, &slice, *dtype)?);
        }
        for (index, tensor) in tensors.into_iter().enumerate() {
            ctx.set_output(index, tensor);
        }
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// Both older ops: one tensor, perhaps a slice of it.
#[derive(Debug)]
struct Restore(DType);

impl Kernel for Restore {
    fn new(attrs: &Attrs<'_>) -> Result<Restore> {
        Ok(Restore(attrs.dtype("dt")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let pattern = text(ctx.input(0)?, "Input file_pattern")?;
        let name = text(ctx.input(1)?, "Input tensor_name")?;
        let slice = match ctx.num_inputs() {
            2 => "".into(),
            _ => text(ctx.input(2)?, "Input shape_and_slice")?,
        };
        let tensor =
            Checkpoint::open_v1(&*ctx.step().files(), &pattern)?.restore(&name, &slice, self.0)?;
        ctx.set_output(0, tensor);
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}
