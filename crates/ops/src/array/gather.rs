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
    let batch_dims = if has_axis { g.attrs().int("batch_dims")? } else { 0 };
    let axis = if has_axis { g.constant_value(g.input(2)) } else { Some(Tensor::scalar(0i32)) };
    let axis = axis.and_then(|axis| axis.to_i64_vec().ok()).and_then(|axis| axis.first().copied());
    let mut gradients = vec![None; g.num_inputs()];
    let shape = g.shape_tensor(params)?;
    if (axis, batch_dims) == (Some(0), 0) {
        gradients[0] = Some(slices(g, grad, indices, shape)?.into());
        return Ok(gradients);
    }
    let (Some(axis), Some(rank), Some(index_rank)) = (axis, g.rank(params), g.rank(indices)) else {
        return Err(unimplemented_error!(
            "GatherV2 has a gradient only for a constant axis of a tensor of known rank"
        ));
    };
    let axis = shapes::axis_index(axis, rank)?;
    let batch = if batch_dims < 0 { batch_dims + index_rank as i64 } else { batch_dims };
    let batch = usize::try_from(batch).ok().filter(|&batch| batch <= axis.min(index_rank));
    let Some(batch) = batch else {
        return Err(invalid_argument!("batch_dims {batch_dims} is not within the axes of indices"));
    };
    gradients[0] =
        Some(dense_gradient(g, grad, shape, Axes { axis, batch, rank, index_rank })?.into());
    Ok(gradients)
}

/// Where the axes of a gather are.
#[derive(Clone, Copy)]
struct Axes {
    axis: usize,
    /// The number of axes that tensor and indices share.
    batch: usize,
    rank: usize,
    index_rank: usize,
}

/// Brings the picked axis behind the batch, adds rows up as segments of all batches, and goes back.
fn dense_gradient(
    g: &GradientContext<'_>,
    grad: Output,
    shape: Output,
    Axes { axis, batch, rank, index_rank }: Axes,
) -> Result<Output> {
    let indices = g.input(1);
    let part = |begin: usize, end: usize| {
        let bounds = [g.vector(&[begin as i32])?, g.vector(&[end as i32])?, g.vector(&[1i32])?];
        g.call("StridedSlice", [shape, bounds[0], bounds[1], bounds[2]])
    };
    let join =
        |parts: &[Output]| g.out(NewNode::new("ConcatV2").list(parts).input(g.scalar(0i32)?));
    let order = |axes: &mut dyn Iterator<Item = usize>| {
        g.vector(&axes.map(|axis| axis as i32).collect::<Vec<_>>())
    };
    let picked = index_rank - batch;
    let (outer, inner) = (part(batch, axis)?, part(axis + 1, rank)?);
    let count = g.vector(&[-1i32])?;

    let mut to_front = (0..batch)
        .chain(axis..axis + picked)
        .chain(batch..axis)
        .chain(axis + picked..rank - 1 + picked);
    let values = g.call("Transpose", [grad, order(&mut to_front)?])?;
    let values = g.reshape(values, join(&[count, outer, inner])?)?;

    // Every batch has segments of its own.
    let size = part(axis, axis + 1)?;
    let batches = g.call("Prod", [part(0, batch)?, g.scalar(0i32)?])?;
    let size_scalar = g.reshape(size, g.vector::<i32>(&[])?)?;
    let starts = g.call("Range", [g.scalar(0i32)?, batches, g.scalar(1i32)?])?;
    let starts = g.cast(g.mul(starts, size_scalar)?, g.dtype(indices))?;
    let column = g.reshape(starts, g.vector(&[-1i32, 1])?)?;
    let per_batch = join(&[g.reshape(batches, g.vector(&[1i32])?)?, count])?;
    let segments = g.add2(g.reshape(indices, per_batch)?, column)?;
    let segments = g.reshape(segments, count)?;

    let total = g.mul(batches, size_scalar)?;
    let summed = g.call("UnsortedSegmentSum", [values, segments, total])?;
    let summed = g.reshape(summed, join(&[part(0, batch)?, size, outer, inner])?)?;
    let mut back = (0..batch).chain(batch + 1..=axis).chain([batch]).chain(axis + 1..rank);
    g.call("Transpose", [summed, order(&mut back)?])
}
