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

#[derive(Debug)]
struct Blocks {
    size: usize,
    channels_last: bool,
}

impl Blocks {
    fn new(attrs: &Attrs<'_>) -> Result<Blocks> {
        let size = usize::try_from(attrs.int("block_size")?).unwrap_or(0);
        if size < 2 {
            return Err(invalid_argument!("Block size should be > 1, but was: {size}"));
        }
        let channels_last = match &attrs.string("data_format")?[..] {
            "NHWC" => true,
            "NCHW" => false,
            other => {
                return Err(invalid_argument!("data_format {other} is not supported on CPU"));
            }
        };
        Ok(Blocks { size, channels_last })
    }

    /// Height, width and channels of a batch of images.
    fn image(&self, dims: [usize; 4]) -> [usize; 3] {
        let [_, a, b, c] = dims;
        if self.channels_last { [a, b, c] } else { [b, c, a] }
    }

    fn images(&self, batch: usize, [height, width, channels]: [usize; 3]) -> [usize; 4] {
        if self.channels_last {
            [batch, height, width, channels]
        } else {
            [batch, channels, height, width]
        }
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
struct SpaceToDepth(Blocks);

impl Kernel for SpaceToDepth {
    fn new(attrs: &Attrs<'_>) -> Result<SpaceToDepth> {
        Ok(SpaceToDepth(Blocks::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let size = self.0.size;
        let &[batch, a, b, c] = input.dims() else {
            return Err(invalid_argument!("Input rank should be 4 instead of {}", input.rank()));
        };
        let [height, width, channels] = self.0.image([batch, a, b, c]);
        if height % size != 0 || width % size != 0 {
            return Err(invalid_argument!(
                "Image width {width} and height {height} should be divisible by block_size: {size}"
            ));
        }
        let view = View::of(input.dims());
        let view = if self.0.channels_last {
            view.split(1, size).split(3, size).permuted(&[0, 1, 3, 2, 4, 5])
        } else {
            view.split(2, size).split(4, size).permuted(&[0, 3, 5, 1, 2, 4])
        };
        let depth = channels.saturating_mul(size).saturating_mul(size);
        let dims = self.0.images(batch, [height / size, width / size, depth]);
        rearrange(ctx, view, &dims, &input)
    }
}

#[derive(Debug)]
struct DepthToSpace(Blocks);

impl Kernel for DepthToSpace {
    fn new(attrs: &Attrs<'_>) -> Result<DepthToSpace> {
        Ok(DepthToSpace(Blocks::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let size = self.0.size;
        let &[batch, a, b, c] = input.dims() else {
            return Err(invalid_argument!("Input rank should be: 4 instead of: {}", input.rank()));
        };
        let [height, width, channels] = self.0.image([batch, a, b, c]);
        let block = size.saturating_mul(size);
        if channels % block != 0 {
            return Err(invalid_argument!(
                "Input depth dimension {channels} should be divisible by: {block}"
            ));
        }
        let depth = channels / block;
        let view = View::of(input.dims());
        let view = if self.0.channels_last {
            view.split(3, depth).split(3, size).permuted(&[0, 1, 3, 2, 4, 5])
        } else {
            view.split(1, depth).split(1, size).permuted(&[0, 3, 4, 1, 5, 2])
        };
        let (height, width) = (height.saturating_mul(size), width.saturating_mul(size));
        rearrange(ctx, view, &self.0.images(batch, [height, width, depth]), &input)
    }
}

fn to_space_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("SpaceToDepth", [g.grad(0)?])?)
}

fn to_depth_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("DepthToSpace", [g.grad(0)?])?)
}
