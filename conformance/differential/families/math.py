"""Conversions, choices, sums of many, and evenly spaced numbers."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

HALF = Tolerance(ulps=4, reason="TensorFlow rounds after each addition, we at the end")
NUMBERS = [
    tf.bfloat16, tf.half, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8,
    tf.uint16, tf.uint32, tf.uint64, tf.complex64, tf.complex128, tf.bool,
]


@generates("Cast")
def cast(op, draw):
    for source in NUMBERS:
        for target in NUMBERS:
            # Reals out of an integer's range become what the machine makes of them.
            low, high = (0, 100) if target.is_unsigned or source.is_unsigned else (-100, 100)
            array = draw.array(source, draw.shape(2), low, high)
            yield Case(op, [array], {"DstT": target, "Truncate": draw.chance(0.2)})
    for source in (tf.float32, tf.float64):
        values = np.array([0.1, -1e-8, 65519, 65520, 3e38, np.inf, np.nan, 1.0000001])
        for target in (tf.half, tf.bfloat16, tf.float32, tf.float64):
            for truncate in (False, True):
                attrs = {"DstT": target, "Truncate": truncate}
                yield Case(op, [values.astype(source.as_numpy_dtype)], attrs)
        for target in (tf.int32, tf.int64):
            values = np.array([1e20, -1e20, np.nan, np.inf, -np.inf, -1.9, 1.9])
            yield Case(op, [values.astype(source.as_numpy_dtype)], {"DstT": target})
    for source in (tf.int64, tf.uint64):
        wide = draw.array(source, (16,), source.min, source.max)
        for target in NUMBERS:
            yield Case(op, [wide], {"DstT": target})
    yield Case(op, [draw.strings((2,))], {"DstT": tf.float32})
    yield Case(op, [draw.array(tf.float32, (2,))], {"DstT": tf.string})


@generates("Select")
def select(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            t, e = draw.array(dtype, shape), draw.array(dtype, shape)
            yield Case(op, [draw.array(tf.bool, shape), t, e])
            yield Case(op, [draw.array(tf.bool, ()), t, e])
            if shape:
                yield Case(op, [draw.array(tf.bool, shape[:1]), t, e])
    x = draw.array(tf.float32, (2, 3))
    yield Case(op, [draw.array(tf.bool, (3,)), x, x])
    yield Case(op, [draw.array(tf.bool, (1, 3)), x, x])
    yield Case(op, [draw.array(tf.bool, (2,)), x, x[:, :2]])
    yield Case(op, [draw.array(tf.bool, ()), x, x[:, :2]])
    yield Case(op, [draw.array(tf.bool, (1,)), x[0, 0], x[0, 0]])


@generates("SelectV2")
def select_v2(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(4):
            x, y = draw.broadcast_shapes()
            z = x if len(x) > len(y) else y
            c = draw.choice([x, y, z, ()])
            yield Case(op, [draw.array(tf.bool, c), draw.array(dtype, x), draw.array(dtype, y)])
    x = draw.array(tf.float32, (2, 3))
    yield Case(op, [draw.array(tf.bool, (2,)), x, x])
    yield Case(op, [draw.array(tf.bool, ()), x, x[:, :2]])


@generates("AddN", tolerance=HALF)
def add_n(op, draw):
    for dtype in draw.types(op, "T"):
        for count in (1, 2, 3, 9):
            shape = draw.shape()
            half = dtype in (tf.half, tf.bfloat16)
            tolerance = Tolerance(ulps=32, atol=0.1, reason=HALF.reason) if half else HALF
            yield Case(op, [[draw.array(dtype, shape) for _ in range(count)]], tolerance=tolerance)
    yield Case(op, [[draw.array(tf.float32, (2,)), draw.array(tf.float32, (3,))]])


@generates("CheckNumerics", "CheckNumericsV2")
def check_numerics(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape)], {"message": "checked"})
            yield Case(op, [draw.array(dtype, shape, special=True)], {"message": "checked"})


@generates("Range")
def spaced(op, draw):
    for dtype in draw.types(op, "Tidx"):
        number = dtype.as_numpy_dtype
        for start, limit, delta in (
            (0, 10, 1), (0, 10, 3), (10, 0, -3), (-5, 5, 2), (3, 3, 1), (5, 0, 1), (0, 5, -1), (0, 5, 0),
        ):
            yield Case(op, [number(start), number(limit), number(delta)])
        for _ in range(4):
            start, limit = sorted([draw.integer(-20, 20), draw.integer(-20, 20)])
            yield Case(op, [number(start), number(limit), number(draw.integer(1, 5))])
        if dtype.is_floating:
            yield Case(op, [number(0), number(1), number(0.1)])
            yield Case(op, [number(0), number(np.nan), number(0.1)])
            yield Case(op, [number(0), number(np.inf), number(0.1)])
        yield Case(op, [np.zeros([2], number), number(5), number(1)])
    yield Case(op, [np.int64(-(2**63)), np.int64(2**63 - 1), np.int64(2**62)])
    yield Case(op, [np.int64(-(2**63)), np.int64(2**63 - 1), np.int64(1)])


@generates("LinSpace", tolerance=Tolerance(ulps=1, atol=1e-7, reason="fused multiplication"))
def lin_space(op, draw):
    for dtype in draw.types(op, "T"):
        number = dtype.as_numpy_dtype
        for index in (np.int32, np.int64):
            for count in (1, 2, 5, 12, 0, -1):
                yield Case(op, [number(draw.integer(-5, 5)), number(draw.integer(-5, 5)), index(count)])
        yield Case(op, [np.zeros([1], number), number(1), np.int32(3)])


@generates("ClipByValue")
def clip(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            low = draw.array(dtype, draw.choice([(), shape]), 0, 4)
            high = draw.array(dtype, draw.choice([(), shape]), 3, 9)
            special = dtype.is_floating
            yield Case(op, [draw.array(dtype, shape, special=special), low, high])
    x = draw.array(tf.float32, (2, 3))
    yield Case(op, [x, x[:1], x])
    yield Case(op, [x, np.float32(0), x[0]])


@generates("Cross", tolerance=HALF)
def cross(op, draw):
    for dtype in draw.types(op, "T"):
        # Differences of products lose digits of half precision.
        for shape in ((3,), (0, 3), (2, 3), (2, 4, 3)):
            a, b = (draw.array(tf.int32, shape, 0, 5).astype(dtype.as_numpy_dtype) for _ in "ab")
            yield Case(op, [a, b])
    x = draw.array(tf.float32, (2, 3))
    yield Case(op, [x, x[0]])
    yield Case(op, [x[:, :2], x[:, :2]])
    yield Case(op, [x[0, 0], x[0, 0]])


@generates("SobolSample")
def sobol_sample(op, draw):
    def case(dim, count, skip, dtype):
        return Case(op, [np.asarray(value, np.int32) for value in (dim, count, skip)], {"dtype": dtype})

    for dtype in (tf.float32, tf.float64):
        for dim, count, skip in [(1, 9, 0), (5, 5, 0), (3, 6, 7), (12, 3, 1000), (400, 2, 30), (40, 2, 2**29)]:
            yield case(dim, count, skip, dtype)
        yield case(draw.integer(1, 400), draw.integer(1, 40), draw.integer(0, 2**20), dtype)
    for wrong in [(0, 1, 0), (30000, 1, 0), (1, 0, 0), (1, 1, -1), (1, 5, 2**31 - 4), ([1], 1, 0), (1, [1], 0), (1, 1, [0])]:
        yield case(*wrong, tf.float32)
