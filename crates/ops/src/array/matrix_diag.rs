//! `MatrixDiag`, `MatrixDiagPart`, `MatrixSetDiag` and their versions: diagonals of matrices as
//! rows of a tensor, and back.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, Op, cpu,
};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::arguments::shape_of;
use super::copy::{Piece, assemble, dims_of, overwrite, parallel};
use super::diagonals::{Align, Band};
use super::types;
use super::view::View;
use tensorfleet_framework::gradient::{both, only};

const MAKE: &[KernelDef] = &[cpu::<MatrixDiag>().types("T", types::PLAIN)];
const TAKE: &[KernelDef] = &[cpu::<MatrixDiagPart>().types("T", types::PLAIN)];
const SET: &[KernelDef] = &[cpu::<MatrixSetDiag>().types("T", types::PLAIN)];

const ALIGNED: &[&str] =
    &["T: type", "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'"];
const PLAIN: &[&str] = &["T: type"];

const fn make(
    name: &'static str,
    inputs: &'static [&'static str],
    attrs: &'static [&'static str],
) -> Op {
    Op { name, inputs, outputs: &["output: T"], attrs, kernels: MAKE, ..Op::DEFAULT }
}

const fn part(
    name: &'static str,
    inputs: &'static [&'static str],
    attrs: &'static [&'static str],
) -> Op {
    Op { name, inputs, outputs: &["diagonal: T"], attrs, kernels: TAKE, ..Op::DEFAULT }
}

const fn set(
    name: &'static str,
    inputs: &'static [&'static str],
    attrs: &'static [&'static str],
) -> Op {
    Op { name, inputs, outputs: &["output: T"], attrs, kernels: SET, ..Op::DEFAULT }
}

const MAKE_INPUTS: &[&str] =
    &["diagonal: T", "k: int32", "num_rows: int32", "num_cols: int32", "padding_value: T"];
const PART_INPUTS: &[&str] = &["input: T", "k: int32", "padding_value: T"];
const SET_INPUTS: &[&str] = &["input: T", "diagonal: T", "k: int32"];

pub(super) const OPS: &[Op] = &[
    make("BatchMatrixDiag", &["diagonal: T"], PLAIN),
    part("BatchMatrixDiagPart", &["input: T"], PLAIN),
    set("BatchMatrixSetDiag", &["input: T", "diagonal: T"], PLAIN),
    make("MatrixDiag", &["diagonal: T"], PLAIN).with_gradient(make_gradient),
    part("MatrixDiagPart", &["input: T"], PLAIN).with_gradient(part_gradient),
    part("MatrixDiagPartV2", PART_INPUTS, PLAIN).with_gradient(part_v3_gradient),
    part("MatrixDiagPartV3", PART_INPUTS, ALIGNED).with_gradient(part_v3_gradient),
    make("MatrixDiagV2", MAKE_INPUTS, PLAIN).with_gradient(make_v3_gradient),
    make("MatrixDiagV3", MAKE_INPUTS, ALIGNED).with_gradient(make_v3_gradient),
    set("MatrixSetDiag", &["input: T", "diagonal: T"], PLAIN)
        .with_shape(crate::shapes::unchanged)
        .with_gradient(set_gradient),
    set("MatrixSetDiagV2", SET_INPUTS, PLAIN).with_gradient(set_v3_gradient),
    set("MatrixSetDiagV3", SET_INPUTS, ALIGNED)
        .with_shape(crate::shapes::unchanged)
        .with_gradient(set_v3_gradient),
];

/// A tensor of `shape` made of pieces, with `padding` or zeros where there are none.
fn on_padding(
    ctx: &KernelContext<'_>,
    shape: Shape,
    padding: Option<&Tensor>,
    pieces: Vec<Piece<'_>>,
) -> Result<Tensor> {
    let dtype = ctx.input(0)?.dtype();
    match padding {
        Some(source) if source.raw().iter().any(|&byte| byte != 0) => {
            let dims = shape.dims();
            let mut all = vec![Piece { source, read: View::repeated(dims), write: View::of(dims) }];
            all.extend(pieces);
            assemble(dtype, shape, &all, parallel(ctx))
        }
        _ => {
            let mut output = Tensor::zeros(dtype, shape)?;
            overwrite(&mut output, &pieces, parallel(ctx))?;
            Ok(output)
        }
    }
}

