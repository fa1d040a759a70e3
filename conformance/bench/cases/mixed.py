"""TensorFlow's workers with our parameter server, against TensorFlow alone."""

import tensorflow as tf

from conformance.bench.case import Step, case, on, variable
from conformance.bench.cases import training

_MIXED = {"jobs": {"worker": 1, "ps": 1}, "engines": {"worker": "tensorflow"}}


@case("mixed/training", **_MIXED)
def mlp():
    """A training step of the perceptron: TensorFlow's worker, our parameter server"""
    return training.mlp()


@case("mixed/pull 10MB", moved_bytes=10**7, **_MIXED)
def pull():
    """TensorFlow's worker reads 10 MB of our parameter server"""
    with on("ps"):
        shared = variable("shared", [10**7 // 4])
    with on("worker"):
        return Step(tf.strided_slice(shared.read_value(), [0], [3]))
