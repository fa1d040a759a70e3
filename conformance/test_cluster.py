"""Steps over several tasks: ours alone, and ours beside TensorFlow's."""

import time

import numpy as np
import pytest
import tensorflow as tf

v1 = tf.compat.v1

MIXES = {
    "alone": {},
    "grpc_only": {"env": {"TENSORFLEET_GRPC_ONLY": "1"}},
    "tensorflow_workers": {"engines": {"worker": "tensorflow"}},
    "tensorflow_ps": {"engines": {"ps": "tensorflow"}},
}


@pytest.fixture(params=MIXES)
def mixed(request, cluster):
    """A cluster of two ps and two workers in each mix of engines and ways to speak."""
    return cluster(num_workers=2, num_ps=2, **MIXES[request.param])


def short(seconds=20):
    return v1.ConfigProto(operation_timeout_in_ms=seconds * 1000)


@pytest.mark.parametrize("use_resource", [False, True])
def test_training_with_variables_on_ps(mixed, use_resource):
    features = np.random.RandomState(1).rand(16, 4).astype("f")
    labels = features @ np.array([[1.0], [-2.0], [3.0], [0.5]], "f") + 0.25

    def build(device):
        with v1.device(device):
            with v1.variable_scope("model", use_resource=use_resource):
                weights = v1.get_variable("weights", initializer=np.zeros((4, 1), "f"))
                bias = v1.get_variable("bias", initializer=np.zeros(1, "f"))
            loss = tf.reduce_mean(tf.square(tf.matmul(features, weights) + bias - labels))
            step = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        return weights, bias, loss, step

    def train(target, device):
        with tf.Graph().as_default():
            weights, bias, loss, step = build(device)
            with v1.Session(target, config=short()) as session:
                session.run(v1.global_variables_initializer())
                losses = []
                for _ in range(5):
                    session.run(step)
                    losses.append(session.run(loss))
                return losses, session.run(weights), session.run(bias)

    setter = v1.train.replica_device_setter(
        cluster=mixed.spec, worker_device="/job:worker/task:1"
    )
    ours, expected = train(mixed.target(), setter), train("", None)
    for have, want in zip(ours, expected):
        np.testing.assert_allclose(have, want, rtol=1e-5)
    assert ours[0][-1] < ours[0][0]


def test_steps_of_one_session_do_not_mix_up_their_edges(mixed):
    with tf.device("/job:worker/task:1"):
        letters = [tf.constant([letter]) for letter in "abcd"]
    with tf.device("/job:ps/task:0"):
        pairs = [tf.strings.join(letters[i : i + 2]) for i in range(3)]
    with v1.Session(mixed.target(), config=short()) as session:
        assert [session.run(pair)[0] for pair in pairs] == [b"ab", b"bc", b"cd"]


def test_a_loop_that_spans_tasks(mixed):
    with tf.device("/job:ps/task:1"):
        factor = tf.constant(2.0)

    def body(i, x):
        with tf.device("/job:ps/task:1"):
            x = x * factor
        return i + 1, x

    v1.disable_control_flow_v2()
    try:
        with tf.device("/job:worker/task:1"):
            _, result = v1.while_loop(lambda i, x: i < 10, body, [0, tf.constant(1.0)])
    finally:
        v1.enable_control_flow_v2()
    with v1.Session(mixed.target(), config=short()) as session:
        assert session.run(result) == 1024.0


def test_a_branch_that_is_not_taken_on_another_task(mixed):
    taken = v1.placeholder(tf.bool, [])
    with tf.device("/job:ps/task:0"):
        variable = v1.get_variable("v", initializer=1.0, use_resource=False)
    v1.disable_control_flow_v2()
    try:
        with tf.device("/job:worker/task:1"):
            result = v1.cond(taken, lambda: v1.assign_add(variable, 1.0), lambda: -variable)
    finally:
        v1.enable_control_flow_v2()
    with v1.Session(mixed.target(), config=short()) as session:
        session.run(variable.initializer)
        assert session.run(result, {taken: True}) == 2.0
        assert session.run(result, {taken: False}) == -2.0


