//! What the gradients of linear algebra are made of: nodes that work on the last two dimensions.

use tensorfleet_framework::{GradientContext, NewNode};
use tensorfleet_graph::Output;
use tensorfleet_tensor::Result;

/// A matrix in a product, as it is or adjoint.
#[derive(Clone, Copy)]
pub(super) enum Factor {
    Plain(Output),
    Adjoint(Output),
}

use Factor::{Adjoint, Plain};

impl Factor {
    /// The matrix as it is, or adjoint if so asked.
    pub(super) fn new(matrix: Output, adjoint: bool) -> Factor {
        if adjoint { Adjoint(matrix) } else { Plain(matrix) }
    }

    fn parts(self) -> (Output, bool) {
        match self {
            Plain(matrix) => (matrix, false),
            Adjoint(matrix) => (matrix, true),
        }
    }
}

/// The product of two matrices.
pub(super) fn product(g: &GradientContext<'_>, a: Factor, b: Factor) -> Result<Output> {
    let ((a, adj_x), (b, adj_y)) = (a.parts(), b.parts());
    let node = NewNode::new("BatchMatMulV2").input(a).input(b);
    g.out(node.attr("adj_x", adj_x).attr("adj_y", adj_y))
}

/// The adjoint of a matrix.
pub(super) fn adjoint(g: &GradientContext<'_>, matrix: Output) -> Result<Output> {
    let order = match g.rank(matrix) {
        Some(rank) if rank >= 2 => {
            let rank = rank as i32;
            let order: Vec<i32> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
            g.vector(&order)?
        }
        _ => {
            let rank = g.call("Rank", [matrix])?;
            let outer = g.sub(rank, g.scalar(2i32)?)?;
            let last = g.sub(rank, g.scalar(1i32)?)?;
            let kept = g.call("Range", [g.scalar(0i32)?, outer, g.scalar(1i32)?])?;
            let swapped = g.out(NewNode::new("Pack").list(&[last, outer]))?;
            g.out(NewNode::new("ConcatV2").list(&[kept, swapped]).input(g.scalar(0i32)?))?
        }
    };
    let op = if g.dtype(matrix).is_complex() { "ConjugateTranspose" } else { "Transpose" };
    g.call(op, [matrix, order])
}

/// The sum of a matrix and its adjoint.
pub(super) fn with_adjoint(g: &GradientContext<'_>, matrix: Output) -> Result<Output> {
    let adjoint = adjoint(g, matrix)?;
    g.add2(matrix, adjoint)
}

/// Some diagonals of a matrix: as many below and above the main one; -1 means all.
pub(super) fn band(
    g: &GradientContext<'_>,
    matrix: Output,
    lower: i64,
    upper: i64,
) -> Result<Output> {
    let (lower, upper) = (g.scalar(lower)?, g.scalar(upper)?);
    g.call("MatrixBandPart", [matrix, lower, upper])
}

/// The lower triangle of a matrix, of which the diagonal counts half.
pub(super) fn lower_with_half_diagonal(g: &GradientContext<'_>, matrix: Output) -> Result<Output> {
    let lower = band(g, matrix, -1, 0)?;
    let half = g.scale(band(g, matrix, 0, 0)?, 0.5)?;
    g.sub(lower, half)
}

/// A matrix with a vector as its diagonal.
pub(super) fn diagonal(g: &GradientContext<'_>, vector: Output) -> Result<Output> {
    g.call("MatrixDiag", [vector])
}

/// `1 / (x_j - x_i)` at row `i` and column `j`; zero where the two are equal.
pub(super) fn reciprocal_gaps(g: &GradientContext<'_>, x: Output) -> Result<Output> {
    let row = g.call("ExpandDims", [x, g.scalar(-2i32)?])?;
    let column = g.call("ExpandDims", [x, g.scalar(-1i32)?])?;
    let gaps = g.sub(row, column)?;
    safe_reciprocal(g, gaps)
}

