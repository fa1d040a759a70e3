"""Where nodes go when devices are named in part, not at all, or are not there."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1

PARTIAL = ["", "/job:ps", "/job:worker/task:1", "/task:0", "/cpu:0", "/job:ps/cpu:*", "/replica:0"]


@pytest.fixture
def tasks(cluster):
    return cluster(num_workers=2, num_ps=1)


@pytest.mark.parametrize("device", PARTIAL)
@pytest.mark.parametrize("soft", [False, True])
def test_every_part_of_a_graph_can_be_run_by_itself(tasks, device, soft):
    """Also what only belongs to a call or a branch that a step leaves out."""
    config = tf1.ConfigProto(allow_soft_placement=soft)
    double = tf.function(lambda x, y: (x * 2.0, y), autograph=False)
    with tf.Graph().as_default():
        number, other = tf.constant(3.0), tf.constant(4.0)
        with tf.device(device):
            twice, passed = double(number, other)
            tf1.enable_control_flow_v2()
            chosen = tf1.cond(twice > 1.0, lambda: number + 1.0, lambda: other)
            tf1.disable_control_flow_v2()
            size = tf.size(twice)
        rank = tf.rank(passed)
        tensors = [number, other, twice, passed, chosen, size, rank]
        values = [3.0, 4.0, 6.0, 4.0, 4.0, 1, 0]
        with tf1.Session(tasks.target("worker"), config=config) as session:
            for tensor, value in zip(tensors, values):
                assert session.run(tensor) == value
            for (a, b), (x, y) in zip(
                itertools.combinations(tensors, 2), itertools.combinations(values, 2)
            ):
                np.testing.assert_equal(session.run([a, b]), [x, y])


def test_all_nodes_must_have_a_device(target):
    with tf.Graph().as_default():
        with tf.device("/device:GPU:7"):
            tf.add(tf.constant(1.0), tf.constant(1.0), name="elsewhere")
        here = tf.constant(2.0) + 1.0
        with tf1.Session(target) as session:
            message = "Cannot assign a device for operation elsewhere: {{node elsewhere}} was"
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(here)
