//! `DynamicStitch` and `ParallelDynamicStitch`: rows of several tensors put in the places that
//! indices name.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, Op, cpu,
};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::arguments::{check_size, shape_of};
use super::copy::parallel;
use super::rows::{Row, take};
use super::types;
use crate::state::combine::{Combine, combine_rows};

const TYPES: &[DType] = &types::join::<20>(types::BASIC_AND_QUANTIZED, &[DType::Variant]);
const KERNELS: &[KernelDef] = &[cpu::<DynamicStitch>().types("T", TYPES)];

const fn stitch(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["indices: N * int32", "data: N * T"],
        outputs: &["merged: T"],
        attrs: &["N: int >= 1", "T: type"],
        kernels: KERNELS,
        gradient: Some(gradient),
        ..Op::DEFAULT
    }
}

// Where indices repeat, the parallel one may use any of the values; here it uses the last as well.
pub(super) const OPS: &[Op] = &[stitch("DynamicStitch"), stitch("ParallelDynamicStitch")];

#[derive(Debug)]
struct DynamicStitch;

impl Kernel for DynamicStitch {
    fn new(_: &Attrs<'_>) -> Result<DynamicStitch> {
        Ok(DynamicStitch)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let pairs = ctx.num_inputs() / 2;
        let indices = ctx.input_list(0..pairs)?;
        let data = ctx.input_list(pairs..2 * pairs)?;
        let row_dims = &data[0].dims()[check(&indices, &data)?..];
        let count = row_count(&indices)?;
        let mut dims = vec![count];
        dims.extend_from_slice(row_dims);
        let shape = shape_of(&dims)?;
        let len = row_dims.iter().product();
        let given: usize = indices.iter().map(|indices| indices.num_elements()).sum();
        let merged = if count <= given {
            let rows = rows(&indices, count)?;
            take(&data, shape, len, parallel(ctx), |k| rows[k])?
        } else {
            // Most of the result may be holes: one index is enough to ask for a huge one, so nothing
            // but the result itself may be as large.
            check_size(data[0].dtype(), &shape)?;
            let mut merged = Tensor::zeros(data[0].dtype(), shape)?;
            for (indices, data) in indices.iter().zip(&data) {
                let rows = indices.values::<i32>()?.iter().map(|&index| Some(index as usize));
                combine_rows(Combine::Update, &mut merged, &Vec::from_iter(rows), len, data)?;
            }
            merged
        };
        ctx.set_output(0, merged);
        Ok(())
    }
}

/// Checks that all data has the same rows; returns how many axes of the first number them.
fn check(indices: &[&Tensor], data: &[&Tensor]) -> Result<usize> {
    let first = indices[0].rank();
    for (i, (indices_i, data_i)) in indices.iter().zip(data).enumerate() {
        if !data_i.dims().starts_with(indices_i.dims()) {
            return Err(invalid_argument!(
                "data[{i}].shape = {} does not start with indices[{i}].shape = {}",
                data_i.shape(),
                indices_i.shape()
            ));
        }
        if data_i.dims()[indices_i.rank()..] != data[0].dims()[first..] {
            return Err(invalid_argument!(
                "Need data[0].shape[{first}:] = data[{i}].shape[{}:], got data[0].shape = {}, \
                 data[{i}].shape = {}, indices[0].shape = {}, indices[{i}].shape = {}",
                indices_i.rank(),
                data[0].shape(),
                data_i.shape(),
                indices[0].shape(),
                indices_i.shape()
            ));
        }
    }
    Ok(first)
}

/// How many rows the result has: one more than the largest index.
fn row_count(indices: &[&Tensor]) -> Result<usize> {
    let mut count = 0;
    for indices in indices {
        for (i, &index) in indices.values::<i32>()?.iter().enumerate() {
            let index = usize::try_from(index)
                .map_err(|_| invalid_argument!("indices[{i}] is out of range"))?;
            count = count.max(index + 1);
        }
    }
    Ok(count)
}

/// The row of each result. Places that no index names are zero.
fn rows(indices: &[&Tensor], count: usize) -> Result<Vec<Row>> {
    let mut rows = vec![Row::Zero; count];
    for (source, indices) in indices.iter().enumerate() {
        for (row, &index) in indices.values::<i32>()?.iter().enumerate() {
            rows[index as usize] = Row::Of { source, row };
        }
    }
    Ok(rows)
}

/// Each value gets the gradient of the row that it became.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (grad, axis, pairs) = (g.grad(0)?, g.scalar(0i32)?, g.num_inputs() / 2);
    let mut gradients = vec![None; pairs];
    for indices in g.inputs(0..pairs) {
        gradients.push(Some(g.call("GatherV2", [grad, *indices, axis])?.into()));
    }
    Ok(gradients)
}
