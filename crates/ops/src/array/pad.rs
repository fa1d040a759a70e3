//! `Pad` and `PadV2`: a tensor with a border of one value.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, ShapeContext, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::arguments::{check_size, shape_of};
use super::copy::{Piece, assemble, dims_of, overwrite, parallel};
use super::types;
use super::view::View;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Pad",
        inputs: &["input: T", "paddings: Tpaddings"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tpaddings: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Pad>().types("T", types::BASIC_AND_QUANTIZED)],
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "PadV2",
        inputs: &["input: T", "paddings: Tpaddings", "constant_values: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "Tpaddings: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Pad>().types("T", types::BASIC_AND_QUANTIZED)],
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Pad;

impl Kernel for Pad {
    fn new(_: &Attrs<'_>) -> Result<Pad> {
        Ok(Pad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let value = if ctx.num_inputs() == 3 { Some(ctx.input(2)?) } else { None };
        if let Some(value) = value
            && value.rank() != 0
        {
            return Err(invalid_argument!(
                "constant_values must be a scalar. Found: {}",
                value.shape()
            ));
        }
        let input = ctx.input(0)?;
        let borders = borders(input, ctx.input(1)?)?;
        if borders.iter().all(|&border| border == (0, 0)) {
            let output = ctx.take_input(0)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        let output = pad(input, &borders, value, ctx)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// What is to be added before and after each axis.
fn borders(input: &Tensor, paddings: &Tensor) -> Result<Vec<(usize, usize)>> {
    let &[rows, 2] = paddings.dims() else {
        return Err(invalid_argument!(
            "paddings must be a matrix with 2 columns: {}",
            paddings.shape()
        ));
    };
    if rows != input.rank() {
        return Err(invalid_argument!(
            "The first dimension of paddings must be the rank of inputs{} {}",
            paddings.shape(),
            input.shape()
        ));
    }
    let border = |pair: &[i64; 2]| match pair.map(usize::try_from) {
        [Ok(before), Ok(after)] => Ok((before, after)),
        _ => Err(invalid_argument!("Paddings must be non-negative: {} {}", pair[0], pair[1])),
    };
    paddings.to_i64_vec()?.as_chunks().0.iter().map(border).collect()
}

fn pad(
    input: &Tensor,
    borders: &[(usize, usize)],
    value: Option<&Tensor>,
    ctx: &KernelContext<'_>,
) -> Result<Tensor> {
    let mut dims = dims_of(input);
    for (dim, (before, after)) in dims.iter_mut().zip(borders) {
        *dim = dim.saturating_add(*before).saturating_add(*after).min(i64::MAX as usize);
    }
    let shape = shape_of(&dims)?;
    check_size(input.dtype(), &shape)?;
    let mut write = View::of(&dims);
    for (axis, (&(before, _), &len)) in borders.iter().zip(input.dims()).enumerate() {
        write = write.slice(axis, before, len);
    }
    let inside = Piece { source: input, read: View::of(input.dims()), write };
    match value {
        None => {
            let mut output = Tensor::zeros(input.dtype(), shape)?;
            overwrite(&mut output, &[inside], parallel(ctx))?;
            Ok(output)
        }
        Some(source) => {
            let everywhere = Piece { source, read: View::repeated(&dims), write: View::of(&dims) };
            assemble(input.dtype(), shape, &[everywhere, inside], parallel(ctx))
        }
    }
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let Some(dims) = &c.input(0).dims else { return Ok(vec![PartialShape::UNKNOWN]) };
    let Some(paddings) = c.constant_ints(1).filter(|p| p.len() == 2 * dims.len()) else {
        return Ok(vec![PartialShape::of_rank(dims.len())]);
    };
    let padded = dims.iter().zip(paddings.chunks_exact(2)).map(|(dim, pair)| {
        dim.and_then(|dim| usize::try_from(dim as i64 + pair[0] + pair[1]).ok())
    });
    Ok(vec![PartialShape::known(padded)])
}

/// The inner part of the gradient; what was padded with is not differentiated.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, grad) = (g.input(0), g.grad(0)?);
    let paddings = g.cast(g.input(1), tensorfleet_tensor::DType::Int32)?;
    let (zero, axis) = (g.scalar(0i32)?, g.scalar(1i32)?);
    let before = g.call("GatherV2", [paddings, zero, axis])?;
    let mut gradients = vec![None; g.num_inputs()];
    gradients[0] = Some(g.call("Slice", [grad, before, g.shape_tensor(input)?])?.into());
    Ok(gradients)
}
