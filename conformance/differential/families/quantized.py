"""Numbers stored as small integers."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

TYPES = [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32]
MODES = ["MIN_COMBINED", "MIN_FIRST", "SCALED"]
FUSED = Tolerance(ulps=16, atol=2e-6, reason="products and sums in another order")


def _range(draw):
    """Draws a range with zero in it: scales of others are so large that TensorFlow's underflow."""
    return np.float32(draw.random.uniform(-4, -0.1)), np.float32(draw.random.uniform(0.1, 4))


@generates("QuantizeV2", tolerance=FUSED)
def quantize(op, draw):
    def case(values, low, high, **attrs):
        return Case(op, [values, np.asarray(low, np.float32), np.asarray(high, np.float32)], attrs)

    for dtype in TYPES:
        for mode in MODES:
            # oneDNN, which TensorFlow may use for halves to even, clips and rounds in its own way.
            for rounding in ["HALF_AWAY_FROM_ZERO"]:
                for narrow in (False, True):
                    if dtype == tf.qint32 and mode == "MIN_COMBINED":
                        continue
                    values = draw.array(tf.float32, draw.choice([(7,), (2, 3), ()]), -5, 5)
                    low, high = _range(draw)
                    yield case(values, low, high, T=dtype, mode=mode, round_mode=rounding, narrow_range=narrow)
                    special = np.float32([np.nan, np.inf, -np.inf, 0.5])
                    # One kernel makes something else of NaN.
                    is_odd = dtype == tf.quint8 and mode == "MIN_FIRST"
                    yield case(special[is_odd:], low, high, T=dtype, mode=mode)
    x = draw.array(tf.float32, (2, 3, 2), -3, 3)
    for mode in ("SCALED", "MIN_COMBINED"):
        yield case(x, [-1, -2, -3], [2, 1, 4], T=tf.qint8, mode=mode, axis=1)
        yield case(x, [-1, -2], [2, 1], T=tf.quint8, mode=mode, axis=2)
    yield case(x, 1, 1, T=tf.quint8)
    yield case(x, 1, 2, T=tf.quint8)
    yield case(x, -3, -2, T=tf.quint8)
    yield case(x, 0, 0, T=tf.quint8, ensure_minimum_range=0.5)
    yield case(x[:0], 0, 1, T=tf.quint8)
    yield case(x, [0], [1], T=tf.quint8)
    yield case(x, 3, -2, T=tf.quint8)
    yield case(x, [-1, 1], [2, 2], T=tf.qint8)
    yield case(x, [-1], [2], T=tf.qint8, mode="SCALED", axis=0)
    yield case(x, [-1], [2], T=tf.qint8, mode="SCALED", axis=5)
    yield case(x, [-1, -1], [2, 2], T=tf.qint8, mode="MIN_FIRST", axis=0)
    yield case(x, -1, 2, T=tf.qint8, round_mode="HALF_TO_EVEN")


@generates("Dequantize", tolerance=FUSED)
def dequantize(op, draw):
    def case(values, low, high, **attrs):
        return Case(op, [values, np.asarray(low, np.float32), np.asarray(high, np.float32)], attrs)

    def integers(dtype, shape):
        ((plain, *_),) = np.dtype(dtype.as_numpy_dtype).fields.values()
        info = np.iinfo(plain)
        values = draw.random.integers(info.min, info.max, shape, endpoint=True, dtype=np.int64)
        return values.astype(plain).astype(dtype.as_numpy_dtype)

    for dtype in TYPES:
        for mode in MODES:
            if dtype == tf.qint32 and mode == "SCALED":
                continue
            for out in (tf.float32, tf.bfloat16):
                low, high = _range(draw)
                tolerance = FUSED if out == tf.float32 else Tolerance(ulps=2, reason="rounded to few bits")
                made = case(integers(dtype, draw.choice([(7,), (2, 3)])), low, high, mode=mode, dtype=out)
                made.tolerance = tolerance
                yield made
    x = integers(tf.quint8, (2, 3))
    for mode in MODES:
        made = case(x, [-1, -2], [2, 1], mode=mode, axis=0)
        made.known_shapes = True
        yield made
    made = case(integers(tf.qint8, (2, 3)), [-1, -2, -3], [2, 1, 3], mode="SCALED", axis=1)
    made.known_shapes = True
    yield made
    yield case(x[:0], -1, 2)
