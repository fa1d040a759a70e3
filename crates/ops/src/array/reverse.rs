//! `Reverse`, `ReverseV2`, `ReverseSequence`: axes turned around, wholly or in part.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::arguments::axis_in;
use super::copy::{Piece, assemble, materialize, parallel};
use super::types;
use super::view::View;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Reverse",
        inputs: &["tensor: T", "dims: bool"],
        outputs: &["output: T"],
        attrs: &[
            "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, \
             float, double, complex64, complex128, string}",
        ],
        kernels: &[cpu::<Reverse>().types("T", types::BASIC)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(reverse_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ReverseSequence",
        inputs: &["input: T", "seq_lengths: Tlen"],
        outputs: &["output: T"],
        attrs: &[
            "seq_dim: int",
            "batch_dim: int = 0",
            "T: type",
            "Tlen: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<ReverseSequence>().types("T", types::BASIC)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(reverse_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ReverseV2",
        inputs: &["tensor: T", "axis: Tidx"],
        outputs: &["output: T"],
        attrs: &[
            "Tidx: {int32, int64} = DT_INT32",
            "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, \
             float, double, complex64, complex128, string}",
        ],
        kernels: &[cpu::<ReverseV2>().types("T", types::BASIC)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(reverse_gradient),
        ..Op::DEFAULT
    },
];

fn reverse(ctx: &mut KernelContext<'_>, turned: &[bool]) -> Result<()> {
    let input = ctx.input(0)?;
    let mut view = View::of(input.dims());
    for axis in (0..turned.len()).filter(|&axis| turned[axis]) {
        view = view.reversed(axis);
    }
    let output = materialize(input, view, parallel(ctx))?;
    ctx.set_output(0, output);
    Ok(())
}

#[derive(Debug)]
struct Reverse;

impl Kernel for Reverse {
    fn new(_: &Attrs<'_>) -> Result<Reverse> {
        Ok(Reverse)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, dims) = (ctx.input(0)?, ctx.input(1)?.clone());
        if input.rank() > 0 {
            if dims.rank() != 1 {
                return Err(invalid_argument!("'dims' must be 1-dimension, not {}", dims.rank()));
            }
            if dims.num_elements() != input.rank() {
                return Err(invalid_argument!(
                    "'dims' must have the same number of values as 'input' has dimensions. 'input' \
                     has {}'dims' has {} values",
                    input.rank(),
                    dims.num_elements()
                ));
            }
            if input.dims()[0] == 0 {
                return Err(invalid_argument!("Invalid input first dimension. Found 0."));
            }
            return reverse(ctx, dims.values::<bool>()?);
        }
        reverse(ctx, &[])
    }
}

#[derive(Debug)]
struct ReverseV2;

impl Kernel for ReverseV2 {
    fn new(_: &Attrs<'_>) -> Result<ReverseV2> {
        Ok(ReverseV2)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, axes) = (ctx.input(0)?, ctx.input(1)?);
        let rank = input.rank();
        if rank == 0 {
            return reverse(ctx, &[]);
        }
        if axes.rank() != 1 {
            return Err(invalid_argument!("'dims' must be 1-dimension, not {}", axes.rank()));
        }
        let mut turned = vec![false; rank];
        for (i, axis) in axes.to_i64_vec()?.into_iter().enumerate() {
            let Some(axis) = axis_in(axis, rank) else {
                return Err(invalid_argument!(
                    "'axis'[{i}] = {axis} is out of valid range [0, {}",
                    rank - 1
                ));
            };
            if std::mem::replace(&mut turned[axis], true) {
                return Err(invalid_argument!("axis {axis} specified more than once."));
            }
        }
        reverse(ctx, &turned)
    }
}

/// Turns the beginning of each sequence around and leaves the rest as it is.
#[derive(Debug)]
struct ReverseSequence {
    seq_dim: i64,
    batch_dim: i64,
}

impl Kernel for ReverseSequence {
    fn new(attrs: &Attrs<'_>) -> Result<ReverseSequence> {
        Ok(ReverseSequence { seq_dim: attrs.int("seq_dim")?, batch_dim: attrs.int("batch_dim")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, lengths) = (ctx.input(0)?, ctx.input(1)?);
        let (seq_dim, batch_dim) = self.check(input, lengths)?;
        let mut pieces = Vec::new();
        let mut piece = |batch: usize, start: usize, len: usize, turn: bool| {
            let write = View::of(input.dims()).at(batch_dim, batch).slice(seq_dim, start, len);
            let read = if turn { write.clone().reversed(seq_dim) } else { write.clone() };
            pieces.push(Piece { source: input, read, write });
        };
        let total = input.dims()[seq_dim];
        for (batch, len) in lengths.to_i64_vec()?.into_iter().enumerate() {
            if len < 0 {
                return Err(invalid_argument!("seq_lens({batch}) < 0"));
            }
            if len > total as i64 {
                return Err(invalid_argument!("seq_lens({batch}) > input.dims({seq_dim})"));
            }
            let len = len as usize;
            piece(batch, 0, len, true);
            piece(batch, len, total - len, false);
        }
        let output = assemble(input.dtype(), input.shape().clone(), &pieces, parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

impl ReverseSequence {
    /// The axis of the sequences and the axis that numbers them.
    fn check(&self, input: &Tensor, lengths: &Tensor) -> Result<(usize, usize)> {
        let rank = input.rank();
        let axis = |name: &str, value: i64| {
            let axis =
                usize::try_from(value).map_err(|_| invalid_argument!("Invalid {name} {value}"))?;
            if axis >= rank {
                return Err(invalid_argument!("{name} must be < input rank ( {axis} vs. {rank})"));
            }
            Ok(axis)
        };
        if lengths.rank() != 1 {
            return Err(invalid_argument!("seq_lengths must be 1-dim, not {}", lengths.rank()));
        }
        if self.seq_dim == self.batch_dim {
            return Err(invalid_argument!("batch_dim == seq_dim == {}", self.seq_dim));
        }
        let (seq_dim, batch_dim) =
            (axis("seq_dim", self.seq_dim)?, axis("batch_dim", self.batch_dim)?);
        if lengths.num_elements() != input.dims()[batch_dim] {
            return Err(invalid_argument!(
                "Length of seq_lengths != input.dims({batch_dim}), ({} vs. {})",
                lengths.num_elements(),
                input.dims()[batch_dim]
            ));
        }
        Ok((seq_dim, batch_dim))
    }
}

/// Turning round is its own inverse.
fn reverse_gradient(g: &GradientContext<'_>) -> InputGradients {
    let op = g.node().op.to_string();
    let back = g.call_with_attrs(&op, [g.grad(0)?, g.input(1)])?;
    Ok(vec![Some(back.into()), None])
}
