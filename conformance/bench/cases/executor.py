"""What an op costs besides its work: graphs of thousands of scalar ops."""

import tensorflow as tf

from conformance.bench.case import Step, case, v1

_OPS = 5000


@case("executor/chain", jobs={"worker": 1}, target=0.35, ops=_OPS)
def chain():
    """5,000 scalar ops, each waiting for the one before it"""
    x = v1.placeholder(tf.float32, [])
    y = x
    for index in range(_OPS):
        y = y + 1.0 if index % 2 else y * 0.5
    return Step(y, {x: 1.0})


@case("executor/wide", jobs={"worker": 1}, ops=_OPS)
def wide():
    """5,000 scalar ops that wait for nothing but the feed"""
    x = v1.placeholder(tf.float32, [])
    ys = [x * float(index) for index in range(_OPS)]
    groups = [tf.add_n(ys[start : start + 100]) for start in range(0, _OPS, 100)]
    return Step(tf.add_n(groups), {x: 1.0})


@case("executor/small vectors", jobs={"worker": 1}, ops=_OPS)
def small_vectors():
    """5,000 ops on 64 numbers, in ten chains of mixed ops"""
    x = v1.placeholder(tf.float32, [64])
    ys = []
    for start in range(10):
        y = x + float(start)
        for index in range(_OPS // 10):
            y = (y * 0.5, tf.nn.relu(y), tf.maximum(y, 0.1), y + x, tf.sqrt(y))[index % 5]
        ys.append(y)
    return Step(tf.add_n(ys), {x: [1.0 + index for index in range(64)]})
