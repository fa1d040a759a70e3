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
