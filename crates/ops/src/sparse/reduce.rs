//! Sums and maxima of sparse tensors over dimensions, and `SparseSoftmax`.

use std::collections::BTreeMap;

use half::f16;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, NewNode, Op, cpu,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, internal, invalid_argument};

use super::number::{NUMBERS, Number, REAL_NUMBERS, Real, for_number, for_real};
use super::parts::{Sparse, check_ranks, spaced};
use super::rearrange::index_matrix;

const MAX: &[KernelDef] = &[cpu::<Reduce>().types("T", REAL_NUMBERS)];
const SUM: &[KernelDef] = &[cpu::<Reduce>().types("T", NUMBERS)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseReduceMax",
        inputs: &[
            "input_indices: int64",
            "input_values: T",
            "input_shape: int64",
            "reduction_axes: int32",
        ],
        outputs: &["output: T"],
        attrs: &[
            "keep_dims: bool = false",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: MAX,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseReduceMaxSparse",
        inputs: &[
            "input_indices: int64",
            "input_values: T",
            "input_shape: int64",
            "reduction_axes: int32",
        ],
        outputs: &["output_indices: int64", "output_values: T", "output_shape: int64"],
        attrs: &[
            "keep_dims: bool = false",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: MAX,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseReduceSum",
        inputs: &[
            "input_indices: int64",
            "input_values: T",
            "input_shape: int64",
            "reduction_axes: int32",
        ],
        outputs: &["output: T"],
        attrs: &[
            "keep_dims: bool = false",
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: SUM,
        gradient: Some(sum_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseReduceSumSparse",
        inputs: &[
            "input_indices: int64",
            "input_values: T",
            "input_shape: int64",
            "reduction_axes: int32",
        ],
        outputs: &["output_indices: int64", "output_values: T", "output_shape: int64"],
        attrs: &[
            "keep_dims: bool = false",
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: SUM,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSoftmax",
        inputs: &["sp_indices: int64", "sp_values: T", "sp_shape: int64"],
        outputs: &["output: T"],
        attrs: &["T: {half, float, double}"],
        kernels: &[cpu::<Softmax>()],
        gradient: Some(softmax_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Reduce {
    keep_dims: bool,
    takes_maximum: bool,
    is_sparse: bool,
}

impl Kernel for Reduce {
    fn new(attrs: &Attrs<'_>) -> Result<Reduce> {
        Ok(Reduce {
            keep_dims: attrs.bool("keep_dims")?,
            takes_maximum: attrs.op().contains("Max"),
            is_sparse: attrs.op().ends_with("Sparse"),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let shape = ctx.input(2)?;
        if shape.rank() != 1 {
            return Err(invalid_argument!(
                "Expected input_shape to be a vector; got shape: {}",
                shape.shape()
            ));
        }
        let input = Sparse::created(ctx.input(0)?, ctx.input(1)?, shape)?;
        let reduced = reduced_dimensions(&input, ctx.input(3)?)?;
        let dims = self.output_dims(&input, &reduced);
        // The entries of each group, in the order of the groups.
        let mut groups: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
        for at in 0..input.len() {
            let index = input.index(at).iter().zip(&reduced);
            let kept: Vec<i64> = if self.keep_dims {
                index.map(|(&index, &reduced)| if reduced { 0 } else { index }).collect()
            } else {
                index.filter(|(_, reduced)| !**reduced).map(|(&index, _)| index).collect()
            };
            groups.entry(kept).or_default().push(at);
        }
        let values = if self.takes_maximum {
            for_real!(input.values.dtype(), T => {
                let values = input.values.values::<T>()?;
                let best = groups.values().map(|group| maximum(values, group));
                Tensor::vector(&best.collect::<Vec<T>>())
            })?
        } else {
            for_number!(input.values.dtype(), T => {
                let values = input.values.values::<T>()?;
                let sums = groups.values().map(|group| {
                    group.iter().map(|&at| values[at]).fold(T::default(), Number::plus)
                });
                Tensor::vector(&sums.collect::<Vec<T>>())
            })?
        };
        if self.is_sparse {
            let indices: Vec<i64> = groups.keys().flatten().copied().collect();
            let indices = index_matrix(&indices, dims.len(), groups.len())?;
            ctx.set_output(0, indices);
            ctx.set_output(1, values);
            ctx.set_output(2, Tensor::vector(&dims)?);
            return Ok(());
        }
        let shape = Shape::from_signed(&dims)?;
        let mut output = Tensor::zeros(input.values.dtype(), shape.clone())?;
        let size = output.dtype().size();
        let raw = values.raw();
        output.write_raw(|out| {
            for (value, group) in raw.chunks_exact(size).zip(groups.keys()) {
                // Such an index may still count to an element, which is what is asked.
                let at = (group.iter().zip(shape.signed()))
                    .fold(0i64, |at, (&index, dim)| at.wrapping_mul(dim).wrapping_add(index));
                let count = shape.num_elements();
                let Some(at) = usize::try_from(at).ok().filter(|&at| at < count) else {
                    return Err(internal!(
                        "Obtained a write index of {at} which is outside of bounds of [0, {count})"
                    ));
                };
                out[at * size..(at + 1) * size].copy_from_slice(value);
            }
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

impl Reduce {
    fn output_dims(&self, input: &Sparse<'_>, reduced: &[bool]) -> Vec<i64> {
        let dims = input.dims.iter().zip(reduced);
        if self.keep_dims {
            dims.map(|(&dim, &reduced)| if reduced { 1 } else { dim }).collect()
        } else {
            dims.filter(|(_, reduced)| !**reduced).map(|(&dim, _)| dim).collect()
        }
    }
}

fn maximum<T: Real>(values: &[T], group: &[usize]) -> T {
    let mut best = values[group[0]];
    for &at in &group[1..] {
        best = if values[at] > best { values[at] } else { best };
    }
    best
}

/// For each dimension whether it is reduced.
fn reduced_dimensions(input: &Sparse<'_>, axes: &Tensor) -> Result<Vec<bool>> {
    let rank = input.rank();
    let axes = axes.to_i64_vec()?;
    let mut reduced = vec![false; rank];
    for axis in axes {
        let at = crate::array::arguments::axis_in(axis, rank).ok_or_else(|| {
            invalid_argument!(
                "Invalid reduction dimension {axis}, for input with {rank} dimensions."
            )
        })?;
        reduced[at] = true;
    }
    Ok(reduced)
}

/// The softmax of each row of the last dimension, of the entries that are there.
#[derive(Debug)]
struct Softmax;

impl Kernel for Softmax {
    fn new(_: &Attrs<'_>) -> Result<Softmax> {
        Ok(Softmax)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, values, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        check_ranks("sp", indices, values, shape)?;
        if shape.num_elements() < 2 {
            return Err(invalid_argument!(
                "Input should have rank >= 2, but received shape: {}",
                spaced(shape.values()?)
            ));
        }
        let input = Sparse::created(indices, values, shape)?;
        let mut rows: BTreeMap<&[i64], Vec<usize>> = BTreeMap::new();
        for at in 0..input.len() {
            rows.entry(&input.index(at)[..input.rank() - 1]).or_default().push(at);
        }
        let dtype = input.values.dtype();
        let wide: Vec<f64> = match dtype {
            DType::Float => input.values.values::<f32>()?.iter().map(|&x| x.into()).collect(),
            DType::Half => input.values.values::<f16>()?.iter().map(|x| x.to_f64()).collect(),
            _ => input.values.values::<f64>()?.to_vec(),
        };
        let mut output = vec![0.0; wide.len()];
        for row in rows.values() {
            let best = row.iter().map(|&at| wide[at]).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row.iter().map(|&at| (wide[at] - best).exp()).sum();
            row.iter().for_each(|&at| output[at] = (wide[at] - best).exp() / sum);
        }
        let output = dispatch!(
            dtype,
            [f32, f64, f16],
            T => Tensor::vector(&output.iter().map(|&x| num_traits::cast(x).unwrap_or_default()).collect::<Vec<T>>()),
            else => Err(invalid_argument!("no softmax of {dtype}"))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// As that of softmax: what all of a row have in common is taken away.
fn softmax_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (indices, shape, output, grad) = (g.input(0), g.input(2), g.output(0), g.grad(0)?);
    let node = NewNode::new("SparseReduceSum").input(indices).input(g.mul(output, grad)?);
    let common = g.out(node.input(shape).input(g.vector(&[-1i32])?).attr("keep_dims", true))?;
    let rest = g.call("SparseDenseCwiseAdd", [indices, grad, shape, g.neg(common)?])?;
    Ok(vec![None, Some(g.mul(rest, output)?.into()), None])
}

/// Each value gets what the sum that it is part of got.
fn sum_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (indices, shape, axes) = (g.input(0), g.input(2), g.input(3));
    let rank = g.call("Size", [shape])?;
    // Axes count from the end if they are negative; lengths along them become one.
    let axes = g.call("FloorMod", [g.reshape(axes, g.vector(&[-1i32])?)?, rank])?;
    let ones = g.cast(g.ones_like(axes)?, DType::Int64)?;
    let column = g.call("ExpandDims", [axes, g.scalar(1i32)?])?;
    let kept = g.call("TensorScatterUpdate", [shape, column, ones])?;
    let sums = g.reshape(g.grad(0)?, kept)?;
    let ones = g.call("Fill", [g.reshape(rank, g.vector(&[1i32])?)?, g.scalar(1i64)?])?;
    let zeros = g.cast(g.zeros_like(axes)?, DType::Int64)?;
    let is_kept = g.call("TensorScatterUpdate", [ones, column, zeros])?;
    let places = g.mul(indices, is_kept)?;
    Ok(vec![None, Some(g.call("GatherNd", [sums, places])?.into()), None, None])
}
