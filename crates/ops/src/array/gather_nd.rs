//! `GatherNd`: parts of a tensor, each named by a row of indices.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, ShapeContext, Value, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::arguments::{coordinates, integers, shape_of};
use super::copy::{dims_of, parallel};
use super::rows::{Row, take};
use super::types;
use crate::state::scatter_nd::BadIndices;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[Op {
    name: "GatherNd",
    inputs: &["params: Tparams", "indices: Tindices"],
    outputs: &["output: Tparams"],
    attrs: &["Tparams: type", "Tindices: {int16, int32, int64}", "bad_indices_policy: string = ''"],
    kernels: &[cpu::<GatherNd>().types("Tparams", types::STRIDED)],
    shape: Some(gather_nd_shape),
    gradient: Some(gather_nd_gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct GatherNd {
    bad_indices: BadIndices,
}

impl Kernel for GatherNd {
    fn new(attrs: &Attrs<'_>) -> Result<GatherNd> {
        Ok(GatherNd { bad_indices: BadIndices::from_policy(&attrs.string("bad_indices_policy")?)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let output = gather_nd(ctx, ctx.input(0)?, ctx.input(1)?, self.bad_indices)?;
        ctx.set_output(0, output);
        Ok(())
    }

    /// Only the parts that are gathered are read.
    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [_, Value::Tensor(indices)] => indices.num_elements() as u64 * 4,
            _ => 0,
        }
    }
}

/// Picks the parts of `params` that the rows of `indices` name.
pub(crate) fn gather_nd(
    ctx: &KernelContext<'_>,
    params: &Tensor,
    indices: &Tensor,
    bad_indices: BadIndices,
) -> Result<Tensor> {
    if params.rank() == 0 {
        return Err(invalid_argument!("params must be at least a vector"));
    }
    let Some(&depth) = indices.dims().last() else {
        return Err(invalid_argument!("indices must be at least a vector"));
    };
    if depth > params.rank() {
        return Err(invalid_argument!(
            "index innermost dimension length must be <= params rank; saw: {depth} vs. {}",
            params.rank()
        ));
    }
    let (indexed, row_dims) = params.dims().split_at(depth);
    let mut dims = dims_of(indices);
    dims.pop();
    let count: usize = dims.iter().product();
    if count > 0 && params.num_elements() == 0 {
        return Err(invalid_argument!(
            "Requested more than 0 entries, but params is empty.  Params shape: {}",
            params.shape()
        ));
    }
    dims.extend_from_slice(row_dims);
    let shape = shape_of(&dims)?;
    if shape.num_elements() == 0 {
        return Tensor::zeros(params.dtype(), shape);
    }
    let rows = rows(indices, depth, indexed, bad_indices).map_err(|message| {
        let (shape, node) = (params.shape(), ctx.node_name());
        invalid_argument!("{message} does not index into param shape {shape}, node name: {node}")
    })?;
    let pick = |k: usize| rows[k].map_or(Row::Zero, |row| Row::Of { source: 0, row });
    take(&[params], shape, row_dims.iter().product(), parallel(ctx), pick)
}

/// The number of the part that each tuple of `depth` indices names, of a tensor whose first
/// dimensions are `dims`; nothing for tuples that are to be ignored. An error names a bad tuple.
fn rows(
    indices: &Tensor,
    depth: usize,
    dims: &[usize],
    bad_indices: BadIndices,
) -> Result<Vec<Option<usize>>, String> {
    let tuples = &indices.dims()[..indices.rank() - 1];
    let count = tuples.iter().product();
    let values = integers(indices).map_err(|error| error.message().to_owned())?;
    let mut rows = Vec::with_capacity(count);
    for i in 0..count {
        let index = &values[i * depth..][..depth];
        let inside = index.iter().zip(dims).all(|(&at, &dim)| (0..dim as i64).contains(&at));
        if inside {
            let add = |row: usize, (&at, &dim): (&i64, &usize)| row * dim + at as usize;
            rows.push(Some(index.iter().zip(dims).fold(0, add)));
        } else if bad_indices == BadIndices::Ignore {
            rows.push(None);
        } else {
            let index: Vec<String> = index.iter().map(i64::to_string).collect();
            return Err(format!("indices{} = [{}]", coordinates(i, tuples), index.join(", ")));
        }
    }
    Ok(rows)
}

fn gather_nd_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let (Some(params), Some(indices)) = (&c.input(0).dims, &c.input(1).dims) else {
        return Ok(vec![PartialShape::UNKNOWN]);
    };
    let Some((Some(depth), outer)) = indices.split_last() else {
        return Ok(vec![PartialShape::UNKNOWN]);
    };
    let Some(rest) = params.get(*depth..) else { return Ok(vec![PartialShape::UNKNOWN]) };
    Ok(vec![PartialShape::known(outer.iter().chain(rest).copied())])
}

fn gather_nd_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (params, indices) = (g.input(0), g.input(1));
    let shape = g.cast(g.shape_tensor(params)?, g.dtype(indices))?;
    Ok(vec![Some(g.call("ScatterNd", [indices, g.grad(0)?, shape])?.into()), None])
}
