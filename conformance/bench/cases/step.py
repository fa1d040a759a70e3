"""Small steps, where messages and bookkeeping are all that is to pay for."""

import numpy as np
import tensorflow as tf

from conformance.bench.case import Step, case, noise, on, v1, variable


@case("step/nothing", jobs={"worker": 1}, target=0.6)
def nothing():
    """A step that runs one no-op; the client's own cost is included"""
    return Step(tf.no_op(), values=tf.constant(1.0))


@case("step/scalar", jobs={"worker": 1})
def scalar():
    """A scalar is fed, one is added, the sum is fetched"""
    x = v1.placeholder(tf.float32, [])
    return Step(x + 1.0, {x: 41.0})


@case("step/4MB", jobs={"worker": 1}, moved_bytes=2 * 4 * 1024 * 1024)
def four_megabytes():
    """4 MB are fed, negated, and 4 MB are fetched"""
    x = v1.placeholder(tf.float32, [1024, 1024])
    return Step(-x, {x: noise(1024, 1024)})


@case("step/two tasks", jobs={"worker": 1, "ps": 1}, target=0.4)
def two_tasks():
    """A worker reads a small variable of a parameter server and adds to it"""
    with on("ps"):
        weights = variable("weights", [16])
    x = v1.placeholder(tf.float32, [])
    with on("worker"):
        y = tf.tanh(weights.read_value()) * x
    with on("ps"):
        update = weights.assign_sub(0.001 * y, read_value=False)
    return Step([y, update], {x: 0.5}, values=weights)


@case("step/there and back", jobs={"worker": 1, "ps": 1})
def there_and_back():
    """A value crosses between two tasks ten times in one step"""
    x = v1.placeholder(tf.float32, [])
    y = x
    for index in range(10):
        with on("ps" if index % 2 == 0 else "worker"):
            y = tf.sin(y) + 1.0
    return Step(y, {x: 0.5})


@case("step/fan-out 4x4", jobs={"worker": 4, "ps": 4}, target=0.35)
def fan_out():
    """Four workers each read a variable of each of four parameter servers, in one step"""
    shared = []
    for task in range(4):
        with on("ps", task):
            shared.append(variable(f"v{task}", [16], seed=task + 1))
    x = v1.placeholder(tf.float32, [])
    sums = []
    for task in range(4):
        with on("worker", task):
            # A product of its own for each worker, or the workers would do the same and share it.
            sums.append(tf.add_n([tf.tanh(v * (x + task)) for v in shared]))
    with on("worker"):
        total = tf.add_n(sums)
    return Step(total, {x: np.float32(0.25)})
