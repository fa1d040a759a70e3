//! `MatrixDeterminant` and `LogMatrixDeterminant`.

use num_complex::Complex;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal};

use super::batch::{
    batch_shape, count, cubic_cost, for_each_matrix, inside, matrix_at, matrix_size, square,
};
use super::factors::Factors;
use super::gradient::per_matrix;
use super::matrix::Matrix;
use super::scalar::Scalar;

use DType::{Complex64, Complex128, Double, Float};

const TYPES: &[DType] = &[Double, Float, Complex64, Complex128];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchMatrixDeterminant",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: {float, double, complex64, complex128}"],
        kernels: &[cpu::<Determinant>().types("T", TYPES)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "LogMatrixDeterminant",
        inputs: &["input: T"],
        outputs: &["sign: T", "log_abs_determinant: T"],
        attrs: &["T: {half, float, double, complex64, complex128}"],
        kernels: &[cpu::<LogDeterminant>().types("T", TYPES)],
        gradient: Some(log_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "MatrixDeterminant",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: {half, float, double, complex64, complex128}"],
        kernels: &[cpu::<Determinant>().types("T", TYPES)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Determinant;

impl Kernel for Determinant {
    fn new(_: &Attrs<'_>) -> Result<Determinant> {
        Ok(Determinant)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        square(input)?;
        let [output] = dispatch!(
            input.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => for_each_factors::<S, 1>(par, input, |factors, [out]| {
                out[0] = factors.determinant();
            })?,
            else => return Err(internal!("a determinant of {}", input.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs)
    }
}

#[derive(Debug)]
struct LogDeterminant;

impl Kernel for LogDeterminant {
    fn new(_: &Attrs<'_>) -> Result<LogDeterminant> {
        Ok(LogDeterminant)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        square(input)?;
        let [sign, logarithm] = dispatch!(
            input.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => for_each_factors::<S, 2>(par, input, |factors, [sign, logarithm]| {
                let determinant = factors.log_determinant();
                (sign[0], logarithm[0]) = (determinant.0, S::from_real(determinant.1));
            })?,
            else => return Err(internal!("a determinant of {}", input.dtype()))
        );
        ctx.set_output(0, sign);
        ctx.set_output(1, logarithm);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs)
    }
}

/// Computes `N` numbers from the factors of each matrix.
fn for_each_factors<S: Scalar, const N: usize>(
    par: Parallel,
    input: &Tensor,
    f: impl Fn(&Factors<S>, [&mut [S]; N]) + Sync,
) -> Result<[Tensor; N]> {
    let size = matrix_size(input);
    let values = input.values::<S>()?;
    let shape = batch_shape(input, &[])?;
    let mut outputs = [const { None }; N];
    for output in &mut outputs {
        *output = Some(Tensor::for_overwrite::<S>(shape.clone())?);
    }
    let mut outputs = outputs.map(|output| output.expect("every output was just made"));
    let mut slices = [const { None }; N];
    for (slice, output) in slices.iter_mut().zip(&mut outputs) {
        *slice = Some(output.values_mut::<S>()?);
    }
    let slices = slices.map(|slice| slice.expect("every output was just made"));
    let inside = inside(par, count(input));
    for_each_matrix(par, count(input), slices, |index, out| {
        f(&Factors::new(inside, Matrix::from_slice(size, matrix_at(values, size, index))), out);
        Ok(())
    })?;
    Ok(outputs)
}

/// A determinant changes by itself times the trace of the inverse times the change.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    times_inverse(g, g.mul(g.grad(0)?, g.output(0))?)
}

/// The sign does not change, and the logarithm by the trace of the inverse times the change.
fn log_gradient(g: &GradientContext<'_>) -> InputGradients {
    times_inverse(g, g.grad(1)?)
}

fn times_inverse(g: &GradientContext<'_>, factors: Output) -> InputGradients {
    let inverse = g.out(NewNode::new("MatrixInverse").input(g.input(0)).attr("adjoint", true))?;
    only(g.mul(per_matrix(g, factors)?, inverse)?)
}
