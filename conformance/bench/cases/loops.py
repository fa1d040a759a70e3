"""While loops: a counter, a nest, and a recurrent network."""

import tensorflow as tf
from tensorflow.python.ops import control_flow_util

from conformance.bench.case import Step, case, noise, v1, variable


def _while(functional):
    """Returns `tf.while_loop` as a functional op, or as the ops of control flow it is made of."""

    def loop(*arguments, **options):
        before = control_flow_util.ENABLE_CONTROL_FLOW_V2
        control_flow_util.ENABLE_CONTROL_FLOW_V2 = functional
        try:
            return tf.while_loop(*arguments, **options)
        finally:
            control_flow_util.ENABLE_CONTROL_FLOW_V2 = before

    return loop


@case("loop/counter", jobs={"worker": 1}, target=0.25, ops=5000)
def counter():
    """5,000 iterations of a loop that counts, made of Enter, Switch, Merge and their kin"""
    limit = v1.placeholder(tf.int32, [])
    loop = _while(functional=False)
    return Step(loop(lambda i: i < limit, lambda i: i + 1, [tf.constant(0)]), {limit: 5000})


@case("loop/functional", jobs={"worker": 1}, target=0.25, ops=5000)
def functional():
    """The same loop as a While op"""
    limit = v1.placeholder(tf.int32, [])
    loop = _while(functional=True)
    return Step(loop(lambda i: i < limit, lambda i: i + 1, [tf.constant(0)]), {limit: 5000})


@case("loop/nested", jobs={"worker": 1})
def nested():
    """50 iterations of 50 iterations of a few scalar ops"""
    x = v1.placeholder(tf.float32, [])
    loop = _while(functional=False)

    def outer(i, y):
        body = lambda j, z: (j + 1, tf.sin(z) + x)
        return i + 1, loop(lambda j, z: j < 50, body, [tf.constant(0), y])[1]

    return Step(loop(lambda i, y: i < 50, outer, [tf.constant(0), x]), {x: 0.5})


@case("loop/recurrent", jobs={"worker": 1})
def recurrent():
    """A recurrent cell over 100 positions and its gradient, batch 32, 64 units"""
    inputs = v1.placeholder(tf.float32, [100, 32, 64])
    # Large enough that the gradient does not vanish on its way through all positions.
    weights = variable("weights", [128, 64], scale=0.2)
    read = weights.read_value()

    def cell(position, state):
        joined = tf.concat([tf.gather(inputs, position), state], axis=1)
        return position + 1, tf.tanh(tf.matmul(joined, read))

    loop = _while(functional=False)
    state = tf.zeros([32, 64])
    _, state = loop(lambda position, _: position < 100, cell, [tf.constant(0), state])
    loss = tf.reduce_mean(tf.square(state))
    gradient = tf.gradients(loss, [read])[0]
    return Step([loss, gradient], {inputs: noise(100, 32, 64)}, tolerance=1e-3)
