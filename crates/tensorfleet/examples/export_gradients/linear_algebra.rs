//! Factorisations, solutions and functions of matrices.

use tensorfleet::{DType, Graph, Output, ops};

use crate::{case, positive};

pub(crate) fn add(graph: &Graph) {
    let square: &[&[usize]] = &[&[2, 3, 3]];
    let with_rhs: &[&[usize]] = &[&[2, 3, 3], &[2, 3, 2]];
    case(graph, "cholesky", square, |x| ops::linalg::cholesky(graph, positive(&x[0])).output());
    case(graph, "inverse", square, |x| {
        ops::linalg::matrix_inverse(graph, positive(&x[0])).output()
    });
    case(graph, "determinant", square, |x| {
        ops::linalg::matrix_determinant(graph, positive(&x[0])).output()
    });
    case(graph, "log_determinant", square, |x| {
        ops::linalg::log_matrix_determinant(graph, positive(&x[0])).build().output(1)
    });
    case(graph, "solve", with_rhs, |x| {
        ops::linalg::matrix_solve(graph, positive(&x[0]), &x[1]).attr("adjoint", true).output()
    });
    case(graph, "triangular_solve", with_rhs, |x| {
        ops::linalg::matrix_triangular_solve(graph, positive(&x[0]), &x[1]).output()
    });
    case(graph, "eigenvalues", square, |x| {
        let [values, vectors] = ops::linalg::self_adjoint_eig_v2(graph, positive(&x[0])).outputs();
        values.expand_dims(-1) + vectors.square()
    });
    case(graph, "singular_values", &[&[2, 4]], |x| {
        let [s, u, v] = ops::linalg::svd(graph, &x[0]).outputs();
        s.sum() * u.square() + v.square().sum_along(0, false)
    });
    case(graph, "qr", &[&[4, 2]], |x| {
        let [q, r] = ops::linalg::qr(graph, &x[0]).outputs();
        q.square().sum_along(0, false) * 0.5 + q.slice(&[0, 0], &[2, 2]) * r
    });
    case(graph, "square_root", square, |x| {
        graph.op("MatrixSquareRoot").input(positive(&x[0])).output()
    });
    for (name, size) in [("least_squares_tall", [4, 2]), ("least_squares_wide", [2, 4])] {
        case(graph, name, &[&size, &[size[0], 3]], |x| {
            graph.op("MatrixSolveLs").input(&x[0]).input(&x[1]).input(0.1f64).output()
        });
    }
    for (name, lower, adjoint) in [("banded_lower", true, false), ("banded_upper", false, true)] {
        case(graph, name, &[&[2, 2, 4], &[2, 4, 3]], |x| {
            let bands = &x[0] + 2.5;
            let op = graph.op("BandedTriangularSolve").input(&bands).input(&x[1]);
            op.attr("lower", lower).attr("adjoint", adjoint).output()
        });
    }
    case(graph, "tridiagonal_product", &[&[2, 1, 4], &[2, 1, 4], &[2, 1, 4], &[2, 4, 3]], |x| {
        let op = graph.op("TridiagonalMatMul");
        op.input(&x[0]).input(&x[1]).input(&x[2]).input(&x[3]).output()
    });
    case(graph, "tridiagonal_solve", &[&[2, 3, 4], &[2, 4, 3]], |x| {
        let main = graph.constant([[0.0f64], [4.0], [0.0]]);
        graph.op("TridiagonalSolve").input(&x[0] + main).input(&x[1]).output()
    });
    // Eigenvectors are known up to a factor, which their absolute values do not show.
    let absolute = |x: Output| graph.op("ComplexAbs").input(x).attr("Tout", DType::Double).output();
    case(graph, "any_eigenvalues", &[&[3, 3]], |x| {
        let eig = ops::linalg::eig(graph, &x[0], DType::Complex128);
        absolute(eig.attr("compute_v", false).output())
    });
    case(graph, "any_eigenvectors", &[&[3, 3]], |x| {
        let [values, vectors] = ops::linalg::eig(graph, &x[0], DType::Complex128).outputs();
        absolute(values) + absolute(vectors)
    });
}
