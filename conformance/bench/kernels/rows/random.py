"""Numbers drawn by chance: the stateless ones are compared, others only timed."""

import numpy as np
import tensorflow as tf

from conformance.bench.kernels.row import add, each_size, real

raw = tf.raw_ops


def _shape(n):
    return [np.array([n], np.int32)]


for name in ("RandomStandardNormal", "RandomUniform", "TruncatedNormal"):
    function = getattr(raw, name)
    each_size(name, name, _shape, lambda n, f=function: f(shape=n, dtype=tf.float32, seed=1, seed2=2), tolerance=None)
for name in ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"):
    function = getattr(raw, name)
    seeds = lambda n: _shape(n) + [np.array([7], np.uint64), np.array([1, 2], np.uint64)]
    each_size(name, name, seeds, lambda n, k, c, f=function: f(shape=n, key=k, counter=c, alg=1))
for size, count in (("small", 1 << 10), ("cache", 1 << 16), ("memory", 1 << 22)):
    add("stateless_uniform of constants", size, "StatelessRandomUniformV2", lambda: [], lambda count=count: tf.random.stateless_uniform([count], [1, 2]))
each_size("RandomShuffle", "RandomShuffle", lambda n: [real((n // 64, 64))], lambda x: raw.RandomShuffle(value=x, seed=1), tolerance=None)
each_size("Multinomial", "Multinomial", lambda n: [real((16, max(n // 1024, 4)))], lambda x: raw.Multinomial(logits=x, num_samples=1024, seed=1), tolerance=None)
each_size("RandomGamma", "RandomGamma", lambda n: [real(max(n // 64, 4), 0.5, 3)], lambda a: raw.RandomGamma(shape=[16], alpha=a, seed=1), tolerance=None)
each_size("RandomPoissonV2", "RandomPoissonV2", lambda n: [real(max(n // 64, 4), 0.5, 3)], lambda r: raw.RandomPoissonV2(shape=[16], rate=r, seed=1), tolerance=None)
