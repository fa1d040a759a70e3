"""Products of matrices."""

import tensorflow as tf

from conformance.bench.case import Step, case, variable


def _matmul(m, k, n, transpose_b=False):
    a = variable("a", [m, k], seed=1)
    b = variable("b", [n, k] if transpose_b else [k, n], seed=2)
    product = tf.matmul(a, b, transpose_b=transpose_b)
    return Step(product.op, values=product)


@case("product/1024", jobs={"worker": 1}, target=1.0, flops=2 * 1024**3)
def large():
    """The product of two matrices of 1024 x 1024"""
    return _matmul(1024, 1024, 1024)


@case("product/128x784x512", jobs={"worker": 1}, flops=2 * 128 * 784 * 512)
def layer():
    """The product of a dense layer: 128 x 784 times 784 x 512"""
    return _matmul(128, 784, 512)


@case("product/transposed", jobs={"worker": 1}, flops=2 * 512**3)
def transposed():
    """The product of a 512 x 512 matrix with a transposed one"""
    return _matmul(512, 512, 512, transpose_b=True)


@case("product/batches", jobs={"worker": 1}, flops=2 * 64 * 128 * 64 * 128)
def batches():
    """64 products of 128 x 64 with 64 x 128"""
    a = variable("a", [64, 128, 64], seed=1)
    b = variable("b", [64, 64, 128], seed=2)
    product = tf.matmul(a, b)
    return Step(product.op, values=product)
