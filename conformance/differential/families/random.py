"""Random numbers: the same as TensorFlow's from the same state."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, OnlyShapes, Tolerance, generates

LAST_BIT = Tolerance(ulps=8, atol=1e-6, reason="the last bit of logarithms and square roots")


def state(draw):
    """Draws the state of a generator: counter and key."""
    return draw.array(tf.int64, [3], 0, 1 << 62)


def shapes(draw):
    return [np.int32([5]), np.int64([2, 3]), np.int32([]), np.int64([0, 2])]


@generates("StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform", tolerance=LAST_BIT)
def stateful(op, draw):
    for dtype in draw.types(op, "dtype"):
        for shape in shapes(draw):
            yield Case(op, [state(draw), np.int64(1), shape], {"dtype": dtype})
    for algorithm in (np.int64(7), np.int64([1])):
        yield Case(op, [state(draw), algorithm, np.int32([2])])
    yield Case(op, [state(draw)[:2], np.int64(1), np.int32([2])])
    yield Case(op, [state(draw), np.int64(1), np.int32([-1])])


@generates("StatefulUniformInt")
def stateful_integers(op, draw):
    for dtype in (tf.int32, tf.int64):
        kind = dtype.as_numpy_dtype
        for shape in shapes(draw):
            yield Case(op, [state(draw), np.int64(1), shape, kind(-5), kind(draw.integer(1, 99))])
    yield Case(op, [state(draw), np.int64(1), np.int32([2]), np.int32(5), np.int32(5)])
    yield Case(op, [state(draw), np.int64(1), np.int32([2]), np.int32([1]), np.int32(5)])


@generates("StatefulUniformFullInt")
def stateful_full(op, draw):
    for dtype in draw.types(op, "dtype"):
        for shape in shapes(draw):
            yield Case(op, [state(draw), np.int64(1), shape], {"dtype": dtype})


@generates("RngReadAndSkip", "RngSkip")
def skip(op, draw):
    for delta in (0, 1, 1000, 1 << 50):
        if op == "RngSkip":
            yield Case(op, [state(draw), np.int64(1), np.int64(delta)])
        else:
            yield Case(op, [state(draw), np.int32(1), np.uint64(delta)])
    kinds = (np.int64, np.int64) if op == "RngSkip" else (np.int32, np.uint64)
    yield Case(op, [state(draw), kinds[0](5), kinds[1](1)])
    yield Case(op, [state(draw)[:2], kinds[0](1), kinds[1](1)])


@generates("StatefulRandomBinomial", tolerance=OnlyShapes("TensorFlow sometimes writes to the fed state itself"))
def stateful_binomial(op, draw):
    return binomial(op, draw)


@generates("StatelessRandomBinomial")
def binomial(op, draw):
    for dtype in draw.types(op, "dtype"):
        for kind in (tf.float32, tf.float64):
            counts, probs = draw.array(kind, [2], 1, 30).round(), draw.array(kind, [2], 0.1, 0.9)
            first = [np.int32([3, 2]), np.int64([draw.integer(0, 99), 3])]
            if op == "StatefulRandomBinomial":
                first = [state(draw), np.int64(1), np.int32([3, 2])]
            yield Case(op, [*first, counts, probs], {"dtype": dtype})
    yield Case(op, [*first[:-1], first[-1], counts[:1], probs] if op == "StatefulRandomBinomial" else [np.int32([3]), first[1], counts, probs])


@generates("StatelessRandomGammaV2", "StatelessRandomGammaV3", tolerance=LAST_BIT)
def gamma(op, draw):
    for dtype in (tf.float32, tf.float64, tf.half):
        alpha = draw.array(dtype, [3], 0.2, 5)
        if op == "StatelessRandomGammaV2":
            yield Case(op, [np.int32([2, 3]), np.int64([draw.integer(0, 99), 5]), alpha])
        else:
            key, counter = np.uint64([draw.integer(0, 99)]), np.uint64([draw.integer(0, 9), 7])
            yield Case(op, [np.int32([2, 3]), key, counter, np.int32(1), alpha])
    yield Case(op, [np.int32([2, 4]), np.int64([1, 5]), alpha] if op == "StatelessRandomGammaV2" else [np.int32([2, 4]), key, counter, np.int32(1), alpha])


@generates("StatelessRandomPoisson")
def poisson(op, draw):
    for dtype in draw.types(op, "dtype"):
        for rates in (tf.float32, tf.float64, tf.int32):
            rate = draw.array(rates, [3], 1, 30)
            yield Case(op, [np.int32([2, 3]), np.int64([draw.integer(0, 99), 5]), rate], {"dtype": dtype})


@generates("ParameterizedTruncatedNormal", tolerance=LAST_BIT)
def truncated(op, draw):
    for dtype in (tf.float32, tf.float64):
        kind = dtype.as_numpy_dtype
        attrs = {"seed": draw.integer(1, 99), "seed2": draw.integer(0, 99)}
        yield Case(op, [np.int32([2, 3]), kind([0, 1]), kind([1, 2]), kind([-1, 0]), kind([1, 3])], attrs)
        yield Case(op, [np.int32([6]), kind(0), kind(1), kind(-1), kind(1)], attrs)
        yield Case(op, [np.int32([2, 2]), kind(0), kind(1), kind(3), kind(9)], attrs)
    yield Case(op, [np.int32([6]), kind(0), kind(1), kind(1), kind(-1)], attrs)
    yield Case(op, [np.int32([6]), kind([0, 1]), kind(1), kind(1), kind(-1)], attrs)
    yield Case(op, [np.int32([0]), kind(0), kind(1), kind(-1), kind(1)], attrs)


@generates("StatelessParameterizedTruncatedNormal", tolerance=LAST_BIT)
def stateless_truncated(op, draw):
    for dtype in (tf.float32, tf.float64, tf.half):
        kind, seed = dtype.as_numpy_dtype, np.int64([draw.integer(0, 99), 5])
        yield Case(op, [np.int32([2, 3]), seed, kind(0), kind(1), kind(-1), kind(1)])
        yield Case(op, [np.int64([3, 2, 2]), seed, kind([0, 1]), kind([[1], [2]]), kind(-1), kind([1, 3])])
        yield Case(op, [np.int32([4]), seed, kind(0), kind(1), kind(3), kind(9)])
    yield Case(op, [np.int32([2, 3]), seed, kind([0, 1]), kind(1), kind(-1), kind(1)])
    yield Case(op, [np.int32([2]), seed, kind([0, 1]), kind([1, 2, 3]), kind(-1), kind(1)])
    yield Case(op, [np.int32([2]), seed, kind(0), kind(1), kind(1), kind(-1)])
    yield Case(op, [np.int32([[2]]), seed, kind(0), kind(1), kind(-1), kind(1)])
    yield Case(op, [np.int32([0]), seed, kind(0), kind(1), kind(-1), kind(1)])


@generates("RandomIndexShuffle")
def index_shuffle(op, draw):
    for dtype in draw.types(op, "dtype"):
        for most in (0, 1, 10, 999, 65536, 2**31 - 1):
            index = draw.integers([3], 0, most, dtype)
            seed = draw.integers([3], 0, 2**31 - 1, draw.choice([tf.int32, tf.uint32, tf.int64, tf.uint64]))
            yield Case(op, [index, seed, dtype.as_numpy_dtype(most)], {"rounds": draw.choice([4, 6, 8])})
    seeds = draw.integers([2, 3], 0, 99)
    yield Case(op, [np.int32(3), seeds[0], np.int32(9)])
    yield Case(op, [np.int64(2**50), seeds[0], np.int64(2**62)])
    yield Case(op, [np.int32(3), seeds, np.int32([9, 8])])
    yield Case(op, [np.int32([3, 4, 5]), seeds, np.int32(9)])
    yield Case(op, [np.int32([3, 4]), seeds[0], np.int32([9])])
    yield Case(op, [np.int32([[3, 4]]), seeds[0], np.int32(9)])
    yield Case(op, [np.int32([3, -4]), seeds[0], np.int32(9)])
    yield Case(op, [np.int32([3, 10]), seeds[0], np.int32(9)])
    yield Case(op, [np.int32(0), seeds[0], np.int32(-1)])


@generates("StatelessShuffle")
def shuffle(op, draw):
    for dtype in (tf.int32, tf.string, tf.bool):
        for shape in ([7], [5, 2], [0], [1]):
            key, counter = np.uint64([draw.integer(0, 99)]), np.uint64([draw.integer(0, 9), 7])
            yield Case(op, [draw.array(dtype, shape), key, counter, np.int32(1)])


@generates("RandomGammaGrad", tolerance=Tolerance(ulps=2048, atol=1e-5, reason="other approximations"))
def gamma_gradient(op, draw):
    for dtype in (tf.float32, tf.float64):
        for shapes in (([4], [4]), ([3, 1], [2]), ([], [5]), ([0], [])):
            yield Case(op, [draw.array(dtype, shapes[0], 0.5, 6), draw.array(dtype, shapes[1], 0.2, 8)])
    yield Case(op, [draw.array(tf.float32, [2], 1, 2), draw.array(tf.float32, [3], 1, 2)])


@generates("StochasticCastToInt")
def stochastic_cast(op, draw):
    for dtype in draw.types(op, "Tin"):
        for out in (tf.int8, tf.int16, tf.int32):
            for shape in ([37], [3, 8], [], [0]):
                key, counter = draw.array(tf.uint64, [1], 0, 1 << 62), draw.array(tf.uint64, [2], 0, 1 << 62)
                x = draw.array(dtype, shape, -40, 40)
                yield Case(op, [x, key, counter, np.int32(1)], {"Tout": out})
            edges = np.array([np.nan, np.inf, -np.inf, 1e4, -1e4, 127.5, -128.5, 3, -0.0, 2.5], dtype.as_numpy_dtype)
            yield Case(op, [edges, key, counter, np.int32(3)], {"Tout": out})
    x = draw.array(tf.float32, [3])
    yield Case(op, [x, key, counter, np.int32(2)], {"Tout": tf.int8})
    yield Case(op, [x, key[0], counter, np.int32(1)], {"Tout": tf.int8})
    yield Case(op, [x, key, counter[:0], np.int32(1)], {"Tout": tf.int8})
