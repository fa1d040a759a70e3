//! Gradients of products of sparse matrices. That of a sparse factor has elements only where the
//! factor has.

use tensorfleet_framework::gradient::{both, only};
use tensorfleet_framework::{GradientContext, InputGradients, NewNode};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{DType, Result};

use super::super::gradient::adjoint as dense_adjoint;
use super::convert::elements;

type Context<'a> = GradientContext<'a>;

/// How a factor enters a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    None,
    Transpose,
    Adjoint,
}

impl Turn {
    fn of(g: &Context<'_>, factor: &str) -> Result<Turn> {
        let has = |what: &str| g.attrs().bool(&format!("{what}_{factor}"));
        Ok(match (has("transpose")?, has("adjoint")?) {
            (_, true) => Turn::Adjoint,
            (true, _) => Turn::Transpose,
            _ => Turn::None,
        })
    }
}

/// A dense matrix turned.
fn turned(g: &Context<'_>, x: Output, turn: Turn) -> Result<Output> {
    match turn {
        Turn::None => Ok(x),
        Turn::Adjoint => dense_adjoint(g, x),
        Turn::Transpose => g.conj(dense_adjoint(g, x)?),
    }
}

/// `C = op(A) op(B)` of a sparse and a dense matrix, itself turned on request.
pub(super) fn dense_product(g: &Context<'_>) -> InputGradients {
    let (a, b) = (g.input(0), g.input(1));
    let (turn_a, turn_b) = (Turn::of(g, "a")?, Turn::of(g, "b")?);
    let mut grad = g.grad(0)?;
    if g.attrs().bool("conjugate_output")? {
        grad = g.conj(grad)?;
    }
    if g.attrs().bool("transpose_output")? {
        grad = turned(g, grad, Turn::Transpose)?;
    }
    let [indices, _, shape] = elements(g, a, g.dtype(b))?;
    // The indices of an element without its column, and without its row.
    let rank =
        g.call("GatherV2", [g.call("Shape", [indices])?, g.scalar(1i32)?, g.scalar(0i32)?])?;
    let axes = |from_end: i32| -> Result<Output> {
        let (zero, one) = (g.scalar(0i32)?, g.scalar(1i32)?);
        let outer = g.call("Range", [zero, g.sub(rank, g.scalar(2i32)?)?, one])?;
        let last = g.reshape(g.sub(rank, g.scalar(from_end)?)?, g.vector(&[1i32])?)?;
        let axes = NewNode::new("ConcatV2").list(&[outer, last]).input(zero);
        g.call("GatherV2", [indices, g.out(axes)?, one])
    };
    let (rows, columns) = (axes(2)?, axes(1)?);
    let (of_grad, of_b) = if turn_a == Turn::None { (rows, columns) } else { (columns, rows) };
    let right = g.conj(turned(g, b, turn_b)?)?;
    let pairs = g.mul(g.call("GatherNd", [grad, of_grad])?, g.call("GatherNd", [right, of_b])?)?;
    let mut values = g.out(NewNode::new("Sum").input(pairs).input(g.vector(&[-1i32])?))?;
    if turn_a == Turn::Adjoint {
        values = g.conj(values)?;
    }
    let of_a = g.call("SparseTensorToCSRSparseMatrix", [indices, values, shape])?;
    let product = |grad: Output, adjoint: bool, conjugate: bool| {
        let node = NewNode::new("SparseMatrixMatMul").input(a).input(grad);
        g.out(node.attr("adjoint_a", adjoint).attr("conjugate_output", conjugate))
    };
    let of_b = match turn_a {
        Turn::None => product(grad, true, false)?,
        Turn::Adjoint => product(grad, false, false)?,
        Turn::Transpose => product(g.conj(grad)?, false, true)?,
    };
    both(of_a, turned(g, of_b, turn_b)?)
}

fn sparse_transpose(g: &Context<'_>, x: Output, conjugate: bool) -> Result<Output> {
    let node = NewNode::new("SparseMatrixTranspose").input(x).attr("conjugate", conjugate);
    g.out(node.attr("type", g.attrs().dtype("type")?))
}

/// A sparse matrix turned, and then adjoint.
fn adjoint_of(g: &Context<'_>, x: Output, turn: Turn) -> Result<Output> {
    let is_complex = g.attrs().dtype("type")?.is_complex();
    match turn {
        Turn::None => sparse_transpose(g, x, true),
        Turn::Transpose if is_complex => sparse_transpose(g, sparse_transpose(g, x, true)?, false),
        Turn::Transpose | Turn::Adjoint => Ok(x),
    }
}

fn sparse_turned(g: &Context<'_>, x: Output, turn: Turn) -> Result<Output> {
    match turn {
        Turn::None => Ok(x),
        Turn::Transpose => sparse_transpose(g, x, false),
        Turn::Adjoint => sparse_transpose(g, x, true),
    }
}

pub(super) fn sparse_product(g: &Context<'_>) -> InputGradients {
    let (turn_a, turn_b) = (Turn::of(g, "a")?, Turn::of(g, "b")?);
    let (a, b, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let dtype: DType = g.attrs().dtype("type")?;
    let product = |left: Output, right: Output| {
        let node = NewNode::new("SparseMatrixSparseMatMul").input(left).input(right);
        g.out(node.attr("type", dtype))
    };
    let of_a = product(grad, adjoint_of(g, b, turn_b)?)?;
    let of_b = product(adjoint_of(g, a, turn_a)?, grad)?;
    let (of_a, of_b) = (sparse_turned(g, of_a, turn_a)?, sparse_turned(g, of_b, turn_b)?);
    both(where_stored(g, of_a, a)?, where_stored(g, of_b, b)?)
}

/// The elements of a matrix at the places where another has some.
fn where_stored(g: &Context<'_>, matrix: Output, other: Output) -> Result<Output> {
    let dtype = g.attrs().dtype("type")?;
    let dense = NewNode::new("CSRSparseMatrixToDense").input(matrix).attr("type", dtype);
    let [indices, _, shape] = elements(g, other, dtype)?;
    let values = g.call("GatherNd", [g.out(dense)?, indices])?;
    g.call("SparseTensorToCSRSparseMatrix", [indices, values, shape])
}

pub(super) fn transpose(g: &Context<'_>) -> InputGradients {
    only(sparse_transpose(g, g.grad(0)?, g.attrs().bool("conjugate")?)?)
}
