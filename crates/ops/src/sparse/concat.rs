//! `SparseConcat` and `SparseSplit`: sparse tensors joined along a dimension and cut apart.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, internal, invalid_argument};

use super::parts::{Sparse, dense_shape};
use super::rearrange::{index_matrix, pick};
use crate::data_flow::join::join;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseConcat",
        inputs: &["indices: N * int64", "values: N * T", "shapes: N * int64"],
        outputs: &["output_indices: int64", "output_values: T", "output_shape: int64"],
        attrs: &["concat_dim: int", "N: int >= 2", "T: type"],
        kernels: &[cpu::<Concat>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSplit",
        inputs: &["split_dim: int64", "indices: int64", "values: T", "shape: int64"],
        outputs: &[
            "output_indices: num_split * int64",
            "output_values: num_split * T",
            "output_shape: num_split * int64",
        ],
        attrs: &["num_split: int >= 1", "T: type"],
        kernels: &[cpu::<Split>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Concat {
    axis: i64,
}

impl Kernel for Concat {
    fn new(attrs: &Attrs<'_>) -> Result<Concat> {
        Ok(Concat { axis: attrs.int("concat_dim")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let count = ctx.num_inputs() / 3;
        let inputs = [("indices", 2, "matrix"), ("values", 1, "vector"), ("shapes", 1, "vector")];
        for (group, (what, rank, kind)) in inputs.into_iter().enumerate() {
            for at in 0..count {
                let part = ctx.input(group * count + at)?;
                if part.rank() != rank {
                    return Err(invalid_argument!(
                        "Input {what} should be a {kind} but received shape {} at position {at}",
                        part.shape()
                    ));
                }
            }
        }
        let rank = ctx.input(2 * count)?.num_elements();
        let Some(axis) = crate::array::arguments::axis_in(self.axis, rank) else {
            return Err(invalid_argument!(
                "Concat dimension must be in range [-{rank}, {rank}), got {}",
                self.axis
            ));
        };
        let mut dims = ctx.input(2 * count)?.values::<i64>()?.to_vec();
        for at in 1..count {
            let part = ctx.input(2 * count + at)?.values::<i64>()?;
            if part.len() != rank {
                return Err(invalid_argument!(
                    "Ranks of all input tensors must match: expected {rank} but got {} at \
                     position {at}",
                    part.len()
                ));
            }
            for dimension in (0..rank).filter(|&dimension| dimension != axis) {
                if part[dimension] != dims[dimension] {
                    return Err(invalid_argument!(
                        "Input shapes must match: expected {} for dimension {dimension} but got \
                         {} at position {at}",
                        dims[dimension],
                        part[dimension]
                    ));
                }
            }
        }
        let total = (0..count).try_fold(0i64, |total, at| {
            total.checked_add(ctx.input(2 * count + at).ok()?.values::<i64>().ok()?[axis])
        });
        dims[axis] =
            total.ok_or_else(|| internal!("Encountered overflow from large input shape."))?;
        let parts = (0..count).map(|at| {
            Sparse::created(ctx.input(at)?, ctx.input(count + at)?, ctx.input(2 * count + at)?)
        });
        let parts: Vec<Sparse<'_>> = parts.collect::<Result<_>>()?;
        dense_shape(&dims)?;
        // The entries of all parts with their places among all values.
        let mut entries: Vec<(Vec<i64>, usize)> = Vec::new();
        let mut start = 0i64;
        for part in &parts {
            for at in 0..part.len() {
                let mut index = part.index(at).to_vec();
                index[axis] = index[axis].wrapping_add(start);
                entries.push((index, entries.len()));
            }
            start += part.dims[axis];
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let indices: Vec<i64> = entries.iter().flat_map(|(index, _)| index.clone()).collect();
        let places: Vec<usize> = entries.iter().map(|&(_, place)| place).collect();
        let values: Vec<Tensor> = parts.iter().map(|part| part.values.clone()).collect();
        let values = join(values[0].dtype(), Shape::vector(places.len()), &values)?;
        let outputs = [
            index_matrix(&indices, rank, places.len())?,
            pick(&values, &places)?,
            Tensor::vector(&dims)?,
        ];
        for (at, output) in outputs.into_iter().enumerate() {
            ctx.set_output(at, output);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Split {
    parts: usize,
}

impl Kernel for Split {
    fn new(attrs: &Attrs<'_>) -> Result<Split> {
        let parts = attrs.int("num_split")?;
        let parts = usize::try_from(parts)
            .map_err(|_| invalid_argument!("num_split must be positive, got {parts}"))?;
        Ok(Split { parts })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let axis = ctx.input(0)?;
        if axis.num_elements() != 1 {
            return Err(invalid_argument!(
                "Input axis should be a scalar but received shape {}",
                axis.shape()
            ));
        }
        let (indices, values, shape) = (ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
        if indices.rank() != 2 {
            return Err(invalid_argument!(
                "Input indices should be a matrix but received shape {}",
                indices.shape()
            ));
        }
        // TensorFlow shows the shape of the indices here.
        if values.rank() != 1 {
            return Err(invalid_argument!(
                "Input values should be a vector but received shape {}",
                indices.shape()
            ));
        }
        if shape.rank() != 1 {
            return Err(invalid_argument!(
                "Input shape should be a vector but received shape {}",
                shape.shape()
            ));
        }
        let input = Sparse::new(indices, values, shape)?;
        dense_shape(input.dims)?;
        let (axis, rank) = (axis.scalar_value::<i64>()?, input.rank());
        let Some(axis) = crate::array::arguments::axis_in(axis, rank) else {
            return Err(invalid_argument!(
                "Input axis should be in range [-{rank}, {rank}), got {axis}"
            ));
        };
        let size = input.dims[axis];
        let parts = self.parts as i64;
        if parts > size {
            return Err(invalid_argument!(
                "Input num_split should be between 1 and the splitting dimension size ({size}), \
                 got {parts}"
            ));
        }
        input.check_bounds()?;
        // The first parts are one larger where it does not come out even.
        let (least, larger) = (size / parts, size % parts);
        let start = |part: i64| part * least + part.min(larger);
        let mut chosen: Vec<Vec<usize>> = vec![Vec::new(); self.parts];
        for at in 0..input.len() {
            let position = input.index(at)[axis];
            let wide = larger * (least + 1);
            let part = if position < wide {
                position / (least + 1)
            } else {
                larger + (position - wide) / least
            };
            chosen[part as usize].push(at);
        }
        let mut outputs = Vec::with_capacity(3 * self.parts);
        for (part, places) in chosen.iter().enumerate() {
            let first = start(part as i64);
            let mut indices = Vec::with_capacity(places.len() * rank);
            for &at in places {
                indices.extend_from_slice(input.index(at));
                let last = indices.len() - rank;
                indices[last + axis] -= first;
            }
            let mut dims = input.dims.to_vec();
            dims[axis] = start(part as i64 + 1) - first;
            outputs.push((part, index_matrix(&indices, rank, places.len())?));
            outputs.push((self.parts + part, pick(input.values, places)?));
            outputs.push((2 * self.parts + part, Tensor::vector(&dims)?));
        }
        for (at, output) in outputs {
            ctx.set_output(at, output);
        }
        Ok(())
    }
}
