"""Convolutions and pooling, with their gradients."""

import tensorflow as tf

from conformance.bench.case import Step, case, variable


def _convolution(batch, size, inputs, outputs, kernel, stride=1):
    images = variable("images", [batch, size, size, inputs], seed=1)
    filters = variable("filters", [kernel, kernel, inputs, outputs], seed=2)
    y = tf.nn.conv2d(images, filters, stride, "SAME")
    gradients = tf.gradients(y, [images, filters], variable("by_y", y.shape, seed=3))
    # Sums of many thousand products of both signs differ by their order.
    return Step([y.op, *[each.op for each in gradients]], values=[y, *gradients], tolerance=1e-3)


def _flops(batch, size, inputs, outputs, kernel):
    return 3 * 2 * batch * size * size * kernel * kernel * inputs * outputs


@case("convolution/3x3", jobs={"worker": 1}, target=1.0, flops=_flops(32, 28, 32, 64, 3))
def three_by_three():
    """A 3 x 3 convolution of 32 images, 28 x 28, 32 to 64 channels, and both gradients"""
    return _convolution(32, 28, 32, 64, 3)


@case("convolution/3x3 deep", jobs={"worker": 1}, target=1.0, flops=_flops(8, 14, 256, 256, 3))
def deep():
    """A 3 x 3 convolution of 8 images, 14 x 14, 256 channels, and both gradients"""
    return _convolution(8, 14, 256, 256, 3)


@case("convolution/5x5 first", jobs={"worker": 1}, flops=_flops(64, 28, 1, 32, 5))
def first():
    """A 5 x 5 convolution of 64 images, 28 x 28, 1 to 32 channels, and both gradients"""
    return _convolution(64, 28, 1, 32, 5)


@case("convolution/5x5", jobs={"worker": 1}, flops=_flops(64, 14, 32, 64, 5))
def second():
    """A 5 x 5 convolution of 64 images, 14 x 14, 32 to 64 channels, and both gradients"""
    return _convolution(64, 14, 32, 64, 5)


@case("convolution/1x1", jobs={"worker": 1}, flops=_flops(8, 28, 256, 64, 1))
def one_by_one():
    """A 1 x 1 convolution of 8 images, 28 x 28, 256 to 64 channels, and both gradients"""
    return _convolution(8, 28, 256, 64, 1)


@case("convolution/pooling", jobs={"worker": 1})
def pooling():
    """Maximum and average pooling of 32 images, 28 x 28, 32 channels, with gradients"""
    images = variable("images", [32, 28, 28, 32])
    pooled = [tf.nn.max_pool2d(images, 2, 2, "SAME"), tf.nn.avg_pool2d(images, 2, 2, "SAME")]
    gradients = [tf.gradients(y, images)[0] for y in pooled]
    results = pooled + gradients
    return Step([each.op for each in results], values=results)
