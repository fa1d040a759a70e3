"""Clusters that a client brings along (`ConfigProto.cluster_def`), other than the servers' own."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import tensorflow_server_pb2

from conformance.rig import cluster as clusters

v1 = tf.compat.v1


@pytest.fixture
def boot(all_servers, engine):
    """Returns a function that starts servers, each of which knows no other."""
    started = []

    def start(count, engines=None, cpus=1):
        spec = tf.train.ClusterSpec({"local": [f"{clusters.HOST}:0"]})
        for index in range(count):
            server_def = tensorflow_server_pb2.ServerDef(
                cluster=spec.as_cluster_def(), job_name="local", task_index=0, protocol="grpc"
            )
            server_def.default_session_config.device_count["CPU"] = cpus
            chosen = engines[index] if engines else engine
            started.append(all_servers.start(chosen, server_def))
        return started[-count:]

    yield start
    for server in started:
        server.kill()


def config_of(seconds=20, shares_state=False, device_filters=(), **jobs):
    """What a session on such a cluster is opened with; each job is a list of servers."""
    addresses = {
        job: [server.target.removeprefix("grpc://") for server in tasks]
        for job, tasks in jobs.items()
    }
    config = v1.ConfigProto(
        cluster_def=tf.train.ClusterSpec(addresses).as_cluster_def(),
        device_filters=device_filters,
        operation_timeout_in_ms=seconds * 1000,
    )
    config.experimental.share_session_state_in_clusterspec_propagation = shares_state
    return config


MIXES = {
    "alone": None,
    "tensorflow_master": ["tensorflow", "tensorfleet", "tensorfleet"],
    "tensorflow_workers": ["tensorfleet", "tensorflow", "tensorflow"],
}


@pytest.mark.parametrize("mix", MIXES)
def test_training_over_servers_that_knew_nothing_of_each_other(boot, mix):
    master, ps, other = boot(3, MIXES[mix])
    features = np.arange(8, dtype="f").reshape(4, 2)
    with v1.device("/job:ps/task:0"):
        weights = v1.get_variable("weights", initializer=np.ones((2, 1), "f"), use_resource=True)
    with v1.device("/job:worker/task:1"):
        loss = tf.reduce_sum(tf.matmul(features, weights))
    with v1.device("/job:worker/task:0"):
        step = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    config = config_of(worker=[master, other], ps=[ps])
    with v1.Session(master.target, config=config) as session:
        session.run(v1.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(weights), [[1 - 1.2], [1 - 1.6]], rtol=1e-6)
        names = {device.name for device in session.list_devices()}
        assert "/job:worker/replica:0/task:1/device:CPU:0" in names
        assert not any("local" in name for name in names)


def test_a_trace_speaks_of_the_clients_names(boot):
    first, second = boot(2)
    with v1.device("/job:renamed/replica:0/task:1/device:CPU:0"):
        value = tf.constant(17, name="there")
    metadata = v1.RunMetadata()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    with v1.Session(first.target, config=config_of(renamed=[first, second])) as session:
        assert session.run(value, options=options, run_metadata=metadata) == 17
    ran_on = [
        device.device
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        if node.node_name == "there"
    ]
    assert ran_on == ["/job:renamed/replica:0/task:1/device:CPU:0"]


def test_every_device_of_a_server_is_renamed(boot):
    first, second = boot(2, cpus=2)
    with v1.device("/job:worker/task:1/cpu:1"):
        a = tf.constant(17.0)
    with v1.device("/job:worker/task:0/cpu:1"):
        b = tf.constant(3.0)
    with v1.device("/job:worker/task:1/cpu:0"):
        c = a + b
    with v1.device("/job:worker/task:0/cpu:0"):
        d = c + a
    config = config_of(worker=[first, second])
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with v1.Session(first.target, config=config) as session:
        assert session.run(d) == 37


def test_the_master_need_not_be_the_first_task(boot):
    first, second, third = boot(3)
    values = []
    for task in (1, 2, 0):
        with v1.device(f"/job:worker/task:{task}"):
            values.append(2.0 * v1.placeholder(tf.float32, [2], name=f"feed_{task}"))
    feeds = {f"feed_{task}:0": np.full(2, task + 1.0, "f") for task in range(3)}
    config = config_of(worker=[third, second, first])
    with v1.Session(first.target, config=config) as session:
        np.testing.assert_array_equal(session.run(tf.add_n(values), feeds), [12.0, 12.0])


def counter(device):
    with v1.device(device):
        count = v1.get_variable("count", initializer=0.0, use_resource=True)
        return count, count.assign_add(1.0).op


def test_sessions_keep_their_state_apart_unless_told_otherwise(boot):
    master, worker = boot(2)
    count, add = counter("/job:worker/task:1")
    init = v1.global_variables_initializer()
    apart = config_of(worker=[master, worker])
    shared = config_of(worker=[master, worker], shares_state=True)
    with v1.Session(master.target, config=apart) as one:
        one.run(init)
        one.run(add)
        with v1.Session(master.target, config=apart) as two:
            with pytest.raises(tf.errors.FailedPreconditionError):
                two.run(count)
            two.run(init)
        assert one.run(count) == 1.0
    with v1.Session(master.target, config=shared) as one:
        one.run(init)
        one.run(add)
        with v1.Session(master.target, config=shared) as two:
            assert two.run(count) == 1.0


def test_one_master_serves_several_clusters(boot):
    first, master, third = boot(3)
    count, add = counter("/job:worker/task:1")
    init = v1.global_variables_initializer()
    with v1.Session(master.target, config=config_of(worker=[master, first])) as one:
        with v1.Session(master.target, config=config_of(worker=[master, third])) as two:
            one.run(init)
            two.run(init)
            one.run(add)
            one.run(add)
            two.run(add)
            assert (one.run(count), two.run(count)) == (2.0, 1.0)


@pytest.mark.ours("TensorFlow's worker takes the second master for the first one, restarted")
def test_masters_of_one_name_do_not_end_each_others_sessions(boot):
    one, two, worker = boot(3)
    count, add = counter("/job:worker/task:1")
    init = v1.global_variables_initializer()
    with v1.Session(one.target, config=config_of(worker=[one, worker])) as first:
        first.run(init)
        first.run(add)
        with v1.Session(two.target, config=config_of(worker=[two, worker])) as second:
            second.run(init)
            assert second.run(count) == 0.0
            assert first.run(count) == 1.0


def test_partial_runs(boot):
    first, second = boot(2)
    with v1.device("/job:worker/task:0"):
        a = v1.placeholder(tf.float32, [])
    with v1.device("/job:worker/task:1"):
        b, c = v1.placeholder(tf.float32, []), v1.placeholder(tf.float32, [])
        total = a + b
    with v1.device("/job:worker/task:0"):
        product = total * c
    with v1.Session(first.target, config=config_of(worker=[first, second])) as session:
        handle = session.partial_run_setup([total, product], [a, b, c])
        assert session.partial_run(handle, total, {a: 1, b: 2}) == 3
        assert session.partial_run(handle, product, {c: 3}) == 9


def test_errors_name_the_clients_task(boot):
    first, second = boot(2)
    with v1.device("/job:worker/task:1"):
        bad = v1.placeholder(tf.int32, [None])[tf.constant(7)]
    with v1.Session(first.target, config=config_of(worker=[first, second])) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(bad, {bad.op.inputs[0]: [1, 2]})
    assert "/job:worker/replica:0/task:1" in raised.value.message


def test_filters_leave_tasks_out(boot):
    first, second = boot(2)
    config = config_of(worker=[first, second], device_filters=["/job:worker/task:0"])
    second.kill()
    with v1.Session(first.target, config=config) as session:
        assert session.run(tf.constant(3)) == 3


def test_the_name_that_a_server_booted_with_is_refused(boot):
    first, second = boot(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Job: local, task index: 0"):
        v1.Session(first.target, config=config_of(local=[first, second])).run(tf.constant(1))


def test_a_server_named_twice_is_refused(boot):
    (first,) = boot(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple matching tasks"):
        v1.Session(first.target, config=config_of(worker=[first, first])).run(tf.constant(1))


@pytest.mark.ours("TensorFlow's server aborts")
def test_a_cluster_without_the_master_is_refused(boot):
    first, second = boot(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not name the server") as raised:
        v1.Session(first.target, config=config_of(worker=[second])).run(tf.constant(1))
    assert second.target.removeprefix("grpc://") in raised.value.message


@pytest.mark.ours("TensorFlow waits without an end")
def test_a_task_that_is_not_there_is_named(boot):
    first, second = boot(2)
    config = config_of(worker=[first, second], seconds=1)
    second.kill()
    # The client tries again until its own time is over, and passes our words on.
    expected = (tf.errors.UnavailableError, tf.errors.DeadlineExceededError)
    with pytest.raises(expected, match="/job:worker/replica:0/task:1 at"):
        v1.Session(first.target, config=config).run(tf.constant(1))
