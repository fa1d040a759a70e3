"""Functions that run on a device of another task: `RemoteCall`."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

v1 = tf.compat.v1

MIXES = {"alone": {}, "tensorflow_ps": {"ps": "tensorflow"}}


@pytest.fixture(params=MIXES)
def session(request, cluster):
    tasks = cluster(num_workers=2, num_ps=1, engines=MIXES[request.param])
    config = v1.ConfigProto(operation_timeout_in_ms=30_000)
    with v1.Session(tasks.target(), config=config) as session:
        yield session


def remote(args, types, f, target):
    with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
        return functional_ops.remote_call(args=args, Tout=types, f=f, target=target)


PS = "/job:ps/replica:0/task:0/device:CPU:0"


def test_a_function_on_another_task(session):
    @function.Defun(tf.float32, tf.float32)
    def f(x, y):
        return x * y, x - y

    x = v1.placeholder(tf.float32, [None])
    target = v1.placeholder(tf.string, [])
    product, difference = remote([x, [2.0, 3.0]], [tf.float32, tf.float32], f, target)
    fetches = [product, difference]
    for device in [PS, "/job:worker/replica:0/task:1/device:CPU:0"] * 2:
        have = session.run(fetches, {x: [4.0, 5.0], target: device})
        np.testing.assert_allclose(have, [[8, 15], [2, 2]])


def test_the_error_of_a_remote_function_comes_back(session):
    @function.Defun(tf.float32, tf.int32)
    def f(x, i):
        return tf.gather(x, i)

    result = remote([[1.0, 2.0], [7]], [tf.float32], f, PS)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        session.run(result)
