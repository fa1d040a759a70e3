//! `Tile`, its old gradient `TileGrad`, and `BroadcastTo`: a tensor repeated.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, ShapeContext, cpu,
};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::arguments::{check_size, requested_shape};
use super::copy::{dims_of, materialize, parallel};
use super::types;
use super::view::View;
use crate::broadcast::Alignment;
use crate::state::combine::{Combine, combine_rows};
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BroadcastTo",
        inputs: &["input: T", "shape: Tidx"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tidx: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<BroadcastTo>().types("T", types::ALL_AND_FLOAT8)],
        shape: Some(broadcast_shape),
        gradient: Some(broadcast_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Tile",
        inputs: &["input: T", "multiples: Tmultiples"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tmultiples: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Tile>()],
        shape: Some(tile_shape),
        gradient: Some(tile_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TileGrad",
        inputs: &["input: T", "multiples: int32"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<TileGrad>().types("T", types::NUMBERS)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct BroadcastTo;

impl Kernel for BroadcastTo {
    fn new(_: &Attrs<'_>) -> Result<BroadcastTo> {
        Ok(BroadcastTo)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, shape) = (ctx.input(0)?, ctx.input(1)?);
        if shape.rank() != 1 {
            return Err(invalid_argument!(
                "shape must be a vector of {{int32,int64}}, got shape {}",
                shape.shape()
            ));
        }
        let shape = requested_shape(&shape.to_i64_vec()?)?;
        if input.rank() > shape.rank() {
            return Err(invalid_argument!(
                "Rank of input ({}) must be no greater than rank of output shape ({}).",
                input.rank(),
                shape.rank()
            ));
        }
        let Some(view) = View::broadcast(input.dims(), shape.dims()) else {
            // Shapes that broadcast to each other, but to another shape, are told from others.
            Alignment::new(input.shape(), &shape)?;
            return Err(invalid_argument!(
                "Unable to broadcast tensor of shape {} to tensor of shape {shape}",
                input.shape()
            ));
        };
        check_size(input.dtype(), &shape)?;
        let output = materialize(input, view, parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The multiples that an input asks for, checked against the tensor that they are for.
fn multiples(input: &Tensor, multiples: &Tensor) -> Result<Vec<usize>> {
    if multiples.rank() != 1 {
        return Err(invalid_argument!(
            "Expected multiples to be 1-D, but got shape {}",
            multiples.shape()
        ));
    }
    if multiples.num_elements() != input.rank() {
        return Err(invalid_argument!(
            "Expected multiples argument to be a vector of length {} but got length {}",
            input.rank(),
            multiples.num_elements()
        ));
    }
    let check = |(i, multiple): (usize, i64)| {
        usize::try_from(multiple)
            .map_err(|_| invalid_argument!("Expected multiples[{i}] >= 0, but got {multiple}"))
    };
    multiples.to_i64_vec()?.into_iter().enumerate().map(check).collect()
}

#[derive(Debug)]
struct Tile;

impl Kernel for Tile {
    fn new(_: &Attrs<'_>) -> Result<Tile> {
        Ok(Tile)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let multiples = multiples(input, ctx.input(1)?)?;
        if multiples.iter().all(|&multiple| multiple == 1) {
            let output = ctx.take_input(0)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        let mut dims = dims_of(input);
        for (dim, &multiple) in dims.iter_mut().zip(&multiples) {
            *dim = dim.checked_mul(multiple).ok_or_else(|| {
                invalid_argument!("Tile of shape {} has too many elements", input.shape())
            })?;
        }
        let shape = Shape::new(&dims)?;
        check_size(input.dtype(), &shape)?;
        let mut view = View::of(input.dims());
        for (axis, &multiple) in multiples.iter().enumerate() {
            view = view.inserted(2 * axis, multiple);
        }
        let output = materialize(input, view, parallel(ctx))?.into_shape(shape)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Sums the repetitions that `Tile` made.
#[derive(Debug)]
struct TileGrad;

impl Kernel for TileGrad {
    fn new(_: &Attrs<'_>) -> Result<TileGrad> {
        Ok(TileGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut gradient = ctx.take_input(0)?;
        let multiples = multiples(&gradient, ctx.input(1)?)?;
        for (i, (&dim, &multiple)) in gradient.dims().iter().zip(&multiples).enumerate() {
            if multiple == 0 || dim % multiple != 0 {
                return Err(invalid_argument!(
                    "Expected input_dim[{i}] to be divisible by multiples[{i}], but {dim} % \
                     {multiple} != 0"
                ));
            }
        }
        for (axis, &multiple) in multiples.iter().enumerate().filter(|(_, multiple)| **multiple > 1)
        {
            let dims = dims_of(&gradient);
            let len = dims[axis] / multiple;
            let outer: usize = dims[..axis].iter().product();
            let width = dims[axis + 1..].iter().product();
            let slice = |i| View::of(&dims).slice(axis, i * len, len);
            let mut sum = materialize(&gradient, slice(0), parallel(ctx))?;
            let rows: Vec<_> = (0..outer * len).map(Some).collect();
            for i in 1..multiple {
                let repetition = materialize(&gradient, slice(i), parallel(ctx))?;
                combine_rows(Combine::Add, &mut sum, &rows, width, &repetition)?;
            }
            gradient = sum;
        }
        ctx.set_output(0, gradient);
        Ok(())
    }
}

fn broadcast_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    Ok(vec![c.input_as_shape(1)])
}

fn tile_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let Some(dims) = &c.input(0).dims else { return Ok(vec![PartialShape::UNKNOWN]) };
    let times = c.input_as_shape(1).dims.filter(|times| times.len() == dims.len());
    let Some(times) = times else { return Ok(vec![PartialShape::of_rank(dims.len())]) };
    let dims = dims.iter().zip(times).map(|(dim, times)| dim.zip(times).map(|(a, b)| a * b));
    Ok(vec![PartialShape::known(dims)])
}

fn broadcast_gradient(g: &GradientContext<'_>) -> InputGradients {
    let reduced = g.unbroadcast(g.grad(0)?, g.input(0), g.output(0))?;
    Ok(vec![Some(reduced.into()), None])
}

/// Cuts the gradient into its repetitions and adds them up.
fn tile_gradient(g: &GradientContext<'_>) -> InputGradients {
    let input = g.input(0);
    let shape = g.shape_tensor(input)?;
    let times = g.cast(g.input(1), tensorfleet_tensor::DType::Int32)?;
    let pairs = g.out(NewNode::new("Pack").list(&[times, shape]).attr("axis", 1))?;
    let interleaved = g.reshape(pairs, g.vector(&[-1i32])?)?;
    let rank = g.rank_tensor(input)?;
    let twice = g.mul(rank, g.scalar(2i32)?)?;
    let axes = g.call("Range", [g.scalar(0i32)?, twice, g.scalar(2i32)?])?;
    let sum = g.call("Sum", [g.reshape(g.grad(0)?, interleaved)?, axes])?;
    Ok(vec![Some(g.reshape(sum, shape)?.into()), None])
}
