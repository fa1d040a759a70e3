//! Ops of the family `linalg`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Solves equations with triangular matrices that are given as bands.
///
/// Op `BandedTriangularSolve`. Output: `output`.
///
/// Attributes with defaults: `lower: bool = true`, `adjoint: bool = false`.
#[track_caller]
pub fn banded_triangular_solve(
    graph: &Graph,
    matrix: impl Operand,
    rhs: impl Operand,
) -> OpBuilder {
    graph.op("BandedTriangularSolve").input(matrix).input(rhs)
}

/// The lower triangular `L` with `L L* = A`.
///
/// Op `BatchCholesky`. Output: `output`.
#[track_caller]
pub fn batch_cholesky(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchCholesky").input(input)
}

/// The gradient of a Cholesky factor.
///
/// Op `BatchCholeskyGrad`. Output: `output`.
#[track_caller]
pub fn batch_cholesky_grad(graph: &Graph, l: impl Operand, grad: impl Operand) -> OpBuilder {
    graph.op("BatchCholeskyGrad").input(l).input(grad)
}

/// The determinants of matrices.
///
/// Op `BatchMatrixDeterminant`. Output: `output`.
#[track_caller]
pub fn batch_matrix_determinant(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchMatrixDeterminant").input(input)
}

/// The inverses of matrices.
///
/// Op `BatchMatrixInverse`. Output: `output`.
///
/// Attributes with defaults: `adjoint: bool = false`.
#[track_caller]
pub fn batch_matrix_inverse(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchMatrixInverse").input(input)
}

/// Solves equations with square matrices.
///
/// Op `BatchMatrixSolve`. Output: `output`.
///
/// Attributes with defaults: `adjoint: bool = false`.
#[track_caller]
pub fn batch_matrix_solve(graph: &Graph, matrix: impl Operand, rhs: impl Operand) -> OpBuilder {
    graph.op("BatchMatrixSolve").input(matrix).input(rhs)
}

/// Solves equations in the sense of least squares.
///
/// Op `BatchMatrixSolveLs`. Output: `output`.
///
/// Attributes with defaults: `fast: bool = true`.
#[track_caller]
pub fn batch_matrix_solve_ls(
    graph: &Graph,
    matrix: impl Operand,
    rhs: impl Operand,
    l2_regularizer: impl Operand,
) -> OpBuilder {
    graph.op("BatchMatrixSolveLs").input(matrix).input(rhs).input(l2_regularizer)
}

/// Solves equations with triangular matrices.
///
/// Op `BatchMatrixTriangularSolve`. Output: `output`.
///
/// Attributes with defaults: `lower: bool = true`, `adjoint: bool = false`.
#[track_caller]
pub fn batch_matrix_triangular_solve(
    graph: &Graph,
    matrix: impl Operand,
    rhs: impl Operand,
) -> OpBuilder {
    graph.op("BatchMatrixTriangularSolve").input(matrix).input(rhs)
}

/// Eigenvalues of self-adjoint matrices, stacked on their eigenvectors.
///
/// Op `BatchSelfAdjointEig`. Output: `output`.
#[track_caller]
pub fn batch_self_adjoint_eig(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchSelfAdjointEig").input(input)
}

/// Eigenvalues and eigenvectors of self-adjoint matrices.
///
/// Op `BatchSelfAdjointEigV2`. Outputs: `e`, `v`.
///
/// Attributes with defaults: `compute_v: bool = true`.
#[track_caller]
pub fn batch_self_adjoint_eig_v2(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchSelfAdjointEigV2").input(input)
}

/// The singular values and vectors of matrices.
///
/// Op `BatchSvd`. Outputs: `s`, `u`, `v`.
///
/// Attributes with defaults: `compute_uv: bool = true`, `full_matrices: bool = false`.
#[track_caller]
pub fn batch_svd(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchSvd").input(input)
}

/// The starts of rows, the columns and the values of one sparse matrix.
///
/// Op `CSRSparseMatrixComponents`. Outputs: `row_ptrs: int32`, `col_inds: int32`, `values`.
#[track_caller]
pub fn csr_sparse_matrix_components(
    graph: &Graph,
    csr_sparse_matrix: impl Operand,
    index: impl Operand,
    type_: DType,
) -> OpBuilder {
    graph.op("CSRSparseMatrixComponents").input(csr_sparse_matrix).input(index).attr("type", type_)
}

/// Sparse matrices as a dense tensor.
///
/// Op `CSRSparseMatrixToDense`. Output: `dense_output`.
#[track_caller]
pub fn csr_sparse_matrix_to_dense(
    graph: &Graph,
    sparse_input: impl Operand,
    type_: DType,
) -> OpBuilder {
    graph.op("CSRSparseMatrixToDense").input(sparse_input).attr("type", type_)
}

