//! `Split` and `SplitV`: a tensor cut along an axis.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, ShapeContext, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::arguments::{axis_in, integers, single};
use super::copy::{materialize, parallel};
use super::types;
use super::view::View;
use tensorfleet_graph::Output;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Split",
        inputs: &["split_dim: int32", "value: T"],
        outputs: &["output: num_split * T"],
        attrs: &["num_split: int >= 1", "T: type"],
        kernels: &[cpu::<Split>().types("T", types::SPLIT)],
        shape: Some(equal_shapes),
        gradient: Some(split_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SplitV",
        inputs: &["value: T", "size_splits: Tlen", "split_dim: int32"],
        outputs: &["output: num_split * T"],
        attrs: &["num_split: int >= 1", "T: type", "Tlen: {int8, int32, int64} = DT_INT64"],
        kernels: &[cpu::<SplitV>().types("T", types::SPLIT)],
        shape: Some(given_shapes),
        gradient: Some(split_v_gradient),
        ..Op::DEFAULT
    },
];

fn axis_of(axis: i64, input: &Tensor) -> Result<usize> {
    let rank = input.rank();
    axis_in(axis, rank).ok_or_else(|| {
        invalid_argument!("-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}")
    })
}

/// Cuts `input` into pieces of the lengths `sizes`, which add up to its length.
fn split(ctx: &mut KernelContext<'_>, input: &Tensor, axis: usize, sizes: &[usize]) -> Result<()> {
    let mut start = 0;
    for (i, &size) in sizes.iter().enumerate() {
        let part = View::of(input.dims()).slice(axis, start, size);
        ctx.set_output(i, materialize(input, part, parallel(ctx))?);
        start += size;
    }
    Ok(())
}

#[derive(Debug)]
struct Split {
    count: usize,
}

impl Kernel for Split {
    fn new(attrs: &Attrs<'_>) -> Result<Split> {
        let count = attrs.outputs().len();
        if count == 0 {
            return Err(invalid_argument!("Number of ways to split should be > 0, but got 0"));
        }
        Ok(Split { count })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let axis = ctx.input(0)?;
        if axis.rank() != 0 {
            return Err(invalid_argument!(
                "split_dim must be a scalar but has rank {}",
                axis.rank()
            ));
        }
        let axis = i64::from(axis.scalar_value::<i32>()?);
        let input = ctx.take_input(1)?;
        let axis = axis_of(axis, &input)?;
        let size = input.dims()[axis];
        if size % self.count != 0 {
            return Err(invalid_argument!(
                "Number of ways to split should evenly divide the split dimension, but got \
                 split_dim {axis} (size = {size}) and num_split {}",
                self.count
            ));
        }
        split(ctx, &input, axis, &vec![size / self.count; self.count])
    }
}

#[derive(Debug)]
struct SplitV {
    count: usize,
}

impl Kernel for SplitV {
    fn new(attrs: &Attrs<'_>) -> Result<SplitV> {
        Ok(SplitV { count: attrs.outputs().len() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let (sizes, axis) = (ctx.input(1)?, ctx.input(2)?);
        if sizes.rank() != 1 || sizes.num_elements() != self.count {
            return Err(invalid_argument!(
                "size of the split_tensor must be 1-D and have the same elements as outputs got {} \
                 -D and {} elements",
                sizes.rank(),
                sizes.num_elements()
            ));
        }
        let Some(axis) = single(axis)? else {
            return Err(invalid_argument!("split_dim_tensor must have exactly one element."));
        };
        let axis = axis_of(axis, &input)?;
        let sizes = sizes_for(&integers(sizes)?, input.dims()[axis])?;
        split(ctx, &input, axis, &sizes)
    }
}

/// The lengths of the pieces, where -1 stands for what the others leave of `total`.
fn sizes_for(sizes: &[i64], total: usize) -> Result<Vec<usize>> {
    if let &[size] = sizes
        && size != total as i64
    {
        return Err(invalid_argument!(
            "If there is only one output, it must have the same size as the input. Input size: \
             {total} output size: {size}"
        ));
    }
    let open = sizes.iter().position(|&size| size == -1);
    if open.is_some_and(|open| sizes[open + 1..].contains(&-1)) {
        return Err(invalid_argument!("There can only be one -1 in the input."));
    }
    let known =
        sizes.iter().filter(|&&size| size != -1).fold(0i64, |sum, &size| sum.saturating_add(size));
    let fits = if open.is_some() { known <= total as i64 } else { known == total as i64 };
    if !fits {
        return Err(invalid_argument!(
            "Determined shape must either match input shape along split_dim exactly if fully \
             specified, or be less than the size of the input along split_dim if not fully \
             specified.  Got: {known}"
        ));
    }
    let rest = total as i64 - known;
    let size = |(i, &size): (usize, &i64)| {
        usize::try_from(if size == -1 { rest } else { size })
            .map_err(|_| invalid_argument!("Split size at index {i} must be >= 0. Got: {size}"))
    };
    sizes.iter().enumerate().map(size).collect()
}

fn equal_shapes(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let mut shape = c.input(1).clone();
    let axis = c.constant_int(0);
    if let Some(dims) = &mut shape.dims {
        let Some(axis) = axis else {
            return Ok(vec![PartialShape::of_rank(dims.len()); c.num_outputs()]);
        };
        let at = crate::shapes::axis_index(axis, dims.len())?;
        if let Some(length) = dims[at] {
            if length % c.num_outputs() != 0 {
                return Err(invalid_argument!(
                    "dimension {at} of size {length} cannot be cut into {} equal parts",
                    c.num_outputs()
                ));
            }
            dims[at] = Some(length / c.num_outputs());
        }
    }
    Ok(vec![shape; c.num_outputs()])
}

fn given_shapes(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let unknown = || vec![PartialShape::UNKNOWN; c.num_outputs()];
    let (Some(dims), Some(sizes), Some(axis)) =
        (&c.input(0).dims, c.constant_ints(1), c.constant_int(2))
    else {
        return Ok(unknown());
    };
    let at = crate::shapes::axis_index(axis, dims.len())?;
    let part = |size: &i64| {
        let mut dims = dims.clone();
        dims[at] = usize::try_from(*size).ok();
        PartialShape::known(dims)
    };
    Ok(sizes.iter().map(part).collect())
}

/// The gradients of the parts, one after the other.
fn joined(g: &GradientContext<'_>, axis: Output) -> Result<Output> {
    if g.num_outputs() == 1 {
        return g.grad(0);
    }
    let parts: Vec<Output> =
        (0..g.num_outputs()).map(|index| g.grad(index)).collect::<Result<_>>()?;
    g.out(NewNode::new("ConcatV2").list(&parts).input(axis))
}

fn split_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![None, Some(joined(g, g.input(0))?.into())])
}

fn split_v_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![Some(joined(g, g.input(2))?.into()), None, None])
}
