"""Sparse tensors in strings."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, generates


def sparse(draw, shape, dtype):
    """Indices in order, values and shape of a random sparse tensor."""
    places = np.argwhere(draw.random.random(shape) < 0.4).astype(np.int64)
    return places, draw.array(dtype, (len(places),)), np.int64(shape)


TYPES = [tf.float32, tf.int64, tf.string, tf.bool]


@generates("SerializeSparse")
def serialize(op, draw):
    for dtype in TYPES:
        for shape in [(4,), (3, 4), (2, 2, 2)]:
            yield Case(op, list(sparse(draw, shape, dtype)))
    indices, values, shape = sparse(draw, (3, 4), tf.float32)
    yield Case(op, [indices.reshape(-1), values, shape])
    yield Case(op, [indices, values.reshape(-1, 1), shape])
    yield Case(op, [indices, values, shape.reshape(1, 2)])


@generates("SerializeManySparse")
def serialize_many(op, draw):
    for dtype in TYPES:
        for shape in [(3, 4), (2, 2, 2), (0, 2)]:
            yield Case(op, list(sparse(draw, shape, dtype)))
    values, shape = np.float32([5, 6]), np.int64([3, 4])
    for places in [[[0, 1], [5, 0]], [[2, 1], [0, 0]], [[0, 1], [0, 1]], [[0, -1], [1, 0]]]:
        yield Case(op, [np.int64(places), values, shape])
    yield Case(op, [np.int64([[0], [1]]), values, np.int64([3])])


@generates("DeserializeSparse", "DeserializeManySparse")
def deserialize(op, draw):
    def packed(*given):
        return [tf.make_tensor_proto(part).SerializeToString() for part in given]

    def rows(*given):
        array = np.empty((len(given), 3), dtype=object)
        for row, parts in enumerate(given):
            array[row] = parts
        return array

    for dtype in TYPES:
        for shape in [(4,), (3, 4)]:
            some = rows(*(packed(*sparse(draw, shape, dtype)) for _ in range(3)))
            yield Case(op, [some], {"dtype": dtype})
            yield Case(op, [some[0]], {"dtype": dtype})
            yield Case(op, [some.reshape(1, 3, 3)], {"dtype": dtype})
    one, two = packed(*sparse(draw, (3,), tf.float32)), packed(*sparse(draw, (5,), tf.float32))
    flat = packed(*sparse(draw, (2, 2), tf.float32))
    yield Case(op, [rows(one, two)], {"dtype": tf.float32})
    yield Case(op, [rows(one, flat)], {"dtype": tf.float32})
    yield Case(op, [rows(one)], {"dtype": tf.int64})
    yield Case(op, [np.array([b"a", b"b", b"c"], object)], {"dtype": tf.float32})
    yield Case(op, [np.array([b"a", b"b"], object)], {"dtype": tf.float32})
    yield Case(op, [np.asarray(b"a", dtype=object)], {"dtype": tf.float32})
    yield Case(op, [np.empty((0, 3), dtype=object)], {"dtype": tf.float32})
    yield Case(op, [np.array([one[1], one[1], one[2]], object)], {"dtype": tf.float32})
    yield Case(op, [np.array([flat[0], one[1], one[2]], object)], {"dtype": tf.float32})
