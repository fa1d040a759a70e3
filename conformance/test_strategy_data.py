"""Data that ends under ParameterServerStrategy: at different times on each worker, and more than once."""

import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import tf2


@pytest.fixture(params=tf2.MIXES)
def tasks(request, cluster):
    return cluster(num_workers=2, num_ps=1, engines=tf2.MIXES[request.param])


def uneven_ends(jobs):
    """Each worker has its own number of batches, the last one short; none is lost or seen twice."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        seen = tf.Variable(tf.zeros([100], tf.int32))
        ended = tf.Variable(0)
        pipelines = tf.Variable(0)

    def dataset(context):
        assert context.num_replicas_in_sync == 1
        # Which worker builds its pipeline first is not told: a counter on the ps gives out the parts.
        number = tf.cast(pipelines.assign_add(1, read_value=True), tf.int64)
        return tf.data.Dataset.range(10 * number, 17 * number).batch(4)

    def per_worker():
        return strategy.distribute_datasets_from_function(dataset)

    batches = iter(coordinator.create_per_worker_dataset(per_worker))

    @tf.function
    def step(batches):
        batch = batches.get_next_as_optional()
        if batch.has_value():
            numbers = batch.get_value()
            ones = tf.ones_like(numbers, tf.int32)
            seen.scatter_update(tf.IndexedSlices(tf.gather(seen, numbers) + ones, numbers))
            return tf.size(numbers)
        ended.assign_add(1)
        return 0

    sizes = []
    while ended.numpy() < 2 and len(sizes) < 400:
        results = [coordinator.schedule(step, args=(batches,)) for _ in range(10)]
        coordinator.join()
        sizes += [int(result.fetch()) for result in results]
        # One worker may take all closures while the other has some left.
        if pipelines.numpy() == 2 and sum(sizes) == 7 + 14:
            break
    want = np.zeros([100], np.int32)
    want[10:17] += 1
    want[20:34] += 1
    np.testing.assert_array_equal(seen.numpy(), want)
    assert sorted(size for size in sizes if size) == [2, 3, 4, 4, 4, 4], sizes


def test_uneven_ends(tasks):
    tf2.run(uneven_ends, tasks)


def epochs(jobs):
    """A closure is an epoch: a loop in a function that runs until its worker's data ends."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        total = tf.Variable(0, dtype=tf.int64)
        count = tf.Variable(0)

    @tf.function
    def epoch(dataset):
        own = tf.constant(0, tf.int64)
        for numbers in dataset:
            own += tf.reduce_sum(numbers)
            total.assign_add(tf.reduce_sum(numbers))
            if own > 10_000:
                break
        count.assign_add(1)
        return own

    data = coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(25).batch(10))
    iterators = [iter(data) for _ in range(3)]
    ends = []
    for iterator in iterators:
        results = [coordinator.schedule(epoch, args=(iterator,)) for _ in range(6)]
        coordinator.join()
        ends += [int(result.fetch()) for result in results]
    assert int(count.numpy()) == 18
    # An iterator that has ended stays at its end; each worker reads each of its iterators once.
    assert set(ends) <= {0, 300}
    assert int(total.numpy()) == sum(ends)
    assert 3 <= sum(map(bool, ends)) <= 6, ends


def test_epochs(tasks):
    tf2.run(epochs, tasks)


def fit_one_epoch(jobs):
    """`fit` over data that ends before the epoch does, and over data that is exactly one epoch."""
    strategy = tf2.strategy(jobs)
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(-1, 2)
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True)))
    # Far from the answer, so that every step is one towards it. Losses of epochs are of other batches.
    far = tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(-5))
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input([2]), far])
        model.compile("sgd", "mse")
    history = model.fit(data.batch(8).repeat(), epochs=2, steps_per_epoch=4, verbose=0).history
    assert len(history["loss"]) == 2 and np.isfinite(history["loss"]).all()
    kernel, _ = model.get_weights()
    assert (-5 < kernel).all() and (kernel < 1).all(), kernel
    # Nobody has said how long an epoch is. Which closure is looked at last, and whether it has ended or
    # was cancelled with the one that found the end, is a matter of luck; that `fit` fails is not.
    with pytest.raises((ValueError, tf.errors.OutOfRangeError, tf.errors.CancelledError)):
        model.fit(data.batch(8), epochs=1, verbose=0)
    evaluated = model.evaluate(data.batch(8).repeat(), steps=4, verbose=0)
    assert np.isfinite(evaluated)


def test_fit_one_epoch(tasks):
    tf2.run(fit_one_epoch, tasks)