def test_an_error_names_the_task(mixed):
    with tf.device("/job:ps/task:1"):
        bad = tf.gather([1.0, 2.0], v1.placeholder_with_default([5], [1]))
    with v1.Session(mixed.target(), config=short()) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="/job:ps/replica:0/task:1"):
            session.run(bad)


def test_variables_are_shared_between_masters(cluster):
    tasks = cluster(num_workers=2, num_ps=1)
    with tf.device("/job:ps/task:0"):
        variable = v1.get_variable("shared", initializer=3.0)
    with v1.Session(tasks.target(index=0), config=short()) as first:
        first.run(variable.initializer)
    with v1.Session(tasks.target(index=1), config=short()) as second:
        assert second.run(variable) == 3.0


def test_a_restarted_ps_is_noticed(cluster):
    tasks = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps/task:0"):
        variable = v1.get_variable("v", initializer=1.0)
    with v1.Session(tasks.target(), config=short()) as session:
        session.run(variable.initializer)
        tasks.restart("ps")
        with pytest.raises((tf.errors.AbortedError, tf.errors.UnavailableError)):
            for _ in range(3):
                session.run(variable)
    with v1.Session(tasks.target(), config=short()) as session:
        session.run(variable.initializer)
        assert session.run(variable) == 1.0


def test_a_client_of_a_restarted_master_is_told(cluster):
    tasks = cluster(num_workers=1, num_ps=0)
    one = tf.constant(1)
    session = v1.Session(tasks.target(), config=short())
    assert session.run(one) == 1
    tasks.restart("worker")
    end = time.monotonic() + 60
    with pytest.raises(tf.errors.AbortedError, match="Session .* is not found"):
        while time.monotonic() < end:
            try:
                session.run(one)
            except tf.errors.UnavailableError:
                pass  # The client has not found the new one yet.
    with pytest.raises(tf.errors.AbortedError, match="Possibly, this master has restarted"):
        session.close()


def test_a_second_server_on_a_taken_port_ends(cluster):
    tasks = cluster(num_workers=1, num_ps=0)
    first = tasks.task("worker")
    second = tasks.start("worker")
    assert second.wait() not in (0, None)
    assert "Could not start gRPC server" in second.log()
    with v1.Session(tasks.target(), config=short()) as session:
        assert session.run(tf.constant(1)) == 1
    first.kill()


def test_a_dead_ps_is_unavailable(cluster):
    tasks = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps/task:0"):
        variable = v1.get_variable("v", initializer=1.0)
    with v1.Session(tasks.target(), config=short()) as session:
        session.run(variable.initializer)
        tasks.task("ps").kill()
        with pytest.raises(tf.errors.UnavailableError, match="/job:ps/replica:0/task:0"):
            session.run(variable)


def test_filtered_tasks_are_not_waited_for(cluster):
    tasks = cluster(num_workers=2, num_ps=1)
    tasks.task("worker", 1).kill()
    config = short()
    config.device_filters.extend(["/job:ps", "/job:worker/task:0"])
    with v1.Session(tasks.target(), config=config) as session:
        assert session.run(tf.constant(1)) == 1
        assert len(session.list_devices()) == 2


def test_later_steps_have_edges_of_their_own(mixed):
    """Workers keep kernels by name; an edge of a later step must not meet those of an earlier one."""
    x = v1.placeholder(tf.float32, [])
    with tf.device("/job:ps/task:1"):
        b = x * 2.0
    with tf.device("/job:ps/task:0"):
        d = b + 1.0
    with tf.device("/job:ps/task:1"):
        e = d + b
    with tf.device("/job:ps/task:0"):
        f = e + d
    with v1.Session(mixed.target(), config=short()) as session:
        assert [session.run(y, {x: 1.0}) for y in (b, d, e, f)] == [2.0, 3.0, 5.0, 8.0]
