//! Ops that give a tensor another shape and leave its elements where they are.

use smallvec::SmallVec;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, invalid_argument};

use super::arguments::{axis_in, is_legacy_vector, shape_of, single};
use super::copy::dims_of;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "EnsureShape",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["shape: shape", "T: type"],
        kernels: &[cpu::<EnsureShape>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExpandDims",
        inputs: &["input: T", "dim: Tdim"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tdim: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<ExpandDims>()],
        ..Op::DEFAULT
    },
    Op {
        name: "Reshape",
        inputs: &["tensor: T", "shape: Tshape"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tshape: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Reshape>()],
        ..Op::DEFAULT
    },
    Op {
        name: "Squeeze",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "squeeze_dims: list(int) >= 0 = []"],
        kernels: &[cpu::<Squeeze>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct EnsureShape(PartialShape);

impl Kernel for EnsureShape {
    fn new(attrs: &Attrs<'_>) -> Result<EnsureShape> {
        Ok(EnsureShape(attrs.shape("shape")?.clone()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        if !self.0.is_compatible_with(input.shape()) {
            return Err(invalid_argument!(
                "Shape of tensor {} {} is not compatible with expected shape {}.",
                ctx.node_name(),
                input.shape(),
                self.0
            ));
        }
        ctx.set_output(0, input);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

#[derive(Debug)]
struct ExpandDims;

impl Kernel for ExpandDims {
    fn new(_: &Attrs<'_>) -> Result<ExpandDims> {
        Ok(ExpandDims)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        check_no_variant(&input, "ExpandDims")?;
        let Some(axis) = single(ctx.input(1)?)? else {
            return Err(invalid_argument!("'dim' must be a tensor with a single value"));
        };
        let Some(axis) = axis_in(axis, input.rank() + 1) else {
            return Err(invalid_argument!(
                "Tried to expand dim index {axis} for tensor with {} dimensions.",
                input.rank()
            ));
        };
        let mut dims = dims_of(&input);
        dims.insert(axis, 1);
        ctx.set_output(0, input.into_shape(Shape::new(&dims)?)?);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

#[derive(Debug)]
struct Reshape;

impl Kernel for Reshape {
    fn new(_: &Attrs<'_>) -> Result<Reshape> {
        Ok(Reshape)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let sizes = ctx.input(1)?;
        if !is_legacy_vector(sizes) {
            return Err(invalid_argument!("sizes input must be 1-D, not {}", sizes.shape()));
        }
        let shape = complete(&sizes.to_i64_vec()?, input.dims())?;
        ctx.set_output(0, input.into_shape(shape)?);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

/// The shape that `sizes` asks for, where -1 stands for what is needed to hold a tensor of `dims`.
fn complete(sizes: &[i64], dims: &[usize]) -> Result<Shape> {
    let mut asked: SmallVec<[usize; 6]> = SmallVec::with_capacity(sizes.len());
    let mut unknown = None;
    for (i, &size) in sizes.iter().enumerate() {
        if size == -1 {
            if let Some(first) = unknown.replace(i) {
                return Err(invalid_argument!(
                    "Only one input size may be -1, not both {first} and {i}"
                ));
            }
        } else if size < 0 {
            return Err(invalid_argument!("Size {i} must be non-negative, not {size}"));
        }
        asked.push(usize::try_from(size).unwrap_or(1));
    }
    if let Some(unknown) = unknown {
        // Zero divides nothing. Where zeros are asked for, they stand for the zeros of the input,
        // and the other sizes decide.
        let others =
            asked.iter().filter(|&&dim| dim != 0).fold(1usize, |n, &d| n.saturating_mul(d));
        let with_zeros = !asked.contains(&0);
        let elements = dims.iter().filter(|&&dim| with_zeros || dim != 0).product::<usize>();
        let missing = elements / others;
        if missing * others != elements && !dims.contains(&0) {
            return Err(invalid_argument!(
                "Input to reshape is a tensor with {elements} values, but the requested shape \
                 requires a multiple of {others}"
            ));
        }
        asked[unknown] = missing;
    }
    shape_of(&asked)
}

#[derive(Debug)]
struct Squeeze {
    /// The axes to take away; all of length 1 if none is named.
    axes: Vec<i64>,
}

impl Kernel for Squeeze {
    fn new(attrs: &Attrs<'_>) -> Result<Squeeze> {
        Ok(Squeeze { axes: attrs.ints("squeeze_dims")?.to_vec() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        check_no_variant(&input, "Squeeze")?;
        let rank = input.rank();
        let mut named = vec![false; rank];
        for &axis in &self.axes {
            let Some(axis) = axis_in(axis, rank) else {
                return Err(invalid_argument!(
                    "Tried to squeeze dim index {axis} for tensor with {rank} dimensions."
                ));
            };
            named[axis] = true;
        }
        let mut dims: SmallVec<[usize; 6]> = SmallVec::new();
        for (axis, &dim) in input.dims().iter().enumerate() {
            if named[axis] && dim != 1 {
                return Err(invalid_argument!(
                    "Can not squeeze dim[{axis}], expected a dimension of 1, got {dim}"
                ));
            }
            if dim != 1 || !(named[axis] || self.axes.is_empty()) {
                dims.push(dim);
            }
        }
        ctx.set_output(0, input.into_shape(Shape::new(&dims)?)?);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

fn check_no_variant(input: &Tensor, op: &str) -> Result<()> {
    if input.dtype() == DType::Variant {
        return Err(invalid_argument!("{op} on Variant not supported"));
    }
    Ok(())
}
