"""Training on one worker with variables on one parameter server, as programs do it with version 1."""

import numpy as np
import tensorflow as tf

from conformance.bench.case import Step, case, noise, v1

_KINDS = {"resource": True, "reference": False}


def mlp(resource=True, worker=0):
    """Builds a perceptron of 784, 256, 128 and 10 units and a step of its training."""
    images = v1.placeholder(tf.float32, [128, 784])
    labels = v1.placeholder(tf.int64, [128])
    with v1.device(_setter(worker)), v1.variable_scope("mlp", reuse=v1.AUTO_REUSE):
        step = v1.get_variable("step", [], tf.int64, tf.zeros_initializer(), trainable=False)
        y = images
        for index, (inputs, units) in enumerate([(784, 256), (256, 128), (128, 10)]):
            y = _dense(f"layer{index}", y, inputs, units, resource)
            y = tf.nn.relu(y) if units != 10 else y
        loss = _loss(labels, y)
        train = v1.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
    feeds = {images: noise(128, 784), labels: np.arange(128) % 10}
    return Step([train, loss], feeds, values=[loss, step], tolerance=1e-3, final_tolerance=None)


def lenet(resource=True):
    """Builds two convolutions with pooling, two dense layers, and a step of its training."""
    images = v1.placeholder(tf.float32, [64, 28, 28, 1])
    labels = v1.placeholder(tf.int64, [64])
    with v1.device(_setter(0)):
        y = images
        for index, (inputs, outputs) in enumerate([(1, 32), (32, 64)]):
            kernel = _weights(f"kernel{index}", [5, 5, inputs, outputs], 0.1, resource)
            bias = _weights(f"bias{index}", [outputs], 0.1, resource)
            y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(y, kernel, 1, "SAME"), bias))
            y = tf.nn.max_pool2d(y, 2, 2, "SAME")
        y = tf.reshape(y, [64, 7 * 7 * 64])
        y = tf.nn.relu(_dense("hidden", y, 7 * 7 * 64, 512, resource))
        loss = _loss(labels, _dense("logits", y, 512, 10, resource))
        train = v1.train.MomentumOptimizer(0.005, 0.9).minimize(loss)
    feeds = {images: noise(64, 28, 28, 1), labels: np.arange(64) % 10}
    return Step([train, loss], feeds, values=loss, tolerance=1e-2, final_tolerance=None)


for _kind, _resource in _KINDS.items():

    @case(f"training/mlp, {_kind}", jobs={"worker": 1, "ps": 1}, target=0.5)
    def _mlp(resource=_resource):
        """A training step of a perceptron with 235,000 weights, batch 128"""
        return mlp(resource)

    @case(f"training/lenet, {_kind}", jobs={"worker": 1, "ps": 1}, target=0.9)
    def _lenet(resource=_resource):
        """A training step of a convolutional network for digits, batch 64"""
        return lenet(resource)


def _setter(worker):
    return v1.train.replica_device_setter(
        ps_tasks=1, worker_device=f"/job:worker/task:{worker}", ps_device="/job:ps"
    )


def _dense(name, x, inputs, units, resource):
    weights = _weights(f"{name}/weights", [inputs, units], inputs**-0.5, resource)
    return tf.matmul(x, weights) + _weights(f"{name}/bias", [units], 0.1, resource)


def _weights(name, shape, scale, resource):
    initial = v1.random_uniform_initializer(-scale, scale, seed=len(name))
    return v1.get_variable(name, shape, tf.float32, initial, use_resource=resource)


def _loss(labels, logits):
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(losses)
