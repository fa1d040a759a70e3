"""Arithmetic on sparse tensors, their parts, and sets of values."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates
from conformance.differential.families.sparse import SUMMED, entries, whole


def sparse(draw, dtype, shape, count=None):
    """Draws the three parts of a sparse tensor."""
    count = draw.integer(0, int(np.prod(shape))) if count is None else count
    values = draw.array(dtype, [count]) if dtype in (tf.string, tf.bool) else whole(draw, dtype, [count])
    return [entries(draw, tuple(shape), count), values, np.int64(shape)]


@generates("SparseConcat")
def concat(op, draw):
    for dtype in (tf.float32, tf.string, tf.bool, tf.int8):
        for axis in (0, 1, -1):
            shapes = [[2, 3], [2, 3]]
            shapes[1][axis] = draw.integer(1, 4)
            parts = [sparse(draw, dtype, shape) for shape in shapes]
            yield Case(op, [list(part) for part in zip(*parts)], {"concat_dim": axis})
    lists = [list(part) for part in zip(*parts)]
    yield Case(op, lists, {"concat_dim": 2})
    yield Case(op, lists, {"concat_dim": 0 if axis in (1, -1) and shapes[1][1] != 3 else 5})
    yield Case(op, [lists[0], lists[1], [np.int64([2, 3, 1])] * 2], {"concat_dim": 0})


@generates("SparseSplit")
def split(op, draw):
    for dtype in (tf.float32, tf.string, tf.int16):
        for axis, parts in [(0, 2), (1, 3), (1, 1), (0, 4)]:
            yield Case(op, [np.int64(axis), *sparse(draw, dtype, [5, 4])], {"num_split": parts})
    part = sparse(draw, tf.float32, [5, 4])
    yield Case(op, [np.int64(2), *part], {"num_split": 2})
    yield Case(op, [np.int64(-1), *part], {"num_split": 2})
    yield Case(op, [np.int64(0), *part], {"num_split": 6})


@generates("SparseAdd")
def add(op, draw):
    for dtype in draw.types(op, "T"):
        real = {tf.complex64: tf.float32, tf.complex128: tf.float64}.get(dtype, dtype)
        for limit in (0, 3):
            shape = draw.shape(2)
            threshold = np.asarray(limit, real.as_numpy_dtype)
            yield Case(op, [*sparse(draw, dtype, shape), *sparse(draw, dtype, shape), threshold])
    a = sparse(draw, tf.float32, [2, 3])
    for other in ([2, 4], [2, 3, 1], [3]):
        yield Case(op, [*a, *sparse(draw, tf.float32, other), np.float32(0)])
    yield Case(op, [*a, *a, np.float32([0])])
    nothing = [np.zeros((0, 0), np.int64), np.zeros(0, np.float32), np.zeros(0, np.int64)]
    yield Case(op, [*nothing, *nothing, np.float32(0)])


@generates("SparseAddGrad")
def add_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        a, b = entries(draw, (3, 3), 4), entries(draw, (3, 3), 3)
        both = np.unique(np.concatenate([a, b]), axis=0)
        yield Case(op, [whole(draw, dtype, [len(both)]), a, b, both])
    yield Case(op, [whole(draw, dtype, [1]), a, b, both])
    yield Case(op, [whole(draw, dtype, [len(both)]), a[:, :1], b, both])


@generates("SparseSlice")
def slice_of(op, draw):
    for dtype in (tf.float32, tf.string, tf.bool, tf.uint16):
        for start, size in [([0, 0], [2, 2]), ([1, 1], [9, 2]), ([3, 0], [1, 4]), ([5, 5], [1, 1])]:
            yield Case(op, [*sparse(draw, dtype, [4, 4]), np.int64(start), np.int64(size)])
    part = sparse(draw, tf.float32, [4, 4])
    yield Case(op, [*part, np.int64([0]), np.int64([1, 1])])
    yield Case(op, [*part, np.int64([0, 0]), np.int64([[1, 1]])])
    for start, size in [([-1, 0], [3, 3]), ([0, 0], [-1, 2])]:
        yield Case(op, [*part, np.int64(start), np.int64(size)])


@generates("SparseSliceGrad")
def slice_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        indices = entries(draw, (4, 4), 7)
        start = np.int64([1, 1])
        inside = indices[(indices >= 1).all(axis=1)] - start
        yield Case(op, [whole(draw, dtype, [len(inside)]), indices, start, inside])
    yield Case(op, [whole(draw, dtype, [len(inside) + 1]), indices, start, inside])
    yield Case(op, [whole(draw, dtype, [len(inside)]), indices, start[:1], inside])


@generates("SparseSoftmax", tolerance=SUMMED)
def softmax(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in ([3, 4], [2, 2, 3], [1, 1]):
            yield Case(op, sparse(draw, dtype, shape))
    yield Case(op, sparse(draw, tf.float32, [4]))


@generates("SparseSparseMaximum", "SparseSparseMinimum")
def extreme(op, draw):
    for dtype in draw.types(op, "T"):
        shape = draw.shape(draw.integer(1, 3))
        yield Case(op, [*sparse(draw, dtype, shape), *sparse(draw, dtype, shape)])
    yield Case(op, [*sparse(draw, tf.float32, [2, 3]), *sparse(draw, tf.float32, [3, 3])])
    yield Case(op, [*sparse(draw, tf.float32, [2, 3]), *sparse(draw, tf.float32, [2])])
    outside = [np.int64([[5]]), np.float32([1]), np.int64([2])]
    yield Case(op, [*outside, *sparse(draw, tf.float32, [2])])


@generates("SparseReduceSum", "SparseReduceSumSparse", "SparseReduceMax", "SparseReduceMaxSparse", tolerance=SUMMED)
def reduce(op, draw):
    for dtype in draw.types(op, "T"):
        for axes in ([0], [1, -1]):
            inputs = [*sparse(draw, dtype, [2, 3, 2]), np.int32(axes)]
            yield Case(op, inputs, {"keep_dims": draw.chance()})
    part = sparse(draw, tf.float32, [2, 3], 4)
    for axes in ([], [0, 1], [0, 0], 1):
        for keep in (False, True):
            yield Case(op, [*part, np.int32(axes)], {"keep_dims": keep})
    for axes in ([2], [-3]):
        yield Case(op, [*part, np.int32(axes)])
    for shape in ([2**32, 2**31], [2, -3]):
        yield Case(op, [np.int64([[1, 2]]), np.float32([1]), np.int64(shape), np.int32([0])])
    yield Case(op, [np.int64([[1, 9]]), np.float32([1]), np.int64([5, 5]), np.int32([0])])


@generates("SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul")
def cwise(op, draw):
    for dtype in draw.types(op, "T"):
        for dense in ([2, 3], [3], [1], [2, 1]):
            y = whole(draw, dtype, dense)
            yield Case(op, [*sparse(draw, dtype, [2, 3], 4), np.where(y == 0, 1, y).astype(dtype.as_numpy_dtype)])
    part = sparse(draw, tf.float32, [2, 3], 3)
    for dense in ([4], [3, 2], [1, 2, 3]):
        yield Case(op, [*part, np.ones(dense, np.float32)])
    yield Case(op, [np.int64([[5, 5]]), np.float32([1]), np.int64([2, 3]), np.ones([2, 3], np.float32)])


@generates("SparseTensorDenseAdd")
def dense_add(op, draw):
    for dtype in draw.types(op, "T"):
        for index in (np.int32, np.int64):
            shape = draw.shape(draw.integer(1, 4))
            indices, values, dims = sparse(draw, dtype, shape)
            yield Case(op, [indices.astype(index), values, dims.astype(index), whole(draw, dtype, shape)])
    part = sparse(draw, tf.float32, [2, 3], 2)
    yield Case(op, [*part, np.ones([3, 2], np.float32)])
    yield Case(op, [*part, np.ones([6], np.float32)])
    yield Case(op, [np.int64([[5, 5]]), np.float32([1]), np.int64([2, 3]), np.ones([2, 3], np.float32)])


SETS = (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.string)


def small(draw, dtype, shape):
    """Draws values of which some are equal."""
    if dtype == tf.string:
        return draw.strings(shape, alphabet=b"ab", longest=2)
    return draw.array(dtype, shape, 0, 4)


# Sparse tensors with something wrong about their parts, or outside of their shapes.
BROKEN_SETS = [
    [np.int64(indices), np.int32(values), np.int64(dims)]
    for indices, values, dims in [
        ([0], [1], [3]),
        ([[0, 0]], [1], []),
        ([[0, 0]], [1], [[2, 2]]),
        ([[0, 0]], [1, 2], [2, 2]),
        ([[0, 0, 0]], [1], [2, 2]),
        ([[0, 0]], [[1]], [2, 2]),
        ([[0, 0]], [1], [-1, 2]),
        ([[0, 0]], [1], [2**40, 2**40]),
        ([[0, 0], [5, 0]], [1, 2], [2, 2]),
        ([[0, 5]], [1], [2, 2]),
        ([[0, 0]], [1], [2, 0]),
    ]
]


@generates("SetSize")
def set_size(op, draw):
    for dtype in SETS:
        for shape in ([3, 4], [2, 2, 3]):
            indices, values, dims = sparse(draw, dtype, shape)
            yield Case(op, [indices, small(draw, dtype, values.shape), dims])
    yield Case(op, [np.int64([[1, 0], [0, 0]]), np.int32([1, 2]), np.int64([2, 2])])
    yield Case(op, [np.int64([[1, 0], [0, 0]]), np.int32([1, 2]), np.int64([2, 2])], {"validate_indices": False})
    yield Case(op, [np.int64([[5, 0]]), np.int32([1]), np.int64([2, 2])])
    for inputs in BROKEN_SETS:
        yield Case(op, inputs, {"validate_indices": draw.chance()})


def sparse_set(draw, dtype, shape):
    indices, values, dims = sparse(draw, dtype, shape)
    return [indices, small(draw, dtype, values.shape), dims]


@generates("DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation")
def set_operation(op, draw):
    first = sparse_set if op.startswith("Sparse") else lambda *args: [small(*args)]
    second = (lambda *args: [small(*args)]) if op.startswith("DenseToDense") else sparse_set
    for operation in ("a-b", "b-a", "intersection", "union"):
        for dtype in SETS:
            groups = draw.shape(draw.integer(1, 2), high=3)
            inputs = first(draw, dtype, [*groups, draw.integer(1, 4)]) + second(draw, dtype, [*groups, draw.integer(1, 4)])
            yield Case(op, inputs, {"set_operation": operation})
    attrs = {"set_operation": "union"}
    yield Case(op, first(draw, tf.int32, [2, 3]) + second(draw, tf.int32, [3, 3]), attrs)
    yield Case(op, inputs, {"set_operation": "xor"})
    yield Case(op, first(draw, tf.int32, [3]) + second(draw, tf.int32, [3]), attrs)
    if not op.startswith("DenseToDense"):
        for broken in BROKEN_SETS:
            inputs = first(draw, tf.int32, [2, 3]) + broken
            yield Case(op, inputs, {"set_operation": draw.choice(["a-b", "union"]), "validate_indices": draw.chance()})


def weights_of(draw, dtype, shape):
    return draw.choice([np.zeros([0], dtype.as_numpy_dtype), whole(draw, dtype, shape)])


COUNTED = (tf.int32, tf.int64, tf.float32, tf.float64)


@generates("SparseBincount", "RaggedBincount")
def bincount(op, draw):
    for dtype in COUNTED:
        for index in (tf.int32, tf.int64):
            for binary in (False, True):
                values = draw.integers([6], 0, 5, index)
                size = np.asarray(4, index.as_numpy_dtype)
                rest = [size, weights_of(draw, dtype, [6])]
                if op == "RaggedBincount":
                    inputs = [np.int64([0, 2, 2, 6]), values, *rest]
                elif draw.chance():
                    inputs = [entries(draw, (3, 4), 6), values, np.int64([3, 4]), *rest]
                else:
                    inputs = [entries(draw, (9,), 6), values, np.int64([9]), *rest]
                yield Case(op, inputs, {"binary_output": binary})
    none, size = np.float32([]), np.int32(4)
    if op == "RaggedBincount":
        for splits in ([1, 3], [0, 2], [0, 4], [0, 3, 2]):
            yield Case(op, [np.int64(splits), np.int32([1, 2, 3]), size, none])
        yield Case(op, [np.int64([0, 2]), np.int32([1, -2]), size, none])
    else:
        yield Case(op, [np.int64([[5, 0]]), np.int32([1]), np.int64([2, 2]), size, none])
        yield Case(op, [np.int64([[0]]), np.int32([-1]), np.int64([2]), size, none])


@generates("DenseCountSparseOutput", "SparseCountSparseOutput", "RaggedCountSparseOutput")
def count_sparse(op, draw):
    for dtype in COUNTED:
        for index in (tf.int32, tf.int64):
            for attrs in ({}, {"maxlength": 3}, {"minlength": 8}, {"minlength": 2, "maxlength": 5}):
                attrs = attrs | {"binary_output": draw.chance()}
                if op == "DenseCountSparseOutput":
                    shape = draw.choice([[6], [2, 3]])
                    inputs = [draw.integers(shape, 0, 5, index), weights_of(draw, dtype, shape)]
                else:
                    values, weights = draw.integers([6], 0, 5, index), weights_of(draw, dtype, [6])
                    if op == "RaggedCountSparseOutput":
                        inputs = [np.int64([0, 2, 2, 6]), values, weights]
                    else:
                        shape = draw.choice([(9,), (3, 4)])
                        inputs = [entries(draw, shape, 6), values, np.int64(shape), weights]
                yield Case(op, inputs, attrs)
    attrs = {"binary_output": False}
    if op == "DenseCountSparseOutput":
        for values in ([], [[]], [-1, 2], [[[1]]]):
            yield Case(op, [np.int32(values), np.float32([])], attrs)
        yield Case(op, [np.int32([1, 2]), np.float32([1])], attrs)
    elif op == "RaggedCountSparseOutput":
        for splits in ([1, 3], [0, 2], [], [0]):
            yield Case(op, [np.int64(splits), np.int32([1, 2, 3]), np.float32([])], attrs)
    else:
        yield Case(op, [np.int64([[7, 0]]), np.int32([1]), np.int64([2, 2]), np.float32([])], attrs)
        yield Case(op, [np.int64([[0, 0]]), np.int32([1]), np.int64([2, 2]), np.float32([1, 2])], attrs)


def features(draw, kinds):
    """Draws columns of features: lists of indices, values and shapes, and of dense columns."""
    indices, values, shapes, dense = [], [], [], []
    for place, kind in kinds:
        shape = [2, draw.integer(1, 3)]
        if place == "sparse":
            part = sparse(draw, kind, shape, draw.integer(1, shape[1] + 1))
            indices.append(part[0])
            values.append(draw.array(kind, part[1].shape))
            shapes.append(part[2])
        else:
            dense.append(draw.array(kind, shape))
    return indices, values, shapes, dense


COLUMNS = (
    [("sparse", tf.string), ("sparse", tf.string)],
    [("sparse", tf.int64), ("dense", tf.string)],
    [("dense", tf.int64), ("dense", tf.int64), ("sparse", tf.int64)],
    [("sparse", tf.string)],
)


@generates("SparseCross", "SparseCrossV2", "SparseCrossHashed")
def cross(op, draw):
    for kinds in COLUMNS:
        for round in range(4):
            inputs = list(features(draw, kinds))
            if op == "SparseCrossV2":
                yield Case(op, [*inputs, np.asarray(draw.choice([b"_X_", b"", b", "]), object)])
            elif op == "SparseCrossHashed":
                salt = np.int64([draw.integer(0, 99), draw.integer(0, 99)])
                # TensorFlow reads dense integers as strings when the hash is strong.
                strong = round % 2 == 1 and not any(array.dtype == np.int64 for array in inputs[3])
                yield Case(op, [*inputs, np.int64(draw.choice([0, 7, 1000])), np.bool_(strong), salt])
            else:
                hashed = round % 2 == 0
                attrs = {
                    "hashed_output": hashed,
                    "num_buckets": draw.choice([0, 100]),
                    "hash_key": draw.integer(1, 1 << 40),
                    "out_type": tf.int64 if hashed else tf.string,
                    "internal_type": tf.int64 if hashed else tf.string,
                }
                yield Case(op, inputs, attrs)
