//! `TridiagonalSolve` and `TridiagonalMatMul`: matrices with three diagonals.

use num_complex::Complex;
use num_traits::Float;
use tensorfleet_framework::gradient::both;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, invalid_argument};

use super::batch::{check_batches, count, for_each_matrix, matrix_at, matrix_size};
use super::gradient::{Shift, shifted};
use super::matrix::Matrix;
use super::perturbed::solve_perturbed;
use super::scalar::Scalar;

use DType::{Complex64, Complex128, Double, Float as Single};

const TYPES: &[DType] = &[Double, Single, Complex64, Complex128];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "TridiagonalMatMul",
        inputs: &["superdiag: T", "maindiag: T", "subdiag: T", "rhs: T"],
        outputs: &["output: T"],
        attrs: &["T: {double, float, complex64, complex128}"],
        kernels: &[cpu::<TridiagonalMatMul>().types("T", TYPES)],
        gradient: Some(product_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TridiagonalSolve",
        inputs: &["diagonals: T", "rhs: T"],
        outputs: &["output: T"],
        attrs: &[
            "partial_pivoting: bool = true",
            "perturb_singular: bool = false",
            "T: {double, float, complex64, complex128}",
        ],
        kernels: &[cpu::<TridiagonalSolve>().types("T", TYPES)],
        gradient: Some(solve_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct TridiagonalMatMul;

impl Kernel for TridiagonalMatMul {
    fn new(_: &Attrs<'_>) -> Result<TridiagonalMatMul> {
        Ok(TridiagonalMatMul)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let inputs = ctx.input_list(0..4)?;
        check_batches(&inputs)?;
        let rows = matrix_size(inputs[3]).0;
        for (input, name) in inputs.iter().zip(["superdiagonal", "main diagonal", "subdiagonal"]) {
            if matrix_size(input) != (1, rows) {
                return Err(invalid_argument!("Invalid {name} shape."));
            }
        }
        let output = dispatch!(
            inputs[3].dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => multiply::<S>(par, &inputs)?,
            else => return Err(internal!("a tridiagonal matrix of {}", inputs[3].dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

fn multiply<S: Scalar>(par: Parallel, inputs: &[&Tensor]) -> Result<Tensor> {
    let rhs = inputs[3];
    let (rows, columns) = matrix_size(rhs);
    let values = inputs.iter().map(|input| input.values::<S>()).collect::<Result<Vec<&[S]>>>()?;
    Tensor::try_build(rhs.shape().clone(), |out: &mut [S]| {
        if out.is_empty() {
            return Ok(());
        }
        for_each_matrix(par, count(rhs), [out], |index, [out]| {
            let [above, main, below] =
                [0, 1, 2].map(|i| &values[i][index * rows..(index + 1) * rows]);
            let x = matrix_at(values[3], (rows, columns), index);
            for (i, out) in out.chunks_exact_mut(columns).enumerate() {
                for (j, out) in out.iter_mut().enumerate() {
                    let mut sum = main[i] * x[i * columns + j];
                    if i > 0 {
                        sum += below[i] * x[(i - 1) * columns + j];
                    }
                    if i + 1 < rows {
                        sum += above[i] * x[(i + 1) * columns + j];
                    }
                    *out = sum;
                }
            }
            Ok(())
        })
    })
}

#[derive(Debug)]
struct TridiagonalSolve {
    partial_pivoting: bool,
    perturb_singular: bool,
}

impl Kernel for TridiagonalSolve {
    fn new(attrs: &Attrs<'_>) -> Result<TridiagonalSolve> {
        let solve = TridiagonalSolve {
            partial_pivoting: attrs.bool("partial_pivoting")?,
            perturb_singular: attrs.bool("perturb_singular")?,
        };
        if solve.perturb_singular && !solve.partial_pivoting {
            return Err(invalid_argument!(
                "Setting perturb_singular requires also setting partial_pivoting."
            ));
        }
        Ok(solve)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (diagonals, rhs) = (ctx.input(0)?, ctx.input(1)?);
        check_batches(&[diagonals, rhs])?;
        let ((three, columns), (rows, _)) = (matrix_size(diagonals), matrix_size(rhs));
        if three != 3 {
            return Err(invalid_argument!(
                "Expected diagonals to be provided as a matrix with 3 rows, got {three} rows."
            ));
        }
        if columns != rows {
            return Err(invalid_argument!(
                "Expected the same number of left-hand sides and right-hand sides, got {columns} \
                 and {rows}."
            ));
        }
        let output = dispatch!(
            rhs.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.solve::<S>(par, diagonals, rhs)?,
            else => return Err(internal!("a tridiagonal matrix of {}", rhs.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

impl TridiagonalSolve {
    fn solve<S: Scalar>(&self, par: Parallel, diagonals: &Tensor, rhs: &Tensor) -> Result<Tensor> {
        let (size, rhs_size) = (matrix_size(diagonals), matrix_size(rhs));
        let (a, b) = (diagonals.values::<S>()?, rhs.values::<S>()?);
        Tensor::try_build(rhs.shape().clone(), |out: &mut [S]| {
            if out.is_empty() {
                return Ok(());
            }
            for_each_matrix(par, count(rhs), [out], |index, [out]| {
                let a = Matrix::from_slice(size, matrix_at(a, size, index));
                let mut x = Matrix::from_slice(rhs_size, matrix_at(b, rhs_size, index));
                if self.perturb_singular {
                    solve_perturbed(&a, &mut x);
                    out.copy_from_slice(&x.values);
                    return Ok(());
                }
                match eliminate(&a, &mut x, self.partial_pivoting) {
                    Some(()) => out.copy_from_slice(&x.values),
                    None => out.fill(S::from_real(Float::nan())),
                }
                Ok(())
            })
        })
    }
}

/// Gaussian elimination; nothing if a pivot vanishes. Exchanging two rows brings in a second
/// diagonal above the main one.
fn eliminate<S: Scalar>(diagonals: &Matrix<S>, x: &mut Matrix<S>, pivoting: bool) -> Option<()> {
    let n = diagonals.columns;
    let mut rows: Vec<[S; 3]> = Vec::with_capacity(n);
    let above = |i: usize| if i + 1 < n { diagonals[(0, i)] } else { S::zero() };
    let mut current = [diagonals[(1, 0)], above(0), S::zero()];
    for i in 0..n - 1 {
        let mut next = [diagonals[(2, i + 1)], diagonals[(1, i + 1)], above(i + 1)];
        if pivoting && current[0].modulus() < next[0].modulus() {
            std::mem::swap(&mut current, &mut next);
            x.swap_rows(i, i + 1);
        }
        if current[0].is_zero() {
            return None;
        }
        let factor = next[0] / current[0];
        let (source, target) = x.row_and_mut(i, i + 1);
        for (target, &source) in target.iter_mut().zip(source) {
            *target -= factor * source;
        }
        rows.push(current);
        current = [next[1] - factor * current[1], next[2] - factor * current[2], S::zero()];
    }
    if current[0].is_zero() {
        return None;
    }
    rows.push(current);
    for i in (0..n).rev() {
        let [pivot, above @ ..] = rows[i];
        for (j, factor) in (i + 1..n).zip(above) {
            let (source, target) = x.row_and_mut(j, i);
            for (target, &source) in target.iter_mut().zip(source) {
                *target -= factor * source;
            }
        }
        x.row_mut(i).iter_mut().for_each(|value| *value /= pivot);
    }
    Some(())
}

/// The three diagonals of the product of a matrix and the adjoint of another, each as a row.
fn diagonals_of(g: &GradientContext<'_>, left: Output, right: Output) -> Result<[Output; 3]> {
    let right = g.conj(right)?;
    let diagonal = |right: Output| {
        let sums = NewNode::new("Sum").input(g.mul(left, right)?).input(g.vector(&[-1i32])?);
        g.call("ExpandDims", [g.out(sums)?, g.scalar(-2i32)?])
    };
    Ok([
        diagonal(shifted(g, right, 2, Shift::Back)?)?,
        diagonal(right)?,
        diagonal(shifted(g, right, 2, Shift::Forward)?)?,
    ])
}

/// The diagonals of the adjoint matrix.
fn adjoint(g: &GradientContext<'_>, [upper, main, lower]: [Output; 3]) -> Result<[Output; 3]> {
    Ok([
        shifted(g, g.conj(lower)?, 1, Shift::Back)?,
        g.conj(main)?,
        shifted(g, g.conj(upper)?, 1, Shift::Forward)?,
    ])
}

fn product_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (rhs, grad) = (g.input(3), g.grad(0)?);
    let [upper, main, lower] = adjoint(g, [g.input(0), g.input(1), g.input(2)])?;
    let of_rhs = g.call("TridiagonalMatMul", [upper, main, lower, grad])?;
    let [upper, main, lower] = diagonals_of(g, grad, rhs)?;
    Ok([upper, main, lower, of_rhs].map(|gradient| Some(gradient.into())).to_vec())
}

fn solve_gradient(g: &GradientContext<'_>) -> InputGradients {
    let rows = NewNode::new("Split").input(g.scalar(-2i32)?).input(g.input(0));
    let rows = g.outs(rows.attr("num_split", 3i64))?;
    let joined =
        |rows: [Output; 3]| g.out(NewNode::new("ConcatV2").list(&rows).input(g.scalar(-2i32)?));
    let of_rhs = g.call_with_attrs("TridiagonalSolve", [joined(adjoint(g, rows)?)?, g.grad(0)?])?;
    let of_diagonals = g.neg(joined(diagonals_of(g, of_rhs, g.output(0))?)?)?;
    both(of_diagonals, of_rhs)
}
