"""Passes over memory: softmax, reductions, chains of elementwise ops, rows gathered and scattered."""

import numpy as np
import tensorflow as tf

from conformance.bench.case import Step, case, v1, variable


def _compute(*results, **options):
    """A step that computes results and throws them away."""
    return Step([each.op for each in results], values=list(results), **options)


@case("maths/softmax", jobs={"worker": 1})
def softmax():
    """Softmax of 1,024 rows of 1,000"""
    return _compute(tf.nn.softmax(variable("x", [1024, 1000], scale=5.0)))


@case("maths/cross entropy", jobs={"worker": 1})
def cross_entropy():
    """Cross entropy of 1,024 rows of 1,000 with labels, and its gradient"""
    logits = variable("x", [1024, 1000], scale=5.0)
    labels = np.arange(1024) % 1000
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return _compute(losses, tf.gradients(losses, logits)[0])


@case("maths/reductions", jobs={"worker": 1})
def reductions():
    """Sum, mean and maximum of 2,048 x 2,048 numbers by rows, by columns and of all"""
    x = variable("x", [2048, 2048])
    functions = [tf.reduce_sum, tf.reduce_mean, tf.reduce_max]
    results = [function(x, axis) for function in functions for axis in (0, 1, None)]
    # A sum of four million numbers that nearly cancel out.
    return _compute(*results, tolerance=1e-3)


@case("maths/argmax", jobs={"worker": 1})
def argmax():
    """The place of the maximum in 1,024 rows of 1,000"""
    return _compute(tf.argmax(variable("x", [1024, 1000]), axis=1))


@case("maths/elementwise", jobs={"worker": 1})
def elementwise():
    """A chain of ten elementwise ops on a million numbers"""
    x = variable("x", [1024, 1024])
    bias = variable("bias", [1024], seed=2)
    y = x + bias
    y = 0.5 * y * (1.0 + tf.tanh(0.7978845608 * (y + 0.044715 * tf.pow(y, 3.0))))
    return _compute(tf.sigmoid(y) * tf.exp(-tf.square(x)))


@case("maths/normalise", jobs={"worker": 1})
def normalise():
    """Layer normalisation of 1,024 rows of 1,024, with its gradient"""
    x = variable("x", [1024, 1024])
    mean, variance = tf.nn.moments(x, axes=[1], keepdims=True)
    y = tf.nn.batch_normalization(x, mean, variance, None, variable("scale", [1024]), 1e-5)
    return _compute(y, tf.gradients(y, x, variable("by_y", [1024, 1024], seed=3))[0])


@case("maths/transpose", jobs={"worker": 1}, moved_bytes=2 * 4 * 32 * 56 * 56 * 64)
def transpose():
    """From channels last to channels first: 32 images, 56 x 56, 64 channels"""
    return _compute(tf.transpose(variable("x", [32, 56, 56, 64]), [0, 3, 1, 2]))


@case("maths/gather", jobs={"worker": 1}, moved_bytes=2 * 4 * 16384 * 64)
def gather():
    """16,384 rows of a table of 100,000 rows of 64"""
    ids = v1.placeholder(tf.int32, [16384])
    rows = tf.gather(variable("table", [100_000, 64]), ids)
    return Step(rows.op, {ids: _ids()}, values=rows)


@case("maths/scatter", jobs={"worker": 1}, moved_bytes=3 * 4 * 16384 * 64)
def scatter():
    """Sums of 16,384 rows by segment, and the same added to a table of 100,000 rows of 64"""
    ids = v1.placeholder(tf.int32, [16384])
    table = variable("table", [100_000, 64])
    rows = variable("rows", [16384, 64], seed=2, scale=1e-4)
    sums = tf.math.unsorted_segment_sum(rows, ids, 100_000)
    update = table.scatter_add(tf.IndexedSlices(rows, ids))
    return Step([sums.op, update.op], {ids: _ids()}, values=[sums, table])


def _ids():
    return np.random.RandomState(5).randint(0, 100_000, 16384).astype(np.int32)