/// Sparse matrices as indices, values and a shape.
///
/// Op `CSRSparseMatrixToSparseTensor`. Outputs: `indices: int64`, `values`, `dense_shape: int64`.
#[track_caller]
pub fn csr_sparse_matrix_to_sparse_tensor(
    graph: &Graph,
    sparse_matrix: impl Operand,
    type_: DType,
) -> OpBuilder {
    graph.op("CSRSparseMatrixToSparseTensor").input(sparse_matrix).attr("type", type_)
}

/// The lower triangular `L` with `L L* = A`.
///
/// Op `Cholesky`. Output: `output`.
#[track_caller]
pub fn cholesky(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Cholesky").input(input)
}

/// The gradient of a Cholesky factor.
///
/// Op `CholeskyGrad`. Output: `output`.
#[track_caller]
pub fn cholesky_grad(graph: &Graph, l: impl Operand, grad: impl Operand) -> OpBuilder {
    graph.op("CholeskyGrad").input(l).input(grad)
}

/// Sparse matrices of the elements of a dense tensor at `indices`.
///
/// Op `DenseToCSRSparseMatrix`. Output: `sparse_output: variant`.
#[track_caller]
pub fn dense_to_csr_sparse_matrix(
    graph: &Graph,
    dense_input: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph.op("DenseToCSRSparseMatrix").input(dense_input).input(indices)
}

/// Eigenvalues and eigenvectors of square matrices.
///
/// Op `Eig`. Outputs: `e`, `v`.
///
/// Attributes with defaults: `compute_v: bool = true`.
#[track_caller]
pub fn eig(graph: &Graph, input: impl Operand, tout: DType) -> OpBuilder {
    graph.op("Eig").input(input).attr("Tout", tout)
}

/// The signs of determinants and the logarithms of their absolute values.
///
/// Op `LogMatrixDeterminant`. Outputs: `sign`, `log_abs_determinant`.
#[track_caller]
pub fn log_matrix_determinant(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("LogMatrixDeterminant").input(input)
}

/// Triangular factors of matrices with rows exchanged, and the exchange.
///
/// Op `Lu`. Outputs: `lu`, `p`.
///
/// Attributes with defaults: `output_idx_type: type = DT_INT32`.
#[track_caller]
pub fn lu(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Lu").input(input)
}

/// The determinants of matrices.
///
/// Op `MatrixDeterminant`. Output: `output`.
#[track_caller]
pub fn matrix_determinant(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("MatrixDeterminant").input(input)
}

/// The inverses of matrices.
///
/// Op `MatrixInverse`. Output: `output`.
///
/// Attributes with defaults: `adjoint: bool = false`.
#[track_caller]
pub fn matrix_inverse(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("MatrixInverse").input(input)
}

/// The matrices whose exponentials are given.
///
/// Op `MatrixLogarithm`. Output: `output`.
#[track_caller]
pub fn matrix_logarithm(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("MatrixLogarithm").input(input)
}

/// Solves equations with square matrices.
///
/// Op `MatrixSolve`. Output: `output`.
///
/// Attributes with defaults: `adjoint: bool = false`.
#[track_caller]
pub fn matrix_solve(graph: &Graph, matrix: impl Operand, rhs: impl Operand) -> OpBuilder {
    graph.op("MatrixSolve").input(matrix).input(rhs)
}

/// Solves equations in the sense of least squares.
///
/// Op `MatrixSolveLs`. Output: `output`.
///
/// Attributes with defaults: `fast: bool = true`.
#[track_caller]
pub fn matrix_solve_ls(
    graph: &Graph,
    matrix: impl Operand,
    rhs: impl Operand,
    l2_regularizer: impl Operand,
) -> OpBuilder {
    graph.op("MatrixSolveLs").input(matrix).input(rhs).input(l2_regularizer)
}

/// The matrices whose squares are given.
///
/// Op `MatrixSquareRoot`. Output: `output`.
#[track_caller]
pub fn matrix_square_root(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("MatrixSquareRoot").input(input)
}

/// Solves equations with triangular matrices.
///
/// Op `MatrixTriangularSolve`. Output: `output`.
///
/// Attributes with defaults: `lower: bool = true`, `adjoint: bool = false`.
#[track_caller]
pub fn matrix_triangular_solve(
    graph: &Graph,
    matrix: impl Operand,
    rhs: impl Operand,
) -> OpBuilder {
    graph.op("MatrixTriangularSolve").input(matrix).input(rhs)
}

/// Matrices as products of orthonormal and upper triangular ones.
///
/// Op `Qr`. Outputs: `q`, `r`.
///
/// Attributes with defaults: `full_matrices: bool = false`.
#[track_caller]
pub fn qr(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Qr").input(input)
}

