//! `MirrorPad` and its gradient: a tensor with a border of its own reflection.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::arguments::{check_size, shape_of};
use super::copy::{Piece, assemble, dims_of, materialize, parallel};
use super::types;
use super::view::View;
use crate::state::combine::{Combine, combine_rows};

const ATTRS: &[&str] =
    &["T: type", "Tpaddings: {int32, int64} = DT_INT32", "mode: {'REFLECT', 'SYMMETRIC'}"];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "MirrorPad",
        inputs: &["input: T", "paddings: Tpaddings"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<MirrorPad>().types("T", types::BASIC_AND_QUANTIZED)],
        gradient: Some(pad_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "MirrorPadGrad",
        inputs: &["input: T", "paddings: Tpaddings"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<MirrorPadGrad>().types("T", types::NUMBERS)],
        gradient: Some(grad_gradient),
        ..Op::DEFAULT
    },
];

/// How many elements at the edge are not repeated: the edge itself when reflecting, none otherwise.
pub(crate) fn skipped(attrs: &Attrs<'_>) -> Result<usize> {
    match &attrs.string("mode")?[..] {
        "REFLECT" => Ok(1),
        "SYMMETRIC" => Ok(0),
        _ => Err(invalid_argument!("mode must be either REFLECT or SYMMETRIC.")),
    }
}

/// What is added before and after each axis, not yet compared with its length.
fn borders(input: &Tensor, paddings: &Tensor) -> Result<Vec<[usize; 2]>> {
    let &[rows, 2] = paddings.dims() else {
        return Err(invalid_argument!(
            "paddings must be a matrix with 2 columns: {}",
            paddings.shape()
        ));
    };
    if rows != input.rank() {
        return Err(invalid_argument!(
            "The first dimension of paddings must be the rank of inputs{}, {}",
            paddings.shape(),
            input.shape()
        ));
    }
    let border = |pair: &[i64; 2]| match pair.map(usize::try_from) {
        [Ok(before), Ok(after)] => Ok([before, after]),
        _ => Err(invalid_argument!("paddings must be non-negative: {} {}", pair[0], pair[1])),
    };
    paddings.to_i64_vec()?.as_chunks().0.iter().map(border).collect()
}

/// An axis of length `len` has enough elements for its reflections.
fn check(skipped: usize, [before, after]: [usize; 2], len: usize) -> Result<()> {
    let available = len.saturating_sub(skipped);
    if before <= available && after <= available {
        return Ok(());
    }
    Err(if skipped == 1 {
        invalid_argument!(
            "paddings must be less than the dimension size: {before}, {after} not less than {len}"
        )
    } else {
        invalid_argument!(
            "paddings must be no greater than the dimension size: {before}, {after} greater than \
             {len}"
        )
    })
}

#[derive(Debug)]
struct MirrorPad {
    skipped: usize,
}

impl Kernel for MirrorPad {
    fn new(attrs: &Attrs<'_>) -> Result<MirrorPad> {
        Ok(MirrorPad { skipped: skipped(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let output = mirror_pad(parallel(ctx), ctx.input(0)?, ctx.input(1)?, self.skipped)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// A tensor with reflections around it.
pub(crate) fn mirror_pad(
    par: Parallel,
    input: &Tensor,
    paddings: &Tensor,
    skipped: usize,
) -> Result<Tensor> {
    let borders = borders(input, paddings)?;
    let mut dims = dims_of(input);
    for (dim, &border) in dims.iter_mut().zip(&borders) {
        check(skipped, border, *dim)?;
        *dim += border[0] + border[1];
    }
    let shape = shape_of(&dims)?;
    check_size(input.dtype(), &shape)?;
    let mut views = vec![(View::of(input.dims()), View::of(&dims))];
    for (axis, (&[before, after], &len)) in borders.iter().zip(input.dims()).enumerate() {
        let mut next = Vec::with_capacity(views.len() * 3);
        for (read, write) in views {
            if before > 0 {
                next.push((
                    read.clone().slice(axis, skipped, before).reversed(axis),
                    write.clone().slice(axis, 0, before),
                ));
            }
            if after > 0 {
                next.push((
                    read.clone().slice(axis, len - skipped - after, after).reversed(axis),
                    write.clone().slice(axis, before + len, after),
                ));
            }
            next.push((read, write.slice(axis, before, len)));
        }
        views = next;
    }
    let pieces: Vec<_> =
        views.into_iter().map(|(read, write)| Piece { source: input, read, write }).collect();
    assemble(input.dtype(), shape, &pieces, par)
}

#[derive(Debug)]
struct MirrorPadGrad {
    skipped: usize,
}

impl Kernel for MirrorPadGrad {
    fn new(attrs: &Attrs<'_>) -> Result<MirrorPadGrad> {
        Ok(MirrorPadGrad { skipped: skipped(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut gradient = ctx.take_input(0)?;
        let borders = borders(&gradient, ctx.input(1)?)?;
        for (&border, &dim) in borders.iter().zip(gradient.dims()) {
            let Some(len) = dim.checked_sub(border[0].saturating_add(border[1])) else {
                return Err(invalid_argument!(
                    "Padding {}, {} is larger than the dimension size {dim}",
                    border[0],
                    border[1]
                ));
            };
            check(self.skipped, border, len)?;
        }
        for (axis, &border) in borders.iter().enumerate() {
            if border != [0, 0] {
                gradient = fold(&gradient, axis, border, self.skipped, parallel(ctx))?;
            }
        }
        ctx.set_output(0, gradient);
        Ok(())
    }
}

/// Adds the borders of an axis to the elements that they are reflections of.
fn fold(
    gradient: &Tensor,
    axis: usize,
    [before, after]: [usize; 2],
    skipped: usize,
    parallel: Parallel,
) -> Result<Tensor> {
    let dims = gradient.dims();
    let len = dims[axis] - before - after;
    let slice =
        |start, len| materialize(gradient, View::of(dims).slice(axis, start, len), parallel);
    let mut folded = slice(before, len)?;
    let outer: usize = dims[..axis].iter().product();
    let width: usize = dims[axis + 1..].iter().product();
    for (border, last) in
        [(slice(0, before)?, skipped + before), (slice(before + len, after)?, len - skipped)]
    {
        let count = border.dims()[axis];
        // The first row of a border mirrors the last of the rows that it repeats.
        let row = |i: usize| Some(i / count * len + last - 1 - i % count);
        let rows: Vec<_> = (0..outer * count).map(row).collect();
        combine_rows(Combine::Add, &mut folded, &rows, width, &border)?;
    }
    Ok(folded)
}

fn pad_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.call_with_attrs("MirrorPadGrad", [g.grad(0)?, g.input(1)])?;
    Ok(vec![Some(grad.into()), None])
}

fn grad_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.call_with_attrs("MirrorPad", [g.grad(0)?, g.input(1)])?;
    Ok(vec![Some(grad.into()), None])
}
