//! `Pack` and `Unpack`: many tensors as one with a new axis, and back.

use smallvec::SmallVec;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, ShapeContext, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::arguments::{axis_in, shape_of};
use super::copy::{Piece, assemble, dims_of, materialize, parallel};
use super::types;
use super::view::View;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::shape::merge;
use tensorfleet_graph::Output;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Pack",
        inputs: &["values: N * T"],
        outputs: &["output: T"],
        attrs: &["N: int >= 1", "T: type", "axis: int = 0"],
        kernels: &[cpu::<Pack>().types("T", types::GATHERED)],
        shape: Some(packed_shape),
        gradient: Some(pack_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Unpack",
        inputs: &["value: T"],
        outputs: &["output: num * T"],
        attrs: &["num: int >= 0", "T: type", "axis: int = 0"],
        kernels: &[cpu::<Unpack>().types("T", types::ALL_AND_FLOAT8)],
        shape: Some(unpacked_shape),
        gradient: Some(unpack_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Pack {
    axis: i64,
}

impl Kernel for Pack {
    fn new(attrs: &Attrs<'_>) -> Result<Pack> {
        Ok(Pack { axis: attrs.int("axis")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let values = ctx.input_list(0..ctx.num_inputs())?;
        let packed = pack(&values, self.axis, ctx)?;
        ctx.set_output(0, packed);
        Ok(())
    }
}

fn pack(values: &[&Tensor], axis: i64, ctx: &KernelContext<'_>) -> Result<Tensor> {
    let first = values[0];
    let rank = first.rank() + 1;
    let Some(axis) = axis_in(axis, rank) else {
        return Err(invalid_argument!("axis = {axis} not in [{}, {rank})", -(rank as i64)));
    };
    if let Some(i) = values.iter().position(|value| value.shape() != first.shape()) {
        return Err(invalid_argument!(
            "Shapes of all inputs must match: values[0].shape = {} != values[{i}].shape = {}",
            first.shape(),
            values[i].shape()
        ));
    }
    let mut dims = dims_of(first);
    dims.insert(axis, values.len());
    let shape = shape_of(&dims)?;
    if values.len() == 1 {
        return first.reshape(shape);
    }
    let pieces: SmallVec<[Piece<'_>; 4]> = values
        .iter()
        .enumerate()
        .map(|(i, &source)| Piece {
            source,
            read: View::of(source.dims()).inserted(axis, 1),
            write: View::of(&dims).at(axis, i),
        })
        .collect();
    assemble(first.dtype(), shape, &pieces, parallel(ctx))
}

#[derive(Debug)]
struct Unpack {
    count: usize,
    axis: i64,
}

impl Kernel for Unpack {
    fn new(attrs: &Attrs<'_>) -> Result<Unpack> {
        let count = usize::try_from(attrs.int("num")?)
            .map_err(|_| invalid_argument!("num must be at least 0"))?;
        Ok(Unpack { count, axis: attrs.int("axis")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?.clone();
        let rank = input.rank();
        let Some(axis) = axis_in(self.axis, rank) else {
            return Err(invalid_argument!(
                "axis = {} not in [{}, {rank})",
                self.axis,
                -(rank as i64)
            ));
        };
        if input.dims()[axis] != self.count {
            return Err(invalid_argument!(
                "Input shape axis {axis} must equal {}, got shape {}",
                self.count,
                input.shape()
            ));
        }
        for i in 0..self.count {
            let part = View::of(input.dims()).at(axis, i).removed(axis);
            ctx.set_output(i, materialize(&input, part, parallel(ctx))?);
        }
        Ok(())
    }
}

fn packed_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let mut common = PartialShape::UNKNOWN;
    for index in 0..c.num_inputs() {
        common = merge(&common, c.input(index))?;
    }
    let axis = c.attrs().int("axis")?;
    if let Some(dims) = &mut common.dims {
        let at = crate::shapes::axis_index(axis, dims.len() + 1)?;
        dims.insert(at, Some(c.num_inputs()));
    }
    Ok(vec![common])
}

fn unpacked_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let mut shape = c.input(0).clone();
    if let Some(dims) = &mut shape.dims {
        let at = crate::shapes::axis_index(c.attrs().int("axis")?, dims.len())?;
        dims.remove(at);
    }
    Ok(vec![shape; c.num_outputs()])
}

fn pack_gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new("Unpack").input(g.grad(0)?).attr("num", g.num_inputs() as i64);
    let parts = g.add(g.with_attrs_of(node)?)?;
    let part = |index| Some(Output { node: parts, index: index as u32 }.into());
    Ok((0..g.num_inputs()).map(part).collect())
}

fn unpack_gradient(g: &GradientContext<'_>) -> InputGradients {
    let parts: Vec<Output> =
        (0..g.num_outputs()).map(|index| g.grad(index)).collect::<Result<_>>()?;
    let node = NewNode::new("Pack").list(&parts);
    only(g.out(g.with_attrs_of(node)?)?)
}
