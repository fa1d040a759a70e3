//! `GatherV2` and `Gather`: slices of a tensor along an axis, picked by index.

use tensorfleet_framework::{
    Attrs, GradientContext, IndexedSlices, InputGradients, Kernel, KernelContext, NewNode, Op,
    ShapeContext, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Element, Result, Shape, Tensor, dispatch, internal, invalid_argument};

use super::arguments::{axis_in, coordinates, shape_of};
use super::copy::{dims_of, parallel};
use super::rows::{Row, take};
use super::types;
use crate::shapes;
use tensorfleet_graph::Output;
use tensorfleet_tensor::{PartialShape, unimplemented_error};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Gather",
        inputs: &["params: Tparams", "indices: Tindices"],
        outputs: &["output: Tparams"],
        attrs: &["validate_indices: bool = true", "Tparams: type", "Tindices: {int32, int64}"],
        kernels: &[cpu::<Gather>().types("Tparams", types::GATHERED)],
        shape: Some(gather_shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "GatherV2",
        inputs: &["params: Tparams", "indices: Tindices", "axis: Taxis"],
        outputs: &["output: Tparams"],
        attrs: &[
            "batch_dims: int = 0",
            "Tparams: type",
            "Tindices: {int16, int32, int64}",
            "Taxis: {int32, int64}",
        ],
        kernels: &[cpu::<Gather>().types("Tparams", types::GATHERED)],
        shape: Some(gather_shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Gather {
    /// How many leading axes the tensor and the indices have in common.
    batch_dims: i64,
}

impl Kernel for Gather {
    fn new(attrs: &Attrs<'_>) -> Result<Gather> {
        let batch_dims =
            if attrs.get("batch_dims").is_some() { attrs.int("batch_dims")? } else { 0 };
        Ok(Gather { batch_dims })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (params, indices) = (ctx.input(0)?, ctx.input(1)?);
        if params.rank() == 0 {
            return Err(invalid_argument!("params must be at least 1 dimensional"));
        }
        let axis = if ctx.num_inputs() == 3 { axis(params, ctx.input(2)?)? } else { 0 };
        let batch_dims = batch_dims(self.batch_dims, params, indices, axis)?;
        let output = gather(params, indices, axis, batch_dims, parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }

    /// Only the rows that are gathered are read.
    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [Value::Tensor(params), Value::Tensor(indices), ..] => {
                let rows = params.dims().first().copied().unwrap_or(1).max(1);
                (indices.num_elements() * (params.byte_len() / rows)) as u64 / 4
            }
            _ => 0,
        }
    }
}

fn axis(params: &Tensor, axis: &Tensor) -> Result<usize> {
    if axis.rank() != 0 {
        return Err(invalid_argument!("axis must be scalar"));
    }
    let axis = axis.to_i64_vec()?[0];
    axis_in(axis, params.rank()).ok_or_else(|| {
        let least = if axis < 0 { axis.unsigned_abs() } else { axis as u64 + 1 };
        invalid_argument!("Shape must be at least rank {least} but is rank {}", params.rank())
    })
}

/// Checks the number of leading axes that are in common; a negative one counts from the end.
pub(crate) fn batch_dims(
    batch_dims: i64,
    params: &Tensor,
    indices: &Tensor,
    axis: usize,
) -> Result<usize> {
    if batch_dims == 0 {
        return Ok(0);
    }
    let rank = indices.rank() as i64;
    if batch_dims < -rank || batch_dims > rank {
        return Err(invalid_argument!(
            "Expected batch_dims in the range [{}, {rank}], but got {batch_dims}",
            -rank
        ));
    }
    let batch_dims = if batch_dims < 0 { batch_dims + rank } else { batch_dims } as usize;
    if batch_dims >= params.rank() {
        return Err(invalid_argument!(
            "batch_dims ({batch_dims}) must be less than rank(params) ({}).",
            params.rank()
        ));
    }
    if axis < batch_dims {
        return Err(invalid_argument!(
            "batch_dims ({batch_dims}) must be less than or equal to axis ({axis})."
        ));
    }
    for (i, (have, want)) in indices.dims().iter().zip(params.dims()).take(batch_dims).enumerate() {
        if have != want {
            return Err(invalid_argument!(
                "params.shape[{i}]: {want} should be equal to indices.shape[{i}]: {have}"
            ));
        }
    }
    Ok(batch_dims)
}

/// Picks slices of `params` along `axis`, other ones for each index of the first `batch_dims` axes.
pub(crate) fn gather(
    params: &Tensor,
    indices: &Tensor,
    axis: usize,
    batch_dims: usize,
    parallel: Parallel,
) -> Result<Tensor> {
    let dims = params.dims();
    let mut out_dims = dims_of(params);
    out_dims.truncate(axis);
    out_dims.extend_from_slice(&indices.dims()[batch_dims..]);
    out_dims.extend_from_slice(&dims[axis + 1..]);
    let shape = shape_of(&out_dims)?;
    if shape.num_elements() == 0 {
        return Tensor::zeros(params.dtype(), shape);
    }
    dispatch!(
        indices.dtype(),
        [i32, i64, i16],
        I => {
            let values = indices.values::<I>()?;
            check(values, dims[axis], indices.shape())?;
            let len = dims[axis + 1..].iter().product();
            let outer: usize = dims[batch_dims..axis].iter().product();
            let batches: usize = dims[..batch_dims].iter().product();
            if outer * batches == 1 {
                return take(&[params], shape, len, parallel, |k| Row::Of {
                    source: 0,
                    row: values[k] as usize,
                });
            }
            let rows = rows(values, batches, outer, dims[axis]);
            take(&[params], shape, len, parallel, |k| Row::Of { source: 0, row: rows[k] })
        },
        else => Err(internal!("indices of type {}", indices.dtype()))
    )
}

/// Reports the first index that is not below `limit`.
fn check<I: Element + Into<i64>>(indices: &[I], limit: usize, shape: &Shape) -> Result<()> {
    let bad = |&index: &I| !(0..limit as i64).contains(&index.into());
    // Without an early exit the pass over good indices is vectorised.
    if indices.iter().filter(|index| bad(index)).count() == 0 {
        return Ok(());
    }
    let at = indices.iter().position(bad).unwrap_or_default();
    Err(invalid_argument!(
        "indices{} = {} is not in [0, {limit})",
        coordinates(at, shape.dims()),
        indices[at].into()
    ))
}

/// The row of each result in a tensor of `batches` times `outer` times `limit` rows.
fn rows<I: Element + Into<i64>>(
    indices: &[I],
    batches: usize,
    outer: usize,
    limit: usize,
) -> Vec<usize> {
    let each = indices.len() / batches;
    let mut rows = Vec::with_capacity(indices.len() * outer);
    for (batch, indices) in indices.chunks_exact(each).enumerate() {
        for i in 0..outer {
            let first = (batch * outer + i) * limit;
            rows.extend(indices.iter().map(|&index| first + index.into() as usize));
        }
    }
    rows
}

fn gather_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let (Some(params), Some(indices)) = (&c.input(0).dims, &c.input(1).dims) else {
        return Ok(vec![PartialShape::UNKNOWN]);
    };
    let axis = if c.num_inputs() == 3 { c.constant_int(2) } else { Some(0) };
    let batch_dims = if c.num_inputs() == 3 { c.attrs().int("batch_dims")? } else { 0 };
    let Some(axis) = axis else { return Ok(vec![PartialShape::UNKNOWN]) };
    let axis = shapes::axis_index(axis, params.len())?;
    let batch = if batch_dims < 0 { batch_dims + indices.len() as i64 } else { batch_dims };
    let batch = usize::try_from(batch).unwrap_or_default();
    if batch > axis || batch > indices.len() {
        return Ok(vec![PartialShape::UNKNOWN]);
    }
    let dims = params[..axis].iter().chain(&indices[batch..]).chain(&params[axis + 1..]);
    Ok(vec![PartialShape::known(dims.copied())])
}

