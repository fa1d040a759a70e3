"""Reductions over dimensions."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

SUMS = Tolerance(ulps=8, atol=1e-6, reason="sums are in another order")


def _axes(draw, rank):
    axes = [axis for axis in range(rank) if draw.chance()]
    return [axis - rank if draw.chance(0.3) else axis for axis in axes]


def _reductions(op, draw, dtype, low=None, high=None, *, tolerance=None):
    for shape in draw.shapes() + [draw.shape(4, high=3) for _ in range(3)]:
        axes = np.array(_axes(draw, len(shape)), draw.choice([np.int32, np.int64]))
        attrs = {"keep_dims": draw.chance()}
        yield Case(op, [draw.array(dtype, shape, low, high), axes], attrs, tolerance=tolerance)
    x = draw.array(dtype, (2, 3), low, high)
    for axes in (0, [[0, 1]], [2], [-3], [0, 0], [0, -2]):
        yield Case(op, [x, np.array(axes, np.int32)], tolerance=tolerance)


@generates("Max", "Min")
def extremes(op, draw):
    for dtype in draw.types(op, "T"):
        yield from _reductions(op, draw, dtype)
        yield Case(op, [draw.array(dtype, (3, 7), special=True), np.int32(1)])


@generates("All", "Any")
def logical(op, draw):
    yield from _reductions(op, draw, tf.bool)


@generates("EuclideanNorm", "Mean", "Prod", "Sum", tolerance=SUMS)
def sums(op, draw):
    for dtype in draw.types(op, "T"):
        low, high = (0.5, 1.5) if op == "Prod" and not dtype.is_integer else (None, None)
        if op == "EuclideanNorm" and dtype.is_integer:
            low, high = 0, 4
        yield from _reductions(op, draw, dtype, low, high)
        if dtype.is_integer and op != "EuclideanNorm":
            yield Case(op, [draw.array(dtype, (5,), dtype.min, dtype.max), np.int32(0)])


@generates("ArgMax", "ArgMin")
def arguments(op, draw):
    for dtype in draw.types(op, "T"):
        for output in draw.types(op, "output_type"):
            shape = draw.shape(draw.integer(1, 4))
            axis = draw.choice([np.int32, np.int64])(draw.integer(-len(shape), len(shape) - 1))
            x = draw.array(dtype, shape, 0, 3, special=dtype.is_floating)
            yield Case(op, [x, axis], {"output_type": output})
    x = draw.array(tf.float32, (2, 0, 3))
    for axis in (0, 1, 2, 3, -4, [0]):
        yield Case(op, [x, np.array(axis, np.int32)], {"output_type": tf.int64})
    yield Case(op, [np.float32(1), np.int32(0)], {"output_type": tf.int64})


@generates("Cumprod", "Cumsum", "CumulativeLogsumexp", tolerance=SUMS)
def scans(op, draw):
    for dtype in draw.types(op, "T"):
        half = dtype in (tf.half, tf.bfloat16)
        # TensorFlow rounds each total of half precision, which adds up.
        tolerance = Tolerance(ulps=32, reason=SUMS.reason) if half else SUMS
        low, high = (0.5, 1.5) if not dtype.is_integer else (None, None)
        for shape in draw.shapes()[1:]:
            axis = draw.choice([np.int32, np.int64])(draw.integer(-len(shape), len(shape) - 1))
            attrs = {"exclusive": draw.chance(), "reverse": draw.chance()}
            yield Case(op, [draw.array(dtype, shape, low, high), axis], attrs, tolerance=tolerance)
    x = draw.array(tf.float32, (2, 3))
    for axis in (2, -3, [0]):
        yield Case(op, [x, np.array(axis, np.int32)])
    yield Case(op, [np.float32(1), np.int32(0)])


@generates("Bincount")
def bincount(op, draw):
    for dtype in draw.types(op, "T"):
        for size in (0, 1, 5):
            values = draw.integers(draw.shape(), 0, 7)
            yield Case(op, [values, np.int32(size), np.zeros([0], dtype.as_numpy_dtype)])
            yield Case(op, [values, np.int32(size), draw.array(dtype, values.shape)])
    weights = np.zeros([0], np.float32)
    yield Case(op, [np.array([-1, 2], np.int32), np.int32(3), weights])
    yield Case(op, [np.array([1, 2], np.int32), np.int32(-3), weights])
    yield Case(op, [np.array([1, 2], np.int32), np.int32(3), np.ones([1], np.float32)])
    yield Case(op, [np.array([1, 2], np.int32), np.array([3], np.int32), weights])


@generates("DenseBincount")
def dense_bincount(op, draw):
    for dtype in draw.types(op, "T"):
        for index in (np.int32, np.int64):
            for shape in ((), (6,), (0,), (2, 4), (3, 0)):
                values = draw.integers(shape, 0, 6).astype(index)
                attrs = {"binary_output": draw.chance()}
                none = np.zeros([0], dtype.as_numpy_dtype)
                yield Case(op, [values, index(draw.integer(1, 6)), none], attrs)
                weights = draw.array(dtype, shape)
                yield Case(op, [values, index(draw.integer(1, 6)), weights], attrs)
    none, values = np.zeros([0], np.float32), np.array([1, 2], np.int32)
    yield Case(op, [-values, np.int32(3), none])
    yield Case(op, [-values[None], np.int32(3), none])
    yield Case(op, [values, np.int32(-3), none])
    yield Case(op, [values, values, none])
    yield Case(op, [values, np.int32(3), np.ones([1], np.float32)])
    yield Case(op, [values[None, None], np.int32(3), none])


@generates("Bucketize")
def bucketize(op, draw):
    for dtype in draw.types(op, "T"):
        for boundaries in ([], [0.0], [-3.5, 0.0, 0.0, 2.0, 7.25]):
            x = draw.array(dtype, draw.shape(), special=True)
            yield Case(op, [x], {"boundaries": boundaries})
    yield Case(op, [x], {"boundaries": [1.0, 0.0]})


@generates("HistogramFixedWidth")
def histogram(op, draw):
    for dtype in draw.types(op, "T"):
        number = dtype.as_numpy_dtype
        for out in (tf.int32, tf.int64):
            for low, high, bins in ((0, 5, 5), (-10, 10, 7), (0, 1, 1), (5, 0, 3), (0, 5, 0)):
                inputs = [draw.array(dtype, (12,)), np.array([low, high], number), np.int32(bins)]
                yield Case(op, inputs, {"dtype": out})
    x, bounds = draw.array(tf.float32, (4,)), np.array([0, 5], np.float32)
    yield Case(op, [x, bounds[:1], np.int32(3)], {"dtype": tf.int32})
    yield Case(op, [x, bounds, np.array([3], np.int32)], {"dtype": tf.int32})
    yield Case(op, [x * np.float32(np.nan), bounds, np.int32(3)], {"dtype": tf.int32})
