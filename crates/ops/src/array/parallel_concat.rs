//! `ParallelConcat`, and the two ops into which TensorFlow's master turns it.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::arguments::check_size;
use super::copy::{Piece, assemble, overwrite, parallel};
use super::types;
use super::view::View;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ParallelConcat",
        inputs: &["values: N * T"],
        outputs: &["output: T"],
        attrs: &["N: int >= 1", "T: type", "shape: shape"],
        kernels: &[cpu::<ParallelConcat>().types("T", types::BASIC)],
        ..Op::DEFAULT
    },
    Op {
        name: "_ParallelConcatStart",
        outputs: &["output: dtype"],
        attrs: &["shape: shape", "dtype: type"],
        stateful: true,
        kernels: &[cpu::<Start>().types("dtype", types::BASIC)],
        ..Op::DEFAULT
    },
    Op {
        name: "_ParallelConcatUpdate",
        inputs: &["value: T", "update: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "loc: int"],
        kernels: &[cpu::<Update>().types("T", types::BASIC)],
        ..Op::DEFAULT
    },
];

fn full_shape(attrs: &Attrs<'_>) -> Result<Shape> {
    let shape = attrs.shape("shape")?;
    shape
        .to_shape()
        .ok_or_else(|| invalid_argument!("the shape of {} must be known, got {shape}", attrs.op()))
}

/// Joins tensors of one row each.
#[derive(Debug)]
struct ParallelConcat(Shape);

impl Kernel for ParallelConcat {
    fn new(attrs: &Attrs<'_>) -> Result<ParallelConcat> {
        Ok(ParallelConcat(full_shape(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let values = ctx.input_list(0..ctx.num_inputs())?;
        let dims = self.0.dims();
        if dims.first() != Some(&values.len()) {
            return Err(invalid_argument!(
                "{} values do not make a tensor of shape {}",
                values.len(),
                self.0
            ));
        }
        let mut pieces = Vec::with_capacity(values.len());
        for (i, &source) in values.iter().enumerate() {
            let write = View::of(dims).at(0, i);
            if source.dims() != &write.dims()[..] {
                return Err(invalid_argument!(
                    "value {i} of shape {} is not a row of shape {}",
                    source.shape(),
                    self.0
                ));
            }
            pieces.push(Piece { source, read: View::of(source.dims()), write });
        }
        let output = assemble(values[0].dtype(), self.0.clone(), &pieces, parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Makes the tensor whose rows the updates will write.
#[derive(Debug)]
struct Start(DType, Shape);

impl Kernel for Start {
    fn new(attrs: &Attrs<'_>) -> Result<Start> {
        Ok(Start(attrs.dtype("dtype")?, full_shape(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check_size(self.0, &self.1)?;
        ctx.set_output(0, Tensor::zeros(self.0, self.1.clone())?);
        Ok(())
    }
}

/// Writes one row.
#[derive(Debug)]
struct Update {
    row: i64,
}

impl Kernel for Update {
    fn new(attrs: &Attrs<'_>) -> Result<Update> {
        Ok(Update { row: attrs.int("loc")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut value = ctx.take_input(0)?;
        let update = ctx.input(1)?;
        if value.rank() == 0 || value.rank() != update.rank() {
            return Err(invalid_argument!(
                "value and update shape doesn't match: {} vs. {}",
                value.shape(),
                update.shape()
            ));
        }
        if let Some(at) = (1..value.rank()).find(|&at| value.dims()[at] != update.dims()[at]) {
            return Err(invalid_argument!(
                "value and update shape doesn't match at index {at}: {} vs. {}",
                value.shape(),
                update.shape()
            ));
        }
        if update.dims()[0] != 1 {
            return Err(invalid_argument!(
                "update shape doesn't match: {} vs. {}",
                update.shape(),
                value.shape()
            ));
        }
        let row = usize::try_from(self.row).ok().filter(|&row| row < value.dims()[0]);
        let Some(row) = row else {
            return Err(invalid_argument!("loc is out of range: {} {}", self.row, value.shape()));
        };
        let write = View::of(value.dims()).at(0, row);
        let piece = Piece { source: update, read: View::of(update.dims()), write };
        overwrite(&mut value, &[piece], parallel(ctx))?;
        ctx.set_output(0, value);
        Ok(())
    }
}
