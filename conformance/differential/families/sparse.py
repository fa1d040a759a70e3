"""Segments and sparse tensors."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

SUMMED = Tolerance(ulps=16, atol=1e-6, reason="sums in another order")


def whole(draw, dtype, shape, most=4):
    """Draws whole numbers, whose products and short sums every type holds exactly."""
    dtype = tf.as_dtype(dtype)
    low = 0 if dtype.is_unsigned else -most
    return draw.array(tf.int32, shape, low, most).astype(dtype.as_numpy_dtype)


def index_type(draw):
    return draw.choice([np.int32, np.int64])


@generates("SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean", tolerance=SUMMED)
def sorted_segments(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in [(6,), (5, 3), (4, 2, 2), (0, 3), (3, 0)]:
            ids = np.sort(draw.random.integers(0, 5, shape[:1])).astype(index_type(draw))
            yield Case(op, [whole(draw, dtype, shape), ids])
    data = whole(draw, tf.float32, (3, 2))
    for ids in ([0, 2, 1], [1, 1, 0], [-1, 0, 1], [0, 1], [[0, 1, 2]], [0, 0, -1]):
        yield Case(op, [data, np.int32(ids)])


@generates(
    "UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"
)
def unsorted_segments(op, draw):
    for dtype in draw.types(op, "T"):
        for shape, prefix in [((6,), 1), ((5, 3), 1), ((2, 3, 2), 2), ((0, 3), 1), ((3, 0), 1)]:
            ids = draw.random.integers(-1, 4, shape[:prefix]).astype(index_type(draw))
            yield Case(op, [whole(draw, dtype, shape, 2), ids, index_type(draw)(4)])
        yield Case(op, [whole(draw, dtype, ()), np.int32(1), np.int32(2)])
    data = whole(draw, tf.float32, (3, 2))
    yield Case(op, [data, np.int32([0, 7, 1]), np.int32(3)])
    yield Case(op, [data, np.int32([[0, 1], [0, 1], [5, 1]]), np.int32(3)])
    yield Case(op, [data, np.int32([0, 1]), np.int32(3)])
    yield Case(op, [data, np.int32([0, 1, 2]), np.int32(-1)])


def chosen(draw, rows, count=6):
    indices = draw.random.integers(0, rows, count).astype(index_type(draw))
    ids = np.sort(draw.random.integers(0, 4, count)).astype(index_type(draw))
    return [indices, ids]


@generates("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN", tolerance=SUMMED)
def sparse_segments(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in [(5,), (4, 3), (3, 2, 2)]:
            yield Case(op, [whole(draw, dtype, shape), *chosen(draw, shape[0])])
        yield Case(op, [whole(draw, dtype, (3, 2)), np.int32([]), np.int32([])])
    data = whole(draw, tf.float32, (3, 2))
    for indices, ids in [([0, 3], [0, 1]), ([0, -1], [0, 0]), ([0, 1], [1, 0]), ([0, 1], [-1, 0]), ([0], [0, 1])]:
        yield Case(op, [data, np.int32(indices), np.int32(ids)])


@generates(
    "SparseSegmentSumWithNumSegments",
    "SparseSegmentMeanWithNumSegments",
    "SparseSegmentSqrtNWithNumSegments",
    tolerance=SUMMED,
)
def sparse_segments_counted(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in [(5,), (4, 3)]:
            count = index_type(draw)(draw.integer(4, 6))
            yield Case(op, [whole(draw, dtype, shape), *chosen(draw, shape[0]), count])
    data = whole(draw, tf.float32, (3, 2))
    yield Case(op, [data, np.int32([0, 1]), np.int32([0, 3]), np.int32(2)])


@generates(
    "SparseSegmentSumGrad",
    "SparseSegmentMeanGrad",
    "SparseSegmentSqrtNGrad",
    tolerance=SUMMED,
)
def sparse_segments_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in [(4,), (4, 3)]:
            yield Case(op, [whole(draw, dtype, shape), *chosen(draw, 5), np.int32(5)])
    grad = whole(draw, tf.float32, (3, 2))
    yield Case(op, [grad, np.int32([0, 5]), np.int32([0, 1]), np.int32(5)])
    yield Case(op, [grad, np.int32([0, 1]), np.int32([0, 3]), np.int32(5)])


def entries(draw, shape, count):
    """Draws indices in order, without repetition."""
    flat = np.sort(draw.random.choice(int(np.prod(shape)), count, replace=False))
    return np.stack(np.unravel_index(flat, shape), axis=1).astype(np.int64)


@generates("SparseToDense")
def sparse_to_dense(op, draw):
    for dtype in (tf.float32, tf.int64, tf.bool, tf.string, tf.complex64):
        indices = entries(draw, (3, 4), 4)
        values = draw.array(dtype, [4])
        yield Case(op, [indices, np.int64([3, 4]), values, draw.array(dtype, [])])
    one = np.float32(1)
    for indices, shape, values in [
        (np.int32(2), [4], np.float32(5)),
        (np.int32([2, 3]), [4], np.float32(5)),
        (np.int32([2, 7]), [4], np.float32(5)),
        (np.int32([3, 3]), [4], np.float32(5)),
        (np.int32([3, 2]), [4], np.float32(5)),
        (np.int32([[3], [3]]), [4], np.float32([1, 2, 3])),
    ]:
        yield Case(op, [indices, np.int32(shape), values, one])
    yield Case(op, [np.int32([3, 2]), np.int32([4]), np.float32([1, 2]), one], {"validate_indices": False})


@generates("SparseTensorDenseMatMul", tolerance=SUMMED)
def sparse_matmul(op, draw):
    for dtype in draw.types(op, "T"):
        for adjoint_a in (False, True):
            for adjoint_b in (False, True):
                shape, b = [3, 4], [4, 2]
                indices = entries(draw, tuple(shape), 5)
                if adjoint_a:
                    b = [3, 2]
                inputs = [indices, whole(draw, dtype, [5]), np.int64(shape)]
                inputs.append(whole(draw, dtype, b[::-1] if adjoint_b else b))
                yield Case(op, inputs, {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b})
    values = np.float32([1])
    yield Case(op, [np.int64([[0, 5]]), values, np.int64([2, 2]), np.ones([2, 2], np.float32)])
    yield Case(op, [np.int64([[5, 0]]), values, np.int64([2, 2]), np.ones([2, 2], np.float32)])
    yield Case(op, [np.int64([[0, 0]]), values, np.int64([2, 3]), np.ones([2, 2], np.float32)])


@generates("SparseReorder")
def sparse_reorder(op, draw):
    for dtype in (tf.float32, tf.string, tf.int16):
        indices = entries(draw, (3, 4), 5)[draw.permutation(5)]
        yield Case(op, [indices, draw.array(dtype, [5]), np.int64([3, 4])])
    yield Case(op, [np.int64([[0, 0]]), np.float32([1, 2]), np.int64([2, 2])])


@generates("SparseReshape")
def sparse_reshape(op, draw):
    for shape in ([2, 6], [12], [-1, 3], [2, 2, 3], [5], [-1, 5], [-1, -1], [-2, 6]):
        yield Case(op, [entries(draw, (3, 4), 5), np.int64([3, 4]), np.int64(shape)])
    yield Case(op, [np.int64([[9, 9]]), np.int64([5, 6]), np.int64([30])])
    yield Case(op, [np.int64([[0, 0]]), np.int64([2**40, 2**40]), np.int64([-1])])


@generates("SparseFillEmptyRows")
def sparse_fill_empty_rows(op, draw):
    for dtype in (tf.float32, tf.string, tf.int64):
        for count in (0, 2, 5):
            indices = entries(draw, (5, 3), count)[draw.permutation(count)]
            yield Case(op, [indices, draw.array(dtype, [count]), np.int64([5, 3]), draw.array(dtype, [])])
    yield Case(op, [np.int64([[7, 0]]), np.float32([1]), np.int64([5, 2]), np.float32(0)])


@generates("SparseFillEmptyRowsGrad")
def sparse_fill_empty_rows_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        yield Case(op, [np.int64([0, 2]), whole(draw, dtype, [4])])
    yield Case(op, [np.int64([0, 9]), np.float32([1, 2])])