#[derive(Debug)]
struct MatrixDiag(Align);

impl Kernel for MatrixDiag {
    fn new(attrs: &Attrs<'_>) -> Result<MatrixDiag> {
        Ok(MatrixDiag(Align::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let diagonal = ctx.input(0)?;
        let mut band = Band::MAIN;
        let (mut rows, mut columns) = (-1, -1);
        let mut padding = None;
        if ctx.num_inputs() > 1 {
            band = Band::new(ctx.input(1)?)?;
            rows = size(ctx.input(2)?, "num_rows")?;
            columns = size(ctx.input(3)?, "num_cols")?;
            padding = Some(ctx.input(4)?);
            if ctx.input(4)?.rank() != 0 {
                return Err(invalid_argument!("padding_value must be a scalar"));
            }
        }
        let Some((&longest, outer)) = diagonal.dims().split_last() else {
            return Err(invalid_argument!(
                "diagonal must be at least 1-dim, received shape: {}",
                diagonal.shape()
            ));
        };
        let mut batch = outer;
        if band.lower != band.upper {
            match outer.split_last() {
                Some((&count, outer)) if count == band.count() => batch = outer,
                _ => {
                    return Err(invalid_argument!(
                        "The number of diagonals provided in the input does not match the \
                         lower_diag_index and upper_diag_index range."
                    ));
                }
            }
        }
        let (rows, columns) = matrix_size(band, longest, rows, columns)?;
        let mut dims = dims_of(diagonal);
        dims.truncate(batch.len());
        let count = dims.iter().product();
        dims.extend([rows, columns]);
        let pieces = band
            .views(self.0, count, rows, columns)
            .into_iter()
            .map(|(write, read)| Piece { source: diagonal, read, write })
            .collect();
        let output = on_padding(ctx, shape_of(&dims)?, padding, pieces)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn size(tensor: &Tensor, name: &str) -> Result<i64> {
    if tensor.rank() != 0 {
        return Err(invalid_argument!("{name} must be a scalar"));
    }
    Ok(tensor.scalar_value::<i32>()?.into())
}

/// The size of matrices that have the diagonals of `band`, the longest of `longest` elements, where
/// -1 asks for the smallest that is enough.
fn matrix_size(band: Band, longest: usize, rows: i64, columns: i64) -> Result<(usize, usize)> {
    let least_rows = longest as i64 - band.upper.min(0);
    let least_columns = longest as i64 + band.lower.max(0);
    if rows != -1 && rows < least_rows {
        return Err(invalid_argument!("The number of rows is too small."));
    }
    if columns != -1 && columns < least_columns {
        return Err(invalid_argument!("The number of columns is too small."));
    }
    let (rows, columns) = match (rows, columns) {
        (-1, -1) => (least_rows.max(least_columns), least_rows.max(least_columns)),
        (-1, columns) => (least_rows, columns),
        (rows, -1) => (rows, least_columns),
        both => both,
    };
    if rows != least_rows && columns != least_columns {
        return Err(invalid_argument!(
            "The number of rows or columns is not consistent with the specified d_lower, d_upper, \
             and diagonal."
        ));
    }
    Ok((rows as usize, columns as usize))
}

#[derive(Debug)]
struct MatrixDiagPart(Align);

impl Kernel for MatrixDiagPart {
    fn new(attrs: &Attrs<'_>) -> Result<MatrixDiagPart> {
        Ok(MatrixDiagPart(Align::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let mut band = Band::MAIN;
        let mut padding = None;
        if ctx.num_inputs() > 1 {
            band = Band::new(ctx.input(1)?)?;
            padding = Some(ctx.input(2)?);
            if ctx.input(2)?.rank() != 0 {
                return Err(invalid_argument!("Padding must be scalar."));
            }
        }
        let &[ref outer @ .., rows, columns] = input.dims() else {
            return Err(invalid_argument!(
                "input must be at least 2-dim, received shape: {}",
                input.shape()
            ));
        };
        band.check(rows, columns, ".")?;
        let batch = outer.iter().product();
        let mut dims = dims_of(input);
        dims.truncate(outer.len());
        if band.count() > 1 {
            dims.push(band.count());
        }
        dims.push(band.longest(rows, columns));
        let views = band.views(self.0, batch, rows, columns).into_iter();
        let pieces = views.map(|(read, write)| Piece { source: input, read, write }).collect();
        let output = on_padding(ctx, shape_of(&dims)?, padding, pieces)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct MatrixSetDiag(Align);

impl Kernel for MatrixSetDiag {
    fn new(attrs: &Attrs<'_>) -> Result<MatrixSetDiag> {
        Ok(MatrixSetDiag(Align::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut output = ctx.take_input(0)?;
        let diagonal = ctx.input(1)?;
        let band = if ctx.num_inputs() > 2 { Band::new(ctx.input(2)?)? } else { Band::MAIN };
        let &[ref outer @ .., rows, columns] = output.dims() else {
            return Err(invalid_argument!(
                "input must be at least 2-dim, received shape: {}",
                output.shape()
            ));
        };
        if diagonal.rank() == 0 {
            return Err(invalid_argument!(
                "diagonal must be at least 1-dim, received shape: {}",
                diagonal.shape()
            ));
        }
        band.check(rows, columns, "")?;
        let mut dims = dims_of(&output);
        dims.truncate(outer.len());
        if band.count() > 1 {
            if diagonal.dims().iter().rev().nth(1) != Some(&band.count()) {
                return Err(invalid_argument!(
                    "The number of diagonals provided in `diag` is not consistent with \
                     `lower_diag_index` and `upper_diag_index`"
                ));
            }
            dims.push(band.count());
        }
        dims.push(band.longest(rows, columns));
        if diagonal.dims() != &dims[..] {
            return Err(invalid_argument!(
                "Either first dimensions of diagonal don't match input.shape[:-2], or \
                 diagonal.shape[:-1] is not equal to the longests diagonal in range \
                 [lower_diag_index:upper_diag_index].\nInput shape: {}\nDiagonal shape: {}\n\
                 Expected diagonal shape: {}",
                output.shape(),
                diagonal.shape(),
                Shape::new(&dims)?
            ));
        }
        let batch = outer.iter().product();
        let views = band.views(self.0, batch, rows, columns).into_iter();
        let pieces: Vec<_> =
            views.map(|(write, read)| Piece { source: diagonal, read, write }).collect();
        overwrite(&mut output, &pieces, parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn make_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call("MatrixDiagPart", [g.grad(0)?])?)
}

/// Gradients are made of the ops that place diagonals as the node does.
fn of_version(g: &GradientContext<'_>, second: &'static str, third: &'static str) -> &'static str {
    if g.node().op.ends_with("V2") { second } else { third }
}

fn make_v3_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let zero = g.number_like(0.0, grad)?;
    let diagonal = g.call_with_attrs(
        of_version(g, "MatrixDiagPartV2", "MatrixDiagPartV3"),
        [grad, g.input(1), zero],
    )?;
    Ok(vec![Some(diagonal.into()), None, None, None, None])
}

fn part_v3_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, grad) = (g.input(0), g.grad(0)?);
    let zeros = g.zeros_like(input)?;
    let matrix = g.call_with_attrs(
        of_version(g, "MatrixSetDiagV2", "MatrixSetDiagV3"),
        [zeros, grad, g.input(1)],
    )?;
    Ok(vec![Some(matrix.into()), None, None])
}

fn part_gradient(g: &GradientContext<'_>) -> InputGradients {
    let zeros = g.zeros_like(g.input(0))?;
    only(g.call("MatrixSetDiag", [zeros, g.grad(0)?])?)
}

fn set_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let zeros = g.zeros_like(g.input(1))?;
    both(g.call("MatrixSetDiag", [grad, zeros])?, g.call("MatrixDiagPart", [grad])?)
}

fn set_v3_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (k, grad) = (g.input(2), g.grad(0)?);
    let zeros = g.zeros_like(g.input(1))?;
    let input =
        g.call_with_attrs(of_version(g, "MatrixSetDiagV2", "MatrixSetDiagV3"), [grad, zeros, k])?;
    let zero = g.number_like(0.0, grad)?;
    let diagonal =
        g.call_with_attrs(of_version(g, "MatrixDiagPartV2", "MatrixDiagPartV3"), [grad, k, zero])?;
    Ok(vec![Some(input.into()), Some(diagonal.into()), None])
}
