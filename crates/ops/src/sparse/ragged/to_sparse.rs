//! `RaggedTensorToSparse`.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::super::rearrange::index_matrix;
use super::read_nested;

pub(super) const OPS: &[Op] = &[Op {
    name: "RaggedTensorToSparse",
    inputs: &["rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: T"],
    outputs: &["sparse_indices: int64", "sparse_values: T", "sparse_dense_shape: int64"],
    attrs: &["RAGGED_RANK: int >= 1", "T: type", "Tsplits: {int32, int64} = DT_INT64"],
    kernels: &[cpu::<ToSparse>()],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct ToSparse;

impl Kernel for ToSparse {
    fn new(_: &Attrs<'_>) -> Result<ToSparse> {
        Ok(ToSparse)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let levels = ctx.num_inputs() - 1;
        let values = ctx.input(levels)?;
        let Some((&rows, inner)) = values.dims().split_first() else {
            return Err(invalid_argument!("values must have at least one dimension"));
        };
        let nested = read_nested(&ctx.input_list(0..levels)?, rows)?;
        let lengths = |splits: &Vec<usize>| {
            splits.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as i64
        };
        let mut dims = vec![nested[0].len() as i64 - 1];
        dims.extend(nested.iter().map(lengths));
        dims.extend(inner.iter().map(|&dim| dim as i64));
        // The index of each row of the level reached so far.
        let mut paths: Vec<Vec<i64>> =
            (0..nested[0].len() as i64 - 1).map(|row| vec![row]).collect();
        for splits in &nested {
            let rows = paths.iter().zip(splits.windows(2));
            paths = rows
                .flat_map(|(path, pair)| {
                    (0..pair[1] - pair[0]).map(move |at| [&path[..], &[at as i64]].concat())
                })
                .collect();
        }
        let within = Shape::new(inner)?.num_elements();
        let mut indices = Vec::with_capacity(values.num_elements() * dims.len());
        for path in &paths {
            for at in 0..within {
                indices.extend_from_slice(path);
                let start = indices.len();
                indices.resize(start + inner.len(), 0);
                let mut rest = at;
                for (place, &dim) in indices[start..].iter_mut().zip(inner).rev() {
                    *place = (rest % dim) as i64;
                    rest /= dim;
                }
            }
        }
        let indices = index_matrix(&indices, dims.len(), values.num_elements())?;
        let values = values.reshape(Shape::vector(values.num_elements()))?;
        ctx.set_output(0, indices);
        ctx.set_output(1, values);
        ctx.set_output(2, Tensor::vector(&dims)?);
        Ok(())
    }
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let last = g.num_inputs() - 1;
    let mut gradients = vec![None; last];
    gradients.push(Some(g.reshape_like(g.grad(1)?, g.input(last))?.into()));
    Ok(gradients)
}
