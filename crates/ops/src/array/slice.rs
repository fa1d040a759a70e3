//! `Slice`: a box out of a tensor.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, ShapeContext, cpu,
};
use tensorfleet_tensor::{Result, invalid_argument};

use super::copy::{materialize, parallel};
use super::types;
use super::view::View;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[Op {
    name: "Slice",
    inputs: &["input: T", "begin: Index", "size: Index"],
    outputs: &["output: T"],
    attrs: &["T: type", "Index: {int32, int64}"],
    kernels: &[cpu::<Slice>().types("T", types::SLICED)],
    shape: Some(shape),
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Slice;

impl Kernel for Slice {
    fn new(_: &Attrs<'_>) -> Result<Slice> {
        Ok(Slice)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, begin, size) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let rank = input.rank();
        if [begin, size].iter().any(|list| list.dims() != [rank]) {
            return Err(invalid_argument!(
                "Expected begin and size arguments to be 1-D tensors of size {rank}, but got shapes \
                 {} and {} instead.",
                begin.shape(),
                size.shape()
            ));
        }
        let mut view = View::of(input.dims());
        let (begin, size) = (begin.to_i64_vec()?, size.to_i64_vec()?);
        for (axis, &dim) in input.dims().iter().enumerate() {
            let (begin, size, dim) = (begin[axis], size[axis], dim as i64);
            if !(0..=dim).contains(&begin) {
                return Err(invalid_argument!(
                    "Expected begin[{axis}] in [0, {dim}], but got {begin}"
                ));
            }
            let rest = dim - begin;
            let len = if size == -1 { rest } else { size };
            if !(0..=rest).contains(&len) {
                return Err(invalid_argument!(
                    "Expected size[{axis}] in [0, {rest}], but got {size}"
                ));
            }
            view = view.slice(axis, begin as usize, len as usize);
        }
        let output = materialize(input, view, parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let Some(dims) = &c.input(0).dims else { return Ok(vec![c.input_as_shape(2)]) };
    let (Some(begin), Some(size)) = (c.constant_ints(1), c.constant_ints(2)) else {
        return Ok(vec![c.input_as_shape(2)]);
    };
    if begin.len() != dims.len() || size.len() != dims.len() {
        return Err(invalid_argument!(
            "begin and size of a slice of a tensor of shape {} must have {} elements",
            c.input(0),
            dims.len()
        ));
    }
    let mut sizes = Vec::with_capacity(dims.len());
    for ((&dim, &begin), &size) in dims.iter().zip(&begin).zip(&size) {
        let length = match (size, dim) {
            (-1, Some(dim)) => dim.checked_sub(usize::try_from(begin).unwrap_or(usize::MAX)),
            (-1, None) => None,
            (size, _) => usize::try_from(size).ok(),
        };
        if let (Some(length), Some(dim)) = (length, dim)
            && begin as i128 + length as i128 > dim as i128
        {
            return Err(invalid_argument!(
                "a slice of {length} elements from {begin} on does not fit into dimension of size {dim}"
            ));
        }
        sizes.push(length);
    }
    Ok(vec![PartialShape::known(sizes)])
}

/// The gradient, with zeros around it where nothing was taken.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, begin, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let begin = g.cast(begin, tensorfleet_tensor::DType::Int32)?;
    let after = g.sub(g.sub(g.shape_tensor(input)?, g.shape_tensor(g.output(0))?)?, begin)?;
    let paddings = g.out(NewNode::new("Pack").list(&[begin, after]).attr("axis", 1))?;
    Ok(vec![Some(g.call("Pad", [grad, paddings])?.into()), None, None])
}
