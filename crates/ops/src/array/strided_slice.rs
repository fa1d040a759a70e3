//! `StridedSlice` and its kin: reading, writing and differentiating Python's slices.

use std::sync::Arc;

use tensorfleet_framework::{
    Attrs, Changer, GradientContext, InputGradients, Kernel, KernelContext, Op, ShapeContext,
    Variable, cpu,
};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::arguments::requested_shape;
use super::copy::{Piece, materialize, overwrite, parallel};
use super::strided_spec::{Masks, Selection};
use super::types;
use super::view::View;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ResourceStridedSliceAssign",
        inputs: &["ref: resource", "begin: Index", "end: Index", "strides: Index", "value: T"],
        attrs: WRITE_ATTRS,
        stateful: true,
        kernels: &[cpu::<ResourceAssign>().types("T", types::STRIDED)],
        ..Op::DEFAULT
    },
    Op {
        name: "StridedSlice",
        inputs: &["input: T", "begin: Index", "end: Index", "strides: Index"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "Index: {int16, int32, int64}",
            "begin_mask: int = 0",
            "end_mask: int = 0",
            "ellipsis_mask: int = 0",
            "new_axis_mask: int = 0",
            "shrink_axis_mask: int = 0",
        ],
        kernels: &[cpu::<StridedSlice>().types("T", types::STRIDED)],
        shape: Some(slice_shape),
        gradient: Some(slice_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "StridedSliceAssign",
        inputs: &["ref: Ref(T)", "begin: Index", "end: Index", "strides: Index", "value: T"],
        outputs: &["output_ref: Ref(T)"],
        attrs: WRITE_ATTRS,
        kernels: &[cpu::<RefAssign>().types("T", types::STRIDED)],
        ..Op::DEFAULT
    },
    Op {
        name: "StridedSliceGrad",
        inputs: &["shape: Index", "begin: Index", "end: Index", "strides: Index", "dy: T"],
        outputs: &["output: T"],
        attrs: WRITE_ATTRS,
        kernels: &[cpu::<Gradient>().types("T", types::STRIDED)],
        shape: Some(crate::shapes::from_first),
        gradient: Some(grad_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorStridedSliceUpdate",
        inputs: &["input: T", "begin: Index", "end: Index", "strides: Index", "value: T"],
        outputs: &["output: T"],
        attrs: WRITE_ATTRS,
        kernels: &[cpu::<Update>().types("T", types::STRIDED)],
        gradient: Some(update_gradient),
        ..Op::DEFAULT
    },
];

const WRITE_ATTRS: &[&str] = &[
    "T: type",
    "Index: {int32, int64}",
    "begin_mask: int = 0",
    "end_mask: int = 0",
    "ellipsis_mask: int = 0",
    "new_axis_mask: int = 0",
    "shrink_axis_mask: int = 0",
];

/// Inputs 1 to 3 say what is selected of a tensor with dimensions `dims`.
fn select(masks: &Masks, ctx: &KernelContext<'_>, dims: &[usize]) -> Result<Selection> {
    masks.select(dims, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?)
}

#[derive(Debug)]
struct StridedSlice(Masks);

impl Kernel for StridedSlice {
    fn new(attrs: &Attrs<'_>) -> Result<StridedSlice> {
        Ok(StridedSlice(Masks::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let selection = select(&self.0, ctx, input.dims())?;
        let slice = materialize(input, selection.view(input.dims()), parallel(ctx))?;
        ctx.set_output(0, slice);
        Ok(())
    }
}

/// Puts the gradient of a slice where the slice was, and zeros elsewhere.
#[derive(Debug)]
struct Gradient(Masks);

impl Kernel for Gradient {
    fn new(attrs: &Attrs<'_>) -> Result<Gradient> {
        Ok(Gradient(Masks::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let shape = ctx.input(0)?;
        if shape.rank() != 1 {
            return Err(invalid_argument!(
                "shape must be 1-D, got shape.shape = {}",
                shape.shape()
            ));
        }
        let shape = requested_shape(&shape.to_i64_vec()?)?;
        let selection = select(&self.0, ctx, shape.dims())?;
        let dy = ctx.input(4)?;
        if dy.shape() != &selection.shape {
            return Err(invalid_argument!(
                "shape of dy was {} instead of {}",
                dy.shape(),
                selection.shape
            ));
        }
        let write = selection.view(shape.dims());
        let mut output = Tensor::zeros(dy.dtype(), shape)?;
        let read = View::of(dy.dims());
        overwrite(&mut output, &[Piece { source: dy, read, write }], parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct Update(Masks);

impl Kernel for Update {
    fn new(attrs: &Attrs<'_>) -> Result<Update> {
        Ok(Update(Masks::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut output = ctx.take_input(0)?;
        assign(&self.0, ctx, &mut output)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct RefAssign(Masks, Changer);

impl Kernel for RefAssign {
    fn new(attrs: &Attrs<'_>) -> Result<RefAssign> {
        Ok(RefAssign(Masks::new(attrs)?, attrs.changer()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable = Arc::clone(ctx.variable(0)?);
        variable.update(&ctx.change(&self.1), |value| assign(&self.0, ctx, value))?;
        ctx.set_output_ref(0, variable);
        Ok(())
    }
}

#[derive(Debug)]
struct ResourceAssign(Masks, Changer);

impl Kernel for ResourceAssign {
    fn new(attrs: &Attrs<'_>) -> Result<ResourceAssign> {
        Ok(ResourceAssign(Masks::new(attrs)?, attrs.changer()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable = ctx.resource::<Variable>(0)?;
        if variable.dtype() != ctx.input(4)?.dtype() {
            return Err(invalid_argument!(
                "l-value dtype {} does not match r-value dtype {}",
                variable.dtype(),
                ctx.input(4)?.dtype()
            ));
        }
        variable.update(&ctx.change(&self.1), |value| assign(&self.0, ctx, value))
    }
}

/// Writes input 4 into the selected part of `target`, broadcasting it.
fn assign(masks: &Masks, ctx: &KernelContext<'_>, target: &mut Tensor) -> Result<()> {
    let selection = select(masks, ctx, target.dims())?;
    let value = ctx.input(4)?;
    if matches!(value.dtype(), DType::QInt8 | DType::QUInt8 | DType::QInt32) {
        return Err(invalid_argument!("Unsupported data type: {}", value.dtype()));
    }
    if selection.shape.num_elements() == 0 {
        return Ok(());
    }
    let Some(read) = View::broadcast(value.dims(), selection.shape.dims()) else {
        return Err(invalid_argument!(
            "Cannot broadcast input shape {} into final shape {}",
            value.shape(),
            selection.shape
        ));
    };
    let write = selection.view(target.dims());
    overwrite(target, &[Piece { source: value, read, write }], parallel(ctx))
}

/// Sizes that depend on an unknown one are unknown: they differ between two guesses of it.
fn slice_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    const LARGE: usize = 1 << 30;
    let masks = Masks::new(&c.attrs())?;
    let Some(dims) = &c.input(0).dims else { return Ok(vec![PartialShape::UNKNOWN]) };
    let (Some(begin), Some(end), Some(strides)) = (c.constant(1), c.constant(2), c.constant(3))
    else {
        return Ok(vec![PartialShape::UNKNOWN]);
    };
    let select = |guess: usize| {
        let dims: Vec<usize> = dims.iter().map(|dim| dim.unwrap_or(guess)).collect();
        masks.select(&dims, &begin, &end, &strides).map(|selection| selection.shape)
    };
    let large = select(LARGE)?;
    let Ok(small) = select(0).or_else(|_| select(1)) else {
        return Ok(vec![PartialShape::of_rank(large.rank())]);
    };
    let dims = large.dims().iter().zip(small.dims()).map(|(a, b)| (a == b).then_some(*a));
    Ok(vec![PartialShape::known(dims)])
}

fn slice_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (begin, end, strides) = (g.input(1), g.input(2), g.input(3));
    let shape = g.cast(g.shape_tensor(g.input(0))?, g.dtype(begin))?;
    let grad = g.call_with_attrs("StridedSliceGrad", [shape, begin, end, strides, g.grad(0)?])?;
    Ok(vec![Some(grad.into()), None, None, None])
}

fn grad_gradient(g: &GradientContext<'_>) -> InputGradients {
    let inputs = [g.grad(0)?, g.input(1), g.input(2), g.input(3)];
    let taken = g.call_with_attrs("StridedSlice", inputs)?;
    Ok(vec![None, None, None, None, Some(taken.into())])
}

/// The tensor's is zero in the part that was replaced, the part's is what is there.
fn update_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (begin, end, strides, value, grad) =
        (g.input(1), g.input(2), g.input(3), g.input(4), g.grad(0)?);
    let inputs = [grad, begin, end, strides, g.zeros_like(value)?];
    let tensor = g.call_with_attrs("TensorStridedSliceUpdate", inputs)?;
    let part = g.call_with_attrs("StridedSlice", [grad, begin, end, strides])?;
    Ok(vec![Some(tensor.into()), None, None, None, Some(g.reshape_like(part, value)?.into())])
}
