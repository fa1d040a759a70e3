//! `Slice`: a box out of a tensor.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, invalid_argument};

use super::copy::{materialize, parallel};
use super::types;
use super::view::View;

pub(super) const OPS: &[Op] = &[Op {
    name: "Slice",
    inputs: &["input: T", "begin: Index", "size: Index"],
    outputs: &["output: T"],
    attrs: &["T: type", "Index: {int32, int64}"],
    kernels: &[cpu::<Slice>().types("T", types::SLICED)],
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
