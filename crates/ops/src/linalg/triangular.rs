//! Triangular systems: substitution, and `MatrixTriangularSolve`.

use std::ops::Range;

use num_complex::Complex;
use tensorfleet_framework::gradient::both;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::{Mat, MatMut};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, internal, invalid_argument};

use super::batch::{cubic_cost, for_each_matrix, inside, matrix_at, matrix_size, outer};
use super::gradient::{Factor, band, product};
use super::matrix::Matrix;
use super::scalar::Scalar;
use crate::broadcast::Alignment;
use crate::math::reduce_batch;

use DType::{Complex64, Complex128, Double, Float};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchMatrixTriangularSolve",
        inputs: &["matrix: T", "rhs: T"],
        outputs: &["output: T"],
        attrs: &["lower: bool = true", "adjoint: bool = false", "T: {double, float}"],
        gradient: Some(gradient),
        kernels: &[cpu::<TriangularSolve>().types("T", &[Double, Float])],
        ..Op::DEFAULT
    },
    Op {
        name: "MatrixTriangularSolve",
        inputs: &["matrix: T", "rhs: T"],
        outputs: &["output: T"],
        attrs: &[
            "lower: bool = true",
            "adjoint: bool = false",
            "T: {bfloat16, double, float, half, complex64, complex128}",
        ],
        gradient: Some(gradient),
        kernels: &[cpu::<TriangularSolve>().types("T", &[Double, Float, Complex64, Complex128])],
        ..Op::DEFAULT
    },
];

/// The part of a square matrix that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Triangle {
    Lower,
    /// With ones on the diagonal, whatever stands there.
    UnitLower,
    Upper,
}

/// Rows, or columns, that are worked through one by one before a product brings the rest along.
pub(super) const BLOCK: usize = 32;

/// Replaces each column `b` of a matrix by the solution of `A x = b`.
pub(super) fn solve_in_place<S: Scalar>(
    par: Parallel,
    a: &Matrix<S>,
    triangle: Triangle,
    b: &mut Matrix<S>,
) {
    let (n, width) = (a.rows, b.columns);
    if width == 0 {
        return;
    }
    let blocks = n.div_ceil(BLOCK);
    for block in 0..blocks {
        let block = if triangle == Triangle::Upper { blocks - 1 - block } else { block };
        let rows = block * BLOCK..n.min((block + 1) * BLOCK);
        // What the rows that are known say about these.
        let (before, rest) = b.values.split_at_mut(rows.start * width);
        let (these, behind) = rest.split_at_mut(rows.len() * width);
        let (known, columns) = match triangle {
            Triangle::Upper => (&*behind, rows.end..n),
            Triangle::Lower | Triangle::UnitLower => (&*before, 0..rows.start),
        };
        if !columns.is_empty() {
            let known = Mat::new(known, columns.len(), width);
            let these = MatMut::new(these, rows.len(), width);
            S::add_product(par, -S::one(), a.view(rows.clone(), columns), known, these);
        }
        solve_block(a, triangle, rows, b);
    }
}

/// Substitution within some rows, of which the others are known.
fn solve_block<S: Scalar>(
    a: &Matrix<S>,
    triangle: Triangle,
    rows: Range<usize>,
    b: &mut Matrix<S>,
) {
    let step = |i: usize, b: &mut Matrix<S>| {
        let known = if triangle == Triangle::Upper { i + 1..rows.end } else { rows.start..i };
        for j in known {
            let (source, target) = b.row_and_mut(j, i);
            S::add_scaled(target, -a[(i, j)], source);
        }
        if triangle != Triangle::UnitLower {
            let pivot = a[(i, i)];
            b.row_mut(i).iter_mut().for_each(|value| *value /= pivot);
        }
    };
    match triangle {
        Triangle::Upper => rows.clone().rev().for_each(|i| step(i, b)),
        Triangle::Lower | Triangle::UnitLower => rows.clone().for_each(|i| step(i, b)),
    }
}

#[derive(Debug)]
struct TriangularSolve {
    lower: bool,
    adjoint: bool,
}

