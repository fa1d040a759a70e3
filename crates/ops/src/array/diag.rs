//! `Diag` and `DiagPart`: a tensor as the diagonal of one of twice its rank, and back.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::arguments::shape_of;
use super::copy::{Piece, dims_of, materialize, overwrite, parallel};
use super::view::{Axis, View};
use tensorfleet_framework::gradient::only;

const TYPES: &[DType] = &[
    DType::Half,
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::Int64,
    DType::Complex64,
    DType::Complex128,
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Diag",
        inputs: &["diagonal: T"],
        outputs: &["output: T"],
        attrs: &["T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"],
        kernels: &[cpu::<Diag>().types("T", TYPES)],
        gradient: Some(diag_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "DiagPart",
        inputs: &["input: T"],
        outputs: &["diagonal: T"],
        attrs: &["T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"],
        kernels: &[cpu::<DiagPart>().types("T", TYPES)],
        gradient: Some(part_gradient),
        ..Op::DEFAULT
    },
];

/// The diagonal of a square matrix.
fn diagonal(size: usize) -> View {
    let axis = Axis { len: size, stride: size as isize + 1 };
    View { offset: 0, axes: smallvec::smallvec![axis] }
}

#[derive(Debug)]
struct Diag;

impl Kernel for Diag {
    fn new(_: &Attrs<'_>) -> Result<Diag> {
        Ok(Diag)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        if input.rank() == 0 {
            return Err(invalid_argument!("Input must be at least rank 1, got 0"));
        }
        let mut dims = dims_of(input);
        dims.extend_from_slice(input.dims());
        let mut output = Tensor::zeros(input.dtype(), shape_of(&dims)?)?;
        let size = input.num_elements();
        let piece = Piece { source: input, read: View::of(&[size]), write: diagonal(size) };
        overwrite(&mut output, &[piece], parallel(ctx))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct DiagPart;

impl Kernel for DiagPart {
    fn new(_: &Attrs<'_>) -> Result<DiagPart> {
        Ok(DiagPart)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        if !input.rank().is_multiple_of(2) {
            return Err(invalid_argument!(
                "The rank of the tensor should be                                          even \
                 and positive, got shape {}",
                input.shape()
            ));
        }
        let (half, other) = input.dims().split_at(input.rank() / 2);
        if let Some(i) = (0..half.len()).find(|&i| half[i] != other[i]) {
            return Err(invalid_argument!(
                "Invalid shape {}: dimensions {i} and {} do not match.",
                input.shape(),
                half.len() + i
            ));
        }
        let shape = Shape::new(half)?;
        let output = materialize(input, diagonal(shape.num_elements()), parallel(ctx))?;
        ctx.set_output(0, output.into_shape(shape)?);
        Ok(())
    }
}

fn diag_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call("DiagPart", [g.grad(0)?])?)
}

fn part_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call("Diag", [g.grad(0)?])?)
}
