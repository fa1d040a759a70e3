//! `ApproxTopK`: the largest or smallest values along a dimension.
//!
//! The approximation is for accelerators; here every recall target is met by the exact answer, and
//! what is not aggregated has no more than `k` candidates.

use half::{bf16, f16};
use num_traits::Float;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Element, Result, Shape, Tensor, dispatch, invalid_argument};

use super::{Job, pick};
use crate::nn::unsupported;

pub(in crate::nn) const OPS: &[Op] = &[Op {
    name: "ApproxTopK",
    inputs: &["input: T"],
    outputs: &["values: T", "indices: int32"],
    attrs: &[
        "k: int >= 0",
        "reduction_dimension: int = -1",
        "recall_target: float = 0.95",
        "is_max_k: bool = true",
        "reduction_input_size_override: int = -1",
        "aggregate_to_topk: bool = true",
        "T: {half, bfloat16, float}",
    ],
    kernels: &[cpu::<ApproxTopK>()],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct ApproxTopK {
    k: usize,
    dimension: i64,
    largest: bool,
}

impl Kernel for ApproxTopK {
    fn new(attrs: &Attrs<'_>) -> Result<ApproxTopK> {
        let (k, recall) = (attrs.int("k")?, attrs.float("recall_target")?);
        if !(recall > 0.0 && recall <= 1.0) {
            return Err(invalid_argument!(
                "Invalid recall target: {recall}. Valid value range in : [0, 1.0]."
            ));
        }
        Ok(ApproxTopK {
            k: usize::try_from(k).map_err(|_| invalid_argument!("Need k >= 0, got {k}"))?,
            dimension: attrs.int("reduction_dimension")?,
            largest: attrs.bool("is_max_k")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let (rank, k) = (input.rank() as i64, self.k);
        if !(-rank..rank).contains(&self.dimension) {
            return Err(invalid_argument!(
                "Invalid reduction dimension: {}. Must be within the range of [{}, {}]",
                self.dimension,
                -rank,
                rank - 1
            ));
        }
        let axis = self.dimension.rem_euclid(rank) as usize;
        let length = input.dims()[axis];
        if length < k {
            return Err(invalid_argument!(
                "input must have last dimension >= k = {k} but was {length}"
            ));
        }
        let mut dims = input.dims().to_vec();
        dims[axis] = k;
        let shape = Shape::new(&dims)?;
        let (values, indices) = if self.largest && axis + 1 == input.rank() {
            Job { par, input, k, sorted: true, shape }.run_any(|index| index as i32)?
        } else {
            dispatch!(
                input.dtype(),
                [f32, f16, bf16],
                T => along::<T>(input, axis, self.largest, shape),
                else => Err(unsupported(input.dtype()))
            )?
        };
        ctx.set_output(0, values);
        ctx.set_output(1, indices);
        Ok(())
    }
}

/// The best values along any dimension: each line is taken out, negated for the smallest.
fn along<T: Element + Float>(
    input: &Tensor,
    axis: usize,
    largest: bool,
    shape: Shape,
) -> Result<(Tensor, Tensor)> {
    let (length, k) = (input.dims()[axis], shape.dims()[axis]);
    let inner: usize = input.dims()[axis + 1..].iter().product();
    let mut values = Tensor::for_overwrite::<T>(shape.clone())?;
    let mut indices = Tensor::for_overwrite::<i32>(shape)?;
    if values.num_elements() > 0 {
        let (values, indices) = (values.values_mut::<T>()?, indices.values_mut::<i32>()?);
        let (mut line, mut picked) = (Vec::with_capacity(length), Vec::with_capacity(k));
        for (block, outer) in input.values::<T>()?.chunks_exact(length * inner).enumerate() {
            for column in 0..inner {
                let elements = outer[column..].iter().step_by(inner);
                line.clear();
                line.extend(elements.map(|&value| if largest { value } else { -value }));
                pick(&line, k, true, &mut picked);
                for (number, &at) in picked.iter().enumerate() {
                    let out = (block * k + number) * inner + column;
                    values[out] = outer[at * inner + column];
                    indices[out] = at as i32;
                }
            }
        }
    }
    Ok((values, indices))
}

/// The gradient goes back to where the values were found: to the positions of a one-hot matrix along
/// the dimension.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, indices, grad) = (g.input(0), g.output(1), g.grad(0)?);
    let dimension = g.attrs().int("reduction_dimension")?;
    let shape = g.shape_tensor(input)?;
    let rank = g.rank_tensor(input)?;
    let axis = g.call("FloorMod", [g.scalar(dimension as i32)?, rank])?;
    let length = g.call("GatherV2", [shape, axis, g.scalar(0i32)?])?;
    let (on, off) = (g.scalar(1.0f32)?, g.scalar(0.0f32)?);
    let on = g.cast(on, g.dtype(input))?;
    let off = g.cast(off, g.dtype(input))?;
    // For every value found, a line along a new last dimension with one where it was.
    let lines = g.call("OneHot", [indices, length, on, off])?;
    let spread = g.mul(g.call("ExpandDims", [grad, g.scalar(-1i32)?])?, lines)?;
    // The found ones are summed; then the new dimension goes where they were.
    let summed = g.out(NewNode::new("Sum").input(spread).input(axis))?;
    let (zero, one) = (g.scalar(0i32)?, g.scalar(1i32)?);
    let last = g.call("Sub", [rank, one])?;
    let before = g.call("Range", [zero, axis, one])?;
    let after = g.call("Range", [axis, last, one])?;
    let last = g.reshape(last, g.vector(&[1i32])?)?;
    let parts = NewNode::new("ConcatV2").list(&[before, last, after]).input(zero);
    let order = g.out(parts)?;
    Ok(vec![Some(g.call("Transpose", [summed, order])?.into())])
}
