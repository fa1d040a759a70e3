//! `SparseConcat` and `SparseSplit`: sparse tensors joined along a dimension and cut apart.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::parts::Sparse;
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
        let parts = (0..count).map(|at| {
            Sparse::new(ctx.input(at)?, ctx.input(count + at)?, ctx.input(2 * count + at)?)
        });
        let parts: Vec<Sparse<'_>> = parts.collect::<Result<_>>()?;
        let rank = parts[0].rank();
        let Some(axis) = crate::array::arguments::axis_in(self.axis, rank) else {
            return Err(invalid_argument!(
                "Concat dimension must be in range [-{rank}, {rank}), got {}",
                self.axis
            ));
        };
        let mut dims = parts[0].dims.to_vec();
        for (at, part) in parts.iter().enumerate().skip(1) {
            if part.rank() != rank {
                return Err(invalid_argument!(
                    "Ranks of all input tensors must match: expected {rank} but got {} at \
                     position {at}",
                    part.rank()
                ));
            }
            for dimension in (0..rank).filter(|&dimension| dimension != axis) {
                if part.dims[dimension] != dims[dimension] {
                    return Err(invalid_argument!(
                        "Input shapes must match: expected {} for dimension {dimension} but got \
                         {} at position {at}",
                        dims[dimension],
                        part.dims[dimension]
                    ));
                }
            }
        }
        // The entries of all parts with their places among all values.
        let mut entries: Vec<(Vec<i64>, usize)> = Vec::new();
        let mut start = 0i64;
        for part in &parts {
            for at in 0..part.len() {
                let mut index = part.index(at).to_vec();
                index[axis] = index[axis].wrapping_add(start);
                entries.push((index, entries.len()));
            }
            start = start
                .checked_add(part.dims[axis])
                .ok_or_else(|| invalid_argument!("the joined dimension is too large"))?;
        }
        dims[axis] = start;
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
        let input = Sparse::input(ctx, 1)?;
        let axis = ctx.input(0)?;
        if axis.num_elements() != 1 {
            return Err(invalid_argument!("Input split_dim should be a scalar"));
        }
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
        // The first parts are one larger where it does not come out even.
        let (least, larger) = (size / parts, size % parts);
        let start = |part: i64| part * least + part.min(larger);
        let mut chosen: Vec<Vec<usize>> = vec![Vec::new(); self.parts];
        for at in 0..input.len() {
            input.check_inside(at)?;
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
