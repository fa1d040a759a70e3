"""Linear algebra.

Decompositions are not unique: signs (or phases) of eigenvectors and singular vectors may differ.
For `Qr` and for small matrices our kernels take the same steps as TensorFlow's, so values are
compared as they are; larger ones are compared by the products of their factors (`build`).
"""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

ROUNDING = Tolerance(ulps=300, atol=1e-4, reason="sums are in another order")
LOOSE = Tolerance(ulps=2000, atol=2e-3, reason="iterations end at other last digits")
OUTER = [(), (2,), (0,), (2, 1)]


def _random(draw, dtype, shape):
    return draw.array(dtype, shape, -1, 1)


def _regular(draw, dtype, n, outer=()):
    """Draws well-conditioned square matrices."""
    matrices = _random(draw, dtype, (*outer, n, n))
    signs = draw.random.choice([-1, 1], (*outer, n))
    return (matrices + n * np.eye(n) * signs[..., None, :]).astype(matrices.dtype)


def _positive(draw, dtype, n, outer=()):
    matrices = _random(draw, dtype, (*outer, n, n))
    product = matrices @ np.conj(np.swapaxes(matrices, -1, -2)) + np.eye(n)
    return product.astype(matrices.dtype)


def _hermitian(draw, dtype, n, outer=()):
    matrices = _random(draw, dtype, (*outer, n, n))
    return ((matrices + np.conj(np.swapaxes(matrices, -1, -2))) / 2).astype(matrices.dtype)


def _bad_squares(op, draw, attrs=None):
    for shape in ((), (3,), (2, 3), (2, 3, 2)):
        yield Case(op, [draw.array(tf.float32, shape)], attrs or {})


def _squares(draw, dtypes):
    for dtype in dtypes:
        for n in (0, 1, 2, 3, 4, draw.integer(5, 8)):
            yield dtype, n, draw.choice(OUTER) if n < 5 else ()


def _halves(tolerance, dtype):
    if dtype == tf.half:
        return Tolerance(ulps=40, atol=2e-3, reason="half precision is computed in single")
    return tolerance


