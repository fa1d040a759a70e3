//! `ScatterNd` and its kin: updates written to the parts of a tensor that rows of indices name.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, Op, ShapeContext, cpu,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::arguments::{check_size, requested_shape};
use super::types;
use crate::state::combine::Combine;
use crate::state::scatter_nd::{BadIndices, scatter_nd};
use tensorfleet_tensor::PartialShape;

const TENSOR_ATTRS: &[&str] =
    &["T: type", "Tindices: {int32, int64}", "bad_indices_policy: string = ''"];
const SUMS: &[KernelDef] = &[cpu::<TensorScatter>().types("T", types::NUMBERS)];
const EXTREMES: &[KernelDef] = &[cpu::<TensorScatter>().types("T", types::REAL)];

const fn tensor_scatter(name: &'static str, kernels: &'static [KernelDef]) -> Op {
    Op {
        name,
        inputs: &["tensor: T", "indices: Tindices", "updates: T"],
        outputs: &["output: T"],
        attrs: TENSOR_ATTRS,
        kernels,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ScatterNd",
        inputs: &["indices: Tindices", "updates: T", "shape: Tindices"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tindices: {int16, int32, int64}", "bad_indices_policy: string = ''"],
        kernels: &[cpu::<ScatterNd>().types("T", types::BASIC).types("Tindices", INDICES)],
        shape: Some(scatter_shape),
        gradient: Some(scatter_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ScatterNdNonAliasingAdd",
        inputs: &["input: T", "indices: Tindices", "updates: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, \
             bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}",
            "Tindices: {int32, int64}",
            "bad_indices_policy: string = ''",
        ],
        kernels: &[cpu::<NonAliasingAdd>().types("T", types::PLAIN)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(added_gradient),
        ..Op::DEFAULT
    },
    tensor_scatter("TensorScatterAdd", SUMS)
        .with_shape(crate::shapes::unchanged)
        .with_gradient(added_gradient),
    tensor_scatter("TensorScatterMax", EXTREMES)
        .with_shape(crate::shapes::unchanged)
        .with_gradient(extreme_gradient),
    tensor_scatter("TensorScatterMin", EXTREMES)
        .with_shape(crate::shapes::unchanged)
        .with_gradient(extreme_gradient),
    tensor_scatter("TensorScatterSub", SUMS)
        .with_shape(crate::shapes::unchanged)
        .with_gradient(subtracted_gradient),
    Op {
        name: "TensorScatterUpdate",
        inputs: &["tensor: T", "indices: Tindices", "updates: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "Tindices: {int16, int32, int64, uint16}",
            "bad_indices_policy: string = ''",
        ],
        kernels: &[cpu::<TensorScatter>().types("T", types::BASIC).types("Tindices", INDICES)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(updated_gradient),
        ..Op::DEFAULT
    },
];

const INDICES: &[DType] = &[DType::Int32, DType::Int64];

fn bad_indices(attrs: &Attrs<'_>) -> Result<BadIndices> {
    BadIndices::from_policy(&attrs.string("bad_indices_policy")?)
}

/// Whether a tensor of `elements` can take these updates: nothing fits only nothing.
fn empties_agree(elements: usize, indices: &Tensor, updates: &Tensor) -> bool {
    let counts = [indices.num_elements(), updates.num_elements()];
    counts == [0, 0] || (elements != 0 && !counts.contains(&0))
}

/// Checks that `updates` has a part of `shape` for each tuple of `depth` indices.
fn check_parts(
    shape: &Shape,
    outer: &[usize],
    depth: usize,
    indices: &Tensor,
    updates: &Tensor,
) -> Result<()> {
    if !updates.dims().starts_with(outer) {
        return Err(invalid_argument!(
            "Dimensions [0,{0}) of indices[shape={1}] must match dimensions [0,{0}) of \
             updates[shape={2}]",
            outer.len(),
            indices.shape(),
            updates.shape()
        ));
    }
    if shape.dims().get(depth..) != Some(&updates.dims()[outer.len()..]) {
        return Err(invalid_argument!(
            "Dimensions [{depth},{}) of input[shape={shape}] must match dimensions [{},{}) of \
             updates[shape={}]",
            shape.rank(),
            outer.len(),
            updates.rank(),
            updates.shape()
        ));
    }
    Ok(())
}

fn check_ranks(elements: usize, indices: &Tensor, updates: &Tensor) -> Result<()> {
    for (name, tensor) in [("Indices", indices), ("Updates", updates)] {
        if tensor.rank() == 0 {
            return Err(invalid_argument!(
                "{name} shape must have rank at least one. Found:{}",
                tensor.shape()
            ));
        }
    }
    if !empties_agree(elements, indices, updates) {
        return Err(invalid_argument!("Indices and updates specified for empty output shape"));
    }
    Ok(())
}

/// Adds updates to zeros.
#[derive(Debug)]
struct ScatterNd(BadIndices);

impl Kernel for ScatterNd {
    fn new(attrs: &Attrs<'_>) -> Result<ScatterNd> {
        Ok(ScatterNd(bad_indices(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, updates, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        if shape.rank() != 1 {
            return Err(invalid_argument!("Shape must be a vector"));
        }
        let dims = shape.to_i64_vec()?;
        check_ranks(dims.len(), indices, updates)?;
        let shape = requested_shape(&dims)?;
        let (outer, depth) = indices.dims().split_at(indices.rank() - 1);
        check_parts(&shape, outer, depth[0], indices, updates)?;
        check_size(updates.dtype(), &shape)?;
        let mut output = Tensor::zeros(updates.dtype(), shape)?;
        scatter_nd(Combine::Add, &mut output, indices, updates, self.0)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct NonAliasingAdd(BadIndices);

impl Kernel for NonAliasingAdd {
    fn new(attrs: &Attrs<'_>) -> Result<NonAliasingAdd> {
        Ok(NonAliasingAdd(bad_indices(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut output = ctx.take_input(0)?;
        scatter_nd(Combine::Add, &mut output, ctx.input(1)?, ctx.input(2)?, self.0)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Joins updates to a copy of a tensor.
#[derive(Debug)]
struct TensorScatter {
    how: Combine,
    bad_indices: BadIndices,
}

impl Kernel for TensorScatter {
    fn new(attrs: &Attrs<'_>) -> Result<TensorScatter> {
        Ok(TensorScatter { how: Combine::of_op(attrs.op())?, bad_indices: bad_indices(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut output = ctx.take_input(0)?;
        let (indices, updates) = (ctx.input(1)?, ctx.input(2)?);
        check_ranks(output.num_elements(), indices, updates)?;
        let (outer, depth) = indices.dims().split_at(indices.rank() - 1);
        if !updates.dims().starts_with(outer) {
            return Err(invalid_argument!(
                "Outer dimensions of indices and update must match. Indices shape: {}, updates \
                 shape:{}",
                indices.shape(),
                updates.shape()
            ));
        }
        let (want, have) = (output.dims().get(depth[0]..), &updates.dims()[outer.len()..]);
        if want.is_none_or(|want| want.len() != have.len()) {
            return Err(invalid_argument!(
                "Inner dimensions of output shape must match inner dimensions of updates shape. \
                 Output: {} updates: {}",
                output.shape(),
                updates.shape()
            ));
        }
        if want != Some(have) {
            return Err(invalid_argument!(
                "The inner {0} dimensions of output.shape={1} must match the inner {0} dimensions \
                 of updates.shape={2}",
                have.len(),
                output.shape(),
                updates.shape()
            ));
        }
        if output.num_elements() > 0 {
            scatter_nd(self.how, &mut output, indices, updates, self.bad_indices)?;
        }
        ctx.set_output(0, output);
        Ok(())
    }
}

fn scatter_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    Ok(vec![c.input_as_shape(2)])
}

fn scatter_gradient(g: &GradientContext<'_>) -> InputGradients {
    let updates = g.call("GatherNd", [g.grad(0)?, g.input(0)])?;
    Ok(vec![None, Some(updates.into()), None])
}

fn added_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let updates = g.call("GatherNd", [grad, g.input(1)])?;
    Ok(vec![Some(grad.into()), None, Some(updates.into())])
}

fn subtracted_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let updates = g.neg(g.call("GatherNd", [grad, g.input(1)])?)?;
    Ok(vec![Some(grad.into()), None, Some(updates.into())])
}

/// What was overwritten has no gradient.
fn updated_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (indices, grad) = (g.input(1), g.grad(0)?);
    let updates = g.call("GatherNd", [grad, indices])?;
    let zeros = g.zeros_like(g.input(2))?;
    let kept = g.call("TensorScatterUpdate", [grad, indices, zeros])?;
    Ok(vec![Some(kept.into()), None, Some(updates.into())])
}

/// The element that was there and the updates that equal the extreme share its gradient.
fn extreme_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (tensor, indices, updates) = (g.input(0), g.input(1), g.input(2));
    let (output, grad) = (g.output(0), g.grad(0)?);
    let chosen = |a, b| g.cast(g.call("Equal", [a, b])?, g.dtype(grad));
    let kept = chosen(tensor, output)?;
    let updated = chosen(updates, g.call("GatherNd", [output, indices])?)?;
    let number = g.call("TensorScatterAdd", [kept, indices, updated])?;
    let share = g.call("DivNoNan", [grad, number])?;
    let of_updates = g.mul(g.call("GatherNd", [share, indices])?, updated)?;
    Ok(vec![Some(g.mul(share, kept)?.into()), None, Some(of_updates.into())])
}
