"""What programs may do with a ClusterCoordinator, one behaviour after the other."""

import gc
import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.distribute.coordinator import cluster_coordinator, coordinator_context
from tensorflow.python.ops import resource_variable_ops

from conformance.rig import tf2

WORKERS = 3


@pytest.fixture
def tasks(cluster):
    return cluster(num_workers=WORKERS, num_ps=2)


def start(jobs, **options):
    strategy = tf2.strategy(jobs, **options)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    assert tf.distribute.coordinator.ClusterCoordinator(strategy) is coordinator
    return strategy, coordinator


def put(coordinator, function, args=(), tag=None):
    """Schedules a closure, for one worker if there is a tag, and returns it with its result."""
    queue = coordinator._cluster.closure_queue
    closure = cluster_coordinator.Closure(function, queue._cancellation_mgr, args=args)
    result = closure.build_output_remote_value()
    if tag is not None:
        # The queue counts only what any worker may do.
        queue._inflight_closure_count += 1
    queue.put(closure, tag=tag)
    return closure, result


def values(jobs):
    """What closures take and give, and what each worker has for itself."""
    strategy, coordinator = start(jobs)
    one = tf.constant(1)

    @tf.function
    def nested():
        return one + 1, (one + 2, one + 3), [one + 4], {"v": one}

    results = [coordinator.schedule(nested) for _ in range(5)]
    assert coordinator.fetch(results) == [(2, (3, 4), [5], {"v": 1})] * 5

    with pytest.raises(ValueError):
        coordinator.schedule(tf.function(lambda x: x + 1), args=(results[0],))
    with pytest.raises(TypeError, match="only accepts a `tf.function`"):
        coordinator.schedule(lambda x: x, args=(1,))
    coordinator.join()

    def own_variable():
        variable = tf.Variable(0.0)
        assert "/job:worker" in variable.device
        return variable

    owned = coordinator._create_per_worker_resources(own_variable)
    for each in owned._values:
        each._type_spec = resource_variable_ops.VariableSpec((), tf.float32)

    @tf.function
    def add(variable):
        variable.assign_add(1.0)

    for _ in range(10):
        coordinator.schedule(add, args=(owned,))
    coordinator.join()
    assert sum(coordinator.fetch(owned._values)) == 10

    for shape in [[1], None]:
        with strategy.scope():
            everywhere = tf.Variable([0.0], shape=shape, dtype=tf.float32, per_worker_variable=True)

        @tf.function
        def captures():
            everywhere.assign_add([1.0])
            return everywhere

        for count in range(1, 5):
            coordinator.schedule(captures)
            coordinator.join()
            assert sum(everywhere.read_all()).numpy() == count
        devices = [each._get_values().device for each in everywhere._per_worker_vars._values]
        assert devices == [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(WORKERS)]


@pytest.mark.parametrize("mix", tf2.MIXES)
def test_values(cluster, mix):
    tf2.run(values, cluster(num_workers=WORKERS, num_ps=2, engines=tf2.MIXES[mix]))


def datasets(jobs):
    """Datasets of workers, from functions and from datasets, distributed or not."""
    strategy, coordinator = start(jobs)
    with strategy.scope():
        total = tf.Variable(0, dtype=tf.int64)

    first = tf.function(lambda batches: next(batches))

    def fetched(data):
        return coordinator.schedule(first, args=(iter(data),)).fetch()

    traced = []

    def mapped():
        def add(x):
            traced.append(x)
            return x + 10

        return tf.data.Dataset.range(10).map(add)

    assert fetched(coordinator.create_per_worker_dataset(mapped)) == 10
    assert fetched(coordinator.create_per_worker_dataset(mapped())) == 10
    assert len(traced) == 2
    distributed = {
        "function": lambda: strategy.distribute_datasets_from_function(
            lambda _: tf.data.Dataset.range(1, 11).batch(4)
        ),
        "dataset": lambda: strategy.experimental_distribute_dataset(tf.data.Dataset.range(1, 11).batch(4)),
    }
    for make in distributed.values():
        for given in [make, make()]:
            data = coordinator.create_per_worker_dataset(given)
            np.testing.assert_array_equal(fetched(data), [1, 2, 3, 4])
    built = coordinator.create_per_worker_dataset(tf.data.Dataset.from_tensor_slices([5, 6])).build()
    assert coordinator.schedule(tf.function(lambda data: next(iter(data))), args=(built,)).fetch() == 5
    with pytest.raises(ValueError):
        coordinator.create_per_worker_dataset(lambda: tf.Variable(0.0).read_value())

    # Each worker shuffles in its own way.
    shuffled = coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(100).shuffle(100).batch(100))
    orders = [next(each.fetch()).numpy().tolist() for each in iter(shuffled)._values[:2]]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]) == list(range(100))

    # Each worker knows which one it is.
    def part(_):
        index = coordinator_context.get_current_worker_index()
        return tf.data.Dataset.range(10).shard(WORKERS, index)

    @tf.function
    def own_part():
        return strategy.distribute_datasets_from_function(part)

    @tf.function
    def add_all(batches):
        own = tf.constant(0, tf.int64)
        for number in batches:
            own += number
        total.assign_add(own)
        return own

    batches = iter(coordinator.create_per_worker_dataset(own_part))
    with strategy.scope():
        results = [put(coordinator, add_all, (batches,), tag=index)[1] for index in range(WORKERS)]
    coordinator.join()
    assert [int(result.fetch()) for result in results] == [18, 12, 15]
    assert int(total.numpy()) == 45

    # Iterators that nobody has any more are gone.
    data = [coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(1, 100)) for _ in range(2)]
    both = tf.function(lambda one, two: next(one) + next(two))
    for _ in range(5):
        one, two = map(iter, data)
        results = [coordinator.schedule(both, args=(one, two)) for _ in range(5)]
        coordinator.join()
        assert results[0].fetch() >= 2
    del one, two, batches, shuffled, built, results
    gc.collect()
    for worker in coordinator._cluster.workers:
        assert not [ref for ref in worker._resource_remote_value_refs if ref() is not None]

    # A dataset of the coordinator cannot be a part of a worker's.
    here = tf.data.Dataset.range(1, 10)
    half = coordinator.create_per_worker_dataset(tf.function(lambda: here.shuffle(9)))
    coordinator.schedule(first, args=(iter(half),))
    with pytest.raises(cluster_coordinator.ClosureInputError, match="Failed copying input tensor from"):
        coordinator.join()


