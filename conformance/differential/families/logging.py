"""Assertions, and tensors as text."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, OnlyShapes, generates

NUMBERS = [1 / 3, 0.1, 1e-10, 1e20, 123456.789, 1e6, 1e5, 16777216, 1.5e-5, -0.0, np.nan, -np.inf]


@generates("Assert")
def assertion(op, draw):
    for condition in (True, False, [True], []):
        for summarize in (-1, 0, 3):
            data = [draw.array(tf.float32, (2, 3)), draw.strings((2,))]
            yield Case(op, [np.array(condition, bool), data], {"summarize": summarize})


@generates("StringFormat")
def string_format(op, draw):
    def case(*inputs, **attrs):
        template = "".join(f"{index}: {{}};" for index in range(len(inputs)))
        return Case(op, [list(inputs)], {"template": template, "placeholder": "{}", **attrs})

    for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
        yield case(*[np.array(number).astype(dtype.as_numpy_dtype) for number in NUMBERS])
    for dtype in (tf.bool, tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.uint64, tf.string):
        for shape in ((), (3,), (9,), (2, 3), (3, 4, 2), (0,), (2, 0)):
            yield case(draw.array(dtype, shape), summarize=draw.choice([-1, 0, 1, 3]))
    yield case(np.array([b"b\0\n'\"\\\t\x7f", "é".encode()], dtype=object))


@generates("Timestamp", tolerance=OnlyShapes(reason="time goes on"))
def timestamp(op, draw):
    yield Case(op)
