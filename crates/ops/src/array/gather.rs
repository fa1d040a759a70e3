//! `GatherV2` and `Gather`: slices of a tensor along an axis, picked by index.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Element, Result, Shape, Tensor, dispatch, internal, invalid_argument};

use super::arguments::{axis_in, coordinates, shape_of};
use super::copy::{dims_of, parallel};
use super::rows::{Row, take};
use super::types;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Gather",
        inputs: &["params: Tparams", "indices: Tindices"],
        outputs: &["output: Tparams"],
        attrs: &["validate_indices: bool = true", "Tparams: type", "Tindices: {int32, int64}"],
        kernels: &[cpu::<Gather>().types("Tparams", types::GATHERED)],
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
