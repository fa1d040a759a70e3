//! `MatrixBandPart`: matrices of which only some diagonals stay.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::types;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchMatrixBandPart",
        inputs: &["input: T", "num_lower: int64", "num_upper: int64"],
        outputs: &["band: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<BandPart>().types("T", types::NUMBERS)],
        ..Op::DEFAULT
    },
    Op {
        name: "MatrixBandPart",
        inputs: &["input: T", "num_lower: Tindex", "num_upper: Tindex"],
        outputs: &["band: T"],
        attrs: &["T: type", "Tindex: {int32, int64} = DT_INT64"],
        kernels: &[cpu::<BandPart>().types("T", types::PLAIN)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct BandPart;

impl Kernel for BandPart {
    fn new(_: &Attrs<'_>) -> Result<BandPart> {
        Ok(BandPart)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut matrices = ctx.take_input(0)?;
        let &[.., rows, columns] = matrices.dims() else {
            return Err(invalid_argument!(
                "input must be at least 2-dim, received shape: {}",
                matrices.shape()
            ));
        };
        let lower = width(ctx.input(1)?, "num_lower", rows, "rows")?;
        let upper = width(ctx.input(2)?, "num_upper", columns, "columns")?;
        let line = columns * matrices.dtype().size();
        if line > 0 && (lower.is_some() || upper.is_some()) {
            let size = matrices.dtype().size();
            matrices.write_raw(|bytes| {
                for (i, line) in bytes.chunks_exact_mut(line).enumerate() {
                    let row = i % rows;
                    let first = lower.map_or(0, |lower| row.saturating_sub(lower)).min(columns);
                    let end = upper.map_or(columns, |upper| (row + upper + 1).min(columns));
                    line[..first * size].fill(0);
                    line[end * size..].fill(0);
                }
                Ok(())
            })?;
        }
        ctx.set_output(0, matrices);
        Ok(())
    }
}

/// How many diagonals stay on one side; all if negative.
fn width(tensor: &Tensor, name: &str, limit: usize, of: &str) -> Result<Option<usize>> {
    if tensor.rank() != 0 {
        return Err(invalid_argument!("{name} must be scalar, got shape {}", tensor.shape()));
    }
    let width = tensor.to_i64_vec()?[0];
    if width > limit as i64 {
        return Err(invalid_argument!(
            "{name} must be negative or less or equal to number of {of} ({limit}) got: {width}"
        ));
    }
    Ok(usize::try_from(width).ok())
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let band = g.call("MatrixBandPart", [g.grad(0)?, g.input(1), g.input(2)])?;
    Ok(vec![Some(band.into()), None, None])
}
