//! Linear algebra: each op works on the matrices in the last two dimensions of its inputs.

mod banded;
mod batch;
mod cholesky;
mod determinant;
mod eig;
mod factors;
mod functions;
mod golub_kahan;
mod gradient;
mod householder;
mod jacobi;
mod least_squares;
mod lu;
mod matrix;
mod perturbed;
mod qr;
mod real_eigen;
mod real_schur;
mod rotation;
mod scalar;
mod schur;
mod self_adjoint_eig;
mod solve;
mod sparse_matrix;
mod svd;
mod symmetric;
mod triangular;
mod tridiagonal;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    banded::OPS,
    cholesky::OPS,
    determinant::OPS,
    eig::OPS,
    functions::OPS,
    least_squares::OPS,
    lu::OPS,
    qr::OPS,
    self_adjoint_eig::OPS,
    solve::OPS,
    sparse_matrix::CONVERSIONS,
    sparse_matrix::FACTORS,
    sparse_matrix::ORDERINGS,
    sparse_matrix::PRODUCTS,
    svd::OPS,
    triangular::OPS,
    tridiagonal::OPS,
];