@generates("Qr", tolerance=ROUNDING)
def qr(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in ((3, 3), (4, 2), (2, 4), (1, 1), (1, 3), (3, 1), (0, 2), (2, 0), (2, 3, 2), (0, 2, 2)):
            matrix = _random(draw, dtype, shape)
            for full in (False, True):
                tolerance = _halves(ROUNDING, dtype)
                yield Case(op, [matrix], {"full_matrices": full}, tolerance=tolerance)
    yield Case(op, [np.zeros((3, 2), np.float32)], {"full_matrices": True})
    yield Case(op, [np.full((2, 2), np.nan, np.float32)])
    yield Case(op, [draw.array(tf.float32, (3,))])
    yield Case(op, [_random(draw, tf.float32, (60, 40))])
    yield Case(op, [_random(draw, tf.float64, (64, 64))])


@generates("Cholesky", tolerance=ROUNDING)
def cholesky(op, draw):
    for dtype, n, outer in _squares(draw, draw.types(op, "T")):
        yield Case(op, [_positive(draw, dtype, n, outer)])
    yield Case(op, [_positive(draw, tf.float64, 40)])
    yield from _bad_squares(op, draw)


@generates("CholeskyGrad", tolerance=ROUNDING)
def cholesky_grad(op, draw):
    for dtype, n, outer in _squares(draw, draw.types(op, "T")):
        factor = np.linalg.cholesky(_positive(draw, dtype, n, outer).astype(np.float64))
        grad = _random(draw, dtype, (*outer, n, n))
        yield Case(op, [factor.astype(grad.dtype), grad])
    for l, grad in (((2, 3), (2, 3)), ((2, 2), (3, 3)), ((2, 2), (1, 2, 2)), ((2, 2, 2), (1, 2, 2)), ((2,), (2,))):
        yield Case(op, [draw.array(tf.float32, l), draw.array(tf.float32, grad)])


@generates("MatrixDeterminant", "LogMatrixDeterminant", tolerance=ROUNDING)
def determinant(op, draw):
    for dtype, n, outer in _squares(draw, draw.types(op, "T")):
        yield Case(op, [_random(draw, dtype, (*outer, n, n))])
    yield Case(op, [np.zeros((2, 3, 3), np.float32)])
    yield Case(op, [np.full((2, 2), np.nan, np.float32)])
    yield Case(op, [np.eye(3) * 1e200])
    yield from _bad_squares(op, draw)


@generates("MatrixInverse", tolerance=ROUNDING)
def inverse(op, draw):
    for dtype, n, outer in _squares(draw, draw.types(op, "T")):
        for adjoint in (False, True):
            tolerance = _halves(ROUNDING, dtype)
            matrix = _regular(draw, dtype, n, outer)
            yield Case(op, [matrix], {"adjoint": adjoint}, tolerance=tolerance)
    yield Case(op, [np.zeros((2, 2), np.float32)])
    yield Case(op, [np.full((2, 2), np.nan, np.float32)])
    yield Case(op, [_regular(draw, tf.float64, 50)])
    yield from _bad_squares(op, draw)


@generates("MatrixSolve", tolerance=ROUNDING)
def solve(op, draw):
    for dtype, n, outer in _squares(draw, draw.types(op, "T")):
        for adjoint in (False, True):
            rhs = _random(draw, dtype, (*outer, n, draw.integer(0, 3)))
            yield Case(op, [_regular(draw, dtype, n, outer), rhs], {"adjoint": adjoint})
    yield Case(op, [np.zeros((2, 2), np.float32), np.ones((2, 1), np.float32)])
    for matrix, rhs in (
        ((2, 2), (3, 1)), ((2, 2), (2,)), ((2, 2), (1, 2, 1)), ((2, 2, 2), (1, 2, 1)), ((2, 3), (2, 1)), ((2,), (2,)),
    ):
        yield Case(op, [draw.array(tf.float32, matrix), draw.array(tf.float32, rhs)])


@generates("MatrixTriangularSolve", tolerance=ROUNDING)
def triangular_solve(op, draw):
    for dtype in draw.types(op, "T"):
        for n in (0, 1, 2, 3, 4):
            matrix_outer, rhs_outer = draw.broadcast_shapes() if n in (2, 3) else ((2,), (2,))
            for lower in (False, True):
                matrix = _regular(draw, dtype, n, matrix_outer)
                rhs = _random(draw, dtype, (*rhs_outer, n, draw.integer(0, 3)))
                yield Case(op, [matrix, rhs], {"lower": lower, "adjoint": draw.chance()})
    yield Case(op, [np.zeros((2, 2), np.float32), np.zeros((2, 1), np.float32)])
    yield Case(op, [_regular(draw, tf.float64, 40), _random(draw, tf.float64, (40, 5))])
    for matrix, rhs in (
        ((2, 2), (3, 1)), ((2, 2), (2,)), ((2, 3), (2, 1)), ((2, 2, 2), (3, 2, 1)), ((2,), (2, 1)),
    ):
        yield Case(op, [draw.array(tf.float32, matrix), draw.array(tf.float32, rhs)])


@generates("BandedTriangularSolve", tolerance=ROUNDING)
def banded(op, draw):
    for dtype in draw.types(op, "T"):
        for bands, n in ((1, 1), (1, 3), (2, 3), (3, 3), (4, 3), (3, 5)):
            matrix_outer, rhs_outer = draw.broadcast_shapes() if n == 3 else ((), ())
            for lower in (False, True):
                matrix = _random(draw, dtype, (*matrix_outer, bands, n))
                matrix[..., 0 if lower else bands - 1, :] += 3
                rhs = _random(draw, dtype, (*rhs_outer, n, draw.integer(1, 3)))
                yield Case(op, [matrix, rhs], {"lower": lower, "adjoint": draw.chance()})
    ones = np.ones((2, 3), np.float32)
    for matrix, rhs in (
        (ones * 0, ones.T), (ones, ones), (ones[0], ones.T), (np.ones((2, 2, 3), np.float32), np.ones((3, 3, 1), np.float32)),
        (ones[:0], ones.T), (ones, ones.T[:, :0]),
    ):
        yield Case(op, [matrix, rhs])


@generates("MatrixSolveLs", tolerance=LOOSE)
def least_squares(op, draw):
    for dtype in draw.types(op, "T"):
        for rows, columns in ((3, 3), (5, 2), (2, 4), (1, 1), (4, 1)):
            outer = draw.choice([(), (2,)])
            for fast in (False, True):
                matrix = _random(draw, dtype, (*outer, rows, columns)) * 0.2
                matrix += np.eye(rows, columns).astype(matrix.dtype)
                rhs = _random(draw, dtype, (*outer, rows, draw.integer(1, 3)))
                yield Case(op, [matrix, rhs, draw.choice([0.0, 0.5])], {"fast": fast})
    low_rank = np.outer([1.0, 2.0, -1.0], [1.0, 0.5])
    rhs = _random(draw, tf.float64, (3, 2))
    yield Case(op, [low_rank, rhs, 0.0], {"fast": False})
    yield Case(op, [np.zeros((3, 2)), rhs, 0.0], {"fast": False})
    yield Case(op, [np.zeros((3, 2)), rhs, 0.0])
    yield Case(op, [np.ones((3, 2)), rhs, -1.0])
    yield Case(op, [np.ones((3, 2)), rhs, np.ones(1)])
    yield Case(op, [np.ones((3, 0)), rhs, 0.0])
    for matrix, shape in (((2, 2), (3, 1)), ((2, 2), (2,)), ((1, 2, 2), (2, 2, 2)), ((2,), (2,))):
        yield Case(op, [draw.array(tf.float64, matrix), draw.array(tf.float64, shape), 0.0])


@generates("SelfAdjointEigV2", tolerance=LOOSE)
def self_adjoint_eig(op, draw):
    for dtype, n, outer in _squares(draw, draw.types(op, "T")):
        yield Case(op, [_hermitian(draw, dtype, n, outer)])
        yield Case(op, [_random(draw, dtype, (*outer, n, n))], build=lambda x: tf.raw_ops.SelfAdjointEigV2(input=x, compute_v=False)[0])
    yield Case(op, [np.diag([3.0, 1.0, 2.0])])
    yield Case(op, [np.zeros((3, 3), np.float32)])
    yield Case(op, [np.full((2, 2), np.nan, np.float32)])
    yield from _bad_squares(op, draw)

    def rebuilt(x):
        e, v = tf.raw_ops.SelfAdjointEigV2(input=x, compute_v=True)
        return [e, tf.matmul(v * e[..., None, :], v, adjoint_b=True)]

    for dtype in draw.types(op, "T"):
        yield Case(op, [_hermitian(draw, dtype, 30)], build=rebuilt)


@generates("Svd", tolerance=LOOSE)
def svd(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in ((3, 3), (4, 2), (2, 4), (1, 1), (5, 5), (1, 3), (3, 1), (0, 2), (2, 0), (2, 3, 2), (0, 2, 2)):
            matrix = _random(draw, dtype, shape)
            for full in (False, True):
                yield Case(op, [matrix], {"full_matrices": full})
            yield Case(op, [matrix], build=lambda x: tf.raw_ops.Svd(input=x, compute_uv=False)[0])
    yield Case(op, [np.zeros((3, 2), np.float32)])
    yield Case(op, [np.full((2, 2), np.nan, np.float32)])
    yield Case(op, [draw.array(tf.float32, (3,))])

    def rebuilt(x):
        s, u, v = tf.raw_ops.Svd(input=x, compute_uv=True, full_matrices=False)
        return [s, tf.matmul(u * s[..., None, :], v, adjoint_b=True)]

    for dtype in draw.types(op, "T"):
        for shape in ((30, 30), (40, 20), (20, 40)):
            yield Case(op, [_random(draw, dtype, shape)], build=rebuilt)


@generates("Eig", tolerance=LOOSE)
def eig(op, draw):
    def out(dtype):
        return tf.complex64 if dtype.size in (4, 8) and dtype != tf.float64 else tf.complex128

    for dtype in draw.types(op, "T"):
        for n in (0, 1, 2, 3, 4, 5):
            # The phases of complex vectors of a real matrix depend on the last digits of T.
            if dtype.is_complex or n < 4:
                matrix = _random(draw, dtype, (*draw.choice(OUTER), n, n))
                if not dtype.is_complex:
                    matrix = np.triu(matrix) + np.eye(n, dtype=matrix.dtype) * np.arange(n, dtype=matrix.dtype)
                yield Case(op, [matrix], {"Tout": out(dtype)})

    def rebuilt(x, kind):
        e, v = tf.raw_ops.Eig(input=x, compute_v=True, Tout=kind)
        values = tf.raw_ops.Eig(input=x, compute_v=False, Tout=kind)[0]
        # The sums do not depend on the order.
        return [tf.reduce_sum(e), tf.reduce_sum(values), tf.matmul(v * e[..., None, :], tf.linalg.inv(v))]

    for dtype in draw.types(op, "T"):
        for n in (4, 7, 12):
            yield Case(op, [_random(draw, dtype, (n, n))], build=lambda x, kind=out(dtype): rebuilt(x, kind))
    yield Case(op, [np.full((2, 2), np.nan)], {"Tout": tf.complex128})
    yield Case(op, [np.eye(2)], {"Tout": tf.complex64})
    yield from _bad_squares(op, draw, {"Tout": tf.complex64})


@generates("MatrixLogarithm", "MatrixSquareRoot", tolerance=LOOSE)
def matrix_function(op, draw):
    for dtype, n, outer in _squares(draw, draw.types(op, "T")):
        matrix = _random(draw, dtype, (*outer, n, n))
        # Real matrices have a real root if their eigenvalues are positive.
        yield Case(op, [matrix if dtype.is_complex else _positive(draw, dtype, n, outer)])
    zeros = np.zeros((2, 2), np.complex64)
    for matrix in (zeros, zeros * np.nan):
        yield Case(op, [matrix])
    for shape in ((), (3,), (2, 3)):
        yield Case(op, [draw.array(tf.complex64, shape)])
    if op == "MatrixSquareRoot":
        yield Case(op, [-_positive(draw, tf.float64, 3)])


@generates("Lu", tolerance=ROUNDING)
def lu(op, draw):
    for dtype, n, outer in _squares(draw, draw.types(op, "T")):
        for index in (tf.int32, tf.int64):
            yield Case(op, [_random(draw, dtype, (*outer, n, n))], {"output_idx_type": index})
    yield Case(op, [np.zeros((2, 2), np.float32)])
    yield Case(op, [np.eye(5)[draw.permutation(5)]])
    yield from _bad_squares(op, draw)


@generates("TridiagonalSolve", tolerance=LOOSE)
def tridiagonal_solve(op, draw):
    for dtype in draw.types(op, "T"):
        for n in (0, 1, 2, 3, 5):
            outer = draw.choice(OUTER)
            for pivoting in (False, True):
                diagonals = _random(draw, dtype, (*outer, 3, n))
                if not pivoting:
                    diagonals[..., 1, :] += 3
                rhs = _random(draw, dtype, (*outer, n, draw.integer(0, 3)))
                yield Case(op, [diagonals, rhs], {"partial_pivoting": pivoting})
    rhs = draw.array(tf.float32, (3, 2))
    for pivoting in (False, True):
        for perturb in (False, True):
            attrs = {"partial_pivoting": pivoting, "perturb_singular": perturb}
            yield Case(op, [np.zeros((3, 3), np.float32), rhs], attrs)
    for dtype in draw.types(op, "T"):
        for n in (1, 2, 5):
            singular = _random(draw, dtype, (2, 3, n))
            singular[..., 1, 0] = 0
            singular[..., 2, 1:2] = 0
            rhs = _random(draw, dtype, (2, n, 2))
            yield Case(op, [singular, rhs], {"perturb_singular": True})
    for diagonals, shape in (((2, 3), (3, 1)), ((3, 3), (2, 1)), ((3, 3), (3,)), ((1, 3, 3), (2, 3, 1))):
        yield Case(op, [draw.array(tf.float32, diagonals), draw.array(tf.float32, shape)])


@generates("TridiagonalMatMul", tolerance=ROUNDING)
def tridiagonal_matmul(op, draw):
    for dtype in draw.types(op, "T"):
        for n in (0, 1, 2, 3, 5):
            outer = draw.choice(OUTER)
            diagonals = [_random(draw, dtype, (*outer, 1, n)) for _ in range(3)]
            yield Case(op, [*diagonals, _random(draw, dtype, (*outer, n, draw.integer(1, 3)))])
    row, rhs = draw.array(tf.float32, (1, 3)), draw.array(tf.float32, (3, 2))
    for diagonals in ([row[0]] * 3, [row[:, :2], row, row], [row, row[:, :2], row], [row, row, row[:, :2]], [row[None]] * 3):
        yield Case(op, [*diagonals, rhs])
