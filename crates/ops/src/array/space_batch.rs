//! `SpaceToBatch`, `BatchToSpace` and their versions for any number of axes: blocks of neighbours
//! spread over the batch, and back.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::arguments::{check_size, shape_of};
use super::copy::{Piece, assemble, dims_of, overwrite, parallel};
use super::types;
use super::view::View;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchToSpace",
        inputs: &["input: T", "crops: Tidx"],
        outputs: &["output: T"],
        attrs: &["T: type", "block_size: int >= 2", "Tidx: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<BatchToSpace>().types("T", types::REAL)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "BatchToSpaceND",
        inputs: &["input: T", "block_shape: Tblock_shape", "crops: Tcrops"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "Tblock_shape: {int32, int64} = DT_INT32",
            "Tcrops: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<BatchToSpace>().types("T", types::REAL)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SpaceToBatch",
        inputs: &["input: T", "paddings: Tpaddings"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tpaddings: {int32, int64} = DT_INT32", "block_size: int >= 2"],
        kernels: &[cpu::<SpaceToBatch>().types("T", types::REAL)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SpaceToBatchND",
        inputs: &["input: T", "block_shape: Tblock_shape", "paddings: Tpaddings"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "Tblock_shape: {int32, int64} = DT_INT32",
            "Tpaddings: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<SpaceToBatch>().types("T", types::REAL)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

/// The attribute of the versions for images; others have an input instead.
fn block_size(attrs: &Attrs<'_>) -> Result<Option<i64>> {
    attrs.get("block_size").map(|_| attrs.int("block_size")).transpose()
}

/// What both directions are told beside the tensor.
#[derive(Debug)]
struct Arguments {
    /// The size of the blocks along each of the axes after the first.
    block: Vec<i64>,
    /// What is padded or cropped at both ends of each of them.
    borders: Vec<[i64; 2]>,
}

impl Arguments {
    fn new(
        ctx: &KernelContext<'_>,
        block_size: Option<i64>,
        borders_name: &str,
    ) -> Result<Arguments> {
        let input = ctx.input(0)?;
        let (block, borders) = match block_size {
            Some(size) if input.rank() == 4 => (vec![size; 2], ctx.input(1)?),
            Some(_) => {
                return Err(invalid_argument!(
                    "Input rank should be: 4instead of: {}",
                    input.rank()
                ));
            }
            None => {
                let block = ctx.input(1)?;
                if block.rank() != 1 {
                    return Err(invalid_argument!(
                        "block_shape rank should be 1 instead of {}",
                        block.rank()
                    ));
                }
                (block.to_i64_vec()?, ctx.input(2)?)
            }
        };
        if input.rank() < block.len() + 1 {
            return Err(invalid_argument!(
                "input rank should be >= {} instead of {}",
                block.len() + 1,
                input.rank()
            ));
        }
        if borders.dims() != [block.len(), 2] {
            return Err(invalid_argument!(
                "{borders_name} should have shape [{}, 2] instead of {}",
                block.len(),
                borders.shape()
            ));
        }
        let borders = borders.to_i64_vec()?.as_chunks().0.to_vec();
        Ok(Arguments { block, borders })
    }

    /// The number of elements in a block.
    fn block_elements(&self) -> Option<i64> {
        self.block.iter().try_fold(1i64, |product, &size| product.checked_mul(size))
    }

    /// For each position within a block, the elements at that position in all blocks of the spatial
    /// tensor, and the same elements in the tensor where the batch numbers those positions.
    fn positions(&self, space: &[usize], batch: &[usize]) -> Vec<(View, View)> {
        let mut views = vec![(View::of(space), View::of(batch), 0)];
        for (i, (&block, &[start, _])) in self.block.iter().zip(&self.borders).enumerate() {
            let axis = i + 1;
            let mut next = Vec::with_capacity(views.len() * block as usize);
            for (space_view, batch_view, number) in &views {
                for offset in 0..block {
                    // The first place inside the tensor that is at `offset` in its block.
                    let first = (offset - start).rem_euclid(block) as usize;
                    let len = space[axis].saturating_sub(first).div_ceil(block as usize);
                    let first_block = (first + start as usize) / block as usize;
                    next.push((
                        space_view.clone().stepped(axis, first, block as isize, len),
                        batch_view.clone().slice(axis, first_block, len),
                        number * block as usize + offset as usize,
                    ));
                }
            }
            views = next;
        }
        let images = space[0];
        let place = |(space, batch, number): (View, View, usize)| {
            (space, batch.slice(0, number * images, images))
        };
        views.into_iter().map(place).collect()
    }
}

#[derive(Debug)]
struct SpaceToBatch {
    block_size: Option<i64>,
}

impl Kernel for SpaceToBatch {
    fn new(attrs: &Attrs<'_>) -> Result<SpaceToBatch> {
        Ok(SpaceToBatch { block_size: block_size(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let arguments = Arguments::new(ctx, self.block_size, "paddings")?;
        let input = ctx.input(0)?;
        for (i, &size) in arguments.block.iter().enumerate() {
            if size < 1 {
                return Err(invalid_argument!(
                    "All values in block_shape must be positive, got value, {size} at index {i}."
                ));
            }
        }
        let too_large = || invalid_argument!("the result of {} is too large", ctx.node_name());
        let elements = arguments.block_elements().ok_or_else(too_large)?;
        let mut dims = dims_of(input);
        dims[0] = dims[0].checked_mul(elements as usize).ok_or_else(too_large)?;
        for (i, (&size, &[before, after])) in
            arguments.block.iter().zip(&arguments.borders).enumerate()
        {
            if before < 0 || after < 0 {
                return Err(invalid_argument!("Paddings must be non-negative"));
            }
            let padded = (dims[i + 1] as i64)
                .checked_add(before)
                .and_then(|padded| padded.checked_add(after))
                .ok_or_else(too_large)?;
            if padded % size != 0 {
                return Err(invalid_argument!(
                    "padded_shape[{i}]={padded} is not divisible by block_shape[{i}]={size}"
                ));
            }
            dims[i + 1] = (padded / size) as usize;
        }
        let shape = shape_of(&dims)?;
        check_size(input.dtype(), &shape)?;
        let padded = arguments.borders.iter().any(|border| *border != [0, 0]);
        let output = if shape.num_elements() == 0 {
            Tensor::zeros(input.dtype(), shape)?
        } else {
            let pieces: Vec<_> = arguments
                .positions(input.dims(), &dims)
                .into_iter()
                .map(|(read, write)| Piece { source: input, read, write })
                .collect();
            if padded {
                let mut output = Tensor::zeros(input.dtype(), shape)?;
                overwrite(&mut output, &pieces, parallel(ctx))?;
                output
            } else {
                assemble(input.dtype(), shape, &pieces, parallel(ctx))?
            }
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct BatchToSpace {
    block_size: Option<i64>,
}

impl Kernel for BatchToSpace {
    fn new(attrs: &Attrs<'_>) -> Result<BatchToSpace> {
        Ok(BatchToSpace { block_size: block_size(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let arguments = Arguments::new(ctx, self.block_size, "crops")?;
        let input = ctx.input(0)?;
        let elements = arguments.block_elements().unwrap_or(0);
        if elements < 1 || arguments.block.iter().any(|&size| size < 1) {
            return Err(invalid_argument!(
                "Product of block sizes must be positive, got {elements}"
            ));
        }
        let batch = input.dims()[0];
        if batch % elements as usize != 0 {
            return Err(invalid_argument!(
                "Input batch dimension ({batch}) is not divisible by product of block sizes \
                 ({elements})"
            ));
        }
        let mut dims = dims_of(input);
        dims[0] = batch / elements as usize;
        for (i, (&size, &[before, after])) in
            arguments.block.iter().zip(&arguments.borders).enumerate()
        {
            if before < 0 || after < 0 {
                return Err(invalid_argument!("Crops must be non-negative"));
            }
            let whole = (dims[i + 1] as i64).saturating_mul(size);
            let cropped = whole.saturating_sub(before).saturating_sub(after);
            dims[i + 1] = usize::try_from(cropped).map_err(|_| {
                invalid_argument!("cropped_shape[{i}]={cropped} must be non-negative")
            })?;
        }
        let shape = shape_of(&dims)?;
        let output = if shape.num_elements() == 0 {
            Tensor::zeros(input.dtype(), shape)?
        } else {
            let pieces: Vec<_> = arguments
                .positions(&dims, input.dims())
                .into_iter()
                .map(|(write, read)| Piece { source: input, read, write })
                .collect();
            assemble(input.dtype(), shape, &pieces, parallel(ctx))?
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Each op undoes another.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let mut gradients = vec![None; g.num_inputs()];
    let back = match &*g.node().op {
        "BatchToSpace" => g.call_with_attrs("SpaceToBatch", [grad, g.input(1)])?,
        "SpaceToBatch" => g.call_with_attrs("BatchToSpace", [grad, g.input(1)])?,
        "BatchToSpaceND" => g.call("SpaceToBatchND", [grad, g.input(1), g.input(2)])?,
        _ => g.call("BatchToSpaceND", [grad, g.input(1), g.input(2)])?,
    };
    gradients[0] = Some(back.into());
    Ok(gradients)
}
