//! `ConcatV2`, `Concat`, `ConcatOffset`: tensors joined along an axis.

use smallvec::SmallVec;
use tensorfleet_framework::{
    Attrs, Gradient, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op,
    ShapeContext, cpu, no_gradient,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::arguments::{axis_in, shape_of, single};
use super::copy::{Piece, assemble, dims_of, parallel};
use super::types;
use super::view::View;
use tensorfleet_framework::shape::merge;
use tensorfleet_graph::Output;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Concat",
        inputs: &["concat_dim: int32", "values: N * T"],
        outputs: &["output: T"],
        attrs: &["N: int >= 2", "T: type"],
        kernels: &[cpu::<Concat>().types("T", types::CONCATENATED)],
        shape: Some(first_axis_shape),
        gradient: Some(first_axis_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ConcatOffset",
        inputs: &["concat_dim: int32", "shape: N * shape_type"],
        outputs: &["offset: N * shape_type"],
        attrs: &["N: int >= 2", "shape_type: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<ConcatOffset>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ConcatV2",
        inputs: &["values: N * T", "axis: Tidx"],
        outputs: &["output: T"],
        attrs: &["N: int >= 2", "T: type", "Tidx: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<ConcatV2>().types("T", types::CONCATENATED)],
        shape: Some(last_axis_shape),
        gradient: Some(last_axis_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Concat;

impl Kernel for Concat {
    fn new(_: &Attrs<'_>) -> Result<Concat> {
        Ok(Concat)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let values = ctx.input_list(1..ctx.num_inputs())?;
        let joined = concat(&values, ctx.input(0)?, "concat_dim", ctx)?;
        ctx.set_output(0, joined);
        Ok(())
    }
}

#[derive(Debug)]
struct ConcatV2;

impl Kernel for ConcatV2 {
    fn new(_: &Attrs<'_>) -> Result<ConcatV2> {
        Ok(ConcatV2)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let last = ctx.num_inputs() - 1;
        let values = ctx.input_list(0..last)?;
        let joined = concat(&values, ctx.input(last)?, "axis", ctx)?;
        ctx.set_output(0, joined);
        Ok(())
    }
}

/// Joins tensors along the axis that another says, which errors call by its name.
pub(crate) fn concat(
    values: &[&Tensor],
    axis: &Tensor,
    axis_name: &str,
    ctx: &KernelContext<'_>,
) -> Result<Tensor> {
    let Some(axis) = single(axis)?.filter(|_| axis.rank() < 2) else {
        return Err(invalid_argument!(
            "{axis_name} tensor should be a scalar integer, but got shape {}",
            axis.shape()
        ));
    };
    let first = values[0];
    let rank = first.rank();
    let scalars =
        || invalid_argument!("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
    let Some(axis) = axis_in(axis, rank) else {
        if rank == 0 && axis == 0 {
            return Err(scalars());
        }
        return Err(invalid_argument!(
            "ConcatOp : Expected concatenating dimensions in the range [{}, {rank}), but got {axis}",
            -(rank as i64)
        ));
    };
    let mut dims = dims_of(first);
    dims[axis] = 0;
    for (i, value) in values.iter().enumerate() {
        if value.rank() == 0 {
            return Err(scalars());
        }
        if value.rank() != rank {
            return Err(invalid_argument!(
                "ConcatOp : Ranks of all input tensors should match: shape[0] = {} vs. shape[{i}] = {}",
                first.shape(),
                value.shape()
            ));
        }
        let differs = |&d: &usize| d != axis && value.dims()[d] != first.dims()[d];
        if let Some(dim) = (0..rank).find(differs) {
            return Err(invalid_argument!(
                "ConcatOp : Dimension {dim} in both shapes must be equal: shape[0] = {} vs. \
                 shape[{i}] = {}",
                first.shape(),
                value.shape()
            ));
        }
        dims[axis] += value.dims()[axis];
    }
    let shape = shape_of(&dims)?;
    let mut start = 0;
    let mut pieces: SmallVec<[Piece<'_>; 4]> = SmallVec::new();
    for &source in values {
        let len = source.dims()[axis];
        let write = View::of(&dims).slice(axis, start, len);
        pieces.push(Piece { source, read: View::of(source.dims()), write });
        start += len;
    }
    assemble(first.dtype(), shape, &pieces, parallel(ctx))
}

/// Where each of several tensors begins in their concatenation: for its gradient.
#[derive(Debug)]
struct ConcatOffset;

impl Kernel for ConcatOffset {
    fn new(_: &Attrs<'_>) -> Result<ConcatOffset> {
        Ok(ConcatOffset)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let axis = ctx.input(0)?;
        if axis.rank() != 0 {
            return Err(invalid_argument!(
                "Concat dim tensor should be a scalar integer, but got shape {}",
                axis.shape()
            ));
        }
        let axis = i64::from(axis.scalar_value::<i32>()?);
        let shapes = ctx.input_list(1..ctx.num_inputs())?;
        for (i, shape) in shapes.iter().enumerate() {
            if shape.rank() != 1 {
                return Err(invalid_argument!(
                    "input {} should be a vector, but got shape {}",
                    i + 1,
                    shape.shape()
                ));
            }
        }
        let dtype = shapes[0].dtype();
        let shapes = shapes.iter().map(|shape| shape.to_i64_vec()).collect::<Result<Vec<_>>>()?;
        let first = &shapes[0];
        let rank = first.len();
        let Some(axis) = axis_in(axis, rank) else {
            return Err(invalid_argument!("Concat dim is out of range: {axis} vs. {rank}"));
        };
        let mut start = 0i64;
        for (i, shape) in shapes.iter().enumerate() {
            check_like_first(first, shape, axis, i)?;
            let mut offset = vec![0; rank];
            offset[axis] = start;
            start = start.wrapping_add(shape[axis]);
            ctx.set_output(i, vector(dtype, &offset)?);
        }
        Ok(())
    }
}

fn check_like_first(first: &[i64], shape: &[i64], axis: usize, i: usize) -> Result<()> {
    if shape.len() != first.len() {
        return Err(invalid_argument!(
            "input {i} should contain {} elements, but got {}",
            first.len(),
            shape.len()
        ));
    }
    if (0..first.len()).any(|d| d != axis && shape[d] != first[d]) {
        let list = |dims: &[i64]| {
            format!("[{}]", dims.iter().map(i64::to_string).collect::<Vec<_>>().join(" "))
        };
        return Err(invalid_argument!(
            "All dimensions except {axis} must match. Input {i} has shape {} and doesn't match \
             input 0 with shape {}.",
            list(shape),
            list(first)
        ));
    }
    Ok(())
}

fn vector(dtype: DType, values: &[i64]) -> Result<Tensor> {
    if dtype == DType::Int64 {
        return Tensor::vector(values);
    }
    Tensor::build(Shape::vector(values.len()), |out: &mut [i32]| {
        out.iter_mut().zip(values).for_each(|(out, &value)| *out = value as i32);
    })
}

fn first_axis_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    joined_shape(c, 0, 1..c.num_inputs())
}

fn last_axis_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    joined_shape(c, c.num_inputs() - 1, 0..c.num_inputs() - 1)
}

fn joined_shape(
    c: &ShapeContext<'_>,
    axis: usize,
    values: std::ops::Range<usize>,
) -> Result<Vec<PartialShape>> {
    let rank = values.clone().find_map(|index| c.input(index).rank());
    let (Some(rank), Some(axis)) = (rank, c.constant_int(axis)) else {
        return Ok(vec![rank.map_or(PartialShape::UNKNOWN, PartialShape::of_rank)]);
    };
    let axis = crate::shapes::axis_index(axis, rank)?;
    let mut common = PartialShape::UNKNOWN;
    let mut length = Some(0);
    for index in values {
        let mut shape = c.input(index).clone();
        let along = shape.dims.as_mut().and_then(|dims| dims.get_mut(axis)?.take());
        length = length.zip(along).map(|(sum, more)| sum + more);
        common = merge(&common, &shape)?;
    }
    if let Some(dims) = &mut common.dims {
        dims[axis] = length;
    }
    Ok(vec![common])
}

/// Each value gets its part of the gradient.
fn parts(
    g: &GradientContext<'_>,
    axis: Output,
    values: std::ops::Range<usize>,
) -> Result<Vec<Option<Gradient>>> {
    let grad = g.grad(0)?;
    let values = g.inputs(values);
    let axis = g.cast(axis, DType::Int32)?;
    let shapes: Vec<Output> = values.iter().map(|v| g.shape_tensor(*v)).collect::<Result<_>>()?;
    let axis = g.call("FloorMod", [axis, g.rank_tensor(values[0])?])?;
    let offsets = g.add(NewNode::new("ConcatOffset").input(axis).list(&shapes))?;
    let part = |(index, shape): (usize, &Output)| {
        let offset = Output { node: offsets, index: index as u32 };
        Ok(Some(g.call("Slice", [grad, offset, *shape])?.into()))
    };
    shapes.iter().enumerate().map(part).collect()
}

fn first_axis_gradient(g: &GradientContext<'_>) -> InputGradients {
    let mut gradients = vec![None];
    gradients.extend(parts(g, g.input(0), 1..g.num_inputs())?);
    Ok(gradients)
}

fn last_axis_gradient(g: &GradientContext<'_>) -> InputGradients {
    let last = g.num_inputs() - 1;
    let mut gradients = parts(g, g.input(last), 0..last)?;
    gradients.push(None);
    Ok(gradients)
}
