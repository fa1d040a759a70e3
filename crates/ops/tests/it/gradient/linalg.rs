//! Linear algebra and `Einsum`.

use tensorfleet_framework::NewNode;
use tensorfleet_graph::{AttrValue, Output};
use tensorfleet_tensor::{Result, Shape, Tensor};
use tensorfleet_testing::varied;

use super::{Case, Nodes, case, check};

/// Square matrices with a strong diagonal, symmetric and positive.
fn positive(nodes: &mut Nodes<'_>, x: Output) -> Result<Output> {
    let node = NewNode::new("BatchMatMulV2").input(x).input(x).attr("adj_y", true);
    let product = nodes.add(node)?;
    let diagonal = nodes.constant(Tensor::vector(&[2.0, 2.5, 3.0])?)?;
    let diagonal = nodes.add(NewNode::new("MatrixDiag").input(diagonal))?;
    nodes.add(NewNode::new("AddV2").input(product).input(diagonal))
}

fn after_positive(
    op: &'static str,
    output: u32,
    attrs: Vec<(&'static str, AttrValue)>,
    rest: Vec<Tensor>,
) -> Case {
    let mut inputs = vec![varied([2, 3, 3], -1.0, 1.5)];
    inputs.extend(rest);
    case(op, inputs, move |nodes, xs| {
        let matrix = positive(nodes, xs[0])?;
        let node = xs[1..].iter().fold(NewNode::new(op).input(matrix), |node, x| node.input(*x));
        let node = attrs.iter().fold(node, |node, (name, value)| node.attr(name, value.clone()));
        let first = nodes.add(node)?;
        Ok(Output { index: output, ..first })
    })
}

#[test]
fn linear_algebra() {
    let rhs = || varied([2, 3, 2], -1.0, 1.0);
    let yes = || vec![("adjoint", true.into())];
    let svd = |shape: [usize; 2], output: u32, full: bool| {
        case("Svd", vec![varied(shape, -1.0, 1.5)], move |nodes, xs| {
            let node = NewNode::new("Svd").input(xs[0]).attr("full_matrices", full);
            let first = nodes.add(node)?;
            let taken = Output { index: output, ..first };
            // Signs of vectors are arbitrary, their squares are not.
            if output == 0 { Ok(taken) } else { nodes.add(NewNode::new("Square").input(taken)) }
        })
    };
    let qr = |shape: [usize; 2], output: u32| {
        case("Qr", vec![varied(shape, -1.0, 1.5)], move |nodes, xs| {
            let first = nodes.add(NewNode::new("Qr").input(xs[0]))?;
            Ok(Output { index: output, ..first })
        })
    };
    check(vec![
        after_positive("MatrixInverse", 0, vec![], vec![]),
        after_positive("MatrixInverse", 0, yes(), vec![]),
        after_positive("MatrixDeterminant", 0, vec![], vec![]),
        after_positive("LogMatrixDeterminant", 1, vec![], vec![]),
        after_positive("Cholesky", 0, vec![], vec![]),
        after_positive("MatrixSolve", 0, vec![], vec![rhs()]),
        after_positive("MatrixSolve", 0, yes(), vec![rhs()]),
        after_positive("MatrixTriangularSolve", 0, vec![], vec![rhs()]),
        after_positive(
            "MatrixTriangularSolve",
            0,
            vec![("lower", false.into()), ("adjoint", true.into())],
            vec![rhs()],
        ),
        after_positive("SelfAdjointEigV2", 0, vec![], vec![]),
        after_positive("SelfAdjointEigV2", 0, vec![("compute_v", false.into())], vec![]),
        after_positive("SelfAdjointEigV2", 1, vec![], vec![]),
        svd([3, 3], 0, false),
        svd([2, 4], 1, false),
        svd([2, 4], 2, false),
        svd([4, 2], 1, false),
        svd([3, 2], 1, true),
        qr([3, 3], 0),
        qr([4, 2], 0),
        qr([4, 2], 1),
        qr([2, 4], 1),
    ]);
}

#[test]
fn einsum() {
    let equation = |text: &'static str, inputs: Vec<Tensor>| {
        case(text, inputs, move |nodes, xs| {
            nodes.add(NewNode::new("Einsum").list(xs).attr("equation", text))
        })
    };
    let of = |shape: &[usize]| varied(Shape::new(shape).unwrap(), -1.0, 1.0);
    check(vec![
        equation("ij,jk->ik", vec![of(&[2, 3]), of(&[3, 2])]),
        equation("bij,bkj->bik", vec![of(&[2, 2, 3]), of(&[2, 4, 3])]),
        equation("ij->ji", vec![of(&[2, 3])]),
        equation("ij->i", vec![of(&[2, 3])]),
        equation("ii->i", vec![of(&[3, 3])]),
        equation("ii->", vec![of(&[3, 3])]),
        equation("ijk,kl->jl", vec![of(&[2, 3, 2]), of(&[2, 2])]),
        equation("...ij,...jk->...ik", vec![of(&[2, 1, 2, 3]), of(&[4, 3, 2])]),
        equation("i...,j->...ij", vec![of(&[2, 3]), of(&[2])]),
        equation("ij,...j->...i", vec![of(&[2, 3]), of(&[2, 2, 3])]),
    ]);
}