impl Kernel for TriangularSolve {
    fn new(attrs: &Attrs<'_>) -> Result<TriangularSolve> {
        Ok(TriangularSolve { lower: attrs.bool("lower")?, adjoint: attrs.bool("adjoint")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (matrix, rhs) = (ctx.input(0)?, ctx.input(1)?);
        let batch = line_up(matrix, rhs)?;
        let (rows, columns) = matrix_size(matrix);
        if rows != columns {
            return Err(invalid_argument!(
                "In[0] matrices in the last dimensions must be square ({columns} =/= {rows})"
            ));
        }
        check_rows(matrix, rhs, self.lower, self.adjoint)?;
        let output = dispatch!(
            matrix.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.solve::<S>(par, &batch, matrix, rhs)?,
            else => return Err(internal!("a triangular system of {}", matrix.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs)
    }
}

impl TriangularSolve {
    fn solve<S: Scalar>(
        &self,
        par: Parallel,
        batch: &Alignment,
        matrix: &Tensor,
        rhs: &Tensor,
    ) -> Result<Tensor> {
        let (size, rhs_size) = (matrix_size(matrix), matrix_size(rhs));
        let (a, b) = (matrix.values::<S>()?, rhs.values::<S>()?);
        let triangle = if self.lower != self.adjoint { Triangle::Lower } else { Triangle::Upper };
        let inside = inside(par, batch.shape().num_elements());
        solve_aligned(par, batch, rhs_size, |i, j, out: &mut [S]| {
            let mut a = Matrix::from_slice(size, matrix_at(a, size, i));
            if self.adjoint {
                a = a.adjoint();
            }
            let mut x = Matrix::from_slice(rhs_size, matrix_at(b, rhs_size, j));
            solve_in_place(inside, &a, triangle, &mut x);
            out.copy_from_slice(&x.values);
            Ok(())
        })
    }
}

/// Checks that both inputs hold matrices, and lines up their outer dimensions.
pub(super) fn line_up(matrix: &Tensor, rhs: &Tensor) -> Result<Alignment> {
    for (number, input) in [matrix, rhs].into_iter().enumerate() {
        if input.rank() < 2 {
            return Err(invalid_argument!("In[{number}] ndims must be >= 2: {}", input.rank()));
        }
    }
    Alignment::find(&Shape::new(outer(matrix))?, &Shape::new(outer(rhs))?)?.ok_or_else(|| {
        invalid_argument!(
            "In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
            matrix.shape(),
            rhs.shape()
        )
    })
}

/// Checks that there is a row of the right-hand side for each column of the matrix.
pub(super) fn check_rows(matrix: &Tensor, rhs: &Tensor, lower: bool, adjoint: bool) -> Result<()> {
    let (columns, rows) = (matrix_size(matrix).1, matrix_size(rhs).0);
    if columns != rows {
        return Err(invalid_argument!(
            "In[0] mismatch In[1] shape: {columns} vs. {rows}: {} {} {} {}",
            matrix.shape(),
            rhs.shape(),
            u8::from(lower),
            u8::from(adjoint)
        ));
    }
    Ok(())
}

/// Runs `solve` for every pair of a matrix and a right-hand side that meet.
pub(super) fn solve_aligned<S: Scalar>(
    par: Parallel,
    batch: &Alignment,
    (rows, columns): (usize, usize),
    solve: impl Fn(usize, usize, &mut [S]) -> Result<()> + Sync,
) -> Result<Tensor> {
    let shape = Shape::new(&[batch.shape().dims(), &[rows, columns]].concat())?;
    let mut pairs = Vec::new();
    if shape.num_elements() > 0 {
        batch.positions(|i, j| pairs.push((i, j)));
    }
    Tensor::try_build(shape, |out: &mut [S]| {
        for_each_matrix(par, pairs.len(), [out], |index, [out]| {
            let (i, j) = pairs[index];
            solve(i, j, out)
        })
    })
}

/// As that of `MatrixSolve`, in the triangle that was read.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (matrix, solution) = (g.input(0), g.output(0));
    let (is_lower, is_adjoint) = (g.attrs().bool("lower")?, g.attrs().bool("adjoint")?);
    let node = NewNode::new("MatrixTriangularSolve").input(matrix).input(g.grad(0)?);
    let rhs = g.out(node.attr("lower", is_lower).attr("adjoint", !is_adjoint))?;
    let (left, right) = if is_adjoint { (solution, rhs) } else { (rhs, solution) };
    let whole = g.neg(product(g, Factor::Plain(left), Factor::Adjoint(right))?)?;
    let triangle = if is_lower { band(g, whole, -1, 0)? } else { band(g, whole, 0, -1)? };
    let (x, y) = (matrix, g.input(1));
    both(reduce_batch(g, triangle, x, y)?, reduce_batch(g, rhs, y, x)?)
}
