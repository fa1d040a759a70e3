"""ParameterServerStrategy and ClusterCoordinator: pure clusters, and mixed ones both ways."""

import signal
import sys
import tempfile
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import tf2


@pytest.fixture(params=tf2.MIXES)
def tasks(request, cluster):
    return cluster(num_workers=2, num_ps=2, engines=tf2.MIXES[request.param])


def custom_loop(jobs):
    """Sharded variables, datasets of workers, and closures that update variables on both ps."""
    partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    strategy = tf2.strategy(jobs, variable_partitioner=partitioner)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        table = tf.Variable(tf.ones([40, 8]), name="table")
        weights = tf.Variable(tf.ones([8, 4]), name="weights")
        count = tf.Variable(0, dtype=tf.int64, trainable=False)
    assert [v.device for v in table.variables] == [
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:ps/replica:0/task:1/device:CPU:0",
    ]

    def dataset(_=None):
        ids = tf.data.Dataset.from_tensor_slices((np.arange(40), np.arange(40) % 4))
        return ids.shuffle(40).repeat().batch(8).prefetch(2)

    @tf.function
    def per_worker():
        return strategy.distribute_datasets_from_function(dataset)

    batches = iter(coordinator.create_per_worker_dataset(per_worker))

    @tf.function
    def step(batches):
        def replica(ids, labels):
            variables = [*table.variables, *weights.variables]
            with tf.GradientTape() as tape:
                logits = tf.matmul(tf.nn.embedding_lookup(table, ids), weights)
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
                loss = tf.reduce_mean(losses)
            for gradient, variable in zip(tape.gradient(loss, variables), variables):
                if isinstance(gradient, tf.IndexedSlices):
                    change = tf.IndexedSlices(0.1 * gradient.values, gradient.indices)
                    variable.scatter_sub(change)
                else:
                    variable.assign_sub(0.1 * gradient)
            count.assign_add(1)
            return loss

        return strategy.run(replica, args=next(batches))

    # The only one whose loss is known: others may see what those beside them have done.
    first = coordinator.schedule(step, args=(batches,)).fetch()
    np.testing.assert_allclose(first, np.log(4), rtol=0.05)
    losses = [coordinator.schedule(step, args=(batches,)) for _ in range(20)]
    coordinator.join()
    assert coordinator.done()
    assert np.isfinite([loss.fetch() for loss in losses]).all()
    assert int(count.numpy()) == 21
    total = tf.concat([v.read_value() for v in weights.variables], 0).numpy()
    assert np.isfinite(total).all() and not np.allclose(total, 1)


def test_a_custom_loop(tasks):
    tf2.run(custom_loop, tasks)


