//! `DynamicPartition`: rows of a tensor dealt out to several.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_tensor::{Result, invalid_argument};

use super::arguments::{coordinates, shape_of};
use super::copy::parallel;
use super::rows::{Row, take};
use super::types;
use tensorfleet_graph::Output;

pub(super) const OPS: &[Op] = &[Op {
    name: "DynamicPartition",
    inputs: &["data: T", "partitions: int32"],
    outputs: &["outputs: num_partitions * T"],
    attrs: &["num_partitions: int >= 1", "T: type"],
    kernels: &[cpu::<DynamicPartition>().types("T", types::ALL)],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct DynamicPartition {
    count: usize,
}

impl Kernel for DynamicPartition {
    fn new(attrs: &Attrs<'_>) -> Result<DynamicPartition> {
        Ok(DynamicPartition { count: attrs.outputs().len() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let data = ctx.input(0)?.clone();
        let partitions = ctx.input(1)?;
        if !data.dims().starts_with(partitions.dims()) {
            return Err(invalid_argument!(
                "data.shape must start with partitions.shape, got data.shape = {}, \
                 partitions.shape = {}",
                data.shape(),
                partitions.shape()
            ));
        }
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); self.count];
        for (row, &partition) in partitions.values::<i32>()?.iter().enumerate() {
            match usize::try_from(partition).ok().and_then(|partition| rows.get_mut(partition)) {
                Some(rows) => rows.push(row),
                None => {
                    return Err(invalid_argument!(
                        "partitions{} = {partition} is not in [0, {})",
                        coordinates(row, partitions.dims()),
                        self.count
                    ));
                }
            }
        }
        let row_dims = &data.dims()[partitions.rank()..];
        let len = row_dims.iter().product();
        let mut dims = vec![0];
        dims.extend_from_slice(row_dims);
        for (i, rows) in rows.iter().enumerate() {
            dims[0] = rows.len();
            let pick = |k: usize| Row::Of { source: 0, row: rows[k] };
            let part = take(&[&data], shape_of(&dims)?, len, parallel(ctx), pick)?;
            ctx.set_output(i, part);
        }
        Ok(())
    }
}

/// Puts the gradients of the parts back where their rows came from.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (data, partitions) = (g.input(0), g.input(1));
    let shape = g.shape_tensor(partitions)?;
    let count = g.size_tensor(partitions)?;
    let positions = g.call("Range", [g.scalar(0i32)?, count, g.scalar(1i32)?])?;
    let positions = g.reshape(positions, shape)?;
    let node = NewNode::new("DynamicPartition").input(positions).input(partitions);
    let places = g.add(node.attr("num_partitions", g.num_outputs() as i64))?;
    let places: Vec<Output> =
        (0..g.num_outputs()).map(|i| Output { node: places, index: i as u32 }).collect();
    let parts: Vec<Output> = (0..g.num_outputs()).map(|i| g.grad(i)).collect::<Result<_>>()?;
    let stitched = g.out(NewNode::new("DynamicStitch").list(&places).list(&parts))?;
    Ok(vec![Some(g.reshape_like(stitched, data)?.into()), None])
}
