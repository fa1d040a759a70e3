//! `SpaceToDepth` and `DepthToSpace`: blocks of pixels as channels, and back.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::arguments::shape_of;
use super::copy::{materialize, parallel};
use super::types;
use super::view::View;
use tensorfleet_framework::gradient::only;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DepthToSpace",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<DepthToSpace>().types("T", types::ALL)],
        gradient: Some(to_space_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SpaceToDepth",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<SpaceToDepth>().types("T", ALL_AND_BYTES)],
        gradient: Some(to_depth_gradient),
        ..Op::DEFAULT
    },
];

const ATTRS: &[&str] =
    &["T: type", "block_size: int >= 2", "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"];

const ALL_AND_BYTES: &[DType] = &types::join::<19>(types::ALL, &[DType::QInt8]);

/// Reads the side of a block, at most `most`. Only images with channels last have kernels on a CPU.
fn block_size(attrs: &Attrs<'_>, most: Option<i64>) -> Result<usize> {
    let format = attrs.string("data_format")?;
    if format != "NHWC" {
        return Err(invalid_argument!("Only NHWC data_format supported on CPU. Got {format}"));
    }
    let size = attrs.int("block_size")?;
    match most {
        Some(most) if size < 2 || size > most => {
            Err(invalid_argument!("Block size should be > 1 and <= {most} but was: {size}"))
        }
        None if size < 2 => Err(invalid_argument!("Block size should be > 1, but was: {size}")),
        _ => Ok(size as usize),
    }
}

fn rearrange(
    ctx: &mut KernelContext<'_>,
    view: View,
    dims: &[usize],
    input: &Tensor,
) -> Result<()> {
    let shape = shape_of(dims)?;
    let output = materialize(input, view, parallel(ctx))?.into_shape(shape)?;
    ctx.set_output(0, output);
    Ok(())
}

#[derive(Debug)]
struct SpaceToDepth {
    size: usize,
}

impl Kernel for SpaceToDepth {
    fn new(attrs: &Attrs<'_>) -> Result<SpaceToDepth> {
        Ok(SpaceToDepth { size: block_size(attrs, None)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let size = self.size;
        let &[batch, height, width, channels] = input.dims() else {
            return Err(invalid_argument!("Input rank should be 4 instead of {}", input.rank()));
        };
        if height % size != 0 || width % size != 0 {
            return Err(invalid_argument!(
                "Image width {width} and height {height} should be divisible by block_size: {size}"
            ));
        }
        let view = View::of(input.dims());
        let view = view.split(1, size).split(3, size).permuted(&[0, 1, 3, 2, 4, 5]);
        let depth = channels.saturating_mul(size).saturating_mul(size);
        rearrange(ctx, view, &[batch, height / size, width / size, depth], &input)
    }
}

#[derive(Debug)]
struct DepthToSpace {
    size: usize,
}

/// The largest side of a block whose area TensorFlow can count.
const MOST: i64 = 46340;

impl Kernel for DepthToSpace {
    fn new(attrs: &Attrs<'_>) -> Result<DepthToSpace> {
        Ok(DepthToSpace { size: block_size(attrs, Some(MOST))? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let size = self.size;
        let &[batch, height, width, channels] = input.dims() else {
            return Err(invalid_argument!("Input rank should be: 4 instead of: {}", input.rank()));
        };
        let block = size * size;
        if channels % block != 0 {
            return Err(invalid_argument!(
                "Input depth dimension {channels} should be divisible by: {block}"
            ));
        }
        let depth = channels / block;
        let view = View::of(input.dims());
        let view = view.split(3, depth).split(3, size).permuted(&[0, 1, 3, 2, 4, 5]);
        let (height, width) = (height.saturating_mul(size), width.saturating_mul(size));
        rearrange(ctx, view, &[batch, height, width, depth], &input)
    }
}

fn to_space_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("SpaceToDepth", [g.grad(0)?])?)
}

fn to_depth_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("DepthToSpace", [g.grad(0)?])?)
}