def trains_on(jobs):
    """Trains while its workers come and go, one of them inside of a function."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.random.uniform([10, 10]))
        count = tf.Variable(0)
        goes_on = tf.Variable(True)

    def dataset(_=None):
        return tf.data.Dataset.from_tensors(tf.random.uniform([10, 10])).repeat()

    def per_worker():
        return strategy.distribute_datasets_from_function(dataset)

    batches = iter(coordinator.create_per_worker_dataset(per_worker))

    def update(batches):
        weights.assign_add(tf.matmul(next(batches), weights) * 1e-9)

    @tf.function
    def step(batches):
        update(batches)
        while goes_on:
            update(batches)
        count.assign_add(1)

    for _ in range(6):
        coordinator.schedule(step, args=(batches,))
    inflight = coordinator._cluster.closure_queue
    while inflight._inflight_closure_count < 2:
        threading.Event().wait(0.05)
    print("training", flush=True)
    assert sys.stdin.readline() == "restarted\n"
    goes_on.assign(False)
    coordinator.join()
    assert int(count.numpy()) >= 6, count.numpy()
    for _ in range(4):
        coordinator.schedule(step, args=(batches,))
    coordinator.join()
    assert int(count.numpy()) >= 10, count.numpy()


def wait_for(process, line):
    for text in process.stdout:
        if text == line + "\n":
            return
    tf2.finish(process)
    raise AssertionError(f"the program ended without {line!r}")


def test_a_worker_that_comes_back_is_taken_back(tasks):
    process = tf2.start(trains_on, tasks)
    wait_for(process, "training")
    tasks.restart("worker", 0)
    process.stdin.write("restarted\n")
    process.stdin.flush()
    tf2.finish(process)


def loses_a_ps(jobs):
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        first, second = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function
    def step():
        first.assign_add(1.0)
        second.assign_add(1.0)

    coordinator.schedule(step)
    coordinator.join()
    print("training", flush=True)
    assert sys.stdin.readline() == "killed\n"
    started = time.time()
    with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)) as caught:
        for _ in range(10):
            coordinator.schedule(step)
        coordinator.join()
    assert "GRPC error information from remote target /job:ps" in str(caught.value)
    assert time.time() - started < 20


@pytest.mark.parametrize("index", [0, 1])
def test_a_lost_ps_is_the_error_that_the_coordinator_knows(tasks, index):
    process = tf2.start(loses_a_ps, tasks)
    wait_for(process, "training")
    tasks.task("ps", index).kill()
    process.stdin.write("killed\n")
    process.stdin.flush()
    tf2.finish(process)


@pytest.mark.ours("TensorFlow's workers wait for a ps that stands still without end")
@pytest.mark.parametrize("ps", ["tensorfleet", "tensorflow"])
def test_a_frozen_ps_is_a_lost_one(cluster, ps):
    tasks = cluster(num_workers=1, num_ps=2, engines={"ps": ps})
    process = tf2.start(loses_a_ps, tasks)
    wait_for(process, "training")
    tasks.task("ps", 1).signal(signal.SIGSTOP)
    process.stdin.write("killed\n")
    process.stdin.flush()
    tf2.finish(process)


def checkpoints(jobs):
    """Sharded variables are restored to another number of shards."""
    partitioners = tf.distribute.experimental.partitioners
    strategy = tf2.strategy(jobs, variable_partitioner=partitioners.FixedShardsPartitioner(2))
    values = np.arange(30, dtype=np.float32).reshape(10, 3)
    with strategy.scope():
        table = tf.Variable(values)
        scalar = tf.Variable(5.0)
    assert len(table.variables) == 2
    with tempfile.TemporaryDirectory() as directory:
        checkpoint = tf.train.Checkpoint(table=table, scalar=scalar)
        manager = tf.train.CheckpointManager(checkpoint, directory, max_to_keep=2)
        path = manager.save()
        for variable in table.variables:
            variable.assign(tf.zeros_like(variable))
        checkpoint.restore(path).assert_consumed()
        np.testing.assert_array_equal(tf.convert_to_tensor(table), values)
        strategy.extended._variable_partitioner = partitioners.FixedShardsPartitioner(3)
        with strategy.scope():
            other = tf.Variable(tf.zeros([10, 3]))
        assert len(other.variables) == 3
        tf.train.Checkpoint(table=other).restore(path).expect_partial()
        np.testing.assert_array_equal(tf.convert_to_tensor(other), values)
        np.testing.assert_array_equal(tf.nn.embedding_lookup(other, [9, 0, 4]), values[[9, 0, 4]])


def test_checkpoints(tasks):
    tf2.run(checkpoints, tasks)


def user_errors(jobs):
    """An error of a closure is raised by `join`; the cluster goes on."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        count = tf.Variable(0)

    @tf.function
    def good():
        return count.assign_add(1)

    @tf.function
    def bad():
        tf.debugging.assert_equal(count, -1)

    @tf.function
    def ends(batches):
        return next(batches)

    for _ in range(4):
        coordinator.schedule(good)
    coordinator.join()
    coordinator.schedule(bad)
    with pytest.raises(tf.errors.InvalidArgumentError, match="assert|Assert|condition"):
        coordinator.join()
    result = coordinator.schedule(good)
    coordinator.join()
    assert int(result.fetch()) == int(count.numpy())
    batches = iter(coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(1)))
    for _ in range(5):
        coordinator.schedule(ends, args=(batches,))
    with pytest.raises(tf.errors.OutOfRangeError):
        coordinator.join()
    coordinator.schedule(good)
    coordinator.join()


def test_user_errors(tasks):
    tf2.run(user_errors, tasks)
