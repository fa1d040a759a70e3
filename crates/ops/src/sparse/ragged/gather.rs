//! `RaggedGather`: rows of a ragged tensor picked by number.

use tensorfleet_framework::{
    Attrs, GradientContext, IndexedSlices, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{DType, Result, Shape, invalid_argument};

use super::super::rearrange::pick_rows;
use super::{read_nested, splits_tensor};

pub(super) const OPS: &[Op] = &[Op {
    name: "RaggedGather",
    inputs: &[
        "params_nested_splits: PARAMS_RAGGED_RANK * Tsplits",
        "params_dense_values: Tvalues",
        "indices: Tindices",
    ],
    outputs: &[
        "output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits",
        "output_dense_values: Tvalues",
    ],
    attrs: &[
        "Tvalues: type",
        "Tindices: {int32, int64}",
        "Tsplits: {int32, int64} = DT_INT64",
        "PARAMS_RAGGED_RANK: int >= 1",
        "OUTPUT_RAGGED_RANK: int >= 0",
    ],
    kernels: &[cpu::<RaggedGather>()],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct RaggedGather {
    splits: DType,
}

impl Kernel for RaggedGather {
    fn new(attrs: &Attrs<'_>) -> Result<RaggedGather> {
        Ok(RaggedGather { splits: attrs.dtype("Tsplits")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let levels = ctx.num_inputs() - 2;
        let (values, indices) = (ctx.input(levels)?, ctx.input(levels + 1)?);
        let Some((&rows, inner)) = values.dims().split_first() else {
            return Err(invalid_argument!("params.rank must be nonzero"));
        };
        let nested = read_nested(&ctx.input_list(0..levels)?, rows)?;
        // The splits that the shape of the indices makes come first.
        let mut output: Vec<Vec<i64>> = Vec::new();
        let mut outer = 1;
        for pair in indices.dims().windows(2) {
            outer *= pair[0];
            output.push((0..=outer).map(|row| (row * pair[1]) as i64).collect());
        }
        let from_indices = output.len();
        // A scalar index is a row without the dimension of rows.
        let dropped = usize::from(indices.rank() == 0);
        output.resize(from_indices + levels - dropped, vec![0]);
        let count = nested[0].len() - 1;
        let mut places = Vec::new();
        for (at, index) in indices.to_i64_vec()?.into_iter().enumerate() {
            let row = usize::try_from(index).ok().filter(|&row| row < count).ok_or_else(|| {
                invalid_argument!("indices[{at}] = {index} is not in [0, {count})")
            })?;
            let (mut start, mut end) = (row, row + 1);
            for (level, splits) in nested.iter().enumerate() {
                if level >= dropped {
                    let out = &mut output[from_indices + level - dropped];
                    let last = out[out.len() - 1] - splits[start] as i64;
                    out.extend(splits[start + 1..=end].iter().map(|&split| split as i64 + last));
                }
                (start, end) = (splits[start], splits[end]);
            }
            places.extend(start..end);
        }
        let len = Shape::new(inner)?.num_elements();
        let shape = Shape::new(&[&[places.len()], inner].concat())?;
        let picked = pick_rows(values, &places, len, shape)?;
        if ctx.num_outputs() != output.len() + 1 {
            return Err(invalid_argument!(
                "OUTPUT_RAGGED_RANK must be {}, got {}",
                output.len(),
                ctx.num_outputs() - 1
            ));
        }
        for (at, splits) in output.iter().enumerate() {
            ctx.set_output(at, splits_tensor(self.splits, splits)?);
        }
        ctx.set_output(output.len(), picked);
        Ok(())
    }
}

/// The same rows of the values' numbers say where each came from.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let splits = g.num_inputs() - 2;
    let (values, indices) = (g.input(splits), g.input(splits + 1));
    let dense_shape = g.shape_tensor(values)?;
    let (zero, one) = (g.scalar(0i32)?, g.scalar(1i32)?);
    let rows = g.call("GatherV2", [dense_shape, zero, zero])?;
    let numbers = g.call("Range", [zero, rows, one])?;
    let node = NewNode::new("RaggedGather").list(g.inputs(0..splits)).input(numbers);
    let node = node.input(indices).attr("Tvalues", g.dtype(numbers));
    let outputs = g.num_outputs() - 1;
    let picked = Output { node: g.add(g.with_attrs_of(node)?)?, index: outputs as u32 };
    let slices = IndexedSlices { values: g.grad(outputs)?, indices: picked, dense_shape };
    let mut gradients = vec![None; g.num_inputs()];
    gradients[splits] = Some(slices.into());
    Ok(gradients)
}
