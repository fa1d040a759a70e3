//! Ops that give a tensor another shape and leave its elements where they are.

use smallvec::SmallVec;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, ShapeContext, Value, cpu,
};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, invalid_argument};

use super::arguments::{axis_in, is_legacy_vector, shape_of, single};
use super::copy::dims_of;
use crate::shapes;
use tensorfleet_framework::shape::merge;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "EnsureShape",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["shape: shape", "T: type"],
        kernels: &[cpu::<EnsureShape>()],
        shape: Some(ensured),
        gradient: Some(crate::control::through),
        ..Op::DEFAULT
    },
    Op {
        name: "ExpandDims",
        inputs: &["input: T", "dim: Tdim"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tdim: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<ExpandDims>()],
        shape: Some(expanded),
        gradient: Some(back),
        ..Op::DEFAULT
    },
    Op {
        name: "Reshape",
        inputs: &["tensor: T", "shape: Tshape"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tshape: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Reshape>()],
        shape: Some(reshaped),
        gradient: Some(back),
        ..Op::DEFAULT
    },
    Op {
        name: "Squeeze",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "squeeze_dims: list(int) >= 0 = []"],
        kernels: &[cpu::<Squeeze>()],
        shape: Some(squeezed),
        gradient: Some(back),
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

/// A tensor has fewer dimensions than this.
const MOST_DIMENSIONS: usize = 254;

#[derive(Debug)]
struct Reshape;

impl Kernel for Reshape {
    fn new(_: &Attrs<'_>) -> Result<Reshape> {
        Ok(Reshape)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let output = reshape(input, ctx.input(1)?)?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

/// A tensor in the shape that another asks for.
pub(crate) fn reshape(input: Tensor, sizes: &Tensor) -> Result<Tensor> {
    if !is_legacy_vector(sizes) {
        return Err(invalid_argument!("sizes input must be 1-D, not {}", sizes.shape()));
    }
    if sizes.num_elements() >= MOST_DIMENSIONS {
        return Err(invalid_argument!(
            "too many dimensions: must be < {MOST_DIMENSIONS}, but received {}",
            sizes.num_elements()
        ));
    }
    let shape = complete(&sizes.to_i64_vec()?, input.dims())?;
    input.into_shape(shape)
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

/// The gradient in the shape that the input had.
fn back(g: &GradientContext<'_>) -> InputGradients {
    let mut gradients = vec![None; g.num_inputs()];
    gradients[0] = Some(g.reshape_like(g.grad(0)?, g.input(0))?.into());
    Ok(gradients)
}

fn ensured(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    Ok(vec![merge(c.input(0), c.attrs().shape("shape")?)?])
}

fn expanded(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let (Some(dims), Some(axis)) = (&c.input(0).dims, c.constant_int(1)) else {
        return Ok(vec![PartialShape::UNKNOWN]);
    };
    let at = shapes::axis_index(axis, dims.len() + 1)?;
    let mut dims = dims.clone();
    dims.insert(at, Some(1));
    Ok(vec![PartialShape::known(dims)])
}

fn squeezed(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let axes = c.attrs().ints("squeeze_dims")?.to_vec();
    let Some(dims) = &c.input(0).dims else { return Ok(vec![PartialShape::UNKNOWN]) };
    if axes.is_empty() {
        let known: Option<Vec<usize>> = dims.iter().copied().collect();
        let Some(known) = known else { return Ok(vec![PartialShape::UNKNOWN]) };
        return Ok(vec![PartialShape::known(known.into_iter().filter(|&d| d != 1).map(Some))]);
    }
    let mut gone = vec![false; dims.len()];
    for axis in axes {
        let at = shapes::axis_index(axis, dims.len())?;
        if dims[at].is_some_and(|dim| dim != 1) {
            return Err(invalid_argument!(
                "dimension {at} of a tensor of shape {} cannot be squeezed: it is not 1",
                c.input(0)
            ));
        }
        gone[at] = true;
    }
    let kept = dims.iter().zip(gone).filter(|(_, gone)| !gone).map(|(dim, _)| *dim);
    Ok(vec![PartialShape::known(kept)])
}

/// Takes the wanted sizes; one that is left open follows from the number of elements.
fn reshaped(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let mut wanted = c.input_as_shape(1);
    let constant = c.constant_ints(1);
    let Some(elements) = c.input(0).to_shape().map(|shape| shape.num_elements()) else {
        return Ok(vec![wanted]);
    };
    let Some(dims) = &mut wanted.dims else { return Ok(vec![wanted]) };
    let known: usize = dims.iter().flatten().product();
    match dims.iter().filter(|dim| dim.is_none()).count() {
        0 if known != elements && constant.is_some() => {
            return Err(invalid_argument!(
                "a tensor of shape {} cannot have the shape {wanted}: {elements} elements are not {known}",
                c.input(0)
            ));
        }
        1 if known > 0 => {
            if elements % known != 0 {
                return Err(invalid_argument!(
                    "a tensor of shape {} cannot have the shape {wanted}: {elements} is no multiple of \
                     {known}",
                    c.input(0)
                ));
            }
            dims.iter_mut()
                .filter(|dim| dim.is_none())
                .for_each(|dim| *dim = Some(elements / known));
        }
        _ => {}
    }
    Ok(vec![wanted])
}