def test_datasets(tasks):
    tf2.run(datasets, tasks)


def failures(jobs):
    """A closure that fails cancels the others; what comes after is not concerned."""
    # Whoever schedules soon has to wait for room.
    cluster_coordinator._CLOSURE_QUEUE_MAX_SIZE = 2
    strategy, coordinator = start(jobs)
    with strategy.scope():
        count = tf.Variable(0.0)

    @tf.function
    def good():
        count.assign_add(1.0)
        return tf.reduce_mean(tf.matmul(tf.random.uniform((2, 10)), tf.random.uniform((10, 2))))

    @tf.function
    def bad():
        tf.debugging.assert_non_positive(tf.reduce_sum(tf.random.uniform((2, 10)) + 1))
        count.assign_add(1.0)
        return count

    @tf.function
    def long():
        x = tf.random.uniform((300, 300))
        for _ in tf.range(1_000_000):
            x += tf.matmul(tf.random.uniform((300, 300)), tf.random.uniform((300, 300)))
        return x


    def many(function=good, times=3):
        return [coordinator.schedule(function) for _ in range(times)]

    for _ in range(2):
        many()
        coordinator.schedule(bad)
        with pytest.raises(tf.errors.InvalidArgumentError):
            coordinator.join()
    for function in [good, bad]:
        many()
        coordinator.schedule(bad)
        with pytest.raises(tf.errors.InvalidArgumentError):
            while True:
                coordinator.schedule(function)
        coordinator.join()
    many()
    endless = coordinator.schedule(long)
    coordinator.schedule(bad)
    with pytest.raises(tf.errors.InvalidArgumentError):
        coordinator.join()
    with pytest.raises(tf.errors.CancelledError):
        endless.fetch()
    many()
    coordinator.join()

    # A resource that could not be made fails those who use it, and nobody else.
    increase = tf.function(lambda x: x + 1)
    broken = coordinator._create_per_worker_resources(bad)
    result = coordinator.schedule(increase, args=(broken,))
    with pytest.raises(cluster_coordinator.ClosureInputError):
        coordinator.join()
    with pytest.raises(cluster_coordinator.ClosureInputError):
        result.fetch()
    whole = coordinator._create_per_worker_resources(good)
    coordinator._create_per_worker_resources(bad)
    result = coordinator.schedule(increase, args=(whole,))
    coordinator.join()
    assert result.fetch() > 1

    # Iterators live on when closures are cancelled.
    batches = iter(coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(50)))
    take = tf.function(lambda batches: next(batches))
    coordinator.schedule(take, args=(batches,))
    coordinator.schedule(bad)
    with pytest.raises(tf.errors.InvalidArgumentError):
        coordinator.join()
    coordinator.schedule(take, args=(batches,))
    coordinator.join()

    # Closures of one worker fail while others wait for room in the queue.
    raised = []

    def schedules():
        try:
            for _ in range(50):
                coordinator.schedule(bad)
            coordinator.join()
        except tf.errors.InvalidArgumentError as error:
            raised.append(error)

    thread = threading.Thread(target=schedules)
    thread.start()
    thread.join()
    assert raised
    many()
    coordinator.join()


def test_failures(tasks):
    tf2.run(failures, tasks)
