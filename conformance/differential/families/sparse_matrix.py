"""Sparse matrices, which live in variants: made from tensors and turned into tensors again."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, OnlyShapes, Tolerance, generates

TYPES = [tf.float32, tf.float64, tf.complex64, tf.complex128]
SUMMED = Tolerance(ulps=16, atol=1e-6, reason="sums in another order")


def sparse(draw, dtype, shape):
    """Draws a dense tensor of which about half is zero."""
    return np.where(draw.integers(shape, 0, 1).astype(bool), draw.array(dtype, shape, -4, 4), 0).astype(
        dtype.as_numpy_dtype
    )


def matrix(dense):
    indices = np.argwhere(dense != 0).astype(np.int64)
    return tf.raw_ops.DenseToCSRSparseMatrix(dense_input=dense, indices=indices)


def dense(sparse_matrix, dtype):
    return tf.raw_ops.CSRSparseMatrixToDense(sparse_input=sparse_matrix, type=dtype)


def case(op, inputs, build):
    """A case whose inputs are constants of the graph: shape inference wants to see them."""
    return Case(op, [], build=lambda: build(*inputs))


@generates(
    "CSRSparseMatrixComponents",
    "CSRSparseMatrixToDense",
    "CSRSparseMatrixToSparseTensor",
    "SparseMatrixNNZ",
    "SparseMatrixTranspose",
)
def unary(op, draw):
    def build(value, dtype, last):
        source = matrix(value)
        if op == "CSRSparseMatrixComponents":
            return list(tf.raw_ops.CSRSparseMatrixComponents(csr_sparse_matrix=source, index=last, type=dtype))
        if op == "CSRSparseMatrixToDense":
            return [dense(source, dtype)]
        if op == "SparseMatrixNNZ":
            return [tf.raw_ops.SparseMatrixNNZ(sparse_matrix=source)]
        if op == "SparseMatrixTranspose":
            turned = tf.raw_ops.SparseMatrixTranspose(input=source, conjugate=last == 0, type=dtype)
            return list(tf.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=turned, type=dtype))
        return list(tf.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=source, type=dtype))

    for dtype in TYPES:
        for shape in ([3, 4], [2, 3, 2], [0, 3], [2, 0], [1, 1, 5]):
            last = draw.integer(0, shape[0] - 1) if len(shape) == 3 else 0
            yield case(op, [sparse(draw, dtype, shape), dtype, last], build)
    if op == "CSRSparseMatrixComponents":
        for index in (-1, 2):
            yield case(op, [sparse(draw, tf.float32, [2, 2, 2]), tf.float32, index], build)
    if op != "SparseMatrixNNZ":
        yield case(op, [sparse(draw, tf.float32, [2, 2]), tf.float64, 0], build)


@generates("DenseToCSRSparseMatrix", "SparseTensorToCSRSparseMatrix")
def make(op, draw):
    def build(value, indices):
        if op == "DenseToCSRSparseMatrix":
            made = tf.raw_ops.DenseToCSRSparseMatrix(dense_input=value, indices=indices)
        else:
            values = tf.constant(value.ravel()[: len(indices)])
            made = tf.raw_ops.SparseTensorToCSRSparseMatrix(
                indices=indices, values=values, dense_shape=np.int64(value.shape)
            )
        return list(tf.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=made, type=value.dtype))

    for dtype in TYPES:
        for shape in ([3, 4], [2, 3, 2]):
            value = sparse(draw, dtype, shape)
            yield case(op, [value, np.argwhere(value != 0).astype(np.int64)], build)
    for index in ([0, 4], [3, 0], [-1, 0]):
        yield case(op, [draw.array(tf.float32, [3, 4]), np.int64([index])], build)


@generates("SparseMatrixMatMul", tolerance=SUMMED)
def dense_product(op, draw):
    def build(a, b, attrs):
        return [tf.raw_ops.SparseMatrixMatMul(a=matrix(a), b=b, **attrs)]

    for dtype in TYPES:
        for batch in ([], [2]):
            for _ in range(4):
                turn_a, turn_b = (draw.choice([None, "transpose", "adjoint"]) for _ in range(2))
                a, b = [*batch, 3, 4], [*batch, 4, 2]
                attrs = {"transpose_output": draw.chance(), "conjugate_output": draw.chance()}
                if turn_a:
                    a, attrs[f"{turn_a}_a"] = [*batch, 4, 3], True
                if turn_b:
                    b, attrs[f"{turn_b}_b"] = [*batch, 2, 4], True
                yield case(op, [sparse(draw, dtype, a), draw.array(dtype, b, -4, 4), attrs], build)


@generates("SparseMatrixSparseMatMul", tolerance=SUMMED)
def sparse_product(op, draw):
    def build(a, b, dtype, attrs):
        return [dense(tf.raw_ops.SparseMatrixSparseMatMul(a=matrix(a), b=matrix(b), type=dtype, **attrs), dtype)]

    for dtype in TYPES:
        for batch in ([], [2]):
            for _ in range(3):
                turn_a, turn_b = (draw.choice([None, "transpose", "adjoint"]) for _ in range(2))
                a, b, attrs = [*batch, 3, 4], [*batch, 4, 2], {}
                if turn_a:
                    a, attrs[f"{turn_a}_a"] = [*batch, 4, 3], True
                if turn_b:
                    b, attrs[f"{turn_b}_b"] = [*batch, 2, 4], True
                yield case(op, [sparse(draw, dtype, a), sparse(draw, dtype, b), dtype, attrs], build)


def positive(draw, dtype, shape):
    """Draws matrices that are positive definite and about half of whose entries are zero."""
    some = np.tril(sparse(draw, dtype, shape), -1)
    return some + np.conj(np.swapaxes(some, -1, -2)) + np.eye(shape[-1], dtype=some.dtype) * 40


@generates("SparseMatrixSparseCholesky", tolerance=SUMMED)
def cholesky(op, draw):
    def build(value, order, dtype):
        factor = tf.raw_ops.SparseMatrixSparseCholesky(input=matrix(value), permutation=order, type=dtype)
        return [dense(factor, dtype), tf.raw_ops.SparseMatrixNNZ(sparse_matrix=factor)]

    for dtype in TYPES:
        # TensorFlow divides by zero where there are no rows.
        for shape in ([1, 1], [5, 5], [9, 9], [2, 4, 4]):
            value = positive(draw, dtype, shape)
            orders = [draw.permutation(shape[-1]) for _ in range(shape[0] if len(shape) == 3 else 1)]
            order = np.int32(orders) if len(shape) == 3 else np.int32(orders[0])
            yield case(op, [value, order, dtype], build)
    value = positive(draw, tf.float64, [3, 3])
    order = np.int32([0, 1, 2])
    yield case(op, [np.tril(value), order, tf.float64], build)
    yield case(op, [np.triu(value), order, tf.float64], build)
    yield case(op, [-value, order, tf.float64], build)


@generates(
    "SparseMatrixOrderingAMD", tolerance=OnlyShapes(reason="of orders that are equally good another one may be chosen")
)
def ordering(op, draw):
    for shape in ([1, 1], [6, 6], [2, 5, 5]):
        value = sparse(draw, tf.float32, shape)
        yield case(op, [value], lambda value: [tf.raw_ops.SparseMatrixOrderingAMD(input=matrix(value))])
