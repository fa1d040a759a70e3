"""Arithmetic of numbers stored as small integers."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

FUSED = Tolerance(ulps=16, atol=2e-6, reason="products and sums in another order")


def integers(draw, dtype, shape):
    """Draws quantised integers, half of them close to zero."""
    ((plain, *_),) = np.dtype(dtype.as_numpy_dtype).fields.values()
    info = np.iinfo(plain)
    wide = draw.random.integers(info.min, info.max, shape, endpoint=True, dtype=np.int64)
    small = np.where(draw.random.random(shape) < 0.5, wide, wide // 997)
    return np.asarray(wide if info.bits == 8 else small).astype(plain).astype(dtype.as_numpy_dtype)


def ends(draw):
    """Draws a range with zero in it, and now and then one without."""
    low, high = draw.random.uniform(-4, -0.1), draw.random.uniform(0.1, 4)
    if draw.chance(0.2):
        low, high = high, high + 1
    return [np.float32(low), np.float32(high)]


def vector(*values):
    return np.asarray(values, np.float32)


@generates("Requantize", "QuantizeDownAndShrinkRange", "RequantizationRange", tolerance=FUSED)
def requantize(op, draw):
    def case(values, *ranges, **attrs):
        return Case(op, [values, *map(np.float32, ranges)], attrs)

    types = {"Requantize": [tf.quint8, tf.qint8], "QuantizeDownAndShrinkRange": [tf.quint8]}
    for dtype in types.get(op, [None]):
        attrs = {"out_type": dtype} if dtype else {}
        to = [[-1, 2], [0, 3], [-2, 0], [-0.5, 0.25]] if op == "Requantize" else [[]] * 4
        for requested in to:
            for shape in [(9,), (2, 3), ()]:
                yield case(integers(draw, tf.qint32, shape), *ends(draw), *requested, **attrs)
        values = integers(draw, tf.qint32, (2, 3))
        yield case(values[:0], -1, 1, *to[0], **attrs)
        yield case(values, 0.5, 0.5, *to[0], **attrs)
        if op == "Requantize":
            yield case(values, -1, 1, 0, 0, **attrs)
            yield case(values, -1, 1, 0.5, 2, **attrs)
            yield case(values, -1, 1, -1, -2, **attrs)
            yield case(values, -1, 1, [-1, 1], 2, **attrs)
        yield case(values, [-1, 0.5], 1, *to[0], **attrs)


@generates("RequantizationRangePerChannel", tolerance=FUSED)
def requantization_range_per_channel(op, draw):
    for shape in [(1, 2, 2, 3), (2, 1, 3, 2), (1, 1, 1, 1)]:
        low, high = np.transpose([ends(draw) for _ in range(shape[-1])]).astype(np.float32)
        values = integers(draw, tf.qint32, shape)
        for clip in (0.5, 100.0):
            yield Case(op, [values, low, high], {"clip_value_max": clip})
    values = integers(draw, tf.qint32, (1, 2, 2, 2))
    attrs = {"clip_value_max": 9.0}
    # Nothing below zero.
    plain = abs(values.view(np.int32)).view(values.dtype)
    yield Case(op, [plain, vector(-1, -2), vector(1, 2)], attrs)
    yield Case(op, [values, vector(-1), vector(1, 2)], attrs)
    yield Case(op, [values, vector(-1, -2), vector(1)], attrs)
    yield Case(op, [values, vector(-1), vector(1)], attrs)
    yield Case(op, [values[0], vector(-1, -2), vector(1, 2)], attrs)
    yield Case(op, [values[:0], vector(-1, -2), vector(1, 2)], attrs)


@generates("RequantizePerChannel", tolerance=FUSED)
def requantize_per_channel(op, draw):
    for dtype in (tf.qint8, tf.quint8):
        for shape in [(1, 2, 2, 3), (2, 1, 3, 2), (1, 1, 1, 1), (1, 2, 1, 2, 3)]:
            low, high = np.transpose([ends(draw) for _ in range(shape[-1])]).astype(np.float32)
            values = integers(draw, tf.qint32, shape)
            yield Case(op, [values, low, high, *map(np.float32, (-2, 3))], {"out_type": dtype})
        values = integers(draw, tf.qint32, (1, 2, 2, 2))
        low, high = vector(-1, -2), vector(1, 2)
        yield Case(op, [values, low, vector(1), *map(np.float32, (-2, 3))], {"out_type": dtype})
        yield Case(op, [values, low, high, vector(1, 2), np.float32(3)], {"out_type": dtype})
    yield Case(op, [values, low, high, *map(np.float32, (1, 3))], {"out_type": tf.qint8})


@generates("QuantizedAdd", "QuantizedMul", tolerance=FUSED)
def arithmetic(op, draw):
    def case(x, y, *ranges):
        return Case(op, [x, y, *map(np.float32, ranges)])

    def bytes_(*shape):
        return integers(draw, tf.quint8, shape)

    for x, y in [((), ()), ((7,), (7,)), ((), (7,)), ((7,), ()), ((1,), (5,)), ((2, 3), (2, 3))]:
        yield case(bytes_(*x), bytes_(*y), *ends(draw), *ends(draw))
    for x, y in [((2, 3), (3,)), ((3,), (2, 3)), ((2, 2, 2), (2,)), ((2, 3), ()), ((0,), (0,))]:
        yield case(bytes_(*x), bytes_(*y), *ends(draw), *ends(draw))
    x = bytes_(3)
    yield case(x, bytes_(2), -1, 1, -1, 1)
    yield case(x, x, 1, 1, -1, 1)
    yield case(x, x, -1, 1, 1, -1)
    yield case(x, x, [-1, 1], 1, -1, 1)
    yield case(x, x, -1, 1, -1, [1, 1])


@generates("QuantizedBiasAdd", tolerance=FUSED)
def bias_add(op, draw):
    def case(x, y, *ranges):
        return Case(op, [x, y, *map(np.float32, ranges)], {"out_type": tf.qint32})

    for dtype in (tf.qint8, tf.quint8):
        for shape in [(2, 3), (2, 2, 4), (1, 2, 3, 2), (0, 2), (5, 1)]:
            yield case(
                integers(draw, dtype, shape), integers(draw, dtype, shape[-1:]), *ends(draw), *ends(draw)
            )
        x, bias = integers(draw, dtype, (2, 3)), integers(draw, dtype, (3,))
        yield case(bias, bias, -1, 1, -1, 1)
        yield case(x, x, -1, 1, -1, 1)
        yield case(x, bias[:2], -1, 1, -1, 1)
        yield case(x, bias, [-1], 1, -1, 1)
        yield case(x, bias, 1, 1, 1, 1)


@generates("QuantizedRelu", "QuantizedRelu6")
def relu(op, draw):
    for dtype in (tf.quint8, tf.qint32):
        for low, high in [(-10, 10), (-1, 3), (0, 8), (7, 9), (-9, -7), (2, 2)]:
            x = integers(draw, dtype, draw.choice([(7,), (2, 3), ()]))
            yield Case(op, [x, np.float32(low), np.float32(high)], {"out_type": dtype})
        yield Case(op, [x, vector(-1, 1), np.float32(1)], {"out_type": dtype})


@generates("QuantizedMatMul", tolerance=FUSED)
def matmul(op, draw):
    def case(a, b, *ranges, **attrs):
        return Case(op, [a, b, *map(np.float32, ranges)], attrs)

    def bytes_(*shape):
        return integers(draw, tf.quint8, shape)

    for m, k, n in [(2, 3, 4), (1, 5, 1), (4, 1, 3), (0, 2, 3), (7, 9, 5)]:
        for turn_a in (False, True):
            for turn_b in (False, True):
                a = bytes_(k, m) if turn_a else bytes_(m, k)
                b = bytes_(n, k) if turn_b else bytes_(k, n)
                yield case(a, b, *ends(draw), *ends(draw), transpose_a=turn_a, transpose_b=turn_b)
    a, b = bytes_(2, 3), bytes_(3, 2)
    yield case(a, a, -1, 1, -1, 1)
    yield case(a, b[0], -1, 1, -1, 1)
    yield case(a[0], b, -1, 1, -1, 1)
    yield case(a, b, 1, 1, -1, 1)
    yield case(a, b, -1, 1, 2, 1)
    yield case(a, b, [-1, 1], 1, -1, 1)


@generates("QuantizedConv2D", tolerance=FUSED)
def conv(op, draw):
    def case(x, w, *ranges, **attrs):
        attrs = {"strides": [1, 1, 1, 1], "padding": "VALID"} | attrs
        return Case(op, [x, w, *map(np.float32, ranges)], attrs)

    def bytes_(*shape):
        return integers(draw, tf.quint8, shape)

    # TensorFlow pads with another integer where none stands for zero.
    around_zero = [-1.5, 2]
    for size, window, stride in [(5, 2, 1), (9, 2, 4), (4, 3, 2), (3, 3, 1), (5, 1, 3), (6, 4, 2)]:
        for padding in ("SAME", "VALID"):
            x = bytes_(draw.integer(1, 2), size, draw.integer(window, 6), draw.integer(1, 2))
            w = bytes_(window, draw.integer(1, window), x.shape[3], draw.integer(1, 3))
            strides = [1, stride, stride, 1]
            yield case(x, w, *around_zero, *ends(draw), strides=strides, padding=padding)
    x, w = bytes_(1, 4, 4, 1), bytes_(2, 2, 1, 2)
    yield case(x, w, 1, 2, -1, 1, padding="SAME")
    yield case(x, w, -1, 1, -1, 1, strides=[1, 2, 1, 1])
    yield case(x, w, -1, 1, -1, 1, strides=[1, 1, 1, 2])
    yield case(x, w, -1, 1, -1, 1, dilations=[1, 2, 2, 1])
    yield case(x, w, -1, 1, -1, 1, dilations=[2, 1, 1, 1])
    yield case(x[0], w, -1, 1, -1, 1)
    yield case(x, w[0], -1, 1, -1, 1)
    yield case(x, bytes_(2, 2, 2, 2), -1, 1, -1, 1)
    yield case(x, w, [-1, 1], 1, -1, 1)


@generates("QuantizedMaxPool", tolerance=FUSED)
def max_pool(op, draw):
    yield from pool(op, draw)


@generates("QuantizedAvgPool", tolerance=Tolerance("oneDNN rounds means, Eigen cuts them", whole=1))
def average_pool(op, draw):
    yield from pool(op, draw)


def pool(op, draw):
    for dtype in (tf.quint8, tf.qint8):
        for padding in ("SAME", "VALID"):
            for window, stride in [((2, 2), (1, 1)), ((3, 2), (2, 1)), ((1, 3), (3, 2)), ((2, 2), (2, 2))]:
                x = integers(draw, dtype, (draw.integer(1, 2), 4, 3, draw.integer(1, 3)))
                attrs = {"ksize": [1, *window, 1], "strides": [1, *stride, 1], "padding": padding}
                yield Case(op, [x, *ends(draw)], attrs)
        attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}
        yield Case(op, [x, vector(-1, 1), np.float32(1)], attrs)


@generates("QuantizedConcat", tolerance=FUSED)
def concat(op, draw):
    def case(axis, values, lows, highs):
        lists = [[np.asarray(end, np.float32) for end in ends] for ends in (lows, highs)]
        return Case(op, [np.asarray(axis, np.int32), values, *lists])

    for dtype in (tf.quint8, tf.qint32):
        for count in (2, 3):
            for shape, axis in [((3,), 0), ((2, 3), 0), ((2, 3), 1), ((1, 2, 2), 2)]:
                shapes = [list(shape) for _ in range(count)]
                for each in shapes:
                    # TensorFlow confuses the ranges when a tensor is empty.
                    each[axis] = draw.integer(1, 3)
                lows, highs = np.transpose([ends(draw) for _ in shapes])
                yield case(axis, [integers(draw, dtype, each) for each in shapes], lows, highs)
        x = integers(draw, dtype, (2, 3))
        yield case(0, [x, x], [-1, -1], [1, 1])
        yield case(-1, [x, x], [-1, -1], [1, 1])
        yield case(2, [x, x], [-1, -1], [1, 1])
        yield case(0, [x, x[0]], [-1, -1], [1, 1])
        yield case(1, [x, x[:1]], [-1, -1], [1, 1])
        yield case([0, 1], [x, x], [-1, -1], [1, 1])
        yield case(0, [x[0, 0], x[0, 1]], [-1, -1], [1, 1])
        yield case(0, [x, x], [[-1, -1], -1], [1, 1])


@generates("QuantizedReshape")
def reshape(op, draw):
    for dtype in (tf.quint8, tf.qint32):
        x = integers(draw, dtype, (2, 6))
        for shape in ([3, 4], [-1], [2, -1, 3], [5], [-1, -1]):
            for index in (np.int32, np.int64):
                yield Case(op, [x, np.asarray(shape, index), *ends(draw)])
        yield Case(op, [x, np.asarray([12], np.int32), vector(1), vector(2)])
        yield Case(op, [x, np.asarray([12], np.int32), vector(1, 2), np.float32(2)])


@generates("QuantizedInstanceNorm", tolerance=FUSED)
def instance_norm(op, draw):
    for shape in [(1, 4, 4, 1), (2, 3, 2, 3), (1, 1, 1, 2), (3, 2, 2, 2)]:
        x = integers(draw, tf.quint8, shape)
        for attrs in [
            {},
            {"output_range_given": True, "given_y_min": -1.0, "given_y_max": 1.5},
            {"variance_epsilon": 0.01, "min_separation": 5.0},
        ]:
            yield Case(op, [x, *ends(draw)], attrs)
    yield Case(op, [x, np.float32(1), np.float32(1)])
    yield Case(op, [x, vector(-1, 1), np.float32(1)])
    yield Case(op, [x, *ends(draw)], {"output_range_given": True, "given_y_min": 2.0, "given_y_max": 1.0})


@generates("QuantizedBatchNormWithGlobalNormalization", tolerance=FUSED)
def batch_norm(op, draw):
    def case(shapes, scaled=True, **changed):
        inputs = {}
        for name, shape in zip(("t", "m", "v", "beta", "gamma"), shapes):
            inputs[name] = integers(draw, tf.quint8, shape)
            low, high = (0, 2) if name == "v" else ends(draw)
            inputs |= {f"{name}_min": np.float32(low), f"{name}_max": np.float32(high)}
        attrs = {"variance_epsilon": 0.01, "scale_after_normalization": scaled, "out_type": tf.qint32}
        return Case(op, inputs | changed, attrs)

    for depth in (2, 5):
        for scaled in (False, True):
            for space in [(1, 2, 2), (3, 1, 2)]:
                yield case([(*space, depth)] + [(depth,)] * 4, scaled)
    right = [(1, 2, 2, 2)] + [(2,)] * 4
    for place in range(5):
        wrong = list(right)
        wrong[place] = (2, 2)
        yield case(wrong)
        if place:
            wrong[place] = (3,)
            yield case(wrong)
    yield case([(1, 2, 2, 1)] + [(1,)] * 4)
    yield case(right, m_min=vector(1, 2))
    yield case(right, t_max=vector(1, 2))


@generates("QuantizedResizeBilinear", tolerance=FUSED)
def resize(op, draw):
    for dtype in (tf.quint8, tf.qint32, tf.float32):
        for corners in (False, True):
            for centers in (False, True):
                for size in [(3, 5), (7, 2), (4, 3), (1, 1)]:
                    shape = (draw.integer(1, 2), 4, 3, draw.integer(1, 3))
                    is_float = dtype == tf.float32
                    x = draw.array(dtype, shape, -5, 5) if is_float else integers(draw, dtype, shape)
                    attrs = {"align_corners": corners, "half_pixel_centers": centers}
                    yield Case(op, [x, np.asarray(size, np.int32), *ends(draw)], attrs)
        yield Case(op, [x, np.asarray([0, 2], np.int32), *ends(draw)])
        yield Case(op, [x, np.asarray([1, 2, 2], np.int32), *ends(draw)])
        yield Case(op, [x[0], np.asarray([1, 2], np.int32), *ends(draw)])
        yield Case(op, [x, np.asarray([1, 2], np.int32), vector(-1, 1), np.float32(1)])