/// Eigenvalues of self-adjoint matrices, stacked on their eigenvectors.
///
/// Op `SelfAdjointEig`. Output: `output`.
#[track_caller]
pub fn self_adjoint_eig(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("SelfAdjointEig").input(input)
}

/// Eigenvalues and eigenvectors of self-adjoint matrices.
///
/// Op `SelfAdjointEigV2`. Outputs: `e`, `v`.
///
/// Attributes with defaults: `compute_v: bool = true`.
#[track_caller]
pub fn self_adjoint_eig_v2(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("SelfAdjointEigV2").input(input)
}

/// The products of sparse and dense matrices.
///
/// Op `SparseMatrixMatMul`. Output: `output`.
///
/// Attributes with defaults: `transpose_a: bool = false`, `transpose_b: bool = false`,
/// `adjoint_a: bool = false`, `adjoint_b: bool = false`, `transpose_output: bool = false`,
/// `conjugate_output: bool = false`.
#[track_caller]
pub fn sparse_matrix_mat_mul(graph: &Graph, a: impl Operand, b: impl Operand) -> OpBuilder {
    graph.op("SparseMatrixMatMul").input(a).input(b)
}

/// How many entries sparse matrices have.
///
/// Op `SparseMatrixNNZ`. Output: `nnz: int32`.
#[track_caller]
pub fn sparse_matrix_nnz(graph: &Graph, sparse_matrix: impl Operand) -> OpBuilder {
    graph.op("SparseMatrixNNZ").input(sparse_matrix)
}

/// `SparseMatrixOrderingAMD`: `output` of `input`.
///
/// Output: `output: int32`.
#[track_caller]
pub fn sparse_matrix_ordering_amd(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("SparseMatrixOrderingAMD").input(input)
}

/// `SparseMatrixSparseCholesky`: `output` of `input`, `permutation`.
///
/// Output: `output: variant`.
#[track_caller]
pub fn sparse_matrix_sparse_cholesky(
    graph: &Graph,
    input: impl Operand,
    permutation: impl Operand,
    type_: DType,
) -> OpBuilder {
    graph.op("SparseMatrixSparseCholesky").input(input).input(permutation).attr("type", type_)
}

/// The products of sparse matrices.
///
/// Op `SparseMatrixSparseMatMul`. Output: `c: variant`.
///
/// Attributes with defaults: `transpose_a: bool = false`, `transpose_b: bool = false`,
/// `adjoint_a: bool = false`, `adjoint_b: bool = false`.
#[track_caller]
pub fn sparse_matrix_sparse_mat_mul(
    graph: &Graph,
    a: impl Operand,
    b: impl Operand,
    type_: DType,
) -> OpBuilder {
    graph.op("SparseMatrixSparseMatMul").input(a).input(b).attr("type", type_)
}

/// Sparse matrices with rows for columns.
///
/// Op `SparseMatrixTranspose`. Output: `output: variant`.
///
/// Attributes with defaults: `conjugate: bool = false`.
#[track_caller]
pub fn sparse_matrix_transpose(graph: &Graph, input: impl Operand, type_: DType) -> OpBuilder {
    graph.op("SparseMatrixTranspose").input(input).attr("type", type_)
}

/// Sparse matrices from indices, values and a shape.
///
/// Op `SparseTensorToCSRSparseMatrix`. Output: `sparse_matrix: variant`.
#[track_caller]
pub fn sparse_tensor_to_csr_sparse_matrix(
    graph: &Graph,
    indices: impl Operand,
    values: impl Operand,
    dense_shape: impl Operand,
) -> OpBuilder {
    graph.op("SparseTensorToCSRSparseMatrix").input(indices).input(values).input(dense_shape)
}

/// The singular values and vectors of matrices.
///
/// Op `Svd`. Outputs: `s`, `u`, `v`.
///
/// Attributes with defaults: `compute_uv: bool = true`, `full_matrices: bool = false`.
#[track_caller]
pub fn svd(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Svd").input(input)
}

/// The products of tridiagonal and dense matrices.
///
/// Op `TridiagonalMatMul`. Output: `output`.
#[track_caller]
pub fn tridiagonal_mat_mul(
    graph: &Graph,
    superdiag: impl Operand,
    maindiag: impl Operand,
    subdiag: impl Operand,
    rhs: impl Operand,
) -> OpBuilder {
    graph.op("TridiagonalMatMul").input(superdiag).input(maindiag).input(subdiag).input(rhs)
}

/// Solves equations with tridiagonal matrices.
///
/// Op `TridiagonalSolve`. Output: `output`.
///
/// Attributes with defaults: `partial_pivoting: bool = true`, `perturb_singular: bool = false`.
#[track_caller]
pub fn tridiagonal_solve(graph: &Graph, diagonals: impl Operand, rhs: impl Operand) -> OpBuilder {
    graph.op("TridiagonalSolve").input(diagonals).input(rhs)
}
