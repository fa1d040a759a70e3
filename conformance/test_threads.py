"""What clients say about threads: results are the same, and wrong choices are told."""

import numpy as np
import pytest
import tensorflow as tf

v1 = tf.compat.v1

CONFIGS = {
    "one thread": dict(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1),
    "the caller's thread": dict(inter_op_parallelism_threads=-1),
    "a few": dict(inter_op_parallelism_threads=2, intra_op_parallelism_threads=3),
    "of its own": dict(use_per_session_threads=True, inter_op_parallelism_threads=2),
}


def heavy():
    """Several products that take long and do not depend on each other."""
    parts = [tf.reduce_sum(tf.matmul(x, x)) for x in [tf.fill([256, 256], 1.0 + i) for i in range(6)]]
    return tf.add_n(parts)


EXPECTED = sum(256.0**3 * (1.0 + i) ** 2 for i in range(6))


@pytest.mark.parametrize("kind", CONFIGS)
def test_limits_of_a_session(target, kind):
    result = heavy()
    with v1.Session(target, config=v1.ConfigProto(**CONFIGS[kind])) as session:
        np.testing.assert_allclose(session.run(result), EXPECTED, rtol=1e-5)


def test_limits_hold_on_other_tasks_too(cluster):
    tasks = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps/task:0"):
        result = heavy()
    config = v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    with v1.Session(tasks.target(), config=config) as session:
        np.testing.assert_allclose(session.run(result), EXPECTED, rtol=1e-5)


def test_a_step_chooses_a_pool(target):
    pools = [v1.ConfigProto().session_inter_op_thread_pool.add(num_threads=n) for n in (0, 1)]
    config = v1.ConfigProto(session_inter_op_thread_pool=pools)
    result = heavy()
    with v1.Session(target, config=config) as session:
        for pool in [-1, 0, 1]:
            options = v1.RunOptions(inter_op_thread_pool=pool)
            np.testing.assert_allclose(session.run(result, options=options), EXPECTED, rtol=1e-5)


@pytest.mark.ours("TensorFlow's servers do not look at it")
def test_a_pool_that_is_not_there(target):
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid inter_op_thread_pool: 3"):
            session.run(tf.constant(1.0), options=v1.RunOptions(inter_op_thread_pool=3))