/// `1 / x`, and zero where `x` is.
pub(super) fn safe_reciprocal(g: &GradientContext<'_>, x: Output) -> Result<Output> {
    let one = g.number_like(1.0, x)?;
    // Squares of numbers that matter are far larger.
    let square = g.shift(g.mul(x, x)?, 1e-20)?;
    g.mul(x, g.div(one, square)?)
}

/// A number for each matrix, to be multiplied with it.
pub(super) fn per_matrix(g: &GradientContext<'_>, numbers: Output) -> Result<Output> {
    let last = g.scalar(-1i32)?;
    let column = g.call("ExpandDims", [numbers, last])?;
    g.call("ExpandDims", [column, last])
}

/// The columns from `begin` to `end`, exclusive; to the last if there is no end.
pub(super) fn columns(
    g: &GradientContext<'_>,
    matrix: Output,
    begin: usize,
    end: Option<usize>,
) -> Result<Output> {
    let node = NewNode::new("StridedSlice")
        .input(matrix)
        .input(g.vector(&[0, begin as i32])?)
        .input(g.vector(&[0, end.unwrap_or(0) as i32])?)
        .input(g.vector(&[1i32, 1])?);
    let node = node.attr("ellipsis_mask", 1).attr("end_mask", if end.is_none() { 2 } else { 0 });
    g.out(node)
}

/// The numbers of rows and columns of a matrix, if they are known.
pub(super) fn known_size(g: &GradientContext<'_>, matrix: Output) -> Option<(usize, usize)> {
    match g.shape(matrix).dims?[..] {
        [.., Some(rows), Some(columns)] => Some((rows, columns)),
        _ => None,
    }
}

/// Parts of the last axis but `axis` from the end: those from `begin` on, up to `end` from the last.
fn along(
    g: &GradientContext<'_>,
    x: Output,
    axis: usize,
    begin: i32,
    end: Option<i32>,
) -> Result<Output> {
    let (mut begins, mut ends) = (vec![0; axis + 1], vec![0; axis + 1]);
    (begins[1], ends[1]) = (begin, end.unwrap_or(0));
    // The axes behind this one are taken whole.
    let behind = (1i64 << (axis + 1)) - 4;
    let node = NewNode::new("StridedSlice")
        .input(x)
        .input(g.vector(&begins)?)
        .input(g.vector(&ends)?)
        .input(g.vector(&vec![1i32; axis + 1])?)
        .attr("ellipsis_mask", 1)
        .attr("begin_mask", behind)
        .attr("end_mask", behind | if end.is_none() { 2 } else { 0 });
    g.out(node)
}

/// Which way elements move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    Forward,
    Back,
}

/// The elements moved by one place along an axis that counts from the end, with a zero where none
/// comes from.
pub(super) fn shifted(
    g: &GradientContext<'_>,
    x: Output,
    axis: usize,
    shift: Shift,
) -> Result<Output> {
    let zero = g.zeros_like(along(g, x, axis, 0, Some(1))?)?;
    let parts = match shift {
        Shift::Forward => [zero, along(g, x, axis, 0, Some(-1))?],
        Shift::Back => [along(g, x, axis, 1, None)?, zero],
    };
    g.out(NewNode::new("ConcatV2").list(&parts).input(g.scalar(-(axis as i32))?))
}

/// The matrix of ones on the diagonal, as large as another.
pub(super) fn identity(g: &GradientContext<'_>, like: Output) -> Result<Output> {
    let size = g.call(
        "GatherV2",
        [
            g.shape_tensor(like)?,
            g.reshape(g.sub(g.rank_tensor(like)?, g.scalar(1i32)?)?, g.vector(&[1i32])?)?,
            g.scalar(0i32)?,
        ],
    )?;
    diagonal(g, g.call("Fill", [size, g.number_like(1.0, like)?])?)
}
