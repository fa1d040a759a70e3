"""Synchronous training: gradients are gathered, the stale ones dropped, and an end is an end."""

import threading

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1

WORKERS = 2


def optimizer(aggregate, total):
    return v1.train.SyncReplicasOptimizer(
        v1.train.GradientDescentOptimizer(1.0), replicas_to_aggregate=aggregate, total_num_replicas=total
    )


def replica_graph(index, aggregate, total, data=None):
    """The graph of one worker: a dense variable, a sparse one, and where they go."""
    graph = v1.Graph()
    with graph.as_default():
        with v1.device(v1.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{index}")):
            step = v1.train.get_or_create_global_step()
            dense = v1.get_variable("dense", initializer=0.0, use_resource=False)
            sparse = v1.get_variable("sparse", initializer=tf.zeros([3, 1]), use_resource=False)
            if data is None:
                weight = tf.constant(float(index + 1))
            else:
                weight = v1.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(1.0).repeat(data)).get_next()
            loss = weight * dense + weight * tf.reduce_sum(tf.gather(sparse, [index]))
            sync = optimizer(aggregate, total)
            train = sync.minimize(loss, global_step=step)
        hook = sync.make_session_run_hook(is_chief=index == 0, num_tokens=0 if aggregate == total else -1)
    return graph, train, (dense, sparse, step), hook


def run_all(work):
    """Runs each worker in a thread, the chief first; the first error of any is raised.

    `work` is given the worker's number and what to call when its session is there. Workers that
    come before the chief is ready would wait half a minute before they look again.
    """
    errors, is_ready = [], threading.Event()

    def guarded(index):
        try:
            if index > 0:
                assert is_ready.wait(60), "the chief does not start"
            work(index, is_ready.set)
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)
            is_ready.set()

    threads = [threading.Thread(target=guarded, args=[index]) for index in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=90)
        assert not thread.is_alive(), "a worker does not end"
    if errors:
        raise errors[0]


def test_each_step_takes_the_mean_of_all_gradients(cluster):
    tasks = cluster(num_workers=WORKERS, num_ps=1)
    results = {}

    def work(index, ready):
        graph, train, state, hook = replica_graph(index, WORKERS, WORKERS)
        with graph.as_default(), v1.train.MonitoredTrainingSession(
            tasks.target("worker", index), is_chief=index == 0, hooks=[hook], save_summaries_steps=None,
            save_summaries_secs=None, stop_grace_period_secs=1,
        ) as session:
            ready()
            for _ in range(3):
                session.run(train)
            results[index] = session.run(state)

    run_all(work)
    dense, sparse, step = results[0]
    # The mean of the gradients 1 and 2 is 1.5; of a row that one replica has, the mean is its own.
    assert step >= 3 and dense == pytest.approx(-1.5 * step)
    assert sparse[2] == 0 and sparse[0] < 0 and sparse[1] < 0


def test_training_ends_on_all_workers_when_the_data_ends_on_one(cluster):
    tasks = cluster(num_workers=WORKERS, num_ps=1)
    steps = {}

    def work(index, ready):
        graph, train, (_, _, step), hook = replica_graph(index, WORKERS, WORKERS, data=4 if index else 400)
        stop = v1.train.StopAtStepHook(last_step=4)
        with graph.as_default(), v1.train.MonitoredTrainingSession(
            tasks.target("worker", index), is_chief=index == 0, hooks=[hook, stop], save_summaries_steps=None,
            save_summaries_secs=None, stop_grace_period_secs=1,
        ) as session:
            ready()
            while not session.should_stop():
                steps[index] = session.run([train, step])[1]

    run_all(work)
    assert set(steps) == {0, 1} and max(steps.values()) <= 5


def test_one_gradient_is_enough_with_a_backup_worker(cluster):
    tasks = cluster(num_workers=WORKERS, num_ps=1)
    # The second worker never runs: the first must not wait for it.
    graph, train, (dense, _, step), hook = replica_graph(0, 1, WORKERS)
    with graph.as_default(), v1.train.MonitoredTrainingSession(
        tasks.target("worker", 0), is_chief=True, hooks=[hook], save_summaries_steps=None, save_summaries_secs=None,
        stop_grace_period_secs=1,
    ) as session:
        for _ in range(3):
            session.run(train)
        value, number = session.run([dense, step])
    assert number >= 2 and value == pytest.approx(-float(number))


def test_stale_gradients_are_dropped(target):
    dense = v1.ConditionalAccumulator(tf.float32, shape=[1])
    sparse = v1.SparseConditionalAccumulator(tf.float32)
    local_step = v1.placeholder(tf.int64, [])
    indices = v1.placeholder(tf.int64, [None])
    apply_dense = dense.apply_grad([1.0], local_step=local_step)
    apply_sparse = sparse.apply_grad(indices, np.array([[1.0]], np.float32), [3, 1], local_step=local_step)
    counts = [dense.num_accumulated(), sparse.num_accumulated()]
    with v1.Session(target) as session:
        session.run([dense.set_global_step(5), sparse.set_global_step(5)])
        for step in (3, 4, 5, 6):
            session.run([apply_dense, apply_sparse], {local_step: step, indices: [0]})
        assert session.run(counts) == [2, 2]
        # One that comes too late is not even looked at.
        session.run(apply_sparse, {local_step: 4, indices: [0, 1]})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(apply_sparse, {local_step: 5, indices: [0, 1]})
        assert session.run(counts) == [2, 2]