/// The gradient of rows picked from a larger tensor, as slices of that.
pub(crate) fn slices(
    g: &GradientContext<'_>,
    grad: Output,
    indices: Output,
    dense_shape: Output,
) -> Result<IndexedSlices> {
    let flat = g.vector(&[-1i32])?;
    let (one, no_end) = (g.vector(&[1i32])?, g.vector(&[0i32])?);
    let inner = NewNode::new("StridedSlice").input(dense_shape).input(one).input(no_end).input(one);
    let inner = g.out(inner.attr("end_mask", 1))?;
    let first = g.cast(flat, g.dtype(inner))?;
    let shape = NewNode::new("ConcatV2").list(&[first, inner]).input(g.scalar(0i32)?);
    let values = g.reshape(grad, g.out(shape)?)?;
    Ok(IndexedSlices { values, indices: g.reshape(indices, flat)?, dense_shape })
}

/// Along the first axis the gradient is sparse; otherwise rows are added up in place.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (params, indices, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let has_axis = g.num_inputs() == 3;
    if has_axis && g.attrs().int("batch_dims")? != 0 {
        return Err(unimplemented_error!("GatherV2 with batch_dims has no gradient"));
    }
    let axis = if has_axis { g.constant_value(g.input(2)) } else { Some(Tensor::scalar(0i32)) };
    let rank = g.rank(params);
    let axis = axis.and_then(|axis| axis.to_i64_vec().ok()).and_then(|axis| axis.first().copied());
    let mut gradients = vec![None; g.num_inputs()];
    let at = match (axis, rank) {
        (Some(0), _) => 0,
        (Some(axis), Some(rank)) => shapes::axis_index(axis, rank)?,
        _ => {
            return Err(unimplemented_error!(
                "GatherV2 has a gradient only for a constant axis of a tensor of known rank"
            ));
        }
    };
    let shape = g.shape_tensor(params)?;
    if at == 0 {
        gradients[0] = Some(slices(g, grad, indices, shape)?.into());
        return Ok(gradients);
    }
    let rank = rank.unwrap_or(at + 1);
    // The axis goes to the front, where segments are summed, and back.
    let part = |begin: usize, end: usize| {
        let bounds = [g.vector(&[begin as i32])?, g.vector(&[end as i32])?, g.vector(&[1i32])?];
        g.call("StridedSlice", [shape, bounds[0], bounds[1], bounds[2]])
    };
    let count = g.vector(&[-1i32])?;
    let joined = NewNode::new("ConcatV2").list(&[part(0, at)?, count, part(at + 1, rank)?]);
    let values = g.reshape(grad, g.out(joined.input(g.scalar(0i32)?))?)?;
    let to_front: Vec<i32> = std::iter::once(at)
        .chain((0..rank).filter(|&other| other != at))
        .map(|axis| axis as i32)
        .collect();
    let back: Vec<i32> = (1..=at).chain([0]).chain(at + 1..rank).map(|axis| axis as i32).collect();
    let values = g.call("Transpose", [values, g.vector(&to_front)?])?;
    let size = g.call("GatherV2", [shape, g.scalar(at as i32)?, g.scalar(0i32)?])?;
    let summed = g.call("UnsortedSegmentSum", [values, g.reshape(indices, count)?, size])?;
    gradients[0] = Some(g.call("Transpose", [summed, g.vector(&back)?])?.into());
    Ok(gradients)
}
