//! Names of the files of a sharded checkpoint.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::text;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ShardedFilename",
        inputs: &["basename: string", "shard: int32", "num_shards: int32"],
        outputs: &["filename: string"],
        kernels: &[cpu::<ShardedFilename>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ShardedFilespec",
        inputs: &["basename: string", "num_shards: int32"],
        outputs: &["filename: string"],
        kernels: &[cpu::<ShardedFilespec>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct ShardedFilename;

impl Kernel for ShardedFilename {
    fn new(_: &Attrs<'_>) -> Result<ShardedFilename> {
        Ok(ShardedFilename)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check_scalars(ctx, &["basename", "shard", "num_shards"])?;
        let base = text(ctx.input(0)?, "basename")?;
        let shard = ctx.input(1)?.scalar_value::<i32>()?;
        let shards = ctx.input(2)?.scalar_value::<i32>()?;
        let name = format!("{base}-{shard:05}-of-{shards:05}");
        ctx.set_output(0, Tensor::string(name));
        Ok(())
    }
}

#[derive(Debug)]
struct ShardedFilespec;

impl Kernel for ShardedFilespec {
    fn new(_: &Attrs<'_>) -> Result<ShardedFilespec> {
        Ok(ShardedFilespec)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check_scalars(ctx, &["basename", "num_shards"])?;
        let base = text(ctx.input(0)?, "basename")?;
        let shards = ctx.input(1)?.scalar_value::<i32>()?;
        ctx.set_output(0, Tensor::string(format!("{base}-?????-of-{shards:05}")));
        Ok(())
    }
}

/// Refuses inputs, each with its name, that are no scalars.
fn check_scalars(ctx: &KernelContext<'_>, names: &[&str]) -> Result<()> {
    for (index, name) in names.iter().enumerate() {
        let input = ctx.input(index)?;
        if input.rank() != 0 {
            return Err(invalid_argument!("{name} must be a scalar, got shape {}", input.shape()));
        }
    }
    Ok(())
}
