//! `Roll`: elements shifted along axes, those that fall off one end coming back at the other.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::copy::{Piece, assemble, parallel};
use super::types;
use super::view::View;

pub(super) const OPS: &[Op] = &[Op {
    name: "Roll",
    inputs: &["input: T", "shift: Tshift", "axis: Taxis"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tshift: {int32, int64}", "Taxis: {int32, int64}"],
    kernels: &[cpu::<Roll>().types("T", types::ALL)],
    shape: Some(crate::shapes::unchanged),
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Roll;

impl Kernel for Roll {
    fn new(_: &Attrs<'_>) -> Result<Roll> {
        Ok(Roll)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let shifts = shifts(input, ctx.input(1)?, ctx.input(2)?)?;
        // Each axis that moves is cut in two pieces, which change places.
        let mut views = vec![(View::of(input.dims()), View::of(input.dims()))];
        for (axis, (&shift, &len)) in shifts.iter().zip(input.dims()).enumerate() {
            if shift == 0 {
                continue;
            }
            let rest = len - shift;
            views = views
                .into_iter()
                .flat_map(|(read, write)| {
                    let forward =
                        (read.clone().slice(axis, 0, rest), write.clone().slice(axis, shift, rest));
                    let around = (read.slice(axis, rest, shift), write.slice(axis, 0, shift));
                    [forward, around]
                })
                .collect();
        }
        let pieces: Vec<_> =
            views.into_iter().map(|(read, write)| Piece { source: input, read, write }).collect();
        let output = assemble(input.dtype(), input.shape().clone(), &pieces, parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// How far each axis is rolled, less than its length.
fn shifts(input: &Tensor, shift: &Tensor, axis: &Tensor) -> Result<Vec<usize>> {
    let rank = input.rank();
    if rank == 0 {
        return Err(invalid_argument!("input must be 1-D or higher"));
    }
    for (name, tensor) in [("shift", shift), ("axis", axis)] {
        if tensor.rank() > 1 {
            return Err(invalid_argument!(
                "{name} must be a scalar or a 1-D vector. Found: {}",
                tensor.shape()
            ));
        }
    }
    if shift.shape() != axis.shape() {
        return Err(invalid_argument!("shift and axis must have the same size"));
    }
    let mut shifts = vec![0i64; rank];
    for (shift, axis) in shift.to_i64_vec()?.into_iter().zip(axis.to_i64_vec()?) {
        let axis = if axis < 0 { axis.wrapping_add(rank as i64) } else { axis };
        let Some(at) = usize::try_from(axis).ok().filter(|&axis| axis < rank) else {
            return Err(invalid_argument!("axis {axis} is out of range"));
        };
        let len = (input.dims()[at] as i64).max(1);
        shifts[at] = (shifts[at] + shift.rem_euclid(len)) % len;
    }
    Ok(shifts.into_iter().map(|shift| shift as usize).collect())
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let back = g.call("Roll", [g.grad(0)?, g.neg(g.input(1))?, g.input(2)])?;
    Ok(vec![Some(back.into()), None, None])
}
